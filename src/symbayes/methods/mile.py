"""Microcanonical Langevin ensembles: an ensemble is trained, and every member starts a short chain.

Each chain trains a network of its own by mini-batches (`methods/phases/train.py` has the loss), and draws
around it by microcanonical Langevin dynamics without an accept step (`methods/phases/microcanonical.py` has
the equations).  A start that is given takes the place of the trained members.

Use it for predictions from many modes that are better than an ensemble's at little more cost.  Its draws are
**biased**: the recipe tunes the step size to an energy variance per weight of 0.1, a thousand times that at
which microcanonical draws compare with exact ones.  The energy variance is measured again after tuning and
reported at the end of the run, with a warning where it misses its target.

The recipe: 80 % of `burn_in` tune the step size to an energy variance that falls from 0.5 to 0.1, 10 % more
also collect the spread of positions, and 10 % tune the length at a fixed step size; `burn_in` times `thin`
steps in all, 50,000 by default.  The statistic of every epoch is `loss`; those of every draw are as for
MCLMC.

References: Sommer, Robnik, Nozadze, Seljak & Rügamer (2025), Microcanonical Langevin ensembles: advancing the
sampling of Bayesian neural networks; Robnik & Seljak (2024), Fluctuation without dissipation: microcanonical
Langevin Monte Carlo.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases.microcanonical import judged, microcanonical
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, require

AIM, LAST = 0.5, 0.1
"""Target energy variance per weight, at the beginning and at the end of tuning."""

LATE = 0.1
"""Share of burn-in in the second stage of tuning, and in the third."""


@method
class MicrocanonicalEnsemble(StoppableTraining):
    """Microcanonical Langevin ensembles (Sommer et al. 2025): many modes, each with biased draws around it.

    Attributes:
        epochs: passes over the training data; none where a start is given.
        chains: members.
        thin: steps from one draw to the next.
        burn_in: draws that are made and not kept, during which step size and length are tuned.
        draws: draws of each member that are kept after that.
    """

    name: ClassVar[str] = "mile"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 100 --chains 10 --draws 100"
    extends: ClassVar[str | None] = "draws"

    epochs: Natural = 50
    chains: Count = 8
    thin: Count = 100
    burn_in: Natural = 500
    draws: Count = 100

    def check(self) -> None:
        super().check()
        require(self.burn_in >= 10, "chains are tuned during burn-in: use a burn_in of at least 10")

    def started(self) -> MicrocanonicalEnsemble:
        return dataclasses.replace(self, epochs=0)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        chains = microcanonical(
            units=self.burn_in,
            draws=self.draws,
            thin=self.thin,
            step_size=None,
            length=None,
            aims=(AIM, LAST),
            late=LATE,
        )
        return self.stoppable(posterior, self.training(posterior)), *chains

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        variance = float(traces["energy_variance"][:, self.burn_in :].mean())
        return [
            "draws of a microcanonical ensemble are biased by their energy error: "
            f"its variance per weight was {variance:.2g}"
        ]

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        return judged(traces, self.burn_in, LAST)
