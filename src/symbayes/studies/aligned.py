"""What alignment found, stored: one element of the symmetry group for each draw.

    aligned/NAME.safetensors   the elements, a checksum of what they were computed from, and one of the file

A draw has hundreds of thousands of weights, its element a few hundred numbers; aligning hundreds of draws
takes minutes, moving them seconds.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError

from symbayes.draws import Draws, RunError, files
from symbayes.symmetry.align.criterion import Criterion
from symbayes.symmetry.group.element import Element
from symbayes.trees import Tree

FOLDER = "aligned"
ORIGIN, CHECKSUM = "origin", "checksum"
PARTS = tuple(field.name for field in fields(Element))


def path_of(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name.replace(': ', '-').replace(', ', '-').replace(' ', '-')}.safetensors"


def origin_of(draws: Draws, to: str | Draws | Tree, by: Criterion) -> str:
    """A checksum of all that decides the elements: the draws, the reference, and the criterion's settings."""
    settings = {name: value for name, value in vars(by).items() if not callable(value)}
    leaves = jax.tree.leaves((draws.variables, to, type(by).__name__, settings))
    arrays = (_bytes(leaf.encode()) if isinstance(leaf, str) else np.asarray(leaf) for leaf in leaves)
    return files.sha256(*files.pack({str(number): array for number, array in enumerate(arrays)}))


def write(path: Path, elements: Element, origin: str) -> None:
    arrays = {f"{part}/{name}": leaf for part in PARTS for name, leaf in getattr(elements, part).items()}
    arrays[ORIGIN] = _bytes(bytes.fromhex(origin))
    checksum = files.sha256(*files.pack(arrays))
    files.make_folders(path.parent)
    files.write_bytes(path, *files.pack(arrays | {CHECKSUM: _bytes(bytes.fromhex(checksum))}))


def read(path: Path, origin: str) -> Element:
    """The stored elements; a damaged file and elements of another origin are refused."""
    try:
        arrays = files.read_arrays(path)
        checksum = arrays.pop(CHECKSUM).tobytes().hex()
    except (SafetensorError, KeyError):
        arrays, checksum = {}, ""
    if files.sha256(*files.pack(arrays)) != checksum:
        raise RunError(f"{path} is damaged")
    if arrays.pop(ORIGIN).tobytes().hex() != origin:
        raise RunError(f"{path} was computed from other draws or settings")
    parts: dict[str, dict[str, Any]] = {part: {} for part in PARTS}
    for name, array in arrays.items():
        part, _, rest = name.partition("/")
        parts[part][rest] = array
    return Element(**parts)


def _bytes(content: bytes) -> np.ndarray:
    return np.frombuffer(content, np.uint8)
