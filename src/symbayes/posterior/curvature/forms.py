"""The three forms: diagonal, Kronecker-factored, and the whole matrix of the last layer.

Kronecker-factored, the matrix of a kernel is that of independent activations and slopes: with ``A`` the sum
of ``a a^T`` over examples and positions, ``G`` that of ``g g^T``, and ``M`` the number of examples times
positions,

    H = 1/M A (x) G

which is exact for a single example and position, and for a linear network.  Biases, gains and other vectors
have their whole matrix; any other parameter has its diagonal.

References: Ritter, Botev & Barber (2018), A scalable Laplace approximation for neural networks; Grosse &
Martens (2016), A Kronecker-factored approximate Fisher matrix for convolution layers; Snoek et al. (2015),
Scalable Bayesian optimization using deep neural networks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from symbayes import trees
from symbayes.distributions import Gaussian, Kronecker, LastLayer
from symbayes.distributions.kronecker import as_factor, to_coordinates
from symbayes.posterior.curvature.products import Product, products
from symbayes.posterior.curvature.slopes import Slopes, slopes
from symbayes.posterior.curvature.structure import Leaves, Spectrum, Structure, parameters, rows_of
from symbayes.posterior.numerics import in_groups
from symbayes.posterior.posterior import Posterior
from symbayes.pytrees import pytree
from symbayes.specs import require

LARGEST_VECTOR = 1024
"""Numbers of a bias up to which it has its whole matrix."""
LARGEST_LAYER = 2**13
"""Numbers of a last layer up to which its whole matrix is taken."""


def kernels_of(posterior: Posterior) -> dict[str, Product]:
    """The kernels of a posterior's network."""
    x = posterior.chunks.x
    return products(posterior.network, x.shape[2:], x.dtype)


def others_of(posterior: Posterior) -> tuple[str, ...]:
    """The parameters that are no kernels."""
    return tuple(name for name in parameters(posterior) if name not in kernels_of(posterior))


def every_slope(posterior: Posterior, variables: Any, x: jax.Array) -> Slopes:
    """Those of all parameters at some examples, with a leading axis over these."""
    kernels, others = kernels_of(posterior), others_of(posterior)
    return jax.vmap(
        lambda one: slopes(posterior.network, posterior.likelihood, variables, kernels, others, one)
    )(x)


@pytree
@dataclass(frozen=True)
class DiagonalSpectrum(Spectrum):
    """Every parameter is an eigenvector."""

    values: Leaves
    scales: Leaves

    def coordinates(self, slopes: Leaves) -> Leaves:
        return {name: self.scales[name] * slope for name, slope in slopes.items()}

    def distribution(self, variables: Any, deviations: Leaves) -> Gaussian:
        spread = {name: jnp.square(self.scales[name] * d) for name, d in deviations.items()}
        none = {name: jnp.zeros((0, *d.shape)) for name, d in deviations.items()}
        return Gaussian(variables, trees.unflatten(spread), trees.unflatten(none))


class Diagonal(Structure):
    """The diagonal of the matrix."""

    def names(self, posterior: Posterior) -> tuple[str, ...]:
        return tuple(parameters(posterior))

    def numbers(self, posterior: Posterior) -> int:
        return rows_of(posterior) * sum(math.prod(shape) for shape in parameters(posterior).values())

    def gathered(self, posterior: Posterior, variables: Any, x: jax.Array, weight: jax.Array) -> Leaves:
        each, shapes = every_slope(posterior, variables, x), parameters(posterior)
        found = {name: jnp.einsum("n,nr...->...", weight, jnp.square(s)) for name, s in each.others.items()}
        for name, product in kernels_of(posterior).items():
            rows = jnp.einsum("nti,nrto->nrio", each.activations[name], each.outputs[name])
            squares = jnp.einsum("n,nrio->io", weight, jnp.square(rows))
            found[name] = product.kernel(squares, shapes[name])
        return found

    def spectrum(self, posterior: Posterior, sums: Leaves, scales: Leaves) -> DiagonalSpectrum:
        return DiagonalSpectrum({name: h * jnp.square(scales[name]) for name, h in sums.items()}, scales)


@pytree
@dataclass(frozen=True)
class KroneckerSpectrum(Spectrum):
    """Eigenvectors are products of those of the inputs and of the outputs, as `Kronecker` has them."""

    values: Leaves
    inputs: Leaves
    outputs: Leaves
    scales: Leaves

    def coordinates(self, slopes: Leaves) -> Leaves:
        def turned(name: str, slope: Any) -> Any:
            pair = self.inputs.get(name), self.outputs.get(name)
            return jax.vmap(lambda one: to_coordinates(*pair, one))(slope)

        return {name: self.scales[name] * turned(name, slope) for name, slope in slopes.items()}

    def distribution(self, variables: Any, deviations: Leaves) -> Kronecker:
        spread = {name: self.scales[name] * d for name, d in deviations.items()}
        return Kronecker(
            variables,
            trees.unflatten(self.inputs),
            trees.unflatten(self.outputs),
            trees.unflatten(spread),
        )


