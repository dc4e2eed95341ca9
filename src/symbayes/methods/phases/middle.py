"""One draw of each chain: the mean of the distribution that the phase before fitted."""

from __future__ import annotations

from typing import Any

import jax

from symbayes.engine.phase import Left, Phase, Tick, phase
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.sample import PASS, Fitted
from symbayes.posterior import Posterior


@phase
class Middle(Phase):
    """The mean, as a draw."""

    @property
    def units(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return 1

    def enter(self, posterior: Posterior, shared: None, left: Left, tick: Tick) -> Fitted:
        return Fitted(left.variables, left.distribution)

    def gradients_per_step(self, posterior: Posterior) -> float:
        return PASS

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Fitted, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        variables = chain.distribution.mean
        return variables, measured(posterior, variables)
