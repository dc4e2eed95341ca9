"""Deep ensembles of maximum-a-posteriori networks.

Each member is trained by mini-batches to a maximum of the posterior density
(`methods/phases/train.py` has the loss), from its own initialisation and in its own order.  The members are
chains with one draw each.  They are modes of the posterior, not draws from it, so their spread is not that of
the posterior.

Use it first: it is simple, and hard to beat in prediction.  It costs as many trainings as it has members, and
as many forward passes in prediction; members are trained together, which is quicker than one after another.

A temperature has no effect where it tempers the whole posterior; where it tempers the likelihood only, the
term of the prior is multiplied by it.  The statistic of every epoch is `loss`; draws also have `energy` and
`log_likelihood`.

References: Lakshminarayanan, Pritzel & Blundell (2017), Simple and scalable predictive uncertainty
estimation using deep ensembles; Kingma & Ba (2015), Adam.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior


@method
class DeepEnsemble(StoppableTraining):
    """An ensemble of networks trained from scratch (Lakshminarayanan et al. 2017), each a mode.

    Attributes:
        chains: members of the ensemble.
    """

    name: ClassVar[str] = "ensemble"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 300 --chains 10 --learning-rate 3e-3"

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        return (self.stoppable(posterior, self.training(posterior, draws=1)),)
