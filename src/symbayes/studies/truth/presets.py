"""The sizes of each preset.

quick is for two processor cores in six minutes.  gpu is for one H200 in a quarter of an hour, the MLP in
eight minutes of it, with 10,000 images or less, since gradients are in float32: in bfloat16 HMC accepts
nothing on a network of this size, and in tf32 about half as much (`results/mnist_hmc_h200.json`), the less
the colder the posterior is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from symbayes.engine import Method
from symbayes.methods import HMC, MALA, MCLMC, NUTS, SGHMC, SGLD, SWAG, AdjustedMCLMC, DeepEnsemble, MeanField
from symbayes.methods import MicrocanonicalEnsemble as Mile
from symbayes.studies.truth.case import Case

FAMILIES = ("normal", "logistic", "mixture")

_FRESH = SGHMC(burn_in=200, thin=5, draws=60, chains=4)


@dataclass(frozen=True)
class Settings:
    """The settings of the parts of a preset.

    Attributes:
        cases: the posteriors.
        temperatures: the temperatures of the sweep, among them 1.
        wider: scales of the prior, as multiples of the case's.
        augmentation: the augmentations of images, in the part on augmentation.
        copies: number of augmented copies of every image.
        augmented: the temperatures in the part on augmentation.
        fresh: the method that draws new copies for every mini-batch.
        families: families of priors.
        shifts: kinds of shifted inputs.
        whitened: length of trajectories under the covariance prior, in units of its standard deviations.
        shifted: the largest number of test images that are shifted; the first ones are taken.
        aligned_draws: the largest number of draws that are aligned, over all chains.
    """

    cases: tuple[Case, ...]
    temperatures: tuple[float, ...] = (0.03, 0.1, 0.3, 1.0, 3.0)
    wider: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0)
    augmentation: tuple[str, ...] = ("shift",)
    copies: int = 2
    augmented: tuple[float, ...] = (0.1, 1.0)
    fresh: SGHMC = _FRESH
    families: tuple[str, ...] = FAMILIES
    shifts: tuple[str, ...] = ("gaussian-noise", "gaussian-blur", "contrast", "dead-pixels")
    whitened: float = 1.0
    shifted: int = 2000
    aligned_draws: int = 200


TINY = Settings(
    cases=(
        Case(
            data="digits:examples=64,test_examples=40",
            network="mlp",
            hidden=(4,),
            scale=0.5,
            precision="float32",
            reference=HMC(step_size=0.02, trajectory=0.06, burn_in=2, draws=6, chains=2, adapt=False),
            sweep=HMC(step_size=0.02, trajectory=0.06, burn_in=2, draws=6, chains=2, adapt=False),
            ensemble=DeepEnsemble(epochs=2, chains=2, batch=32),
            samplers={"sgld": SGLD(burn_in=1, thin=1, draws=4, chains=2, batch=32)},
        ),
    ),
    temperatures=(0.1, 1.0),
    copies=2,
    fresh=SGHMC(burn_in=1, thin=1, draws=4, chains=2, batch=32),
    wider=(0.5, 1.0),
    families=("normal",),
    shifts=("gaussian-noise",),
    whitened=0.05,
    aligned_draws=12,
)

_CYCLES = SGHMC(schedule="cyclical", cycle=50, burn_in=100, thin=2, draws=40, chains=4)

QUICK = Settings(
    cases=(
        Case(
            data="digits",
            network="mlp",
            hidden=(32,),
            scale=1.0,
            precision="float32",
            reference=HMC(step_size=8e-3, trajectory=0.64, burn_in=50, draws=150, chains=4),
            sweep=HMC(step_size=8e-3, trajectory=0.64, burn_in=30, draws=40, chains=4),
            ensemble=DeepEnsemble(epochs=200, chains=10, learning_rate=3e-3),
            samplers={
                "nuts": NUTS(step_size=1e-2, burn_in=20, draws=40, chains=4, depth=9),
                "mala": MALA(thin=100, burn_in=40, draws=50, chains=4),
                "adjusted-mclmc": AdjustedMCLMC(trajectory=0.64, burn_in=30, draws=40, chains=4),
                "mclmc": MCLMC(thin=50, burn_in=300, draws=50, chains=4),
                "mile": Mile(epochs=100, thin=50, burn_in=200, draws=40, chains=4),
                "sgld": SGLD(burn_in=200, thin=5, draws=60, chains=4),
                "sghmc": _FRESH,
                "sghmc, cyclical": _CYCLES,
                "sghmc, cyclical, preconditioned": replace(_CYCLES, precondition=True),
                "vi": MeanField(epochs=200, draws=60),
                "swag": SWAG(epochs=100, draws=60),
            },
        ),
    ),
)


_SGHMC = SGHMC(batch=500, burn_in=30, thin=2, draws=30, chains=4)
STOCHASTIC: dict[str, Method] = {
    "sgld": SGLD(batch=500, burn_in=30, thin=2, draws=30, chains=4),
    "sghmc": _SGHMC,
}
APPROXIMATE: dict[str, Method] = {
    "sghmc, cyclical": SGHMC(
        batch=500, schedule="cyclical", cycle=20, burn_in=20, thin=1, draws=30, chains=4
    ),
    "vi": MeanField(batch=500, epochs=30, draws=60),
    "swag": SWAG(batch=500, epochs=15, collect=10, rank=10, draws=60),
}
FLOWN: dict[str, Any] = {"trajectory": 0.1, "target_accept": 0.7}


def _mlp_on_gpu(name: str) -> Case:
    """With 10,000 images: about 72,000 gradients for the reference and 24,000 for a shorter run, of which
    there are ten.  All have as many chains, so that one compiled program does for them, on both datasets."""
    return Case(
        data=f"{name}:examples=10000,validation=0",
        network="mlp",
        hidden=(512,),
        scale=0.2,
        precision="float32",
        reference=HMC(step_size=5e-4, burn_in=30, draws=60, chains=4, **FLOWN),
        sweep=HMC(step_size=5e-4, burn_in=20, draws=10, chains=4, **FLOWN),
        ensemble=DeepEnsemble(epochs=15, chains=5, batch=500),
        samplers=STOCHASTIC
        | APPROXIMATE
        | {"adjusted-mclmc": AdjustedMCLMC(step_size=1e-3, burn_in=20, draws=10, chains=4, **FLOWN)},
    )


def _lenet_on_gpu(name: str) -> Case:
    """With 2,500 images, since a gradient of LeNet takes ten times as long as one of the MLP: about 8,000
    gradients for the reference and 3,000 for a shorter run."""
    return Case(
        data=f"{name}:examples=2500,validation=0",
        network="lenet",
        hidden=(),
        scale=0.2,
        precision="float32",
        reference=HMC(step_size=1.5e-3, burn_in=20, draws=40, chains=2, **FLOWN),
        sweep=HMC(step_size=1.5e-3, burn_in=12, draws=12, chains=2, **FLOWN),
        ensemble=DeepEnsemble(epochs=30, chains=5, batch=500),
        samplers=STOCHASTIC,
    )


GPU = Settings(
    cases=tuple(make(name) for make in (_mlp_on_gpu, _lenet_on_gpu) for name in ("fashion-mnist", "mnist")),
    temperatures=(0.1, 0.3, 1.0, 3.0),
    copies=2,
    fresh=_SGHMC,
    wider=(0.5, 1.0, 2.0),
    families=("normal", "logistic"),
    whitened=0.3,
    aligned_draws=32,
)

SETTINGS = {"tiny": TINY, "quick": QUICK, "gpu": GPU}
