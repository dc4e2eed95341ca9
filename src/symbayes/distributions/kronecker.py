"""A Gaussian over weights whose covariance factorises within each parameter: that of a Kronecker-factored
Laplace approximation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Float64

from symbayes import trees
from symbayes.brief import briefly
from symbayes.distributions.distribution import Distribution, named_arrays, named_parts
from symbayes.distributions.layout import Layout, weights_of
from symbayes.pytrees import pytree
from symbayes.trees import Variables


@briefly
@pytree
@dataclass(frozen=True, eq=False)
class Kronecker(Distribution, kind="kronecker"):
    """Parameters are independent of one another; within one, a draw is ``m + A' (d * Z) G`` with standard
    normal Z, as a matrix whose rows are some axes of the parameter and whose columns are the others.

    A and G are orthogonal: their rows are the eigenvectors of two covariances, over the inputs and over the
    outputs of a product.  Parameters without them have independent weights, ``m + d * Z``.

    Attributes:
        location: the mean m of all variables; statistics of normalisers are constants.
        inputs: A of some parameters, each with a leading axis over eigenvectors; its further axes are those
            of the parameter, with the size one for columns.
        outputs: G of the same, with the size one for rows.
        deviations: d of every parameter, of shape (eigenvectors of inputs, eigenvectors of outputs), or that
            of the parameter where it has none.
    """

    location: Variables
    inputs: Variables
    outputs: Variables
    deviations: Variables

    @property
    def mean(self) -> Variables:
        return self.location

    def sample(self, key: jax.Array) -> Variables:
        noise = trees.random_normal(key, self.deviations)
        location = jax.tree.map(jnp.asarray, self.location)
        moved = self._each(
            lambda name, leaf, d, z: leaf + from_coordinates(*self._factors(name), d * z, leaf.shape),
            weights_of(location),
            self.deviations,
            noise,
        )
        return {**location, **moved}

    def variances(self, slopes: Variables) -> jax.Array:
        def variance(name: str, slope: Any, d: Any) -> jax.Array:
            along = jnp.square(d * jax.vmap(lambda s: to_coordinates(*self._factors(name), s))(slope))
            return jnp.sum(along, axis=tuple(range(1, along.ndim)))

        return jax.tree.reduce(jnp.add, self._each(variance, slopes, self.deviations))

    def log_density(self, variables: Variables) -> Float64[np.ndarray, "*lead"]:
        layout = Layout(trees.shapes(self.location))
        away = layout.weight_vector(variables) - layout.weight_vector(self.location)
        total = np.full(away.shape[:-1], -0.5 * layout.weight_count * np.log(2 * np.pi))
        for name, d in trees.flatten(self.deviations).items():
            shape, scale = layout.shapes[name], np.asarray(d, np.float64)
            each = away[..., layout.weights[name]].reshape(-1, *shape)
            factors = self._factors(name, np.float64)
            turned = np.stack([to_coordinates(*factors, one) for one in each]) / scale
            distance = np.square(turned).reshape(len(each), -1).sum(axis=1).reshape(total.shape)
            total = total - 0.5 * distance - np.log(scale).sum()
        return np.asarray(total)

    def arrays(self) -> dict[str, np.ndarray]:
        return named_arrays(
            location=self.location, inputs=self.inputs, outputs=self.outputs, deviations=self.deviations
        )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Kronecker:
        location, *parts = named_parts(arrays, "location", "inputs", "outputs", "deviations")
        return cls(trees.variables(location), *(trees.unflatten(part) for part in parts))

    def _factors(self, name: str, dtype: DTypeLike | None = None) -> tuple[Any, Any]:
        """A and G of a parameter, or None for both."""
        pair = [trees.flatten(tree).get(name) for tree in (self.inputs, self.outputs)]
        if dtype is not None:
            pair = [None if one is None else np.asarray(one, dtype) for one in pair]
        return pair[0], pair[1]

    @staticmethod
    def _each(function: Callable[..., Any], *some: Any) -> Any:
        """A tree of what the function gives for every name and its leaves."""
        flat = [trees.flatten(tree) for tree in some]
        return trees.unflatten({name: function(name, *(tree[name] for tree in flat)) for name in flat[0]})


def to_coordinates(inputs: Any, outputs: Any, leaf: Any) -> Any:
    """``A W G'`` for a parameter as the matrix W; a parameter without factors as it is."""
    if inputs is None:
        return leaf
    rows, columns = _sides(outputs)
    matrix = leaf.transpose(*rows, *columns).reshape(inputs.shape[0], outputs.shape[0])
    a, g = inputs.reshape(inputs.shape[0], -1), outputs.reshape(outputs.shape[0], -1)
    return _product(_product(a, matrix), g.T)


def from_coordinates(inputs: Any, outputs: Any, matrix: Any, shape: tuple[int, ...]) -> Any:
    """``A' X G`` as the parameter of this shape: the inverse of `to_coordinates`."""
    if inputs is None:
        return matrix
    rows, columns = _sides(outputs)
    a, g = inputs.reshape(inputs.shape[0], -1), outputs.reshape(outputs.shape[0], -1)
    order = (*rows, *columns)
    made = _product(_product(a.T, matrix), g).reshape([shape[axis] for axis in order])
    return made.transpose([order.index(axis) for axis in range(len(shape))])


def _sides(outputs: Any) -> tuple[list[int], list[int]]:
    """The axes of a parameter that are rows, and those that are columns; of size one, either will do."""
    sizes = outputs.shape[1:]
    columns = [axis for axis, size in enumerate(sizes) if size > 1]
    return [axis for axis in range(len(sizes)) if axis not in columns], columns


def _product(a: Any, b: Any) -> Any:
    """A matrix product in the precision of its operands, of NumPy or JAX."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a @ b
    return jnp.matmul(a, b, precision="highest")


def as_factor(vectors: Any, shape: tuple[int, ...], axes: tuple[int, ...]) -> Any:
    """Eigenvectors (count, numbers in these axes) in the form of a factor of a parameter of this shape."""
    kept = [size if axis in axes else 1 for axis, size in enumerate(shape)]
    assert math.prod(kept) == vectors.shape[-1], "eigenvectors have as many numbers as their axes"
    return vectors.reshape(-1, *kept)
