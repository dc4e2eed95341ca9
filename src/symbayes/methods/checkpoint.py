"""Checkpoint ensembles.

One network is trained, and stored at the ends of some of its last epochs, evenly spaced.

Use it for an ensemble at no cost beyond one training.  Its members are similar, and the more so the smaller
the learning rate, which therefore stays constant by default.  With several chains, every chain has
checkpoints of its own.

The statistic of every epoch is `loss`; draws also have `energy` and `log_likelihood`.

References: Chen, Lundberg & Lee (2017), Checkpoint ensembles: ensemble methods from a single training
process.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.phases import Train
from symbayes.methods.phases.schedules import Schedule
from symbayes.methods.training import REMEDY, Training
from symbayes.posterior import Posterior
from symbayes.specs import Count, require


@method
class CheckpointEnsemble(Training):
    """A checkpoint ensemble (Chen et al. 2017): networks from the last epochs of one training.

    Attributes:
        thin: epochs from one draw to the next.
        draws: draws of each chain, the last of them at the end.
    """

    name: ClassVar[str] = "checkpoint"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 100 --draws 10 --thin 5"

    chains: Count = 1
    schedule: Schedule = "constant"
    thin: Count = 3
    draws: Count = 10

    def check(self) -> None:
        super().check()
        needed = (self.draws - 1) * self.thin + 1
        require(
            self.epochs >= needed,
            f"{self.draws} draws {self.thin} epochs apart need {needed} epochs, but there are {self.epochs}: "
            "use fewer draws, a smaller thin, or more epochs",
        )

    def phases(self, posterior: Posterior) -> tuple[Train]:
        return (self.training(posterior, draws=self.draws, thin=self.thin),)
