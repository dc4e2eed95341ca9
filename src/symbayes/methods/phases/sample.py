"""Draws from the distribution that the phase before fitted, each chain from its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from symbayes.engine.phase import Left, Phase, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree

PASS = 1 / 3
"""Cost of the statistics of a draw: a forward pass, in gradients."""


@pytree
@dataclass(frozen=True)
class Fitted:
    """The distribution of one chain, and the place of the chain when it was fitted."""

    variables: Any
    distribution: Any


@phase
class Sample(Phase):
    """Independent draws; a unit is one draw.

    Attributes:
        units: draws of each chain.
        statistics: whether those of normalisers are computed again for every draw.
    """

    open_ended: ClassVar[bool] = True

    units: int
    statistics: bool = static(default=False)

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Fitted:
        return Fitted(left.variables, left.distribution)

    def gradients_per_step(self, posterior: Posterior) -> float:
        return 2 * PASS if self.statistics else PASS

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Fitted, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        variables = chain.distribution.sample(tick.key)
        if self.statistics:
            variables = posterior.with_statistics(variables)
        return variables, measured(posterior, variables)
