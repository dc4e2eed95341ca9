"""Stochastic weight averaging.

A network is trained with a learning rate that falls to a plateau.  Training continues there, and the weights
at the end of every epoch are averaged (`methods/phases/averaging.py` has the equation).  Statistics of
normalisers are computed again for the average.

Use it for one network that is better than the last one of its training, at no cost in prediction.  Its only
cost is the epochs of averaging.  With several chains it gives an ensemble of averages.  A start that is given
replaces the training.

The statistic of every epoch is `loss`; draws also have `energy` and `log_likelihood`.

References: Izmailov, Podoprikhin, Garipov, Vetrov & Wilson (2018), Averaging weights leads to wider optima
and better generalization.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Averaging
from symbayes.methods.phases.train import Optimizer
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, Part, require


@method
class SWA(StoppableTraining):
    """Stochastic weight averaging (Izmailov et al. 2018): the mean of the last weights of one training.

    Attributes:
        epochs: passes over the training data before weights are averaged; none where a start is given.
        collect: epochs after that; the weights at the end of each enter the average.
        plateau: the learning rate of these epochs, to which it falls before, as a share of `learning_rate`.
    """

    name: ClassVar[str] = "swa"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--epochs 100 --collect 50"

    epochs: Natural = 100
    chains: Count = 1
    optimizer: Optimizer = "sgd"
    collect: Count = 30
    plateau: Part = 0.5

    def check(self) -> None:
        super().check()
        require(self.plateau > 0, "plateau is a share of the learning rate, above 0")

    def started(self) -> SWA:
        return dataclasses.replace(self, epochs=0)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        return self._trained(posterior), self.training(posterior, Averaging, draws=1, **self._taking())

    def _trained(self, posterior: Posterior) -> Phase:
        return self.stoppable(posterior, self.training(posterior, rate=self.rate(floor=self.plateau)))

    def _taking(self) -> dict[str, Any]:
        """Settings of the phase in which weights are averaged."""
        rate = self.rate(self.plateau, schedule="constant", warmup=0.0)
        return {"units": self.collect, "rate": rate}
