"""How much is done at each preset: which network, trained by which methods.

Every method runs once with many chains; its first chain alone is the row of one mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Settings:
    """What is drawn from, and by what.

    Attributes:
        data: name of the dataset.
        elsewhere: names of the datasets that are out of distribution.
        network: name of the network.
        hidden: widths of an mlp's hidden layers.
        scale: standard deviation of the prior.
        precision: of the products in gradients.
        methods: by name; all with the same number of chains.
        fleet: networks trained independently, with whose weights those of the methods are compared.
    """

    data: str
    elsewhere: tuple[str, ...]
    network: Literal["mlp", "lenet"]
    hidden: tuple[int, ...]
    scale: float
    precision: Precision
    methods: Mapping[str, Method]
    fleet: int

    def posterior(self, dataset: data.Dataset) -> Posterior:
        """Of this network, given the data."""
        sizes: dict[str, Any] = {"outputs": dataset.classes}
        if self.hidden:
            sizes["hidden"] = self.hidden
        return Posterior(
            networks.make(self.network, **sizes),
            likelihoods.Categorical(),
            priors.Normal(self.scale),
            dataset.train,
            precision=self.precision,
        )

    @staticmethod
    def folder(method: str) -> str:
        """Of the run of a method."""
        return method.replace(", ", "-").replace(" ", "-")


def methods(epochs: int, chains: int, draws: int, batch: int) -> dict[str, Method]:
    """Every method with as many epochs, chains and draws of each chain."""
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
        "checkpoint": CheckpointEnsemble(**trained, thin=1, draws=draws),
        "swa": SWA(**collected),
        "ema": EMA(**trained),
        "swag": SWAG(**collected, rank=min(20, max(2, epochs // 3)), draws=draws),
        "laplace, last layer": Laplace(**laplace, structure="last-layer"),
        "laplace, kronecker": Laplace(**laplace, structure="kronecker"),
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


TINY = Settings(
    data="digits:examples=64,test_examples=40",
    elsewhere=("digits:examples=64,test_examples=40",),
    network="mlp",
    hidden=(4,),
    scale=0.5,
    precision="float32",
    methods={
        name: method
        for name, method in methods(epochs=6, chains=2, draws=2, batch=32).items()
        if name in ("ensemble", "swag")
    },
    fleet=8,
)

QUICK = Settings(
    data="digits",
    elsewhere=("digits, pixels shuffled",),
    network="mlp",
    hidden=(32,),
    scale=0.5,
    precision="float32",
    methods=methods(epochs=120, chains=5, draws=10, batch=100),
    fleet=100,
)

GPU = Settings(
    data="fashion-mnist",
    elsewhere=("mnist", "notmnist"),
    network="lenet",
    hidden=(),
    scale=0.2,
    precision="tf32",
    methods=methods(epochs=30, chains=10, draws=10, batch=128),
    fleet=200,
)

SETTINGS = {"tiny": TINY, "quick": QUICK, "gpu": GPU}
