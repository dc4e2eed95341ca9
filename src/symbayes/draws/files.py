"""Files that are either whole or absent: atomic writes, checksums, arrays by name.

Arrays go to safetensors without metadata, since metadata with several keys is written in another
order in every process and files must be byte-identical.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy


class StorageError(OSError):
    """The disk refused: full, read-only or not permitted."""


Buffer = bytes | np.ndarray

KINDS = {"f": "F", "i": "I", "u": "U"}
"""Kinds of numbers as safetensors calls them; the bits follow."""


def write_bytes(path: Path, *content: Buffer) -> None:
    """Write so that the file at `path` is the old one or the new one, also after a power cut."""
    temporary = path.with_name(path.name + ".partial")
    try:
        with open(temporary, "wb") as file:
            for part in content:
                file.write(part)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise explained(error, path) from error


def require_new(path: Path) -> None:
    """Refuse to overwrite a file."""
    if path.exists():
        raise FileExistsError(f"{path} exists already: choose another name or remove it first")


def make_folders(*folders: Path) -> None:
    """Make the folders and their parents where they are missing."""
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise explained(error, folder) from error


def explained(error: OSError, path: Path) -> StorageError:
    """The same error, saying what to do about it."""
    advice = {
        errno.ENOSPC: "the disk is full: make room and run the same command again, it goes on where it was",
        errno.EDQUOT: "the disk quota is used up: make room and run the same command again",
        errno.EROFS: "the file system is read-only: choose another folder",
        errno.EACCES: "no permission to write there: choose another folder",
        errno.EPERM: "no permission to write there: choose another folder",
        errno.ENOTDIR: "a parent of it is a file, not a folder: choose another folder",
    }.get(error.errno or 0, "choose another folder or repair the disk")
    return StorageError(error.errno, f"cannot write {path} ({os.strerror(error.errno or 0)}); {advice}")


def sync_folder(folder: Path) -> None:
    """Make renames within the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_json(path: Path, value: Any) -> None:
    write_bytes(path, (json.dumps(value, indent=2, sort_keys=True) + "\n").encode())


def pack(arrays: Mapping[str, Any]) -> list[Buffer]:
    """A safetensors file with these arrays, as the buffers that it is made of: nothing is copied.

    A header of JSON, its length before it, says where the arrays are; the widest come first, so that each is
    aligned.
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    names = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    header, end = {}, 0
    for name in names:
        start, end = end, end + plain[name].nbytes
        header[name] = {
            "dtype": _dtype(plain[name].dtype),
            "shape": list(plain[name].shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)) + text, *(plain[name].reshape(-1).view(np.uint8) for name in names)]


def _dtype(dtype: np.dtype) -> str:
    if dtype == np.bool_:
        return "BOOL"
    if dtype.kind not in KINDS or dtype.byteorder == ">":
        raise TypeError(f"arrays of {dtype} cannot be stored: store plain numbers")
    return f"{KINDS[dtype.kind]}{8 * dtype.itemsize}"


def size(content: Iterable[Buffer]) -> int:
    """How many bytes."""
    return sum(len(part) for part in content)


def sha256(*content: Buffer) -> str:
    digest = hashlib.sha256()
    for part in content:
        digest.update(part)  # type: ignore[arg-type]
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    return safetensors.numpy.load_file(path)


def open_arrays(path: Path) -> Any:
    """A handle that reads slices of the arrays in a file without loading the rest."""
    return safetensors.safe_open(path, framework="numpy")
