"""The Metropolis-adjusted Langevin algorithm.

Every step is a Langevin proposal over all data that is accepted or rejected exactly
(`methods/phases/langevin.py` has the equation).  `thin` steps lead from one draw to the next.

Use it where Hamiltonian trajectories are hard to tune, or to check them: each step is a whole transition, so
there is no trajectory length to choose.  It moves like a random walk, and needs many more gradients than HMC
for an independent draw of a large network.

The step size is found by trial where none is given, and adapted during burn-in on the mean acceptance of all
chains, which share it; after burn-in it is fixed.  Statistics of every draw are `energy` (minus the log
density), `log_likelihood` (untempered, over all data), `acceptance` (the mean probability over its steps),
`accepted` (the share of its steps) and `step_size`.

References: Roberts & Tweedie (1996), Exponential convergence of Langevin distributions and their discrete
approximations.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases import Langevin
from symbayes.posterior import Posterior
from symbayes.specs import MOST, Count, Natural, Positive, Share, require


@method
class MALA(Method):
    """Metropolis-adjusted Langevin dynamics (Roberts & Tweedie 1996): exact up to its Monte-Carlo error.

    Attributes:
        step_size: standard deviation of a proposal's noise; by default found by trial.  With `adapt`, the
            initial value.  In units of the prior's standard deviations where these differ between parameters.
        thin: steps from one draw to the next.
        burn_in: draws that are made and not kept.
        draws: draws that are kept after that.
        chains: independent chains.
        adapt: tune the step size during burn-in towards `target_accept`.
        target_accept: the mean acceptance probability that adaptation aims at.
    """

    name: ClassVar[str] = "mala"
    remedy: ClassVar[str] = "use a smaller step_size, and inputs of the order of one"
    example: ClassVar[str] = "--thin 200 --draws 400"
    extends: ClassVar[str | None] = "draws"
    finds: ClassVar[tuple[str, ...]] = ("step_size",)

    step_size: Positive | None = None
    thin: Count = 100
    burn_in: Natural = 50
    draws: Count = 240
    chains: Count = 4
    adapt: bool = True
    target_accept: Share = 0.574

    def check(self) -> None:
        units = self.burn_in + self.draws
        require(units <= MOST, f"{units:,} draws are more than {MOST:,}: draw fewer")

    def phases(self, posterior: Posterior) -> tuple[Langevin, Langevin]:
        burn_in = Langevin(
            units=self.burn_in,
            step_size=self.step_size,
            thin=self.thin,
            target_accept=self.target_accept,
            adapting=self.adapt,
            keeps=False,
        )
        return burn_in, dataclasses.replace(burn_in, units=self.draws, adapting=False, keeps=True)

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        acceptance = traces["acceptance"]
        late = float(acceptance[:, acceptance.shape[1] // 2 :].mean())
        if late >= 0.2:
            return []
        return [
            f"MALA accepted only {late:.0%} of its later steps: use a smaller step_size or a longer burn_in"
        ]
