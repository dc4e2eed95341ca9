"""Forms of the generalised Gauss-Newton matrix: which of its entries are kept, and its eigenvectors.

The matrix is ``H = sum over examples of J'LJ`` with J the Jacobian of the outputs in the parameters and L
minus the likelihood's second derivative in the outputs: that of the log likelihood where the network is
linear in its parameters.  Every form has its eigenvectors, once parameters are measured in units s of their
prior's standard deviation: ``s H s = U diag(values) U'``.  The posterior precision is then
``s^-1 U diag(values + p) U' s^-1`` for a prior whose precision is multiplied by any number p.

References: Schraudolph (2002), Fast curvature matrix-vector products for second-order gradient descent;
Martens & Grosse (2015), Optimizing neural networks with Kronecker-factored approximate curvature.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.distributions import Distribution
from symbayes.posterior.curvature.slopes import summed
from symbayes.posterior.numerics import Chunks, spread
from symbayes.posterior.posterior import Posterior

Leaves = dict[str, Any]
"""Arrays by name of the parameter, as in ``params/output/kernel``."""


class Spectrum(abc.ABC):
    """Eigenvectors and eigenvalues of a form; a pytree."""

    values: Any
    """Eigenvalues: a pytree of arrays."""

    @abc.abstractmethod
    def coordinates(self, slopes: Leaves) -> Any:
        """Of linear functions of the parameters (a leading axis over them), the coefficients along the
        eigenvectors: a pytree like `values`, with the leading axis."""

    @abc.abstractmethod
    def distribution(self, variables: Any, deviations: Any) -> Distribution:
        """The Gaussian around the variables with these standard deviations along the eigenvectors, a pytree
        like `values`."""


class Structure(abc.ABC):
    """A form of the matrix, for a posterior whose network has been looked at."""

    @abc.abstractmethod
    def names(self, posterior: Posterior) -> tuple[str, ...]:
        """The parameters that vary, in natural order."""

    @abc.abstractmethod
    def numbers(self, posterior: Posterior) -> int:
        """Numbers that one example takes in memory."""

    @abc.abstractmethod
    def gathered(self, posterior: Posterior, variables: Any, x: jax.Array, weight: jax.Array) -> Any:
        """What is kept of the matrix of some examples, with these weights; it is added up over examples."""

    @abc.abstractmethod
    def spectrum(self, posterior: Posterior, sums: Any, scales: Leaves) -> Spectrum:
        """That of the matrix of all examples, for parameters in these units, one number for each."""

    def neglected(self, posterior: Posterior) -> tuple[str, ...]:
        """The parameters of which less is kept than of the others; most forms treat all alike."""
        return ()

    def zeros(self, posterior: Posterior, variables: Any) -> Any:
        """The sums before the first example."""
        x, mask = posterior.chunks.x[0, :1], posterior.chunks.mask[0, :1]
        forms = jax.eval_shape(lambda v: self.gathered(posterior, v, x, mask), variables)
        return jax.tree.map(lambda form: jnp.zeros(form.shape, form.dtype), forms)

    def of_chunk(self, posterior: Posterior, variables: Any, number: Any) -> Any:
        """The sums over the examples of one chunk."""

        def gathered(variables: Any, chunks: Chunks) -> Any:
            chunk = trees.index(chunks, 0)

            def some(x: jax.Array, weight: jax.Array) -> Any:
                return self.gathered(posterior, variables, x, weight)

            def of_copy(total: Any, number: jax.Array) -> tuple[Any, None]:
                x = posterior.augmented_copy(chunk, number)
                more = summed(some, dataclasses.replace(chunk, x=x), self.numbers(posterior))
                return jax.tree.map(lambda a, b: a + b / posterior.copies, total, more), None

            if not posterior.augmentation:
                return summed(some, chunk, self.numbers(posterior))
            zeros = self.zeros(posterior, variables)
            return jax.lax.scan(of_copy, zeros, jnp.arange(posterior.copies))[0]

        one = jax.tree.map(lambda a: jax.lax.dynamic_slice_in_dim(a, number, 1), posterior.chunks)
        with jax.default_matmul_precision("float32"):
            return spread.summed(posterior.mesh, gathered, variables, one)


def rows_of(posterior: Posterior) -> int:
    """How many rows one example has in the root of the matrix: one for each output, or a few more."""
    outputs = jax.eval_shape(
        lambda key, x: posterior.network.apply(posterior.init(key), x),
        jax.random.key(0),
        posterior.chunks.x[0, :1],
    )
    root = jax.eval_shape(posterior.likelihood.curvature_root, outputs)
    return root.size // outputs.shape[-1]


def parameters(posterior: Posterior) -> dict[str, tuple[int, ...]]:
    """The shapes of all parameters, by name."""
    params = jax.eval_shape(posterior.init, jax.random.key(0))["params"]
    return {f"params/{name}": shape for name, shape in trees.shapes(params).items()}
