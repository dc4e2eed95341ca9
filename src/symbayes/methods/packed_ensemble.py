"""Packed-Ensembles: a network whose units are divided among members.

Every hidden layer is cut into as many groups of units as there are members.  A member uses its own group of
every layer only (`methods/phases/masks.py` has the weights of a member, `methods/phases/sharing.py` the
loss).  Every member has its own copy of parameters that belong to no unit, such as the last bias: members
share nothing.  Weights of units that receive from fewer others than in the whole network have a gain, so that
members begin as networks of their own size.  The paper widens a network by a factor alpha so that members are
not too narrow; here, choose a wider network.

Use it where members may be narrow.  They are stored as the wide network with zeros outside of their groups.
An epoch costs as much as one of as many networks.  Where products take most of the time, as in convolutional
networks, these are the narrow ones (`methods/phases/narrow.py`), as in the paper; else they are as wide as
the whole.

References: Laurent et al. (2023), Packed-Ensembles for efficient uncertainty estimation.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Members, Together
from symbayes.methods.phases.narrow import masked
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.specs import Count


@method
class PackedEnsemble(StoppableTraining):
    """Packed-Ensembles (Laurent et al. 2023): members that divide the units of one network.

    Attributes:
        epochs: passes over the training data, by all members together.
        chains: number of independent ensembles.
        members: members of each ensemble, which are the draws of a chain.
    """

    name: ClassVar[str] = "packed-ensemble"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--hidden 256 --members 4"

    chains: Count = 1
    members: Count = 4

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        family = masked(posterior, "disjoint", self.members, self.batch, None)
        together = Together(self.training(posterior), None, members=self.members, family=family)
        return self.stoppable(posterior, together), Members(units=self.members, family=family)
