"""What is conditioned on: examples, and a named dataset with its three parts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from symbayes.brief import briefly
from symbayes.data.names import cut, readable
from symbayes.data.rows import as_array
from symbayes.pytrees import pytree
from symbayes.specs import Record, Recorded


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class Examples:
    """Inputs and what belongs to them, along one leading axis.

    `x` is float32 (images: n, height, width, channels in [0, 1]; tables: n, features) or int32
    (tokens: n, length); `y` is int32 labels (n,) or float32 targets (n, d), with positions between
    where each example has many: labels (n, ...), targets (n, ..., d).  Being a pytree, it may hold
    tracers, so it checks nothing itself: `validate` does, once, where data is read.  Lists and tables become
    arrays.
    """

    x: Any
    y: Any

    def __post_init__(self) -> None:
        for name in ("x", "y"):
            object.__setattr__(self, name, _array(name, getattr(self, name)))

    def __len__(self) -> int:
        return int(self.x.shape[0])

    def __getitem__(self, where: slice | np.ndarray | jax.Array) -> Examples:
        if not isinstance(where, slice | np.ndarray | jax.Array):
            raise TypeError(f"examples are taken by a slice or an index array, not {type(where).__name__}")
        if not isinstance(where, slice) and where.ndim != 1:
            raise ValueError(f"an index array has one axis, not {where.ndim}")
        return Examples(self.x[where], self.y[where])

    def checksum(self) -> str:
        """SHA-256 over dtype, shape and bytes of `x` and `y`: the same in every process."""
        digest = hashlib.sha256()
        for array in (self.x, self.y):
            plain = np.ascontiguousarray(np.asarray(array))
            plain = plain.astype(plain.dtype.newbyteorder("<"), copy=False)
            digest.update(f"{plain.dtype.str} {tuple(map(int, plain.shape))};".encode())
            digest.update(plain.data)
        return digest.hexdigest()


def _array(name: str, values: Any) -> Any:
    """A list, or a table or column of pandas, as an array of 32 bits; anything else as it is."""
    if isinstance(values, list | tuple):
        values = as_array(name, values)
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    else:
        return values
    narrow = {"f": np.float32, "i": np.int32, "u": np.int32, "b": np.int32}
    return values.astype(narrow[values.dtype.kind]) if values.dtype.kind in narrow else values


def validate(x: np.ndarray, y: np.ndarray, classes: int | None) -> Examples:
    """The examples, or a ValueError that says what is wrong with them.

    `classes` is the number of labels, None for regression.
    """
    if x.ndim < 2 or x.dtype not in (np.float32, np.int32):
        raise ValueError(f"x must be float32 or int32 with two axes or more, not {x.dtype} {x.shape}")
    if len(x) != len(y):
        raise ValueError(f"x has {len(x)} examples but y has {len(y)}")
    if x.dtype == np.float32 and not np.isfinite(x).all():
        raise ValueError("x holds values that are not finite")
    if x.ndim == 4 and x.size and not (x.min() >= 0 and x.max() <= 1):
        raise ValueError(f"images must lie in [0, 1], not [{x.min()}, {x.max()}]")
    if classes is None:
        if y.ndim < 2 or y.dtype != np.float32:
            raise ValueError(f"regression targets must be float32 (n, ..., d), not {y.dtype} {y.shape}")
        if not np.isfinite(y).all():
            raise ValueError("y holds values that are not finite")
    else:
        if y.ndim != 1 or y.dtype != np.int32:
            raise ValueError(f"labels must be int32 (n,), not {y.dtype} {y.shape}")
        if y.size and not (y.min() >= 0 and y.max() < classes):
            raise ValueError(f"labels must lie in 0..{classes - 1}, not {y.min()}..{y.max()}")
    return Examples(x, y)


def images(pixels: np.ndarray, labels: np.ndarray, classes: int) -> Examples:
    """Examples from bytes: uint8 (n, h, w) or (n, h, w, c) to float32 (n, h, w, c) in [0, 1]."""
    if pixels.dtype != np.uint8 or pixels.ndim not in (3, 4):
        raise ValueError(f"pixels must be uint8 (n, h, w) or (n, h, w, c), not {pixels.dtype} {pixels.shape}")
    x = pixels.astype(np.float32)
    x /= np.float32(255)
    return validate(x[..., None] if x.ndim == 3 else x, labels.astype(np.int32), classes)


@briefly
@dataclass(frozen=True, eq=False)
class Scaling:
    """A standardisation ``z = (a - mean) / scale``, kept so that it can be undone."""

    mean: np.ndarray
    scale: np.ndarray

    def apply(self, a: np.ndarray) -> np.ndarray:
        return ((a - self.mean) / self.scale).astype(np.float32)

    def undo(self, z: np.ndarray) -> np.ndarray:
        """Back to the original units."""
        return z * self.scale + self.mean

    def record(self) -> dict[str, list[float]]:
        """As JSON."""
        return {"mean": np.ravel(self.mean).tolist(), "scale": np.ravel(self.scale).tolist()}

    @classmethod
    def read(cls, recorded: Recorded) -> Scaling:
        """From what `record` gave."""
        return cls(np.array(recorded["mean"]), np.array(recorded["scale"]))


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named dataset with fixed parts; a part that its source does not have is empty.

    `classes` is None for regression.  Where inputs and targets were standardised, `input_scaling`
    and `target_scaling` say how: an RMSE times ``target_scaling.scale`` is in the original units.
    `vocabulary` is the number of tokens where the inputs are texts.  `columns` are those of the table
    from which the inputs were made, and `targets` the names of the targets, where they are known.
    `loadable` is true if the name alone loads the dataset again.
    """

    name: str
    train: Examples
    validation: Examples
    test: Examples
    classes: int | None
    class_names: tuple[str, ...]
    description: str
    input_scaling: Scaling | None = None
    target_scaling: Scaling | None = None
    vocabulary: int | None = None
    columns: tuple[Any, ...] = ()
    targets: tuple[str, ...] = ()
    loadable: bool = True

    def __repr__(self) -> str:
        kind = "regression" if self.classes is None else f"{self.classes} classes"
        parts = {"train": self.train, "validation": self.validation, "test": self.test}
        sizes = ", ".join(f"{len(part):,} {name}" for name, part in parts.items() if len(part))
        return f"Dataset({readable(self.name)!r}: {kind}, inputs {tuple(self.test.x.shape[1:])}, {sizes})"

    @property
    def about(self) -> Record:
        """What a run notes of its data, so that it can be found again and predictions be read."""
        from symbayes.data.columns import Preparation  # which needs the scaling above

        named = {"data": self.name} if self.loadable else {"title": self.name}
        return {**named, "preparation": Preparation.of(self).record()}

    @property
    def short_name(self) -> str:
        """The name; of a file without its folder and its columns, as in ``houses`` or ``houses:split=1``."""
        if not self.columns or not self.loadable:
            return self.name
        file, rest = cut(self.name)
        file = file.rpartition("/")[2]
        kept = [option for option in rest.split(",") if not option.startswith(("target=", "drop=", "task="))]
        return ":".join([file.partition(".")[0], *([",".join(kept)] if any(kept) else [])])

    @property
    def sizes(self) -> Record:
        """What a network for this dataset is made with: its outputs (their shape, where they have
        positions), and for texts the vocabulary."""
        shape = tuple(map(int, self.test.y.shape[1:])) + (() if self.classes is None else (self.classes,))
        outputs = {"outputs": shape[0] if len(shape) == 1 else shape}
        return outputs if self.vocabulary is None else outputs | {"vocabulary": self.vocabulary}

    def limited(self, examples: int | None = None, test_examples: int | None = None) -> Dataset:
        """The same with so many of the first training examples, and of the first test examples."""
        train = self.train[: _count("examples", examples, len(self.train))]
        test = self.test[: _count("test_examples", test_examples, len(self.test))]
        return replace(self, train=train, test=test)


def _count(name: str, wanted: int | None, there: int) -> int:
    if wanted is not None and not 1 <= wanted <= there:
        raise ValueError(f"{name} must lie in 1..{there}, not {wanted}")
    return there if wanted is None else wanted


def hold_out(full: Examples, validation: int) -> tuple[Examples, Examples]:
    """Train and validation parts: the last `validation` examples are held out."""
    if not 0 <= validation <= len(full):
        raise ValueError(f"validation must lie in 0..{len(full)}, not {validation}")
    cut = len(full) - validation
    return full[:cut], full[cut:]
