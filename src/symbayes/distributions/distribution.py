"""What a distribution over the variables of a network is, whatever its kind.

A distribution is a frozen dataclass that is a pytree, so a method can fit one per chain inside a compiled
program: ``jax.vmap`` over the fit gives one distribution whose leaves have a leading chain axis, and
``jax.vmap`` over `sample` draws from each.

On disk it is arrays by name.  The kind is the first part of every name, as in
``gaussian/location/params/l1/kernel``, and kinds nest: ``mixture/components/gaussian/...``.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import safetensors
from jaxtyping import Float64

from symbayes import trees
from symbayes.distributions.layout import weights_of
from symbayes.draws import Draws, files
from symbayes.specs import did_you_mean, require, require_counts
from symbayes.trees import Tree, Variables

KINDS: dict[str, type[Distribution]] = {}
"""Every kind by its name; a class enters when it is defined."""


class Distribution(abc.ABC):
    """A law of the variables of a network; `KINDS` has every kind."""

    kind: ClassVar[str]

    def __init_subclass__(cls, kind: str) -> None:
        cls.kind = kind
        KINDS[kind] = cls

    @property
    @abc.abstractmethod
    def mean(self) -> Variables:
        """The mean network."""

    @abc.abstractmethod
    def sample(self, key: jax.Array) -> Variables:
        """One draw; may be traced, under ``jit`` and ``vmap`` too."""

    @abc.abstractmethod
    def log_density(self, variables: Tree) -> Float64[np.ndarray, "*lead"]:
        """The log density (nats) of the parameters of each of the variables, which may have leading axes.

        It is computed on the host, in float64.  Parameters that the distribution holds fixed take no part in
        it: where they differ, the density is zero.
        """

    @property
    def varying(self) -> Variables:
        """The parameters that are not held fixed, at the mean."""
        return weights_of(self.mean)

    @abc.abstractmethod
    def variances(self, slopes: Variables) -> jax.Array:
        """The variances of linear functions of the parameters, (n,), whose coefficients are a tree like
        `varying` with a leading axis over them; may be traced."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """All that `from_arrays` needs, by name; the kind is not in the names."""

    @classmethod
    @abc.abstractmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Distribution:
        """The distribution with these `arrays`."""

    def draws(self, key: jax.Array, n: int, first: int = 0) -> Draws:
        """`n` draws in one chain, from the draw of number `first` on.

        Draw i depends on the key and on i alone, not on `n`: it is ``sample(fold_in(key, i))``.
        """
        require_counts(n=n)
        require_counts(least=0, first=first)
        placed = jax.device_put(self)
        each = [jax.device_get(_numbered(placed, key, i)) for i in range(first, first + n)]
        return Draws.from_variables(jax.tree.map(lambda *leaves: np.stack(leaves)[None], *each))

    def save(self, path: str | Path) -> None:
        """One safetensors file, whole or not at all; an existing one is not overwritten."""
        files.require_new(Path(path))
        files.write_bytes(Path(path), *files.pack(to_arrays(self)))


# One program for all draws of a distribution, so that their number changes no bit of any.
@jax.jit
def _numbered(distribution: Distribution, key: jax.Array, number: int | jax.Array) -> Variables:
    return distribution.sample(jax.random.fold_in(key, number))


def to_arrays(distribution: Distribution) -> dict[str, np.ndarray]:
    """The arrays of a distribution of any kind, by names that begin with the kind."""
    return {f"{distribution.kind}/{name}": array for name, array in distribution.arrays().items()}


def from_arrays(arrays: Mapping[str, np.ndarray]) -> Distribution:
    """What `to_arrays` gave, rebuilt."""
    kinds = {name.partition("/")[0] for name in arrays}
    require(len(kinds) == 1, f"the names of a distribution's arrays begin with one kind, not {len(kinds)}")
    (kind,) = kinds
    known = ", ".join(sorted(KINDS))
    require(kind in KINDS, f"unknown kind {kind!r}{did_you_mean(kind, KINDS)}: known here are {known}")
    return KINDS[kind].from_arrays({name.partition("/")[2]: array for name, array in arrays.items()})


def load(path: str | Path) -> Distribution:
    """What `Distribution.save` wrote, of any kind."""
    try:
        return from_arrays(files.read_arrays(Path(path)))
    except (safetensors.SafetensorError, ValueError) as error:
        raise ValueError(f"{path} holds no whole distribution ({error}): save it again") from error


def dotted(slopes: Variables, variables: Variables) -> jax.Array:
    """Linear functions of variables, whose coefficients have a leading axis over them."""

    def each(slope: Any, leaf: Any) -> jax.Array:
        return jnp.tensordot(slope, leaf, jnp.ndim(leaf), precision="highest")

    return jax.tree.reduce(jnp.add, jax.tree.map(each, slopes, variables))


def named_arrays(**parts: Any) -> dict[str, np.ndarray]:
    """The leaves of some trees, each name beginning with the tree's."""
    return {
        f"{part}/{name}": np.asarray(leaf)
        for part, tree in parts.items()
        for name, leaf in trees.flatten(tree).items()
    }


def named_parts(arrays: Mapping[str, np.ndarray], *parts: str) -> list[dict[str, np.ndarray]]:
    """The leaves by name of each of these trees, as `named_arrays` named them."""
    found: dict[str, dict[str, np.ndarray]] = {part: {} for part in parts}
    for name in sorted(arrays, key=trees.path_key):
        part, _, leaf = name.partition("/")
        require(part in found, f"the array {name!r} belongs to none of {', '.join(parts)}")
        found[part][leaf] = arrays[name]
    for part, leaves in found.items():
        require(bool(leaves), f"there is no array {part}/...")
    return list(found.values())
