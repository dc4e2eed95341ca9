"""The curvature at a mode, over all data, and its Gaussian.

One unit is a pass over the training data, and a step is one of the posterior's chunks.  The result is the
Laplace approximation ``N(m, H^-1)`` with ``m`` the weights of the chain and

    H = a J^T L J + b p diag(1 / s^2)

Here ``a`` and ``b`` are the weights of log likelihood and log prior in the log density (1 without a
temperature), ``s`` the prior's standard deviations, and ``p`` a factor of the prior's precision: 1, or the
one that evidence (for all weights, or for each layer by itself) or validation data prefer
(`posterior/curvature/evidence.py` has the evidence, `posterior/curvature/forms.py` the forms of the
curvature).

Reference: MacKay (1992), A practical Bayesian framework for backpropagation networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp

from symbayes.distributions import Distribution
from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.posterior import Posterior
from symbayes.posterior.curvature import STRUCTURES, Peak, layer_of, prior_scales, validated
from symbayes.posterior.curvature.structure import rows_of
from symbayes.pytrees import pytree

Form = Literal["diagonal", "kronecker", "last-layer"]
Precision = Literal["prior", "evidence", "layers", "validation"]

FACTOR = "precision_factor"
"""Statistic of the factor of the prior's precision; where each layer has one, its name follows."""


@pytree
@dataclass(frozen=True)
class Curved:
    """Where a chain is, the sums that make its curvature, and the factor of the prior's precision."""

    variables: Any
    sums: Any
    factor: Any


@phase
class Curvature(Phase):
    """The curvature at the weights of a chain, and the Gaussian with that precision.

    Attributes:
        structure: which entries of the matrix are kept.
        precision: how the prior's precision is chosen.
        validation: examples on which it is chosen, if any.
    """

    shown: ClassVar[tuple[str, ...]] = ("log_evidence",)

    @property
    def units(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 1

    structure: Form = static()
    precision: Precision = static()
    validation: Any = None

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Curved:
        zeros = STRUCTURES[self.structure].zeros(posterior, left.variables)
        names = dict.fromkeys(map(layer_of, STRUCTURES[self.structure].names(posterior)))
        by_layer = self.precision == "layers" and self.structure != "last-layer"
        return Curved(left.variables, zeros, dict.fromkeys(names, jnp.ones(())) if by_layer else jnp.ones(()))

    def steps(self, posterior: Posterior, shared: None) -> int:
        return posterior.chunks.mask.shape[0]

    def gradients_per_step(self, posterior: Posterior) -> float:
        return rows_of(posterior) / self.steps(posterior, None)

    def step(self, posterior: Posterior, shared: None, flight: Curved, tick: Tick) -> Curved:
        more = STRUCTURES[self.structure].of_chunk(posterior, flight.variables, tick.step)
        return Curved(flight.variables, jax.tree.map(jnp.add, flight.sums, more), flight.factor)

    def close(
        self, posterior: Posterior, shared: None, chain: Curved, flight: Curved, tick: Tick
    ) -> tuple[Curved, dict[str, jax.Array], None]:
        peak, factor = self._peak(posterior, flight), flight.factor
        if self.precision == "evidence":
            factor = peak.tuned()
        if self.precision == "layers":
            factor = peak.tuned_by_layer()
        if self.precision == "validation":
            structure = STRUCTURES[self.structure]
            factor = validated(posterior, structure, peak, flight.variables, self.validation)
        statistics = {"log_evidence": peak.log_evidence(factor)}
        if isinstance(factor, dict):
            statistics |= {f"{FACTOR}/{name.removeprefix('params/')}": one for name, one in factor.items()}
        else:
            statistics[FACTOR] = factor
        return Curved(flight.variables, flight.sums, factor), statistics, None

    def fit(self, posterior: Posterior, shared: None, chain: Curved) -> Distribution:
        peak = self._peak(posterior, chain)
        return peak.spectrum.distribution(chain.variables, peak.deviations(chain.factor))

    def _peak(self, posterior: Posterior, chain: Curved) -> Peak:
        scales = prior_scales(posterior, own=self.precision == "prior")
        return Peak.of(posterior, STRUCTURES[self.structure], chain.variables, chain.sums, scales)
