"""Does training find the lightest copy of a network, among all copies that scalings make of it?

With ReLU, a unit's incoming weights can be scaled up and its outgoing ones down without changing the
function. Weight decay prefers the lightest of these copies, the minimum of the summed squares (the mass).
Here convolutional networks without normalisers are trained at several weight decays, and their mass is
followed beside its minimum over scalings.  Weight decay l (per example) is a normal prior of variance 1 / (l
N).

Along the way to the minimum, the loss of every example is constant, so neither it nor its mini-batch noise
moves a network there: the pull is the gradient of weight decay along that way,

    pull = l |<w, t>|,   t the unit tangent of the orbit towards the minimum,

and beside it stands the noise of mini-batch gradients, the root of their summed variances.  For the same
reason gradient flow keeps the imbalance |into a unit|^2 - |out of it|^2 of every unit, and weight decay lets
it fall as exp(-2 l t): what is left of it at the end of training says whether the minimum can be reached.

Reference: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network
posteriors.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import data, networks, symmetry, trees
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.methods import CheckpointEnsemble
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.posterior import Precision
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part
from symbayes.studies.picture import SOURCE
from symbayes.studies.study import Study
from symbayes.symmetry import Symmetry

BATCHES = 16
"""The number of mini-batches from which the noise of gradients is estimated."""
NEAR = 0.01
"""A mass that exceeds its minimum by less than this share counts as minimal."""


@dataclass(frozen=True)
class Profiles(Part):
    """Mass and its minimum along training, at several weight decays."""

    question: ClassVar[str] = "How far from the lightest copy are networks while they train?"
    published: ClassVar[str] = (
        "Weight decay never reaches the minimum-mass scaling, and the gradients towards it are negligible "
        "against the noise of stochastic gradients."
    )

    data: str
    channels: tuple[int, ...]
    hidden: tuple[int, ...]
    decays: tuple[float, ...]
    training: CheckpointEnsemble
    precision: Precision = "float32"

    @property
    def of(self) -> str:
        return self.data.partition(":")[0]

    def work(self, desk: Desk) -> Found:
        dataset = data.load(self.data)
        network = networks.cnn(channels=self.channels, hidden=self.hidden, outputs=int(dataset.classes or 1))
        found: dict[str, Any] = {}
        for decay in self.decays:
            scale = float((decay * len(dataset.train)) ** -0.5)
            posterior = Posterior(
                network,
                likelihoods.Categorical(),
                priors.Normal(scale=scale),
                dataset.train,
                precision=self.precision,
            )
            run = desk.run(f"{self.of}/decay-{decay:g}", self.training, posterior, dataset)
            desk.tell(f"weight decay {decay:g}: the lightest copy of every network")
            found[f"{decay:g}"] = profile(run, posterior, decay, self.training.batch)
        first = self.training.epochs - (self.training.draws - 1) * self.training.thin
        epochs = [first + number * self.training.thin for number in range(self.training.draws)]
        time = training_time(self.training, len(dataset.train))
        return {"epochs": epochs, "chains": self.training.chains, "time": time, "decays": found}

    def answer(self, found: Found) -> str:
        last = {decay: one["ratio"][-1] for decay, one in found["decays"].items()}
        reached = [decay for decay, ratio in last.items() if ratio < 1 + NEAR]
        share = max(
            max(one["pull"][i] / one["noise"][i] for i in range(len(one["pull"])))
            for one in found["decays"].values()
        )
        heaviest, lightest = max(last, key=lambda d: last[d]), min(last, key=lambda d: last[d])
        ends = "No training ends" if not reached else f"Trainings with weight decay {', '.join(reached)} end"
        return (
            f"{ends} within {NEAR:.0%} of the lightest copy: the mass at the end is {last[lightest]:.3f} "
            f"times the minimum at weight decay {lightest} and {last[heaviest]:.3f} times at {heaviest}. The "
            f"pull towards the lightest copy is at most {share:.2g} times the noise of mini-batch gradients. "
            f"Over this training, weight decay alone would leave {left(lightest, found['time']):.0%} and "
            f"{left(heaviest, found['time']):.0%} of the imbalance between the weights into a unit and those "
            "out of it."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        epochs = np.array(found["epochs"], np.float64)
        decays = found["decays"]
        excess = {f"weight decay {d}": (epochs, np.array(one["ratio"]) - 1) for d, one in decays.items()}
        mass = {}
        for decay, one in decays.items():
            mass[f"mass, {decay}"] = (epochs, np.array(one["mass"]))
            mass[f"minimum, {decay}"] = (epochs, np.array(one["minimum"]))
        pull = {
            f"weight decay {d}": (epochs, np.array(one["pull"]) / np.array(one["noise"]))
            for d, one in decays.items()
        }
        columns = ["weight decay", "mass", "minimum", "ratio", "distance", "pull", "noise", "imbalance left"]
        rows: list[Any] = [
            [d, *(one[name][-1] for name in columns[1:-1]), left(d, found["time"])]
            for d, one in decays.items()
        ]
        return [
            figures.curves(
                mass,
                "epoch",
                "summed squares",
                f"Mass and its minimum: {self.of}",
                "Each line is a mean over networks.",
                log_y=True,
            ),
            figures.curves(
                excess,
                "epoch",
                "mass / minimum - 1",
                f"Mass above that of the lightest copy: {self.of}",
                "At zero, a network is the lightest copy of its function.",
                log_y=True,
            ),
            figures.curves(
                pull,
                "epoch",
                "pull / noise",
                f"The pull towards the lightest copy against the noise of gradients: {self.of}",
                "The component of the gradient per example towards the lightest copy, divided by the noise "
                "of a mini-batch gradient.",
                log_y=True,
            ),
            Table(
                columns,
                rows,
                f"{self.of}: at the end of training, means over {found['chains']} networks. The distance is "
                "between the weights and those of the lightest copy, divided by the norm of the weights. The "
                "imbalance left is the share exp(-2 l T) that weight decay l alone leaves, where T is the "
                "sum of the steps.",
                dict.fromkeys(columns[1:], ".4g"),
            ),
        ]


def training_time(method: CheckpointEnsemble, examples: int) -> float:
    """The sum T of the steps of a training by stochastic gradients with momentum and a cosine schedule."""
    assert method.learning_rate is not None, "given by the presets"
    return 0.5 * method.learning_rate * method.epochs * (examples // method.batch) / (1 - method.momentum)


def left(decay: str, time: float) -> float:
    """The share of |into a unit|^2 - |out of it|^2 that weight decay leaves after a time T: exp(-2 l T).

    Without weight decay, gradient flow conserves it: the loss is the same along the orbit.
    """
    return math.exp(-2 * float(decay) * time)


def profile(run: Opened, posterior: Posterior, decay: float, batch: int) -> dict[str, list[float]]:
    """Mass, its minimum, pull and noise at every checkpoint, as means over chains."""
    draws = run.draws.select()
    least = symmetry.minimal_mass(draws, run.group)
    assert isinstance(least.draws, Draws)
    weights, lightest = (trees.ravel(each.variables["params"], 2) for each in (draws, least.draws))
    w, v = (np.asarray(each, np.float64) for each in (weights, lightest))
    mass, minimum = (w**2).sum(-1), (v**2).sum(-1)
    tangent = tangents(draws, least.elements, run.group)
    norm = np.linalg.norm(tangent, axis=-1)
    pull = decay * np.abs((w * tangent).sum(-1)) / np.where(norm > 0, norm, 1)
    found = {
        "mass": mass,
        "minimum": minimum,
        "ratio": mass / minimum,
        "distance": np.linalg.norm(w - v, axis=-1) / np.linalg.norm(w, axis=-1),
        "pull": pull,
        "noise": gradient_noise(draws, posterior, batch),
    }
    return {name: values.mean(0).tolist() for name, values in found.items()}


def tangents(draws: Draws, elements: symmetry.Element, group: Symmetry) -> np.ndarray:
    """The direction from each network along its orbit towards the lightest copy, (chain, draw, weight)."""
    found = _tangents(group, _as_one(draws.variables), _as_one(elements))
    return np.asarray(found, np.float64).reshape(draws.chains, len(draws), -1)


@functools.partial(jax.jit, static_argnums=0)
def _tangents(group: Symmetry, networks: Any, elements: symmetry.Element) -> jax.Array:
    def one(pair: Any) -> jax.Array:
        variables, element = pair

        def moved(t: jax.Array) -> jax.Array:
            scaled = {name: t * log for name, log in element.log_scales.items()}
            part = symmetry.Element(element.permutations, element.signs, scaled)
            return trees.ravel(group.act(part, variables)["params"])

        return jax.jvp(moved, (jnp.zeros(()),), (jnp.ones(()),))[1]

    return jax.lax.map(one, (networks, elements))


def gradient_noise(draws: Draws, posterior: Posterior, batch: int) -> np.ndarray:
    """The root of the summed variances of a mini-batch's gradient, per example, (chain, draw)."""
    keys = jax.random.split(jax.random.key(0), BATCHES)
    rng = np.random.default_rng(0)
    rows = np.stack([rng.permutation(posterior.size)[:batch] for _ in range(BATCHES)])
    found = _noise(posterior, _as_one(draws.variables), jnp.asarray(rows), keys)
    return np.asarray(found, np.float64).reshape(draws.chains, len(draws))


