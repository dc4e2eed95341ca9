"""The whole posterior of a very small network: 2 inputs, 2 hidden units, 1 output.

Ten thousand trainings from different starts give ten thousand pairs of last-layer weights.  Plotted as
trained, the pairs form two mirror images, one for each order of the units, spread along hyperbolas by
scalings.  With incoming weights of unit norm, and then with sorted units, copies of one network coincide.

Reference: Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network
posteriors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbayes import evaluate, networks, symmetry
from symbayes.data import Examples
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.evaluate.hexagons import Hexagons
from symbayes.methods import DeepEnsemble
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part
from symbayes.studies.study import Study

SOURCE = "Laurent, Aldea & Franchi (2024), A symmetry-aware exploration of Bayesian neural network posteriors"
FORMS: Mapping[str, tuple[str | None, str | None] | None] = {
    "raw": None,
    "scaled": ("unit-norm", None),
    "scaled and sorted": ("unit-norm", "sort"),
}
ACROSS = 40
"""Hexagons across the window."""
INSIDE = 0.98
"""The share of the raw weights that lie in the window of the figure."""
NOISE = 0.1
GROUPS = 20
"""Groups of networks, each tested by itself."""
LOW = 0.05
"""A p-value below this is called low."""


def teacher(examples: int, seed: int = 0) -> Examples:
    """Noisy outputs of one 2-2-1 network with ReLU at normal inputs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(examples, 2))
    hidden = np.maximum(x @ np.array([[1.0, -0.6], [0.4, 1.1]]) + np.array([0.2, -0.1]), 0)
    y = hidden @ np.array([[1.3], [-0.8]]) + NOISE * rng.normal(size=(examples, 1))
    return Examples(x.astype(np.float32), y.astype(np.float32))


@dataclass(frozen=True)
class Densities(Part):
    """The two last-layer weights of a fleet of trainings, in three forms."""

    question: ClassVar[str] = "What does the posterior look like once copies of the same network are merged?"
    published: ClassVar[str] = (
        "Scaling and permutation symmetries spread the estimated posterior of a two-hidden-unit "
        "perceptron over several copies; once both are removed, one compact density is left."
    )

    fleet: DeepEnsemble
    examples: int

    def work(self, desk: Desk) -> Found:
        posterior = Posterior(
            networks.mlp(hidden=(2,), outputs=1),
            likelihoods.Gaussian(scale=NOISE),
            priors.Normal(scale=1.0),
            teacher(self.examples),
        )
        run = desk.run("fleet", self.fleet, posterior)
        pairs = {}
        for form in FORMS:
            desk.tell(f"last-layer weights, {form}")
            pairs[form] = last_weights(run, form)
        window = float(np.quantile(np.abs(pairs["raw"]), INSIDE))
        width = 2 * window / ACROSS
        binned = {form: evaluate.hexagons(points, width) for form, points in pairs.items()}
        desk.tell("test that both units have the same marginal distribution")
        return {
            "networks": len(pairs["raw"]),
            "loss": float(np.median(-run.draws.stats["log_likelihood"])) / self.examples,
            "window": window,
            "width": width,
            "forms": {
                form: {
                    "centres": found.centres.round(6),
                    "counts": found.counts,
                    "half": found.holding(),
                    "mirror": mirror_distance(pairs[form], width),
                }
                for form, found in binned.items()
            },
            "floor": mirror_distance(_coin(pairs["raw"]), width),
            "units": {form: unit_p_values(networks_in(run, form)) for form in ("raw", "scaled and sorted")},
        }

    def answer(self, found: Found) -> str:
        half = {form: one["half"] for form, one in found["forms"].items()}
        mirror = {form: one["mirror"] for form, one in found["forms"].items()}
        fewer = half["scaled and sorted"] < half["raw"]
        verb = "makes" if fewer else "does not make"
        near = mirror["raw"] < 2 * found["floor"]
        same = "is close to its mirror image" if near else "differs from its mirror image"
        return (
            f"Half of {found['networks']:,} networks lie in {half['raw']} hexagons as trained, in "
            f"{half['scaled']} once scaled and in {half['scaled and sorted']} once scaled and sorted: "
            f"removing copies {verb} the density more compact. As trained, the density {same} (total "
            f"variation {mirror['raw']:.2f}; {found['floor']:.2f} is expected by chance). After sorting, "
            "the total "
            f"variation is {mirror['scaled and sorted']:.2f}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        forms = {
            form: Hexagons(np.array(one["centres"]), np.array(one["counts"]), found["width"])
            for form, one in found["forms"].items()
        }
        rows: list[Any] = [[form, one["half"], one["mirror"]] for form, one in found["forms"].items()]
        caption = (
            "Each hexagon is coloured by the number of networks whose two last-layer weights it holds. The "
            "dotted line is where both weights are equal: swapping the two units mirrors the density at it."
        )
        return [
            figures.densities(
                forms,
                ("last weight of unit 1", "last weight of unit 2"),
                "The posterior of a 2-2-1 network",
                caption,
                found["window"],
            ),
            Table(
                ["form", "hexagons for half", "distance from mirror image"],
                rows,
                "The number of hexagons that hold half of the networks, and the total variation between the "
                f"density and its mirror image; {found['floor']:.2f} is expected by chance. "
                f"{units_told(found['units'])}",
                {"distance from mirror image": ".3f"},
            ),
        ]


