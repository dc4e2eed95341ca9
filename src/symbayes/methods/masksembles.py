"""Masksembles: members that each use a fixed part of one network's units.

All weights are shared.  Every member has masks, drawn once and then fixed, that keep a share of the units of
each hidden layer (`methods/phases/masks.py` has the weights of a member, `methods/phases/sharing.py` the
loss).  The share sets how similar members are: with a share of one there is a single network; with small
shares the masks hardly overlap, and members are as different as small networks trained independently.

Use it like dropout, with a few fixed masks in place of random ones.  Units that no mask keeps, a fraction
``(1 - share)^members`` of all, are unused.  An epoch costs as much as one of as many networks.
Where products take most of the time, as in convolutional networks, these are the narrow ones of the units
that members keep (`methods/phases/narrow.py`).

References: Durasov, Bagautdinov, Baque & Fua (2021), Masksembles for uncertainty estimation.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Members, Together
from symbayes.methods.phases.narrow import masked
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.specs import Count, Share


@method
class Masksembles(StoppableTraining):
    """Masksembles (Durasov et al. 2021): members that share all weights and use different units.

    Attributes:
        epochs: passes over the training data, by all members together.
        chains: number of independent ensembles.
        members: members of each ensemble, which are the draws of a chain.
        share: share of the units of every hidden layer that a member uses.
    """

    name: ClassVar[str] = "masksembles"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--hidden 128 --members 4 --share 0.5"

    chains: Count = 1
    members: Count = 4
    share: Share = 0.5

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        family = masked(posterior, "random", self.members, self.batch, self.share)
        together = Together(self.training(posterior), None, members=self.members, family=family)
        return self.stoppable(posterior, together), Members(units=self.members, family=family)
