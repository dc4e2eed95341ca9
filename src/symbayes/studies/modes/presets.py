"""The sizes of each preset: the network, and the methods that train it.

Every method runs once with many chains; its first chain alone is the row of one mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from symbayes import data, networks
from symbayes.engine import Method
from symbayes.methods import (
    EMA,
    IVON,
    MIMO,
    SGHMC,
    SGLD,
    SWA,
    SWAG,
    BatchEnsemble,
    CheckpointEnsemble,
    DeepEnsemble,
    Laplace,
    Masksembles,
    MCDropout,
    MeanField,
    PackedEnsemble,
    SnapshotEnsemble,
)
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.posterior import Precision

Network = Literal["mlp", "lenet", "resnet18"]
NETWORKS: dict[Network, str] = {"mlp": "MLP", "lenet": "LeNet", "resnet18": "ResNet-18"}


@dataclass(frozen=True)
class Settings:
    """The posterior that is drawn from.

    Attributes:
        data: name of the dataset.
        elsewhere: names of the out-of-distribution datasets.
        network: name of the network.
        hidden: widths of an mlp's hidden layers.
        scale: standard deviation of the prior.
        precision: precision of the products in gradients.
        augmentation: the augmentations of images.
        name: the folder of its runs, where the study has several posteriors; empty for the first.
    """

    data: str
    elsewhere: tuple[str, ...]
    network: Network
    hidden: tuple[int, ...]
    scale: float
    precision: Precision
    augmentation: tuple[str, ...] = ()
    name: str = ""

    @property
    def words(self) -> str:
        """The posterior, in words."""
        return f"{NETWORKS[self.network]} on {self.data.partition(':')[0]}"

    def posterior(self, dataset: data.Dataset) -> Posterior:
        """The posterior of this network, given the data."""
        sizes: dict[str, Any] = {"outputs": dataset.classes}
        if self.hidden:
            sizes["hidden"] = self.hidden
        return Posterior(
            networks.make(self.network, **sizes),
            likelihoods.Categorical(),
            priors.Normal(self.scale),
            dataset.train,
            precision=self.precision,
            augmentation=self.augmentation,
            copies=1,
        )

    def folder(self, run: str) -> str:
        """The folder of a run."""
        own = run.replace(", ", "-").replace(" ", "-")
        return f"{self.name}/{own}" if self.name else own


def methods(epochs: int, chains: int, draws: int, batch: int) -> dict[str, Method]:
    """Every method, with the same numbers of epochs, chains and draws of each chain."""
    common: dict[str, Any] = {"batch": batch, "chains": chains}
    trained: dict[str, Any] = common | {"epochs": epochs}
    sgd: dict[str, Any] = trained | {"learning_rate": 0.05}
    collected: dict[str, Any] = sgd | {"epochs": max(1, 2 * epochs // 3), "collect": max(2, epochs // 3)}
    cycles: dict[str, Any] = sgd | {"epochs": max(1, epochs // draws), "draws": draws}
    walked: dict[str, Any] = common | {"burn_in": max(1, 2 * epochs // 3), "draws": draws}
    walked["thin"] = max(1, epochs // 3 // draws)
    laplace: dict[str, Any] = trained | {"draws": draws}
    return {
        "ensemble": DeepEnsemble(**trained),
        "snapshot": SnapshotEnsemble(**cycles),
        "checkpoint": CheckpointEnsemble(**trained, thin=1, draws=min(draws, epochs)),
        "swa": SWA(**collected),
        "ema": EMA(**trained),
        "swag": SWAG(**collected, rank=min(20, max(2, epochs // 3)), draws=draws),
        "laplace, last layer": Laplace(**laplace, structure="last-layer"),
        "laplace, kronecker": Laplace(**laplace, structure="kronecker"),
        "laplace, diagonal": Laplace(**laplace, structure="diagonal"),
        "dropout": MCDropout(**trained, draws=draws),
        "batch ensemble": BatchEnsemble(**trained),
        "masksembles": Masksembles(**trained),
        "packed ensemble": PackedEnsemble(**trained),
        "mimo": MIMO(**trained),
        "vi": MeanField(**trained, draws=draws),
        "ivon": IVON(**trained, draws=draws),
        "sgld": SGLD(**walked),
        "sghmc": SGHMC(**walked),
    }


PAPER = ("ensemble", "dropout", "swag", "laplace, last layer", "laplace, kronecker", "vi", "sghmc")
"""The methods of the paper."""


def some(names: tuple[str, ...], **sizes: int) -> dict[str, Method]:
    """Some of the methods."""
    every = methods(**sizes)
    return {name: every[name] for name in names}


@dataclass(frozen=True)
class Sizes:
    """The sizes of a preset.

    Attributes:
        settings: the posterior.
        methods: methods whose predictions are compared, by name, all with the same number of chains.
        compared: methods whose weights are compared, with as many draws of one chain as of all chains.
        fleet: the independently trained networks that weights are compared with.
        varied: methods that run at several learning rates and seeds, for the correlation.
        factors: factors of their learning rates.
        seeds: number of their seeds.
        small: the posterior of the small networks whose functions are compared.
        many: the ensemble of these small networks.
    """

    settings: Settings
    methods: Mapping[str, Method]
    compared: Mapping[str, Method]
    fleet: DeepEnsemble
    varied: Mapping[str, Method]
    factors: tuple[float, ...]
    seeds: int
    small: Settings
    many: DeepEnsemble


_TINY = Settings(
    data="digits:examples=64,test_examples=40",
    elsewhere=("digits:examples=64,test_examples=40",),
    network="mlp",
    hidden=(4,),
    scale=0.5,
    precision="float32",
)
TINY = Sizes(
    settings=_TINY,
    methods=some(("ensemble", "swag"), epochs=6, chains=2, draws=2, batch=32),
    compared=some(("ensemble", "dropout", "swag"), epochs=6, chains=2, draws=4, batch=32),
    fleet=DeepEnsemble(epochs=6, chains=8, batch=32),
    varied=some(("swag",), epochs=6, chains=2, draws=4, batch=32),
    factors=(1.0, 3.0),
    seeds=2,
    small=_TINY,
    many=DeepEnsemble(epochs=6, chains=8, batch=32),
)

_QUICK = Settings(
    data="digits",
    elsewhere=("digits, pixels shuffled",),
    network="mlp",
    hidden=(32,),
    scale=0.5,
    precision="float32",
)
QUICK = Sizes(
    settings=_QUICK,
    methods=methods(epochs=120, chains=5, draws=10, batch=100),
    compared=some(PAPER, epochs=40, chains=5, draws=50, batch=100),
    fleet=DeepEnsemble(epochs=40, chains=100, batch=100),
    varied=some(("swag", "laplace, last layer", "vi", "sghmc"), epochs=20, chains=4, draws=8, batch=100),
    factors=(0.3, 1.0, 3.0),
    seeds=2,
    small=replace(_QUICK, hidden=(8,)),
    many=DeepEnsemble(epochs=30, chains=1000, batch=100, learning_rate=1e-2),
)

_GPU = Settings(
    data="fashion-mnist",
    elsewhere=("mnist", "notmnist"),
    network="lenet",
    hidden=(),
    scale=0.2,
    precision="tf32",
)
GPU = Sizes(
    settings=_GPU,
    methods=methods(epochs=30, chains=10, draws=10, batch=128),
    compared=some(PAPER, epochs=10, chains=10, draws=100, batch=128),
    fleet=DeepEnsemble(epochs=10, chains=200, batch=128),
    varied=some(("swag", "laplace, last layer", "vi", "sghmc"), epochs=6, chains=5, draws=10, batch=128),
    factors=(0.3, 1.0, 3.0),
    seeds=3,
    small=replace(_GPU, network="mlp", hidden=(32,)),
    many=DeepEnsemble(epochs=10, chains=1000, batch=128),
)

SIZES = {"tiny": TINY, "quick": QUICK, "gpu": GPU}
