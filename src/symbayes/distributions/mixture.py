"""An equal mixture of distributions of one kind: what a fit to every chain is when taken together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special
from jaxtyping import Float64

from symbayes import trees
from symbayes.brief import briefly
from symbayes.distributions.distribution import (
    Distribution,
    Variables,
    dotted,
    from_arrays,
    named_parts,
    to_arrays,
)
from symbayes.pytrees import pytree
from symbayes.specs import require


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class Mixture(Distribution, kind="mixture"):
    """``p(w) = mean over c of p_c(w)``.

    Where parameters are held fixed, all components should hold the same ones: densities over different
    numbers of parameters do not add up.

    Attributes:
        components: a distribution whose leaves have a leading axis over the components, as ``jax.vmap`` of a
            fit gives.
    """

    components: Distribution

    def __post_init__(self) -> None:
        counts = {np.shape(leaf)[:1] for leaf in jax.tree.leaves(self.components)}
        require(
            len(counts) == 1 and () not in counts and (0,) not in counts,
            "all arrays of a mixture's components start with the same axis, one entry per component",
        )

    def __len__(self) -> int:
        """How many components."""
        return jax.tree.leaves(self.components)[0].shape[0]

    def __getitem__(self, number: int | jax.Array) -> Distribution:
        """One component."""
        return trees.index(self.components, number)

    @property
    def mean(self) -> Variables:
        means = jax.vmap(lambda component: component.mean)(self.components)
        return jax.tree.map(lambda leaf: jnp.mean(leaf, axis=0), means)

    def sample(self, key: jax.Array) -> Variables:
        which, within = jax.random.split(key)
        number = jax.random.randint(which, (), 0, len(self))
        return jax.tree.map(jnp.asarray, self)[number].sample(within)

    def log_density(self, variables: Variables) -> Float64[np.ndarray, "*lead"]:
        each = [self[number].log_density(variables) for number in range(len(self))]
        return np.asarray(scipy.special.logsumexp(each, axis=0) - np.log(len(self)))

    def variances(self, slopes: Variables) -> jax.Array:
        """The mean of the components' variances, and the variance of their means."""

        def moments(component: Distribution) -> tuple[jax.Array, jax.Array]:
            return dotted(slopes, component.varying), component.variances(slopes)

        means, variances = jax.vmap(moments)(jax.tree.map(jnp.asarray, self.components))
        return jnp.mean(variances, axis=0) + jnp.var(means, axis=0)

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"components/{name}": array for name, array in to_arrays(self.components).items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Mixture:
        (components,) = named_parts(arrays, "components")
        return cls(from_arrays(components))
