"""One network, without any doubt: what training to a point gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float64

from symbayes import trees
from symbayes.brief import briefly
from symbayes.distributions.distribution import Distribution, named_arrays, named_parts
from symbayes.distributions.layout import Layout
from symbayes.pytrees import pytree
from symbayes.trees import Variables


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class Delta(Distribution, kind="delta"):
    """All probability at one set of variables, `location`.

    No parameter varies, so what `log_density` gives is the log probability: 0 there, and -inf elsewhere.
    """

    location: Variables

    @property
    def mean(self) -> Variables:
        return self.location

    def sample(self, key: jax.Array) -> Variables:
        return jax.tree.map(jnp.asarray, self.location)

    def log_density(self, variables: Variables) -> Float64[np.ndarray, "*lead"]:
        layout = Layout(trees.shapes(self.location))
        same = layout.weight_vector(variables) == layout.weight_vector(self.location)
        return np.where(np.all(same, axis=-1), 0.0, -np.inf)

    def variances(self, slopes: Variables) -> jax.Array:
        return jnp.zeros(jax.tree.leaves(slopes)[0].shape[0])

    def arrays(self) -> dict[str, np.ndarray]:
        return named_arrays(location=self.location)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Delta:
        (location,) = named_parts(arrays, "location")
        return cls(trees.variables(location))