def units_told(units: Mapping[str, Any]) -> str:
    """The result of the exact test in words, for all networks and for groups of them."""
    trained, ordered = units["raw"], units["scaled and sorted"]
    low = sum(p < LOW for p in trained["groups"])
    return (
        f"By symmetry both units have the same marginal distribution. The exact test of this gives "
        f"p = {trained['all']:.3f} for the networks as trained, and p < {LOW} for {low} of "
        f"{len(trained['groups'])} groups of them, where {LOW * len(trained['groups']):g} are expected by "
        f"chance. Sorting makes the units different: p = {ordered['all']:.3f}."
    )


def networks_in(run: Opened, form: str) -> Draws:
    """Every network in one of the forms."""
    rule, draws = FORMS[form], run.draws
    if rule is None:
        return draws
    moved = symmetry.canonical(draws.select(), run.group, scale=rule[0], order=rule[1])
    assert isinstance(moved, Draws)
    return moved


def last_weights(run: Opened, form: str) -> np.ndarray:
    """The two last-layer weights of every network, (networks, 2)."""
    kernels = networks_in(run, form).variables["params"]["output"]["kernel"]
    return np.asarray(kernels, np.float64).reshape(-1, 2)


def unit_p_values(draws: Draws) -> dict[str, Any]:
    """P-values of the exact test that both units have the same marginal: of all networks, and of groups of
    them.

    A single p-value may be small by chance; independent groups of networks show whether it is.
    """
    kernels = np.asarray(draws.variables["params"]["hidden1"]["kernel"])
    groups = [evaluate.unit_test(kernels[k::GROUPS], permutations=199).p_value for k in range(GROUPS)]
    return {"all": evaluate.unit_test(kernels).p_value, "groups": groups}


def mirror_distance(points: np.ndarray, width: float) -> float:
    """Total variation between a density and its mirror image at the diagonal.

    In squares of the hexagons' width: mirrored hexagons would stand on their corners.
    """
    edges = np.linspace(-ACROSS, ACROSS, 2 * ACROSS + 1) * width
    x, y = np.clip(points, edges[0], edges[-1]).T
    counts = np.histogram2d(x, y, bins=[edges, edges])[0] / len(points)
    return float(0.5 * np.abs(counts - counts.T).sum())


def _coin(points: np.ndarray) -> np.ndarray:
    """Points mirrored or not by the toss of a coin: a density that is its own mirror image but for chance."""
    tossed = np.random.default_rng(0).random(len(points)) < 0.5
    return np.where(tossed[:, None], points[:, ::-1], points)


@dataclass(frozen=True)
class Picture(Study):
    """What does the posterior of the smallest network look like?

    Example: symbayes study picture --preset quick
    """

    name: ClassVar[str] = "picture"
    title: ClassVar[str] = "What does the posterior of a 2-2-1 network look like?"
    source: ClassVar[str] = SOURCE

    def parts(self) -> Mapping[str, Part]:
        networks, epochs = {"tiny": (40, 4), "quick": (10_000, 150), "gpu": (10_000, 600)}[self.preset]
        fleet = DeepEnsemble(chains=networks, epochs=epochs, batch=32, learning_rate=1e-2)
        return {"densities": Densities(fleet, 64)}

    def answer(self, found: Mapping[str, Found]) -> str:
        return self.parts()["densities"].answer(found["densities"]) if "densities" in found else ""
