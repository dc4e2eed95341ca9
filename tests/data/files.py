"""Small files in the published formats, ways to damage them, and the real ones where they are."""

import gzip
import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from symbayes import data
from symbayes.data.catalogue import CATALOGUE
from symbayes.data.source import DataFile


def idx_bytes(array):
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + np.ascontiguousarray(array, np.uint8).tobytes()


def write_idx(path, array, zipped=False):
    content = idx_bytes(array)
    path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    return path


def cifar_bytes(images, labels, coarse=None):
    """Records: (coarse,) label, then the red, green and blue planes."""
    columns = [] if coarse is None else [np.asarray(coarse, np.uint8)[:, None]]
    columns.append(np.asarray(labels, np.uint8)[:, None])
    columns.append(np.moveaxis(np.asarray(images, np.uint8), -1, 1).reshape(len(images), -1))
    return np.concatenate(columns, axis=1).tobytes()


def random_images(seed, count, side, channels=None):
    shape = (count, side, side) if channels is None else (count, side, side, channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def flipped(content, bit):
    """The content with one bit turned."""
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << (bit % 8)
    return bytes(damaged)


@st.composite
def damage(draw, content):
    """A damaged copy: cut off, with bytes after it, or with one to three bits turned anywhere."""
    kind = draw(st.sampled_from(["cut", "longer", "flip"]))
    if kind == "cut":
        return content[: draw(st.integers(0, len(content) - 1))]
    if kind == "longer":
        return content + draw(st.binary(min_size=1, max_size=40))
    for bit in draw(st.lists(st.integers(0, 8 * len(content) - 1), min_size=1, max_size=3, unique=True)):
        content = flipped(content, bit)
    return content


def catalogued(monkeypatch, folder, name, contents, zipped=False, source=0, read=None):
    """Write small files for a dataset into `folder`, and make the catalogue expect their digests."""
    entry = CATALOGUE[name]
    original = entry.sources[source]
    files = tuple(
        DataFile(file, len(content), f"sha256:{hashlib.sha256(content).hexdigest()}")
        for file, content in contents.items()
    )
    place = folder / original.folders[0]
    place.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        if zipped:
            (place / f"{file}.gz").write_bytes(gzip.compress(content))
        else:
            (place / file).write_bytes(content)
    changed = replace(original, files=files, read=read or original.read)
    monkeypatch.setitem(CATALOGUE, name, replace(entry, sources=(changed,)))
    return place


def real(name, **options):
    """The real dataset, or a skipped test."""
    listing = next(entry for entry in data.list_datasets() if entry.name == name)
    if listing.found_in is None and not listing.embedded:
        pytest.skip(f"the files of {name} are not in the data folder")
    return data.load(name, **options)
