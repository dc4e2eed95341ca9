"""Monte Carlo dropout: a network trained with dropout also predicts with dropout.

Each chain trains a network in which inputs of its layers are dropped at random (`posterior/dropout.py` says
which; `methods/phases/train.py` has the loss).  The predictive is the mean over masks ``z``,

    p(y | x) = E_z[p(y | f(x; w, z))]

A draw consists of the trained weights and a key, which determines its masks, so that it can be reproduced.
Its energy is that of the weights without dropout.  Where the network has dropout, as layers or as a function
of a key, that is used; else dropout is inserted in front of its hidden layers.

Use it for many cheap predictions from one training.  Its spread is set by the dropout rate, not by the amount
of data: more examples do not reduce it.

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
        chains: networks, each trained from its own initialisation.
        dropout: dropout probability; ignored for a network with dropout of its own.
        mask: what is dropped: each number independently, whole channels of an example, or the same numbers
            for all examples, so that a draw is one function; ignored for a network with dropout of its own.
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
        return self.stoppable(posterior, self.training(posterior)), Keys(self.draws)

    def notes(self, posterior: Posterior) -> list[str]:
        network = self.prepared(posterior).network
        if isinstance(network, DroppedNetwork):
            return []
        return ["the network's own dropout is used: dropout and mask are ignored"]
