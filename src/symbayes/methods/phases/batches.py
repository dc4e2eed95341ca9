"""Statistics of normalisers from one mini-batch for every draw.

All draws have the same weights ``w``.  Draw ``n`` has the statistics

    b_n = mean and variance at every normaliser of the network w, over a mini-batch B_n

of examples that are drawn uniformly from the training data, without replacement.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from symbayes.engine.phase import Phase, Position, Tick, phase, static
from symbayes.methods.phases.energies import measured
from symbayes.methods.phases.sample import PASS
from symbayes.posterior import Posterior


@phase
class Batches(Phase):
    """Draws of the same weights with statistics of their own; a unit is one draw.

    Attributes:
        units: draws of each chain.
        examples: number of examples in the mini-batch of a draw.
    """

    open_ended: ClassVar[bool] = True

    units: int
    examples: int = static()

    def gradients_per_step(self, posterior: Posterior) -> float:
        return PASS

    def kept(self, unit: int) -> bool:
        return True

    def draw(
        self, posterior: Posterior, shared: None, chain: Position, tick: Tick
    ) -> tuple[Any, dict[str, jax.Array]]:
        rows = jax.random.permutation(tick.key, posterior.size)[: self.examples]
        variables = posterior.with_statistics_of(chain.variables, rows, tick.key)
        return variables, measured(posterior, variables)
