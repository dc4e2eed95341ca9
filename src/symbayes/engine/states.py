"""A run's state as named arrays, so that it can be stored and read back without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from symbayes.draws import RunError

SHARED = "0/shared/"
"""How names of what chains have in common begin in a stored state (which has the observers' memories too)."""


def to_arrays(tree: Any) -> dict[str, np.ndarray]:
    """Every leaf of any pytree, by its path."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {_name(path): np.asarray(leaf) for path, leaf in leaves}


def from_arrays(arrays: Mapping[str, np.ndarray], like: Any) -> Any:
    """The pytree with the structure and shapes of `like` and these arrays as leaves."""
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    wanted = {_name(path): leaf for path, leaf in leaves}
    if wanted.keys() != arrays.keys() or any(
        arrays[name].shape != leaf.shape or arrays[name].dtype != leaf.dtype for name, leaf in wanted.items()
    ):
        raise RunError("the stored state has another form: the run was made by another version of symbayes")
    return jax.tree.unflatten(structure, [arrays[name] for name in wanted])


def shared(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Of a stored state, what the chains have in common, by name."""
    return {
        name.removeprefix(SHARED): np.array(array)
        for name, array in arrays.items()
        if name.startswith(SHARED)
    }


def first_nonfinite(tree: Any, first: int = 0) -> str | None:
    """The name of a leaf that holds NaN or infinity, with the chain (first axis) that does; `first` is the
    number of the first one here."""
    for name, array in to_arrays(tree).items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            rows = np.atleast_1d(array)
            bad = ~np.isfinite(rows.reshape(len(rows), -1)).all(axis=1)
            return f"{name}, chain {first + int(bad.argmax())}" if array.ndim else name
    return None


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")
