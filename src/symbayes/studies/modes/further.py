"""The paper's own posteriors, ResNet-18 on CIFAR-100 and on Tiny ImageNet, where the user has the files.

The preset gpu asks two of its questions of each: the predictions, and the weights of the same runs.  They
are trained as `docs/how-to/train-image-networks.md` says, with few chains, since an epoch of one network
takes 2.1 s for CIFAR's images on one H200, and eight times as long for Tiny ImageNet's.  The curvature of a
Laplace approximation costs as many gradients over the data as there are classes, too many for Tiny ImageNet;
that of the whole last layer is a matrix of 51,300 rows for 100 classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from symbayes import data
from symbayes.engine import Method
from symbayes.methods import SGHMC, SWAG, DeepEnsemble, Laplace, MCDropout, MeanField
from symbayes.studies.elsewhere import SHUFFLED
from symbayes.studies.modes.presets import Settings


@dataclass(frozen=True)
class Further:
    """A posterior, the methods that draw from it, and the networks that weights are compared with."""

    settings: Settings
    methods: Mapping[str, Method]
    fleet: DeepEnsemble

    @property
    def datasets(self) -> set[str]:
        """The names of the datasets that it needs."""
        names = (self.settings.data, *self.settings.elsewhere)
        return {name.removesuffix(SHUFFLED).partition(":")[0] for name in names}


def _resnet(epochs: int, chains: int, fleet: int, laplace: bool, **settings: Any) -> Further:
    common: dict[str, Any] = {"batch": 256, "chains": chains}
    trained: dict[str, Any] = common | {"epochs": epochs, "warmup": 0.2, "learning_rate": 0.2}
    trained |= {"optimizer": "nesterov", "schedule": "linear"}
    collected: dict[str, Any] = trained | {
        "learning_rate": 0.1,
        "epochs": 2 * epochs // 3,
        "collect": epochs // 3,
    }
    draws, burn_in = 10, 2 * epochs // 3
    return Further(
        Settings(
            network="resnet18",
            hidden=(),
            scale=0.2,
            precision="bf16",
            augmentation=("flip", "crop"),
            **settings,
        ),
        {
            "ensemble": DeepEnsemble(**trained),
            "dropout": MCDropout(**trained, draws=draws),
            "swag": SWAG(**collected, rank=10, draws=draws),
            "vi": MeanField(**common, epochs=epochs, draws=draws),
            "sghmc": SGHMC(**common, burn_in=burn_in, thin=max(1, epochs // 3 // draws), draws=draws),
        }
        | (
            {"laplace, kronecker": Laplace(**trained, prior_precision="evidence", draws=draws)}
            if laplace
            else {}
        ),
        replace(DeepEnsemble(**trained), chains=fleet),
    )


FURTHER = (
    _resnet(
        epochs=40,
        chains=5,
        fleet=20,
        laplace=True,
        name="cifar100",
        data="cifar100:validation=0",
        elsewhere=("svhn",),
    ),
    _resnet(
        epochs=30,
        chains=3,
        fleet=10,
        laplace=False,
        name="tiny-imagenet",
        data="tiny-imagenet:validation=0",
        elsewhere=(f"tiny-imagenet{SHUFFLED}",),
    ),
)


def there() -> list[Further]:
    """Those whose datasets are in the data folder."""
    found = {one.name for one in data.list_datasets() if one.embedded or one.found_in is not None}
    return [one for one in FURTHER if one.datasets <= found]
