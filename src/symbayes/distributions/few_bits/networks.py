"""Some networks in few bits: integers times steps, coded, and how they become networks again.

Every parameter is a matrix here, (input, output).  The weights of one input of a layer make a row; a row has
one step in all networks, and so has every parameter that is not the kernel of a layer.  Rows whose step is
far above the spread of their weights carry no information that the data gave: they are not stored but drawn
anew from a normal law with that spread, by a key, so that what the data left open stays open.

Steps and spreads are stored on a scale of powers of 2^(1/8), and rows of like spread over step share the
frequencies of the code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int64, UInt8

from symbayes import trees
from symbayes.distributions.few_bits.coding import Coded, decode, encode
from symbayes.distributions.few_bits.rounding import compensated
from symbayes.draws import Draws, files
from symbayes.specs import require

PER_OCTAVE, ZERO = 8, 192
"""Steps to a factor of two on the scale, and the number of 1."""

ANEW = 255
"""In the place of a step: the row is drawn anew."""

OPEN = 4.0
"""A step of so many spreads leaves nothing to store."""

Matrices = Mapping[str, Any]


@dataclass(frozen=True)
class Layout:
    """A parameter as a matrix: its shape, and which of its axes are the rows."""

    shape: tuple[int, ...]
    rows: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.shape)) if axis not in self.rows)

    @property
    def width(self) -> int:
        """How many columns."""
        return math.prod(self.shape[axis] for axis in self.columns)

    def matrices(self, arrays: np.ndarray) -> np.ndarray:
        """(network, ...) as (network, row, column)."""
        order = (0, *(1 + axis for axis in (*self.rows, *self.columns)))
        rows = math.prod(self.shape[axis] for axis in self.rows)
        return arrays.transpose(order).reshape(len(arrays), rows, -1)

    def arrays(self, matrices: np.ndarray) -> np.ndarray:
        """And back."""
        order = (*self.rows, *self.columns)
        made = matrices.reshape(len(matrices), *(self.shape[axis] for axis in order))
        return made.transpose(0, *(1 + order.index(axis) for axis in range(len(self.shape))))


def on_scale(values: np.ndarray) -> UInt8[np.ndarray, " row"]:
    """The nearest numbers on the scale."""
    exponents = PER_OCTAVE * np.log2(np.maximum(values, np.finfo(np.float64).tiny))
    return np.clip(np.rint(exponents) + ZERO, 0, ANEW - 1).astype(np.uint8)


def from_scale(numbers: np.ndarray) -> np.ndarray:
    """The values that they stand for."""
    return np.exp2((numbers.astype(np.float64) - ZERO) / PER_OCTAVE)


@dataclass(frozen=True)
class Rows:
    """What is stored of the rows of one parameter.

    Attributes:
        steps: on the scale; `ANEW` where a row is drawn anew.
        kinds: the class of the row's integers; where it is drawn anew, its spread on the scale.
    """

    steps: UInt8[np.ndarray, " row"]
    kinds: UInt8[np.ndarray, " row"]

    @classmethod
    def of(cls, steps: np.ndarray, spreads: np.ndarray) -> Rows:
        """Those with about these steps."""
        anew = steps >= OPEN * spreads
        rounded = on_scale(steps)
        ratio = np.maximum(spreads, np.finfo(np.float64).tiny) / from_scale(rounded)
        classes = np.clip(np.rint(2 * np.log2(ratio)) + 8, 0, 63).astype(np.uint8)
        return cls(np.where(anew, np.uint8(ANEW), rounded), np.where(anew, on_scale(spreads), classes))

    @property
    def stored(self) -> np.ndarray:
        return self.steps != ANEW

    @property
    def sizes(self) -> np.ndarray:
        """The steps, infinite where a row is drawn anew."""
        return np.where(self.stored, from_scale(self.steps), np.inf)

    def drawn(self, numbers: np.ndarray, leaf: int, columns: int) -> Float[np.ndarray, "network row column"]:
        """Rows drawn anew for the networks of these numbers; zero elsewhere."""

        def one(number: Any) -> jax.Array:
            key = jax.random.fold_in(jax.random.fold_in(jax.random.key(0), number), leaf)
            return jax.random.normal(key, (len(self.steps), columns))

        spreads = np.where(self.stored, 0.0, from_scale(self.kinds))
        if not spreads.any():
            return np.zeros((len(numbers), len(self.steps), columns))
        return np.asarray(jax.vmap(one)(np.asarray(numbers, np.uint32))) * spreads[:, None]


@dataclass(frozen=True)
class FewBits:
    """Networks whose average stands for a posterior.

    Attributes:
        layout: of every parameter, in the order of the code.
        rows: of every parameter.
        numbers: of the networks, which decide what is drawn anew.
        coded: the integers.
        exact: statistics of normalisers, (network, ...), as they are.
    """

    layout: Mapping[str, Layout]
    rows: Mapping[str, Rows]
    numbers: np.ndarray
    coded: Coded
    exact: Mapping[str, np.ndarray]

    @classmethod
    def of(
        cls,
        layout: Mapping[str, Layout],
        rows: Mapping[str, Rows],
        numbers: np.ndarray,
        integers: Mapping[str, Int64[np.ndarray, "n i o"]],
        exact: Mapping[str, np.ndarray],
    ) -> FewBits:
        """With the integers that `rounded` gave."""
        count, rows = len(numbers), _renumbered(rows)
        flat = [integers[name][:, rows[name].stored].ravel() for name in layout]
        widths = {name: integers[name].shape[2] for name in layout}
        coded = encode(np.concatenate(flat), _classes(layout, rows, widths, count))
        return cls(layout, rows, np.asarray(numbers, np.uint16), coded, exact)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def bits(self) -> int:
        """Of all that is stored, but for names and shapes."""
        rows = sum(8 * 2 * len(own.steps) for own in self.rows.values())
        exact = sum(8 * array.nbytes for array in self.exact.values())
        return self.coded.bits + rows + exact + 16 * len(self.numbers)

    @property
    def integers(self) -> dict[str, Int64[np.ndarray, "n i o"]]:
        """Those of every parameter; 0 in rows that are drawn anew."""
        widths = {name: layout.width for name, layout in self.layout.items()}
        flat, place = decode(self.coded, _classes(self.layout, self.rows, widths, len(self))), 0
        found = {}
        for name, width in widths.items():
            stored = self.rows[name].stored
            found[name] = np.zeros((len(self), len(stored), width), np.int64)
            end = place + len(self) * int(stored.sum()) * width
            found[name][:, stored] = flat[place:end].reshape(len(self), -1, width)
            place = end
        return found

    def first(self, count: int) -> FewBits:
        """The first of the networks; they were chosen one after another."""
        integers = {name: array[:count] for name, array in self.integers.items()}
        exact = {name: array[:count] for name, array in self.exact.items()}
        return FewBits.of(self.layout, self.rows, self.numbers[:count], integers, exact)

    @property
    def draws(self) -> Draws:
        """The networks, as one chain."""
        flat = {}
        for leaf, (name, integers) in enumerate(self.integers.items()):
            own = self.rows[name]
            matrices = own.drawn(self.numbers, leaf, integers.shape[2])
            matrices[:, own.stored] = integers[:, own.stored] * own.sizes[own.stored, None]
            flat[name] = self.layout[name].arrays(matrices).astype(np.float32)
        variables = trees.unflatten({name: array[None] for name, array in (flat | dict(self.exact)).items()})
        return Draws.from_variables(variables)

    def save(self, path: str | Path) -> None:
        """One safetensors file, whole or not at all; an existing one is not overwritten."""
        files.require_new(Path(path))
        arrays = {
            "words": self.coded.words,
            "frequencies": self.coded.frequencies,
            "alphabets": self.coded.alphabets,
            "numbers": self.numbers,
        }
        for place, (name, layout) in enumerate(self.layout.items()):
            arrays |= {
                f"steps/{place:04d}/{name}": self.rows[name].steps,
                f"kinds/{name}": self.rows[name].kinds,
                f"shape/{name}": np.array(layout.shape, np.int64),
                f"rows/{name}": np.array(layout.rows, np.int64),
            }
        arrays |= {f"exact/{name}": array for name, array in self.exact.items()}
        files.write_bytes(Path(path), *files.pack(arrays))

    @classmethod
    def load(cls, path: str | Path) -> FewBits:
        """What `save` wrote."""
        arrays = files.read_arrays(Path(path))
        require("words" in arrays, f"{path} holds no networks in few bits")
        names = [key.split("/", 2)[2] for key in sorted(arrays) if key.startswith("steps/")]
        steps = {key.split("/", 2)[2]: array for key, array in arrays.items() if key.startswith("steps/")}
        layout = {
            name: Layout(tuple(map(int, arrays[f"shape/{name}"])), tuple(map(int, arrays[f"rows/{name}"])))
            for name in names
        }
        rows = {name: Rows(steps[name], arrays[f"kinds/{name}"]) for name in names}
        coded = Coded(arrays["words"], arrays["frequencies"], arrays["alphabets"])
        exact = {key.partition("/")[2]: array for key, array in arrays.items() if key.startswith("exact/")}
        return cls(layout, rows, arrays["numbers"], coded, exact)


def rounded(
    matrices: Matrices, rows: Mapping[str, Rows], freedoms: Matrices, numbers: np.ndarray
) -> dict[str, Int64[np.ndarray, "n i o"]]:
    """The integers of some networks; parameters without a freedom are rounded each by itself."""
    found = {}
    for leaf, (name, weights) in enumerate(matrices.items()):
        own, inputs = rows[name], weights.shape[1]
        instead = own.drawn(numbers, leaf, weights.shape[2])
        free = freedoms.get(name)
        if free is None:
            free = np.broadcast_to(np.eye(inputs), (len(weights), inputs, inputs))
        found[name] = compensated(weights, own.sizes, free, instead)
    return found


def _renumbered(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The same rows, with classes numbered from 0 and none left out."""
    used = np.unique(np.concatenate([own.kinds[own.stored] for own in rows.values()]))
    return {
        name: Rows(
            own.steps, np.where(own.stored, np.searchsorted(used, own.kinds), own.kinds).astype(np.uint8)
        )
        for name, own in rows.items()
    }


def _classes(
    layout: Mapping[str, Layout], rows: Mapping[str, Rows], widths: Mapping[str, int], count: int
) -> np.ndarray:
    """The class of every integer of the code."""
    each = [
        np.tile(np.repeat(rows[name].kinds[rows[name].stored].astype(np.int64), widths[name]), count)
        for name in layout
    ]
    return np.concatenate(each)
