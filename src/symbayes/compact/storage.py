"""A Gaussian on disk: one safetensors file with an array per variable, named by path.

``mean/NAME`` and ``diagonal/NAME`` are shaped like the variable; ``factors/NAME`` has the rank as last
axis.  Constants have a mean alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors
from jaxtyping import Float

from symbayes import trees
from symbayes.compact.layout import Layout
from symbayes.draws import files
from symbayes.specs import require

MEAN, DIAGONAL, FACTORS = "mean/", "diagonal/", "factors/"

Parts = tuple[
    Layout,
    Float[np.ndarray, " variable"],
    Float[np.ndarray, " weight"],
    Float[np.ndarray, "weight rank"],
]
"""Layout, location, diagonal, factors."""


def write(
    path: Path,
    layout: Layout,
    location: Float[np.ndarray, " variable"],
    diagonal: Float[np.ndarray, " weight"],
    factors: Float[np.ndarray, "weight rank"],
) -> None:
    """Write the file whole or not at all; an existing one is not overwritten."""
    files.require_new(path)
    shapes = layout.shapes
    arrays = {MEAN + name: location[place].reshape(shapes[name]) for name, place in layout.places.items()}
    for name, place in layout.weights.items():
        arrays[DIAGONAL + name] = diagonal[place].reshape(shapes[name])
        arrays[FACTORS + name] = factors[place].reshape(*shapes[name], factors.shape[1])
    files.write_bytes(path, *files.pack(arrays))


def read(path: Path) -> Parts:
    """What `write` wrote."""
    try:
        arrays = files.read_arrays(path)
    except safetensors.SafetensorError as error:
        raise ValueError(f"{path} is no Gaussian: it is not a safetensors file ({error})") from error
    names = sorted((n.removeprefix(MEAN) for n in arrays if n.startswith(MEAN)), key=trees.path_key)
    layout = Layout({name: arrays[MEAN + name].shape for name in names})
    rank = _checked_rank(path, layout, arrays)
    location = np.concatenate([arrays[MEAN + name].ravel() for name in layout.places])
    diagonal = np.concatenate([arrays[DIAGONAL + name].ravel() for name in layout.weights])
    factors = [arrays[FACTORS + name].reshape(arrays[DIAGONAL + name].size, rank) for name in layout.weights]
    return layout, location, diagonal, np.concatenate(factors)


def _checked_rank(path: Path, layout: Layout, arrays: Mapping[str, np.ndarray]) -> int:
    """The rank, once every array is known to be there and to fit."""
    expected = {MEAN + name for name in layout.shapes}
    expected |= {kind + name for kind in (DIAGONAL, FACTORS) for name in layout.weights}
    require(
        bool(layout.weights) and expected == set(arrays),
        f"{path} is no Gaussian: each weight needs the arrays mean/, diagonal/ and factors/",
    )
    rank = arrays[FACTORS + next(iter(layout.weights))].shape[-1]
    for name in layout.weights:
        shape = layout.shapes[name]
        require(
            arrays[DIAGONAL + name].shape == shape and arrays[FACTORS + name].shape == (*shape, rank),
            f"{path} is damaged: diagonal and factors of {name!r} do not fit its shape {shape}",
        )
    return rank
