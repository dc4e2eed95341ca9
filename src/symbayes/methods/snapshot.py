"""Snapshot ensembles.

One network is trained in cycles.  In each the learning rate falls to zero along a schedule, by default a
cosine, and at its end the network is stored; then the rate returns to its first value, and the network moves
away (`methods/phases/schedules.py` has the schedules).

Use it for an ensemble at the cost of one training: its members differ less than those of a deep ensemble,
since each begins where the one before ended.  With several chains, every chain has snapshots of its own.

The statistic of every epoch is `loss`; draws also have `energy` and `log_likelihood`.

References: Huang, Li, Pleiss, Liu, Hopcroft & Weinberger (2017), Snapshot ensembles: train 1, get M for
free.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.phases import Train
from symbayes.methods.phases.train import Optimizer
from symbayes.methods.training import REMEDY, Training
from symbayes.posterior import Posterior
from symbayes.specs import Count


@method
class SnapshotEnsemble(Training):
    """A snapshot ensemble (Huang et al. 2017): one training in cycles, each of which ends in a member.

    Attributes:
        epochs: passes over the training data in a cycle.
        schedule: how the learning rate falls in every cycle.
        warmup: share of a cycle in which the learning rate first rises from zero.
        draws: cycles, each of which ends in a draw.
    """

    name: ClassVar[str] = "snapshot"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 40 --draws 6"
    extends: ClassVar[str | None] = "draws"

    epochs: Count = 30
    chains: Count = 1
    optimizer: Optimizer = "sgd"
    draws: Count = 5

    def phases(self, posterior: Posterior) -> tuple[Train]:
        units = self.draws * self.epochs
        cycles = self.training(posterior, units=units, draws=self.draws, thin=self.epochs, grows=True)
        return (cycles,)
