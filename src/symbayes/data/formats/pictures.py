"""Pictures in files of their own (JPEG, PNG), all of one size."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DataFormatError


def read_pictures(paths: Sequence[Path], side: int) -> np.ndarray:
    """Pixels uint8 (n, side, side, 3) of square pictures, in the order of the paths; grey ones too."""
    found = np.empty((len(paths), side, side, 3), np.uint8)

    def read(number: int) -> None:
        found[number] = _read(paths[number], side)

    with ThreadPoolExecutor() as threads:  # decoding releases the interpreter's lock
        for _ in threads.map(read, range(len(paths))):
            pass
    return found


def _read(path: Path, side: int) -> np.ndarray:
    from PIL import Image  # slow to import

    try:
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, ValueError) as error:
        raise DataFormatError(path, f"it is missing or no whole picture ({error})") from error
    if pixels.shape != (side, side, 3):
        wide, high = pixels.shape[1], pixels.shape[0]
        raise DataFormatError(path, f"should have {side} x {side} pixels, has {wide} x {high}")
    return pixels