@jax.jit
def _noise(posterior: Posterior, networks: Any, rows: jax.Array, keys: jax.Array) -> jax.Array:
    def one(variables: Any) -> jax.Array:
        def gradient(pair: Any) -> jax.Array:
            return trees.ravel(posterior.minibatch_gradient(variables, *pair)[0]) / posterior.size

        return jnp.sqrt(jnp.sum(jnp.var(jax.lax.map(gradient, (rows, keys)), axis=0, ddof=1)))

    return jax.lax.map(one, networks)


def _as_one(tree: Any) -> Any:
    """Chains and draws as one axis."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).reshape(-1, *leaf.shape[2:]), tree)


@dataclass(frozen=True)
class Mass(Study):
    """Does training find the lightest copy of a network?

    Example: symbayes study mass --preset quick
    """

    name: ClassVar[str] = "mass"
    title: ClassVar[str] = "Does weight decay find the lightest copy of a network?"
    source: ClassVar[str] = SOURCE

    def parts(self) -> Mapping[str, Part]:
        def trained(**options: Any) -> CheckpointEnsemble:
            return CheckpointEnsemble(optimizer="sgd", schedule="cosine", **options)

        if self.preset == "tiny":
            method = trained(epochs=3, draws=2, thin=1, chains=2, batch=32, learning_rate=0.05)
            every = [Profiles("digits:examples=64,test_examples=40", (2,), (3,), (1e-3, 1e-1), method)]
        elif self.preset == "quick":
            method = trained(epochs=60, draws=10, thin=6, chains=2, batch=100, learning_rate=0.05)
            every = [Profiles("digits", (8, 16), (32,), (1e-4, 1e-3, 1e-2), method)]
        else:
            method = trained(epochs=60, draws=12, thin=5, chains=4, batch=500, learning_rate=0.1)
            decays = (1e-5, 1e-4, 5e-4, 1e-3, 5e-3)
            every = [
                Profiles(f"{name}:validation=0", (16, 32), (128,), decays, method, "tf32")
                for name in ("fashion-mnist", "cifar10")
            ]
        return {f"{part.of}.profiles": part for part in every}

    def answer(self, found: Mapping[str, Found]) -> str:
        done = [(part.of, part.answer(found[name])) for name, part in self.parts().items() if name in found]
        return " ".join(words if len(done) == 1 else f"{of}: {words}" for of, words in done)
