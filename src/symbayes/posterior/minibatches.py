"""What a posterior tells from a part of its data: estimates from mini-batches, in training mode.

Here augmentation is drawn: the inputs of every mini-batch are changed at random, by its key.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.sharding import Mesh

from symbayes.data.augmentations import augmented
from symbayes.networks import Network
from symbayes.networks.statistics import BATCH, batch_statistics, has_statistics, momenta_of
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.numerics import (
    Chunks,
    chains_at_once,
    in_bfloat16,
    in_groups,
    quick_convolutions,
    spread,
)
from symbayes.posterior.priors import Prior
from symbayes.trees import Tree, Variables

Tempers = Literal["posterior", "likelihood"]

Precision = Literal["float32", "tf32", "bf16"]
MATMUL = {"float32": "float32", "tf32": "tensorfloat32", "bf16": "float32"}

AUGMENTED = 2**31
"""Stream of augmentation under the key of a mini-batch: networks count theirs from 0 on."""


class Minibatches:
    """Network, likelihood, prior, data and temperature, as estimates from mini-batches need them."""

    network: Network
    likelihood: Likelihood
    prior: Prior
    chunks: Chunks
    temperature: jax.Array
    tempers: Tempers
    precision: Precision
    augmentation: tuple[str, ...]
    size: int
    mesh: Mesh | None

    @property
    def likelihood_weight(self) -> jax.Array:
        """What multiplies the log likelihood in the log density."""
        return 1 / self.temperature

    @property
    def prior_weight(self) -> jax.Array | float:
        """What multiplies the log prior in the log density."""
        return 1 / self.temperature if self.tempers == "posterior" else 1.0

    def _for_gradients(self, function: Callable[..., Any]) -> Callable[..., Any]:
        function = quick_convolutions(function)
        return in_bfloat16(function) if self.precision == "bf16" else function

    def _for_many(self, function: Callable[..., Any], examples: int) -> Callable[..., Any]:
        """`function` of so many examples, under vmap of as many chains at once as is quick and fits."""
        shape, dtype = self.chunks.x.shape[2:], self.chunks.x.dtype
        return in_groups(function, chains_at_once(self.network, shape, dtype, examples), self.mesh)

    def minibatch_log_density(
        self, variables: Variables, rows: jax.Array, key: jax.Array, *, prior: bool = True
    ) -> tuple[jax.Array, Variables]:
        """An unbiased estimate of the log density from some rows, in training mode; and the new
        statistics.

        ``N/B sum_{i in rows} log p(y_i | w) + log p(w)``, tempered, for B rows drawn evenly; without the
        second term where the prior is left out.
        """
        apply = self.network.apply_train
        likelihood, stats = self._minibatch_likelihood(apply, variables, rows, key)
        if not prior:
            return likelihood, stats
        return likelihood + self.prior_weight * self.prior.log_density(variables["params"]), stats

    def _minibatch_likelihood(
        self,
        outputs: Callable[..., tuple[jax.Array, Tree]],
        arguments: Any,
        rows: jax.Array,
        key: jax.Array,
        several: bool = False,
    ) -> tuple[jax.Array, Any]:
        x, y = self._taken(rows, key)
        with jax.default_matmul_precision(MATMUL[self.precision]):
            made, stats = self._for_gradients(outputs)(arguments, x, key)
        log_prob = self.likelihood.log_prob
        each = jax.vmap(lambda made: log_prob(made, y))(made) if several else log_prob(made, y)
        return self.likelihood_weight * self.size * jnp.mean(each), stats

    def _taken(self, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The examples with these numbers, their inputs augmented by the key."""
        x, y = spread.taken(self.mesh, self.chunks, rows)
        if not self.augmentation:
            return x, y
        keys = jax.random.split(jax.random.fold_in(key, AUGMENTED), len(rows))
        return augmented(self.augmentation, keys, x), y

    def minibatch_gradient(
        self, variables: Variables, rows: jax.Array, key: jax.Array, *, prior: bool = True
    ) -> tuple[Tree, jax.Array, Variables]:
        """The gradient of that estimate in the parameters, the estimate, and the new statistics."""
        function = functools.partial(Minibatches._minibatch_gradient, prior=prior)
        return self._for_many(function, len(rows))(self, variables, rows, key)

    def _minibatch_gradient(
        self, variables: Variables, rows: jax.Array, key: jax.Array, *, prior: bool
    ) -> tuple[Tree, jax.Array, Variables]:
        def log_density(params: Any) -> tuple[jax.Array, Variables]:
            return self.minibatch_log_density({**variables, "params": params}, rows, key, prior=prior)

        (value, stats), gradient = jax.value_and_grad(log_density, has_aux=True)(variables["params"])
        return gradient, value, stats

    def with_statistics(self, variables: Variables) -> Variables:
        """The same weights with the statistics of normalisers that the training inputs have there: the mean
        over mini-batches, as for weights that were never trained."""
        if not has_statistics(variables):
            return variables
        return self._for_many(Minibatches._with_statistics, min(BATCH, self.size))(self, variables)

    def _with_statistics(self, variables: Variables) -> Variables:
        size = min(BATCH, self.size)
        count = self.size // size
        apply_train = self._for_gradients(self.network.apply_train)

        def batch(number: Any) -> tuple[jax.Array, jax.Array]:
            rows = number * size + jnp.arange(size)
            key = jax.random.key(number)
            return self._taken(rows, key)[0], key

        def add(number: Any, total: Any) -> Any:
            own = batch_statistics(apply_train, variables, *batch(number), momenta)
            return jax.tree.map(jnp.add, total, own)

        with jax.default_matmul_precision(MATMUL[self.precision]):
            momenta = momenta_of(apply_train, variables, *batch(0))
            zero = jax.tree.map(jnp.zeros_like, variables["stats"])
            total = jax.lax.fori_loop(0, count, add, zero)
        return {**variables, "stats": jax.tree.map(lambda leaf: leaf / count, total)}

    def with_statistics_of(self, variables: Variables, rows: jax.Array, key: jax.Array) -> Variables:
        """The same weights with the statistics of normalisers that one mini-batch has there."""
        return self._for_many(Minibatches._with_statistics_of, len(rows))(self, variables, rows, key)

    def _with_statistics_of(self, variables: Variables, rows: jax.Array, key: jax.Array) -> Variables:
        given = (self._for_gradients(self.network.apply_train), variables, self._taken(rows, key)[0], key)
        with jax.default_matmul_precision(MATMUL[self.precision]):
            return {**variables, "stats": batch_statistics(*given, momenta_of(*given))}

    def likelihood_gradient(
        self,
        outputs: Callable[..., tuple[jax.Array, Tree]],
        moving: Tree,
        fixed: Tree,
        rows: jax.Array,
        key: jax.Array,
        *,
        several: bool = False,
    ) -> tuple[Tree, jax.Array, Tree]:
        """The gradient, in `moving`, of the log likelihood's estimate from some rows, tempered; the estimate,
        and the new statistics.

        ``outputs((moving, fixed), x, key)`` gives outputs and statistics, as a network does in training; it
        is a plain function that holds no arrays of its own.  Where there are `several` outputs for each
        example, on a leading axis, the log likelihood is their mean.
        """

        def gradient(
            posterior: Minibatches, moving: Tree, fixed: Tree, rows: jax.Array, key: jax.Array
        ) -> Any:
            def likelihood(moving: Any) -> tuple[jax.Array, Any]:
                return posterior._minibatch_likelihood(outputs, (moving, fixed), rows, key, several)

            (value, stats), slope = jax.value_and_grad(likelihood, has_aux=True)(moving)
            return slope, value, stats

        return self._for_many(gradient, len(rows))(self, moving, fixed, rows, key)
