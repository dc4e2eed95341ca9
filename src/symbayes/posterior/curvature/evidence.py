"""The log evidence of a Laplace approximation, and the prior precision that it or validation data prefer.

``m`` is the mode, ``L`` its log likelihood, ``s_i`` the prior's standard deviations, ``q = |m/s|^2``, ``v_i``
the ``P`` eigenvalues of the curvature in units of ``s``, and ``p`` a factor of the prior's precision.  The
integral of the exponential of the log density is, to second order around ``m``,

    log Z = L - p q / 2 + P/2 log p - 1/2 sum_i log(v_i + p)

With a temperature, ``L`` and ``v_i`` are multiplied by the likelihood's weight ``a`` and the log prior by its
weight ``b``:

    log Z = a L + b R + P/2 log(2 pi) + sum_i log s_i - 1/2 sum_i log(a v_i + b p)
    R = P/2 log p - p q / 2 - sum_i log s_i - P/2 log(2 pi)

Where no eigenvector crosses layers, this is a sum over layers, each of which can have its own factor ``p``.

Reference: MacKay (1992), A practical Bayesian framework for backpropagation networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.data import Examples
from symbayes.posterior.curvature.slopes import AT_ONCE
from symbayes.posterior.curvature.structure import Leaves, Structure, parameters
from symbayes.posterior.numerics import compensated
from symbayes.posterior.posterior import Posterior
from symbayes.posterior.priors import normal_scales
from symbayes.pytrees import pytree
from symbayes.specs import require

FACTORS = tuple(10 ** (power / 2) for power in range(-16, 17))
"""Factors of the prior's precision that are tried, in half decades."""
SEARCH = 40
"""Steps of golden section between two of them; each leaves 0.62 of the interval."""
GOLDEN = (math.sqrt(5) - 1) / 2


def prior_scales(posterior: Posterior, own: bool) -> Leaves:
    """The standard deviations of the parameters under a normal prior, by name; where another one is tuned in
    its place, `own` being false, one for each."""
    shapes = parameters(posterior)
    params = trees.unflatten({name: jnp.zeros(shape) for name, shape in shapes.items()})["params"]
    scales = normal_scales(posterior.prior, params)
    require(
        scales is not None or not own,
        "a Laplace approximation of this posterior needs a normal prior: use one, or tune a normal prior in "
        "its place with prior_precision='evidence'",
    )
    if scales is None:
        return dict.fromkeys(shapes, jnp.ones(()))
    return {f"params/{name}": leaf for name, leaf in trees.flatten(scales).items()}


