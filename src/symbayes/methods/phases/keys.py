"""Draws that are keys: the weights stay where they are, and every draw has a key of its own."""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from symbayes.engine.phase import Phase, Position, Tick, phase
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.sample import PASS
from symbayes.posterior import Posterior


@phase
class Keys(Phase):
    """A unit is one draw: the chain's weights, and the unit's key as the statistic `key`.

    Attributes:
        units: draws of each chain.
    """

    open_ended: ClassVar[bool] = True

    units: int

    def gradients_per_step(self, posterior: Posterior) -> float:
        return PASS

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Position, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        key = {"key": jax.random.key_data(tick.key)}
        return chain.variables, measured(posterior, chain.variables) | key
