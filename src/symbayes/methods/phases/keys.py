"""Draws that differ by a random key only: the weights are fixed, and every draw has its own key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax

from symbayes.engine.phase import Left, Phase, Tick, phase
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.sample import PASS
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Resting:
    """Fixed weights, and the statistics that all draws of them share."""

    variables: Any
    statistics: dict[str, Any]


@phase
class Keys(Phase):
    """A unit is one draw: the chain's weights, and the unit's key as the statistic `key`.

    Attributes:
        units: draws of each chain.
    """

    open_ended: ClassVar[bool] = True

    units: int

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Resting:
        return Resting(left.variables, measured(posterior, left.variables))

    def gradients_per_step(self, posterior: Posterior) -> float:
        return PASS / max(1, self.units)  # one pass for all of them

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Resting, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        return chain.variables, chain.statistics | {"key": jax.random.key_data(tick.key)}
