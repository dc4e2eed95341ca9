"""The posteriors that the study is about, and the methods that draw from them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from symbayes import data, networks
from symbayes.analyse.compare import measure
from symbayes.engine import Method, Opened
from symbayes.methods import HMC, DeepEnsemble
from symbayes.posterior import Posterior, Predictive, likelihoods, priors
from symbayes.posterior.posterior import Precision
from symbayes.posterior.priors import Prior
from symbayes.studies.desk import Desk
from symbayes.studies.part import Part

Kind = Literal["mlp", "lenet"]

FIRST = {"mlp": "hidden1/kernel", "lenet": "conv1/kernel"}
"""The kernel that multiplies the inputs."""


@dataclass(frozen=True)
class Case:
    """A posterior with the prior N(0, scale^2), and how it is drawn from.

    Attributes:
        data: name of the dataset.
        network: mlp or lenet.
        hidden: widths of an mlp's hidden layers.
        scale: standard deviation of the prior.
        precision: precision of the products in gradients.
        reference: the HMC run that all others are compared with.
        sweep: a shorter HMC run, for temperatures and priors.
        ensemble: the deep ensemble; its first member is the network trained as usual.
        samplers: other methods, by name.
    """

    data: str
    network: Kind
    hidden: tuple[int, ...]
    scale: float
    precision: Precision
    reference: HMC
    sweep: HMC
    ensemble: DeepEnsemble
    samplers: Mapping[str, Method] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.data.partition(':')[0]}-{self.network}"

    def dataset(self) -> data.Dataset:
        return _load(self.data)

    def posterior(
        self,
        prior: Prior | None = None,
        temperature: float = 1.0,
        augmentation: tuple[str, ...] = (),
        copies: int = 1,
    ) -> Posterior:
        """The posterior, possibly with another prior, temperature or augmented copies of every image."""
        sizes: dict[str, Any] = {"outputs": self.dataset().classes}
        if self.hidden:
            sizes["hidden"] = self.hidden
        network = networks.make(self.network, **sizes)
        return Posterior(
            network,
            likelihoods.Categorical(),
            prior or priors.Normal(self.scale),
            self.dataset().train,
            temperature=temperature,
            precision=self.precision,
            augmentation=augmentation,
            copies=copies,
        )

    def hmc(self, desk: Desk) -> Opened:
        """The reference run, which many parts share."""
        return self.drawn(desk, "hmc", self.reference, self.posterior())

    def drawn(self, desk: Desk, name: str, method: Method, posterior: Posterior) -> Opened:
        """A run of this case, drawn now or read back."""
        return desk.run(f"{self.name}/{name}", method, posterior, self.dataset())

    def swept(self, temperature: float = 1.0, scale: float | None = None) -> HMC:
        """The shorter HMC, with step size and trajectory scaled to the width of the posterior.

        Both are proportional to the square root of the temperature, and the trajectory also to the scale of a
        narrower prior.
        """
        wider = 1.0 if scale is None else min(1.0, scale / self.scale)
        step, length = self.sweep.step_size, self.sweep.trajectory
        assert isinstance(step, float)
        assert isinstance(length, float)
        root = math.sqrt(temperature)
        return replace(self.sweep, step_size=step * root, trajectory=length * root * wider)


@functools.lru_cache(maxsize=4)
def _load(name: str) -> data.Dataset:
    return data.load(name)


@dataclass(frozen=True)
class Asked(Part):
    """A question about one case."""

    case: Case
    alone: bool
    """Whether the study has this case only."""

    @property
    def of(self) -> str:
        return "" if self.alone else self.case.name

    @property
    def titled(self) -> str:
        """The end of the title of a figure."""
        return f" ({self.of})" if self.of else ""


def scores(predictive: Predictive, y: Any) -> dict[str, float]:
    """Accuracy, loss and calibration of the average."""
    return measure(predictive, np.asarray(y))


def gap(predictive: Predictive, other: Predictive, y: Any) -> dict[str, float]:
    """The difference of two losses per example, and its standard error over examples and over chains.

    Chain c of the one is compared with chain c of the other.
    """
    difference = predictive.losses(y) - other.losses(y)
    errors = [difference.std(ddof=1) / math.sqrt(len(difference))]
    chains = min(each.every.shape[0] for each in (predictive, other))
    if chains > 1:
        apart = [
            np.mean(
                [each.of_draws(lambda array, c=c: array[c : c + 1]).losses(y) for c in range(chains)], axis=1
            )
            for each in (predictive, other)
        ]
        errors.append((apart[0] - apart[1]).std(ddof=1) / math.sqrt(chains))
    return {"difference": float(difference.mean()), "error": float(math.hypot(*errors))}
