"""The binary version of CIFAR-10 and CIFAR-100: fixed-length records without a header.

A record is the label (CIFAR-100: coarse label, fine label) and 3,072 bytes: the red, green and
blue planes of a 32x32 image.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from symbayes.data.formats.content import DataFormatError

PIXELS = 3 * 32 * 32
COARSE_CLASSES = 20


def read_cifar(path: Path, classes: int, records: int) -> tuple[np.ndarray, np.ndarray]:
    """Images uint8 (n, 32, 32, 3) and (fine) labels uint8 (n,) of a file with n = `records`."""
    if classes not in (10, 100):
        raise ValueError(f"CIFAR has 10 or 100 classes, not {classes}")
    label_bytes = 1 if classes == 10 else 2
    expected, size = records * (label_bytes + PIXELS), path.stat().st_size
    if size != expected:
        raise DataFormatError(
            path, f"{records} CIFAR-{classes} records take {expected} bytes, the file has {size}"
        )
    table = np.fromfile(path, np.uint8).reshape(records, label_bytes + PIXELS)
    labels = table[:, label_bytes - 1].copy()
    _check_labels(path, labels, classes)
    if label_bytes == 2:
        _check_labels(path, table[:, 0], COARSE_CLASSES)
    planes = table[:, label_bytes:].reshape(records, 3, 32, 32)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _check_labels(path: Path, labels: np.ndarray, classes: int) -> None:
    wrong = np.flatnonzero(labels >= classes)
    if len(wrong):
        raise DataFormatError(path, f"record {wrong[0]} has label {labels[wrong[0]]}, not 0..{classes - 1}")