class KroneckerFactored(Structure):
    """Two factors for every kernel, the whole matrix of vectors, and the diagonal of any other parameter."""

    def names(self, posterior: Posterior) -> tuple[str, ...]:
        return tuple(parameters(posterior))

    def neglected(self, posterior: Posterior) -> tuple[str, ...]:
        """Those that have no more than their diagonal."""
        shapes = parameters(posterior)
        return tuple(name for name in others_of(posterior) if not _is_vector(shapes[name]))

    def numbers(self, posterior: Posterior) -> int:
        rows, shapes = rows_of(posterior), parameters(posterior)
        kernels = kernels_of(posterior).values()
        return sum(one.positions * (one.inputs + rows * one.outputs) for one in kernels) + sum(
            rows * math.prod(shapes[name]) for name in others_of(posterior)
        )

    def gathered(self, posterior: Posterior, variables: Any, x: jax.Array, weight: jax.Array) -> Any:
        each, diagonal = every_slope(posterior, variables, x), self.neglected(posterior)
        inputs = {name: jnp.einsum("n,nti,ntj->ij", weight, a, a) for name, a in each.activations.items()}
        outputs = {name: jnp.einsum("n,nrto,nrtp->op", weight, g, g) for name, g in each.outputs.items()}
        alone = {}
        for name, rows in each.others.items():
            if name in diagonal:
                alone[name] = jnp.einsum("n,nr...->...", weight, jnp.square(rows))
            else:
                outputs[name] = jnp.einsum("n,nro,nrp->op", weight, rows, rows)
        return {"inputs": inputs, "outputs": outputs, "alone": alone}

    def spectrum(self, posterior: Posterior, sums: Any, scales: Leaves) -> KroneckerSpectrum:
        shapes, kernels = parameters(posterior), kernels_of(posterior)
        values = {name: h * jnp.square(scales[name]) for name, h in sums["alone"].items()}
        inputs, outputs = {}, {}
        for name, g in sums["outputs"].items():
            one = kernels.get(name)
            a = sums["inputs"][name] / (posterior.size * one.positions) if one else jnp.ones((1, 1))
            (of_a, by_a), (of_g, by_g) = eigen(a, posterior.mesh), eigen(g, posterior.mesh)
            values[name] = jnp.square(scales[name]) * of_a[:, None] * of_g
            rows, columns = (one.rows, one.columns) if one else ((), (0,))
            inputs[name] = as_factor(by_a, shapes[name], rows)
            outputs[name] = as_factor(by_g, shapes[name], columns)
        return KroneckerSpectrum(values, inputs, outputs, scales)


@pytree
@dataclass(frozen=True)
class LayerSpectrum(Spectrum):
    """Eigenvectors of a whole matrix, the rows of `vectors`; their entries are the layer's parameters in
    natural order."""

    values: jax.Array
    vectors: jax.Array
    scales: Leaves
    shapes: Any = field(metadata={"static": True})

    def coordinates(self, slopes: Leaves) -> jax.Array:
        flat = [self.scales[name] * slopes[name].reshape(len(slopes[name]), -1) for name, _ in self.shapes]
        return jnp.concatenate(flat, axis=1) @ self.vectors.T

    def distribution(self, variables: Any, deviations: jax.Array) -> LastLayer:
        rows, factors, begin = deviations[:, None] * self.vectors, {}, 0
        for name, shape in self.shapes:
            end = begin + math.prod(shape)
            factors[name] = self.scales[name] * rows[:, begin:end].reshape(-1, *shape)
            begin = end
        return LastLayer(variables, trees.unflatten(factors))


class WholeLastLayer(Structure):
    """The whole matrix of the layer whose product comes last: its kernel, and what stands beside it."""

    def names(self, posterior: Posterior) -> tuple[str, ...]:
        kernels = list(kernels_of(posterior))
        require(bool(kernels), "this network has no layer that is a matrix product: use structure='diagonal'")
        layer = kernels[-1].rpartition("/")[0]
        shapes = parameters(posterior)
        found = tuple(name for name in shapes if name.rpartition("/")[0] == layer)
        size = sum(math.prod(shapes[name]) for name in found)
        require(
            size <= LARGEST_LAYER,
            f"the last layer has {size:,} weights, too many for a whole matrix: use structure='kronecker'",
        )
        return found

    def numbers(self, posterior: Posterior) -> int:
        shapes = parameters(posterior)
        layer = sum(math.prod(shapes[name]) for name in self.names(posterior))
        return rows_of(posterior) * layer

    def gathered(self, posterior: Posterior, variables: Any, x: jax.Array, weight: jax.Array) -> jax.Array:
        names = self.names(posterior)
        each = jax.vmap(
            lambda one: slopes(posterior.network, posterior.likelihood, variables, {}, names, one)
        )(x).others
        rows = jnp.concatenate([each[name].reshape(*each[name].shape[:2], -1) for name in names], axis=-1)
        return jnp.einsum("n,nri,nrj->ij", weight, rows, rows)

    def spectrum(self, posterior: Posterior, sums: jax.Array, scales: Leaves) -> LayerSpectrum:
        shapes = parameters(posterior)
        own = tuple((name, shapes[name]) for name in self.names(posterior))
        units = jnp.concatenate([jnp.full(math.prod(shape), scales[name]) for name, shape in own])
        values, vectors = eigen(units[:, None] * sums * units, posterior.mesh)
        return LayerSpectrum(values, vectors, scales, own)


def _is_vector(shape: tuple[int, ...]) -> bool:
    return len(shape) == 1 and shape[0] <= LARGEST_VECTOR


def eigen(matrix: jax.Array, mesh: Mesh | None) -> tuple[jax.Array, jax.Array]:
    """Eigenvalues, none below zero, and eigenvectors as rows.

    Chains go one after another: with jax 0.10 on a CPU, two batches of matrices at the same time wait for one
    another for ever.
    """

    def one(matrix: jax.Array) -> tuple[jax.Array, jax.Array]:
        values, vectors = jnp.linalg.eigh(matrix)
        return jnp.maximum(values, 0.0), vectors.T

    return in_groups(one, 1, mesh)(matrix)


STRUCTURES: dict[str, Structure] = {
    "diagonal": Diagonal(),
    "kronecker": KroneckerFactored(),
    "last-layer": WholeLastLayer(),
}
