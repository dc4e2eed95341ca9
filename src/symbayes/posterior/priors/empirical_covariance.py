"""The first layer's weights follow the covariance of its inputs.

Along directions in which the training inputs do not vary, data cannot tell the weights anything; a
prior that is narrow there keeps predictions sane when new inputs do vary along them.

Reference: Izmailov, Nicholson, Lotfi & Wilson (2021), Dangers of Bayesian model averaging under
covariate shift.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.brief import briefly
from symbayes.pytrees import pytree
from symbayes.specs import require, require_positive
from symbayes.trees import Scalar, Tree

VALUES_AT_ONCE = 2**24
"""Numbers in the patches that are unfolded at once."""


@briefly
@pytree
@dataclass(frozen=True)
class EmpiricalCovariance:
    """``N(0, alpha Cov(x) + eps I)`` along the input axis of the first kernel, for every output alike.

    Of a dense kernel (inputs, outputs), x are the training inputs, flattened; of a convolution's
    (height, width, channels, outputs), all patches of that size that lie within the images.  It is a
    prior for one kernel: put it into `PerLayer`.  A posterior fits it to its own training inputs, so a
    run records `alpha` and `eps` alone.

    The covariance is kept as ``basis diag(widths^2) basis'``: in those coordinates weights are
    independent.
    """

    alpha: Scalar = 1.0
    eps: Scalar = 1e-4
    basis: Any = field(default=None, init=False, compare=False, repr=False)
    widths: Any = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_positive(alpha=self.alpha, eps=self.eps)

    def fitted(self, params: Tree, x: ArrayLike) -> EmpiricalCovariance:
        """With the covariance of the inputs `x`, for the one kernel in `params`."""
        shapes = trees.shapes(params)
        require(
            len(shapes) == 1,
            "EmpiricalCovariance is a prior for the first kernel alone, "
            f"not for {', '.join(shapes) or 'no parameter'}: "
            'use PerLayer({"hidden1/kernel": EmpiricalCovariance(...)}, rest=Normal(...))',
        )
        ((name, shape),) = shapes.items()
        covariance = float(self.alpha) * _covariance(np.asarray(x), name, shape)
        values, basis = np.linalg.eigh(covariance)
        # Rounding may leave a vanishing eigenvalue below zero.
        widths = np.sqrt(np.maximum(values, 0) + float(self.eps))
        made = EmpiricalCovariance(self.alpha, self.eps)
        object.__setattr__(made, "basis", jnp.asarray(basis, jnp.float32))
        object.__setattr__(made, "widths", jnp.asarray(widths, jnp.float32))
        return made

    def _standard(self, kernel: Any) -> jax.Array:
        """The kernel's independent coordinates, with unit variance: (inputs, outputs)."""
        require(
            self.basis is not None,
            "EmpiricalCovariance has not seen any inputs: give it to a Posterior, or call fitted(params, x)",
        )
        columns = kernel.reshape(self.basis.shape[0], -1)
        return jnp.matmul(self.basis.T, columns, precision="highest") / self.widths[:, None]

    def log_density(self, params: Tree) -> jax.Array:
        (kernel,) = jax.tree.leaves(params)
        z = self._standard(kernel)
        log_norm = jnp.sum(jnp.log(self.widths)) + 0.5 * math.log(2 * math.pi) * len(z)
        return -0.5 * jnp.sum(z**2) - z.shape[1] * log_norm

    def log_ratio(self, new: Tree, old: Tree) -> Tree:
        """Element-wise in the independent coordinates, of the kernel's shape."""
        return jax.tree.map(
            lambda a, b: (self._standard(b - a) * self._standard(b + a) / 2).reshape(a.shape), new, old
        )

    def sample(self, key: jax.Array, params: Tree) -> Tree:
        def colour(z: jax.Array) -> jax.Array:
            columns = self.widths[:, None] * z.reshape(len(self.widths), -1)
            return jnp.matmul(self.basis, columns, precision="highest").reshape(z.shape)

        return jax.tree.map(colour, trees.random_normal(key, params))

    @property
    def standard_deviation(self) -> None:
        return None

    def deviations(self, params: Tree) -> Tree:
        variances = jnp.sum((self.basis * self.widths) ** 2, axis=1)
        return jax.tree.map(lambda leaf: jnp.sqrt(variances).reshape(*leaf.shape[:-1], 1), params)


def _covariance(x: np.ndarray, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The covariance of what a kernel of this shape multiplies."""
    require(
        _multiplies(shape, x.shape[1:]),
        f"EmpiricalCovariance is a prior for the first kernel, but {name} of shape {shape} "
        f"does not multiply inputs of shape {x.shape[1:]}",
    )
    require(
        np.issubdtype(x.dtype, np.floating) and len(x) > 1,
        f"a covariance needs at least two real inputs, not {len(x)} of {x.dtype}",
    )
    size = math.prod(shape[:-1])
    count, total, squares = 0, np.zeros(size), np.zeros((size, size))
    shift = None
    for rows in _rows(x, shape):
        # Around a mean of some rows, since sums of squares far from zero cancel.
        shift = rows.mean(axis=0) if shift is None else shift
        rows = rows - shift
        count, total, squares = count + len(rows), total + rows.sum(axis=0), squares + rows.T @ rows
    return (squares - np.outer(total, total) / count) / (count - 1)


def _multiplies(kernel: tuple[int, ...], example: tuple[int, ...]) -> bool:
    if len(kernel) == 2:
        return kernel[0] == math.prod(example)
    if not len(kernel) == len(example) + 1 == 4:
        return False
    return kernel[0] <= example[0] and kernel[1] <= example[1] and kernel[2] == example[2]


def _rows(x: np.ndarray, kernel: tuple[int, ...]) -> Iterator[np.ndarray]:
    """Inputs, or for a convolution their patches, as rows in float64, some examples at a time."""
    unfolded = math.prod(x.shape[1:3]) if len(kernel) == 4 else 1
    examples = max(1, VALUES_AT_ONCE // (math.prod(kernel[:-1]) * unfolded))
    for start in range(0, len(x), examples):
        part = x[start : start + examples].astype(np.float64)
        if len(kernel) == 4:
            part = np.lib.stride_tricks.sliding_window_view(part, kernel[:2], axis=(1, 2))
            # (image, down, across, channel, height, width): in a kernel, channels come last.
            part = np.moveaxis(part, 3, 5).reshape(math.prod(part.shape[:3]), -1)
        yield part.reshape(len(part), -1)
