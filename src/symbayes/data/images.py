"""Image datasets: from their owners' files to examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from symbayes.data.examples import Dataset, Examples, hold_out, images
from symbayes.data.formats import DataFormatError, read_cifar, read_idx, read_mat, read_npz
from symbayes.data.source import Info

VALIDATION = 5000


def dataset(info: Info, full: Examples, test: Examples, validation: int) -> Dataset:
    """The dataset whose validation part is the end of the owners' training set."""
    train, held_out = hold_out(full, validation)
    return Dataset(info.name, train, held_out, test, info.classes, info.class_names, info.description)


def labelled(info: Info, path: Path, pixels: np.ndarray, labels: np.ndarray) -> Examples:
    """Examples from bytes; what does not fit is the fault of the file at `path`."""
    try:
        return images(pixels, labels, info.classes or 0)
    except ValueError as error:
        raise DataFormatError(path, str(error)) from error


def read_idx_images(info: Info, paths: Mapping[str, Path], validation: int = VALIDATION) -> Dataset:
    """MNIST's four IDX files."""
    parts: list[Examples] = []
    for prefix in ("train", "t10k"):
        path = paths[f"{prefix}-images-idx3-ubyte"]
        pixels, labels = read_idx(path), read_idx(paths[f"{prefix}-labels-idx1-ubyte"])
        if labels.ndim != 1:
            raise DataFormatError(path, f"its labels must have one axis, not the shape {labels.shape}")
        parts.append(labelled(info, path, pixels, labels))
    return dataset(info, parts[0], parts[1], validation)


def read_cifar_images(
    info: Info, paths: Mapping[str, Path], records: int, test_records: int, validation: int = VALIDATION
) -> Dataset:
    """CIFAR's binary batches in their order; the one whose name begins with test is the test part."""
    batches: dict[bool, list[tuple[np.ndarray, np.ndarray]]] = {False: [], True: []}
    for name, path in paths.items():
        is_test = name.startswith("test")
        batch = read_cifar(path, info.classes or 0, test_records if is_test else records)
        batches[is_test].append(batch)
    folder = next(iter(paths.values())).parent
    full, test = (
        labelled(info, folder, *map(np.concatenate, zip(*batches[is_test], strict=True)))
        for is_test in (False, True)
    )
    return dataset(info, full, test, validation)


read_cifar10 = partial(read_cifar_images, records=10_000, test_records=10_000)
read_cifar100 = partial(read_cifar_images, records=50_000, test_records=10_000)


def read_svhn(info: Info, paths: Mapping[str, Path], validation: int = VALIDATION) -> Dataset:
    """SVHN's cropped digits as published."""
    parts = {name: labelled(info, path, *read_mat(path)) for name, path in paths.items()}
    return dataset(info, parts["train_32x32.mat"], parts["test_32x32.mat"], validation)


def read_test_only(info: Info, paths: Mapping[str, Path], validation: int = 0) -> Dataset:
    """An archive with a test part alone: arrays `x` and `y`; train and validation are empty."""
    (path,) = paths.values()
    arrays = read_npz(path, ("x", "y"))
    if arrays["y"].dtype != np.uint8:
        raise DataFormatError(path, f"labels must be bytes, not {arrays['y'].dtype}")
    test = labelled(info, path, arrays["x"], arrays["y"])
    partial_info = replace(info, description=f"{info.description}; test part only")
    return dataset(partial_info, test[:0], test, validation)
