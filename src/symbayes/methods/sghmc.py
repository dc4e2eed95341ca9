"""Stochastic-gradient Hamiltonian Monte Carlo.

Langevin dynamics with a momentum that persists for about ``1 / (1 - m)`` steps
(`methods/phases/diffusion.py` has the equation).

Use it like SGLD, where a gradient over all data is too expensive; with the momentum a chain moves further for
the same number of gradients.  At the same learning rate a step is as long as ``1 / (1 - m)`` steps of SGLD.

The default learning rate is a compromise that works without tuning.  With it the accuracy of the average was
97.2 % on the digits, where that of HMC was 98.1 %.  With 2,000 images of MNIST (784-30-10) it was 83.8 %, and
83.2 % for HMC, under the prior ``N(0, 1)``; and 84.9 %, and 85.7 % for HMC, under ``N(0, 0.04)``.

`burn_in`, `thin` and `cycle` count epochs.  Statistics of every epoch are `loss` (its mean over mini-batches)
and `rate` (the learning rate); draws also have `energy` (minus the log density) and `log_likelihood`
(untempered, over all data), which cost a pass over the data each.

References: Chen, Fox & Guestrin (2014), Stochastic gradient Hamiltonian Monte Carlo.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.phases import Diffusion
from symbayes.methods.phases.diffusion import diffusions
from symbayes.methods.stochastic import Stochastic
from symbayes.posterior import Posterior
from symbayes.specs import Positive, Share


@method
class SGHMC(Stochastic):
    """Stochastic-gradient Hamiltonian Monte Carlo (Chen et al. 2014): biased at a finite learning rate.

    Attributes:
        learning_rate: learning rate for the mean loss per example, as for an optimiser with this momentum.
        momentum: share of the velocity that every step keeps.
    """

    name: ClassVar[str] = "sghmc"
    example: ClassVar[str] = "--learning-rate 0.01 --schedule cyclical --draws 50"

    learning_rate: Positive = 0.01
    momentum: Share = 0.9

    def phases(self, posterior: Posterior) -> tuple[Diffusion, Diffusion]:
        return diffusions(self, momentum=self.momentum)
