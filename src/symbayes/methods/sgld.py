"""Stochastic-gradient Langevin dynamics.

Every step follows the gradient of a mini-batch and adds noise (`methods/phases/diffusion.py` has the
equation, with ``m = 0``).

Use it where a gradient over all data is too expensive, and where a bias that shrinks with the learning rate
is acceptable; measure it against HMC on a network that is small enough.  With a cyclical schedule each cycle
may reach another mode.  SGHMC moves further for the same number of gradients.

The default learning rate is a compromise that needs no tuning to begin with.  With it the average got 96.9 %
of the digits right (64-32-10, prior ``N(0, 1)``), where HMC got 98.1 %; with 2,000 images of MNIST and a
784-30-10 network 83.0 % where HMC got 83.2 % under the prior ``N(0, 1)``, and 83.6 % where it got 85.7 %
under ``N(0, 0.04)``.  Directions that only the prior holds mix in about ``N s^2 / l`` steps, for ``N``
examples, the prior's standard deviation ``s`` and the learning rate ``l``: raise that, or `burn_in`, where
they matter.

`burn_in`, `thin` and `cycle` count epochs.  Statistics of every epoch are `loss` (its mean over mini-batches)
and `rate` (the learning rate); draws also have `energy` (minus the log density) and `log_likelihood`
(untempered, over all data), which cost a pass over the data each.

References: Welling & Teh (2011), Bayesian learning via stochastic gradient Langevin dynamics.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.phases import Diffusion
from symbayes.methods.phases.diffusion import diffusions
from symbayes.methods.stochastic import Stochastic
from symbayes.posterior import Posterior


@method
class SGLD(Stochastic):
    """Stochastic-gradient Langevin dynamics (Welling & Teh 2011): biased at a finite learning rate.

    Attributes:
        learning_rate: on the mean loss per example, as for an optimiser.
    """

    name: ClassVar[str] = "sgld"
    example: ClassVar[str] = "--learning-rate 0.03 --schedule cyclical --draws 50"

    def phases(self, posterior: Posterior) -> tuple[Diffusion, Diffusion]:
        return diffusions(self, momentum=None)
