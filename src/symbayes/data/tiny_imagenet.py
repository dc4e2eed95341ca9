"""Tiny ImageNet as published: the folder tiny-imagenet-200, unzipped.

    wnids.txt                      the name of a class on every line; their order numbers the labels
    train/NAME/images/*.JPEG       the same number of pictures of every class
    val/images/*.JPEG              the pictures of val/val_annotations.txt, by picture, class, box

The owners' test part has no labels, so the test part here is val.  Training pictures are in the order first
of every class, second of every class, and so on, so that the first of them and the last of them hold all
classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from symbayes.data.examples import Dataset, Examples
from symbayes.data.formats import DataFormatError, read_pictures
from symbayes.data.images import VALIDATION, dataset, labelled
from symbayes.data.source import Info

NAMES, ANNOTATIONS = "wnids.txt", "val/val_annotations.txt"
SIDE = 64


def read_tiny_imagenet(info: Info, paths: Mapping[str, Path], validation: int = VALIDATION) -> Dataset:
    """Training and validation from train, test from val."""
    names = tuple(paths[NAMES].read_text().split())
    if len(names) != info.classes or len(set(names)) != len(names):
        raise DataFormatError(paths[NAMES], f"should name {info.classes} classes, names {len(set(names))}")
    info = replace(info, class_names=names)
    full = _train(info, paths[NAMES].parent / "train")
    return dataset(info, full, _val(info, paths[ANNOTATIONS]), validation)


def _train(info: Info, folder: Path) -> Examples:
    files = [sorted((folder / name / "images").glob("*.JPEG")) for name in info.class_names]
    least, most = min(map(len, files)), max(map(len, files))
    if least != most or most == 0:
        raise DataFormatError(folder, f"its classes hold {least} to {most} pictures: unzip the archive again")
    turns = [path for turn in zip(*files, strict=True) for path in turn]
    labels = np.tile(np.arange(len(files)), most)
    return labelled(info, folder, read_pictures(turns, SIDE), labels)


def _val(info: Info, annotations: Path) -> Examples:
    lines = [line.split("\t") for line in annotations.read_text().splitlines() if line.strip()]
    numbers = {name: number for number, name in enumerate(info.class_names)}
    unknown = next((line for line in lines if len(line) < 2 or line[1] not in numbers), None)
    if unknown is not None or not lines:
        raise DataFormatError(annotations, f"each line should be a picture and a class, not {unknown}")
    pictures = [annotations.parent / "images" / line[0] for line in lines]
    labels = np.array([numbers[line[1]] for line in lines])
    return labelled(info, annotations, read_pictures(pictures, SIDE), labels)
