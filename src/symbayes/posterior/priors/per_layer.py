"""Another prior for each layer, by the names of parameters."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.brief import briefly
from symbayes.posterior.priors.normal import Normal
from symbayes.posterior.priors.prior import Prior
from symbayes.specs import require
from symbayes.trees import Tree


@briefly
@jax.tree_util.register_pytree_with_keys_class
@dataclass(frozen=True)
class PerLayer:
    """Each parameter has the prior of the first pattern that matches its name, else `rest`.

    Names are paths below ``params``, such as ``"hidden1/kernel"``; patterns are those of a shell, so
    ``"*/bias"`` means all biases.  A pattern that decides no parameter is refused.

        PerLayer({"hidden1/kernel": Laplace(0.1), "*/bias": Normal(1.0)}, rest=Normal(0.3))

    Attributes:
        layers: priors by pattern, in the order in which they are tried; kept as pairs.
        rest: the prior of all other parameters.
    """

    layers: Any
    rest: Any

    def __post_init__(self) -> None:
        pairs = self.layers.items() if isinstance(self.layers, Mapping) else self.layers
        pairs = tuple((pattern, prior) for pattern, prior in pairs)
        object.__setattr__(self, "layers", pairs)
        for pattern, prior in (*pairs, ("rest", self.rest)):
            require(
                isinstance(pattern, str) and isinstance(prior, Prior),
                f"PerLayer takes priors by patterns of names, not {prior!r} for {pattern!r}",
            )

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], tuple[str, ...]]:
        patterns = tuple(pattern for pattern, _ in self.layers)
        children = [(jax.tree_util.DictKey(pattern), prior) for pattern, prior in self.layers]
        return (*children, (jax.tree_util.GetAttrKey("rest"), self.rest)), patterns

    @classmethod
    def tree_unflatten(cls, patterns: tuple[str, ...], children: Any) -> PerLayer:
        *priors, rest = children
        self = object.__new__(cls)
        object.__setattr__(self, "layers", tuple(zip(patterns, priors, strict=True)))
        object.__setattr__(self, "rest", rest)
        return self

    def _named(self, names: list[str]) -> list[list[str]]:
        """The names that each prior decides, `rest` last."""
        left, decided = list(names), []
        for pattern, _ in self.layers:
            decided.append([name for name in left if fnmatch.fnmatchcase(name, pattern)])
            left = [name for name in left if name not in decided[-1]]
            require(
                bool(decided[-1]),
                f"the pattern {pattern!r} matches no parameter that an earlier one has left: "
                f"there are {', '.join(names)}",
            )
        return [*decided, left]

    def _parts(self, *params: Tree) -> list[tuple[Any, list[Any]]]:
        """Every prior with its share of each tree; the share of `rest` may be empty."""
        flat = [trees.flatten(tree) for tree in params]
        priors = [prior for _, prior in self.layers]
        return [
            (prior, [trees.unflatten({name: tree[name] for name in names}) for tree in flat])
            for prior, names in zip([*priors, self.rest], self._named(list(flat[0])), strict=True)
        ]

    def fitted(self, params: Tree, x: ArrayLike) -> PerLayer:
        *priors, rest = (prior.fitted(part, x) if part else prior for prior, (part,) in self._parts(params))
        patterns = (pattern for pattern, _ in self.layers)
        return PerLayer(tuple(zip(patterns, priors, strict=True)), rest)

    def log_density(self, params: Tree) -> jax.Array:
        parts = [prior.log_density(part) for prior, (part,) in self._parts(params) if part]
        return jnp.sum(jnp.stack(parts))

    def log_ratio(self, new: Tree, old: Tree) -> Tree:
        return _joined([prior.log_ratio(a, b) for prior, (a, b) in self._parts(new, old) if a])

    def sample(self, key: jax.Array, params: Tree) -> Tree:
        return _joined(
            [
                prior.sample(jax.random.fold_in(key, i), part)
                for i, (prior, (part,)) in enumerate(self._parts(params))
                if part
            ]
        )

    @property
    def standard_deviation(self) -> None:
        """None: layers may differ, and `deviations` has each."""
        return None

    def deviations(self, params: Tree) -> Tree:
        parts = [prior.deviations(part) for prior, (part,) in self._parts(params) if part]
        return None if any(part is None for part in parts) else _joined(parts)


def normal_scales(prior: Prior, params: Tree) -> Tree:
    """The standard deviations of parameters all of which have a normal prior, each leaf broadcasting to the
    parameters'; None where one has another."""
    if isinstance(prior, Normal):
        return prior.deviations(params)
    if not isinstance(prior, PerLayer):
        return None
    parts = [normal_scales(law, part) for law, (part,) in prior._parts(params) if part]
    return None if any(part is None for part in parts) else _joined(parts)


def _joined(parts: list[Any]) -> dict[str, Any]:
    """One tree of all the leaves."""
    return trees.unflatten({name: leaf for part in parts for name, leaf in trees.flatten(part).items()})
