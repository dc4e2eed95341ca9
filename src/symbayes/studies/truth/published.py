"""Numbers of the paper: Izmailov, Vikram, Hoffman & Wilson (2021), What are Bayesian neural network
posteriors really like?, International Conference on Machine Learning.

CIFAR-10, ResNet-20 with filter response normalisation, prior N(0, 1/5), 40,960 training images.  The numbers
are recalled from its table of cheaper methods and were not checked: check them there before citing them.
"""

from __future__ import annotations

SOURCE = "Izmailov, Vikram, Hoffman & Wilson (2021), What are Bayesian neural network posteriors really like?"

AGREEMENT: dict[str, tuple[float, float]] = {
    "hmc": (0.9401, 0.074),
    "one network": (0.8548, 0.190),
    "ensemble": (0.9152, 0.115),
    "vi": (0.8875, 0.136),
    "sgld": (0.9154, 0.110),
    "sghmc": (0.9198, 0.109),
    "sghmc, cyclical": (0.9267, 0.099),
    "sghmc, cyclical, preconditioned": (0.9096, 0.111),
}
"""Agreement and total variation with HMC; for HMC itself, one chain is compared with the others."""

NOTE = (
    "The published numbers are for CIFAR-10 with ResNet-20; they are recalled and were not checked against "
    "the paper. The posterior is another one, so compare the order of the rows and not the numbers."
)
