"""Tensors in PyTorch's files, read without PyTorch and without running what the file says.

A ``.pt`` file is a ZIP archive with a pickle, ``data.pkl``, and the bytes of every storage, ``data/0`` and so
on.  A pickle is a program that may call anything it can import.  Here it can import nothing: a handful of
names stand for functions of this file, which rebuild tensors as NumPy arrays, and any other name is refused.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

STORAGES: dict[str, Any] = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "BFloat16Storage": ml_dtypes.bfloat16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}


class RefusedCode(ValueError):
    """The file asks for code that a state dict does not need."""


@dataclass(frozen=True)
class _Storage:
    """The type of a storage, by the name that PyTorch has for it."""

    dtype: Any


def _tensor(storage: np.ndarray, offset: int, size: Any, stride: Any, *ignored: Any) -> np.ndarray:
    shape, steps = tuple(size), tuple(stride)
    last = offset + sum((n - 1) * step for n, step in zip(shape, steps, strict=True) if n > 0)
    whole = len(shape) == len(steps) and all(n >= 0 for n in (offset, *shape, *steps))
    if not whole or math.prod(shape) > len(storage) or (math.prod(shape) > 0 and last >= len(storage)):
        raise RefusedCode("a tensor lies outside of its storage: the file is damaged")
    strides = [step * storage.itemsize for step in steps]
    return np.lib.stride_tricks.as_strided(storage[offset:], shape, strides, writeable=False).copy()


def _parameter(data: np.ndarray, *ignored: Any) -> np.ndarray:
    return data


ALLOWED: dict[tuple[str, str], Any] = {
    ("collections", "OrderedDict"): OrderedDict,
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch", "Size"): tuple,
    **{("torch", name): _Storage(dtype) for name, dtype in STORAGES.items()},
}
"""All that a pickle may name."""


class _Reader(pickle.Unpickler):
    """Rebuilds plain values and tensors; every name that it meets is looked up in `ALLOWED` alone."""

    def __init__(self, file: Any, storage: Callable[[str], bytes]) -> None:
        super().__init__(file)
        self._storage = storage
        self._read: dict[str, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise RefusedCode(
                f"the file asks for {module}.{name}: only weights are read, so save `model.state_dict()`"
            )
        return ALLOWED[module, name]

    def persistent_load(self, pid: Any) -> np.ndarray:
        kind, storage, key, _, count = pid
        if kind != "storage" or not isinstance(storage, _Storage):
            raise RefusedCode(f"the file has a storage of an unknown kind: {kind!r}")
        if key not in self._read:
            content = self._storage(str(key))
            self._read[key] = np.frombuffer(content, np.dtype(storage.dtype))
        if len(self._read[key]) < count:
            raise RefusedCode("a storage is shorter than the file says: the file is damaged")
        return self._read[key]


def read_torch(path: Path) -> Any:
    """What ``torch.save`` wrote, with arrays in the place of tensors."""
    if not zipfile.is_zipfile(path):
        raise RefusedCode(
            f"{path} is no file of PyTorch 1.6 or later: load it there and save its state_dict() again"
        )
    with zipfile.ZipFile(path) as archive:
        programs = [name for name in archive.namelist() if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(programs) != 1:
            raise RefusedCode(f"{path} holds {len(programs)} pickles named data.pkl, not one")
        root = programs[0].removesuffix("data.pkl")
        if f"{root}byteorder" in archive.namelist() and archive.read(f"{root}byteorder") != b"little":
            raise RefusedCode(f"{path} was written on a big-endian machine: save it again on another")
        with archive.open(programs[0]) as file:
            try:
                return _Reader(file, lambda key: archive.read(f"{root}data/{key}")).load()
            except (
                pickle.UnpicklingError,
                EOFError,
                KeyError,
                IndexError,
                TypeError,
                AttributeError,
            ) as error:
                raise RefusedCode(f"{path} cannot be read as weights ({error})") from error