@pytree
@dataclass(frozen=True)
class Peak:
    """A mode and the curvature there: what the evidence is made of.

    Attributes:
        spectrum: of the curvature, for parameters in units of their scales.
        log_likelihood: at the mode.
        square: q, the squared norms of the varying parameters in units of their scales, a pytree like the
            eigenvalues.
        log_scales: the sum of the logarithms of these scales.
        weights: a and b, those of log likelihood and log prior.
    """

    spectrum: Any
    log_likelihood: Any
    square: Any
    log_scales: Any
    weights: Any

    @classmethod
    def of(
        cls, posterior: Posterior, structure: Structure, variables: Any, sums: Any, scales: Leaves
    ) -> Peak:
        names, flat = structure.names(posterior), trees.flatten(variables)
        squares = {name: jnp.sum(jnp.square(flat[name] / scales[name])) for name in names}
        logs = [flat[name].size * jnp.log(scales[name]) for name in names]
        spectrum = structure.spectrum(posterior, sums, scales)
        return cls(
            spectrum,
            compensated(posterior.measured_terms(variables)),
            squares if isinstance(spectrum.values, dict) else jnp.sum(jnp.stack(list(squares.values()))),
            jnp.sum(jnp.stack(logs)),
            (posterior.likelihood_weight, posterior.prior_weight),
        )

    @property
    def count(self) -> int:
        """How many parameters vary."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.spectrum.values))

    def deviations(self, factor: Any) -> Any:
        """Standard deviations along the eigenvectors, for a prior whose precision is multiplied by this: one
        number, or one for each layer by its name."""
        a, b = self.weights
        return jax.tree.map(
            lambda v, p: 1 / jnp.sqrt(a * v + b * p), self.spectrum.values, self._each(factor)
        )

    def log_evidence(self, factor: Any) -> jax.Array:
        """log Z for a prior whose precision is multiplied by this: one number, or one for each layer."""
        a, b = self.weights
        constant = (1 - b) * (self.log_scales + self.count / 2 * math.log(2 * math.pi))
        gained = self._gained(self.spectrum.values, self.square, self._each(factor))
        return a * self.log_likelihood + gained + constant

    def _each(self, factor: Any) -> Any:
        """The factor of every array of eigenvalues."""
        values = self.spectrum.values
        if isinstance(factor, dict):
            return {name: factor[layer_of(name)] for name in values}
        return jax.tree.map(lambda _: factor, values)

    def _gained(self, values: Any, squares: Any, factors: Any) -> jax.Array:
        """What some arrays of eigenvalues, and the prior of what belongs to them, add to the evidence."""
        a, b = self.weights
        arrays = list(zip(*map(jax.tree.leaves, (values, squares, factors)), strict=True))
        # Each eigenvalue against the prior alone, which is small for most: their logarithms would not add up.
        logs = jnp.concatenate([jnp.log1p(a * v / (b * p)).ravel() for v, _, p in arrays])
        prior = [v.size / 2 * (b * jnp.log(p) - jnp.log(b * p)) - b * p * q / 2 for v, q, p in arrays]
        return sum(prior[1:], prior[0]) - compensated(logs) / 2

    def tuned(self) -> jax.Array:
        """The factor with the largest evidence."""
        return _best(self.log_evidence)

    def tuned_by_layer(self) -> Any:
        """For each layer, by its name, the factor with the largest evidence; one number where the eigenvalues
        are not those of single layers."""
        values, squares = self.spectrum.values, self.square
        if not isinstance(values, dict):
            return self.tuned()

        def best(layer: str) -> jax.Array:
            own, norms = ({n: t[n] for n in t if layer_of(n) == layer} for t in (values, squares))
            return _best(lambda p: self._gained(own, norms, dict.fromkeys(own, p)))

        return {layer: best(layer) for layer in dict.fromkeys(map(layer_of, values))}


def layer_of(name: str) -> str:
    """The layer that a parameter belongs to: what stands before its own name."""
    return name.rpartition("/")[0]


def _best(evidence: Callable[[jax.Array], jax.Array]) -> jax.Array:
    """The factor with the largest evidence: the best of `FACTORS`, and golden section around it."""
    grid = jnp.log(jnp.asarray(FACTORS))

    def of_log(log: jax.Array) -> jax.Array:
        return evidence(jnp.exp(log))

    best = jnp.clip(jnp.argmax(jax.lax.map(of_log, grid)), 1, len(FACTORS) - 2)

    def narrowed(_: Any, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        better = of_log(left) > of_log(right)
        return jnp.where(better, low, left), jnp.where(better, right, high)

    low, high = jax.lax.fori_loop(0, SEARCH, narrowed, (grid[best - 1], grid[best + 1]))
    return jnp.exp((low + high) / 2)


def validated(
    posterior: Posterior, structure: Structure, peak: Peak, variables: Any, examples: Examples
) -> jax.Array:
    """The factor among `FACTORS` with the smallest loss on other examples, predicted in closed form."""
    names, flat = structure.names(posterior), trees.flatten(variables)
    factors = jnp.asarray(FACTORS)
    likelihood = posterior.likelihood

    def function(some: Leaves, x: jax.Array) -> jax.Array:
        return posterior.network.apply(trees.like(variables, flat | some), x[None])[0]

    def gains(example: tuple[jax.Array, jax.Array]) -> jax.Array:
        x, y = example
        some = {name: flat[name] for name in names}
        value = function(some, x)
        slopes = jax.jacrev(function)(some, x)
        rows = {name: leaf.reshape(value.size, *flat[name].shape) for name, leaf in slopes.items()}
        squares = jax.tree.map(jnp.square, peak.spectrum.coordinates(rows))

        def gain(factor: jax.Array) -> jax.Array:
            each = jax.tree.map(
                lambda c, d: jnp.sum(c * jnp.square(d), axis=tuple(range(1, c.ndim))),
                squares,
                peak.deviations(factor),
            )
            variance = jax.tree.reduce(jnp.add, each).reshape(value.shape)
            outputs = likelihood.marginal(value[None], variance[None])
            return likelihood.marginals.log_prob(outputs, y[None])[0]

        return jax.lax.map(gain, factors)

    with jax.default_matmul_precision("float32"):
        at_once = max(1, min(len(examples), AT_ONCE // structure.numbers(posterior)))
        given = jnp.asarray(examples.x), jnp.asarray(examples.y)
        total = jax.lax.map(gains, given, batch_size=at_once)
    return factors[jnp.argmax(jnp.mean(total, axis=0))]
