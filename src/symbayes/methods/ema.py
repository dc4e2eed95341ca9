"""An exponential moving average of the weights.

A network is trained, and after every step its weights enter an exponential average
(`methods/phases/averaging.py` has the equation), whose memory is about ``1 / (1 - decay)`` steps.  Statistics
of normalisers are computed again for the average.

Use it where the learning rate does not fall to zero: it costs one more copy of the weights, and nothing in
prediction.  With several chains it gives an ensemble of averages.

The statistic of every epoch is `loss`; draws also have `energy` and `log_likelihood`.

References: Polyak & Juditsky (1992), Acceleration of stochastic approximation by averaging; Tarvainen &
Valpola (2017), Mean teachers are better role models.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Averaging
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.specs import Count, Share


@method
class EMA(StoppableTraining):
    """An exponential moving average of the weights of one training (Polyak & Juditsky 1992).

    Attributes:
        decay: factor by which the weight of a step in the average falls with each later step.
    """

    name: ClassVar[str] = "ema"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 100 --schedule constant"

    chains: Count = 1
    decay: Share = 0.99

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        average = self.training(posterior, Averaging, draws=1, decay=self.decay, every_step=True)
        return (self.stoppable(posterior, average),)
