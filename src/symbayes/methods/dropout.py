"""Monte Carlo dropout: a network trained with dropout predicts with it too.

Each chain trains a network in which inputs of its layers are dropped at random (`posterior/dropout.py` says
which; `methods/phases/train.py` has the loss).  The predictive is the mean over masks ``z``,

    p(y | x) = E_z[p(y | f(x; w, z))]

A draw is the trained weights and a key, from which its masks follow, so that it can be made again.  Its
energy is that of the weights without dropout.  A network's own dropout counts, whether it is a layer or a
function of a key; a network without dropout gets it in front of its hidden layers.

Use it for many cheap predictions from one training.  Its spread is set by the rate, not by the amount of
data: more examples make it no smaller.

References: Gal & Ghahramani (2016), Dropout as a Bayesian approximation: representing model uncertainty in
deep learning; Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from symbayes.draws.forward import Kind
from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases.keys import Keys
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.posterior.dropout import DroppedNetwork, Mask, with_dropout
from symbayes.specs import Count, Natural, Share


@method
class MCDropout(StoppableTraining):
    """A network trained with dropout, whose draws are masks (Gal & Ghahramani 2016).

    Attributes:
        epochs: passes over the training data; none where a start is given.
        chains: networks, each trained from a start of its own.
        dropout: probability with which something is dropped; of no matter for a network with dropout of its
            own.
        mask: what is dropped: each number by itself, whole channels of an example, or the same numbers for
            all examples, so that a draw is one function; of no matter for a network with dropout of its own.
        draws: masks of each chain.
    """

    name: ClassVar[str] = "dropout"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--dropout 0.2 --draws 50 --network lenet --data fashion-mnist"
    extends: ClassVar[str | None] = "draws"

    epochs: Natural = 50
    chains: Count = 1
    dropout: Share = 0.1
    mask: Mask = "element"
    draws: Count = 30

    @property
    def forward(self) -> Kind:
        return "keyed"

    def started(self) -> MCDropout:
        return dataclasses.replace(self, epochs=0)

    def prepared(self, posterior: Posterior) -> Posterior:
        return with_dropout(posterior, self.dropout, self.mask)

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        return self.stoppable(posterior), Keys(self.draws)

    def notes(self, posterior: Posterior) -> list[str]:
        network = self.prepared(posterior).network
        if isinstance(network, DroppedNetwork):
            return []
        return ["the network's own dropout is used: dropout and mask are of no matter"]
