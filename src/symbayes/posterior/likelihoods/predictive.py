"""What many draws predict at the same inputs, whatever the kind of target.

Everything that depends on the kind is asked of the predictive: which metrics apply, its loss, how it is cut
in halves, accumulated and drawn, and which figures show it.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import jax
import numpy as np
from numpy.typing import ArrayLike

from symbayes.data import Scaling
from symbayes.evaluate.metric import Kind
from symbayes.specs import require_probability
from symbayes.trees import Tree

P = TypeVar("P", bound="Predictive")


@runtime_checkable
class Running(Protocol):
    """A predictive that is accumulated over blocks of draws: a frozen dataclass of arrays and numbers."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def update(self, block: Tree) -> Running:
        """Take in a block of what the likelihood predicts, all leading axes being draws."""
        ...

    def finish(self) -> Tree:
        """A frozen dataclass of arrays: the mean prediction and its uncertainty."""
        ...


class Predictive(ABC):
    """The predictions of all draws, kept apart.

    Arrays of every draw have axes (chain, draw, example, ..., k), with positions, if the outputs have any,
    between example and class or output.
    """

    kind: ClassVar[Kind]
    """The word by which METRICS tells which rows apply."""

    @property
    @abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """What the predictive is made of, each with leading axes (chain, draw)."""

    @property
    @abstractmethod
    def every(self) -> np.ndarray:
        """What every draw says: probabilities, or means, (chain, draw, example, ..., k)."""

    @functools.cached_property
    @abstractmethod
    def mean(self) -> np.ndarray:
        """The prediction, averaged over draws: (example, ..., k)."""

    @property
    @abstractmethod
    def uncertainty(self) -> np.ndarray:
        """How unsure each example is, averaged over positions: (example,)."""

    @property
    @abstractmethod
    def doubt(self) -> np.ndarray:
        """The score by which out-of-distribution inputs are told, averaged over positions: (example,)."""

    @property
    @abstractmethod
    def figures(self) -> tuple[str, ...]:
        """Names of the figures that show it."""

    @abstractmethod
    def losses(self, y: ArrayLike) -> np.ndarray:
        """Negative log probability of the targets, averaged over positions: (example,), in nats.

        Their mean is the metric NLL.
        """

    @abstractmethod
    def quantile(self, q: float) -> np.ndarray:
        """Where probability `q` lies below: of a real target, or of a class's probability among the draws."""

    @abstractmethod
    def described(self, level: float = 0.9) -> dict[str, np.ndarray]:
        """What is told of each example, by name: the prediction, how unsure it is, and an interval."""

    @abstractmethod
    def sample(self, key: jax.Array | int, n: int) -> np.ndarray:
        """Targets drawn from the predictive, with leading axis n; each takes one draw for all examples.

        `key` is a key of JAX, or a seed.
        """

    @abstractmethod
    def sample_each(self, key: jax.Array | int) -> np.ndarray:
        """One target of every draw and example: (chain, draw, example, ...)."""

    def interval(self, level: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of the central interval of probability `level`, by `quantile`: each (example, ..., k)."""
        require_probability(level=level)
        return self.quantile((1 - level) / 2), self.quantile((1 + level) / 2)

    @abstractmethod
    def unscaled(self: P, scaling: Scaling) -> P:
        """The same in the targets' units before they were standardised."""

    @property
    def count(self) -> int:
        """How many draws, of all chains."""
        return self.every.shape[0] * self.every.shape[1]

    @property
    def examples(self) -> int:
        return self.every.shape[2]

    @property
    def positions(self) -> tuple[int, ...]:
        """The axes between example and class or output; none for most networks."""
        return self.every.shape[3:-1]

    @property
    def each(self) -> np.ndarray:
        """What every draw says, with one axis over the draws of all chains: (s, example, ..., k)."""
        return self.every.reshape(-1, *self.every.shape[2:])

    @property
    def quantities(self) -> np.ndarray:
        """What every draw says as (chain, draw, quantity), for R-hat in function space."""
        return self.every.reshape(*self.every.shape[:2], -1)

    def of_draws(self: P, cut: Callable[[np.ndarray], np.ndarray]) -> P:
        """The predictive of other draws: `cut` takes each array with its leading axes (chain, draw)."""
        return type(self)(**{name: cut(array) for name, array in self.arrays.items()})

    def of_examples(self: P, which: np.ndarray) -> P:
        """The predictive at some of the inputs."""
        return self.of_draws(lambda array: array[:, :, which])

    def halves(self: P) -> tuple[P, P] | None:
        """Those of two halves of the chains, or of the draws of a single chain; None for a single draw."""
        axis = 0 if self.every.shape[0] > 1 else 1
        size = self.every.shape[axis]
        if size < 2:
            return None
        first, second = slice(0, size // 2), slice(size // 2, size)
        if axis == 0:
            return self.of_draws(lambda a: a[first]), self.of_draws(lambda a: a[second])
        return self.of_draws(lambda a: a[:, first]), self.of_draws(lambda a: a[:, second])

    def singles(self: P) -> Iterator[P]:
        """Those of every draw by itself, chain after chain."""
        for c, d in np.ndindex(self.every.shape[:2]):
            yield self.of_draws(lambda a, c=c, d=d: a[c : c + 1, d : d + 1])


def as_key(key: jax.Array | int) -> jax.Array:
    """A key of JAX, made from a seed where that is given."""
    return jax.random.key(key) if isinstance(key, int) else key


def joined(parts: Sequence[P]) -> P:
    """The predictive of all draws of predictives with equally many chains, at the same inputs."""
    first = parts[0]
    return type(first)(
        **{name: np.concatenate([part.arrays[name] for part in parts], axis=1) for name in first.arrays}
    )
