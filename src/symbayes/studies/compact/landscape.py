"""The loss between two networks during training, and the number of transpositions between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.barriers import line_between, swaps_along
from symbayes.analyse.predictions import scores_of_each
from symbayes.engine import Opened
from symbayes.posterior import Posterior
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.compact.case import Case
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part

PLACES = np.linspace(0.0, 1.0, 9)
SHOWN = 5
"""The number of epochs whose lines are drawn."""
WORDS = {
    "naive": "Both networks as trained, at some of the epochs.",
    "rebased": "The units of the second network are matched to those of the first by their activations, at "
    "the same epochs.",
}
WAYPOINTS = np.linspace(0.0, 1.0, 6)
"""Places on the line at which transpositions are counted."""
SMALL = 0.1
"""A barrier counts as removed if less than this share of it is left."""


@dataclass(frozen=True)
class Interpolation(Part):
    """The test loss on the line between two networks at many epochs, raw and rebased."""

    question: ClassVar[str] = "Does rebasing remove the barrier between two trainings?"
    published: ClassVar[str] = (
        "At every epoch the loss has a ridge half-way between two networks, which disappears when one of "
        "them is rebased."
    )

    case: Case

    def work(self, desk: Desk) -> Found:
        case, method = self.case, self.case.training
        assert method is not None
        run, test = case.drawn(desk, "training", method), case.dataset().test
        count, by = len(run.draws), case.matched(run)
        epochs = [method.epochs - (count - 1 - n) * method.thin for n in range(count)]
        found: dict[str, list[list[float]]] = {"naive": [], "rebased": []}
        for number in range(count):
            first, second = (_network(run, chain, number) for chain in (0, 1))
            moved = _aligned(run, second, first, by)
            for form, end in (("naive", second), ("rebased", moved)):
                losses = scores_of_each(run, line_between(first, end, PLACES), test)["loss"]
                found[form].append(losses.tolist())
        return {"epochs": epochs, "t": PLACES, "loss": found}

    def answer(self, found: Found) -> str:
        naive, rebased = (_barriers(found, form) for form in ("naive", "rebased"))
        left = rebased[-1] / max(naive[-1], 1e-9)
        word = "disappears" if left < SMALL else "shrinks" if left < 1 else "does not shrink"
        return (
            f"The barrier {word} when one network is rebased: after {found['epochs'][-1]} epochs from "
            f"{naive[-1]:.3f} to {rebased[-1]:.3f} nats, and after {found['epochs'][0]} from "
            f"{naive[0]:.3f} to {rebased[0]:.3f}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        epochs, t = np.array(found["epochs"], float), np.array(found["t"])
        some = np.unique(np.linspace(0, len(epochs) - 1, SHOWN).round().astype(int))
        ridge = {form: (epochs, np.array(_barriers(found, form))) for form in ("naive", "rebased")}
        return [
            figures.curves(
                ridge,
                "epoch",
                "barrier (nats)",
                "Barrier while training",
                "The rise of the test loss between two networks above the line between its values at both.",
            ),
            *(
                figures.curves(
                    {f"epoch {epochs[n]:.0f}": (t, np.array(found["loss"][form][n])) for n in some},
                    "place between the two networks",
                    "test loss (nats)",
                    f"Loss between two networks, {form}",
                    WORDS[form],
                    log_y=True,
                )
                for form in ("naive", "rebased")
            ),
        ]


@dataclass(frozen=True)
class Transpositions(Part):
    """Networks trained from one start whose units were reordered by a known number of transpositions."""

    question: ClassVar[str] = "Does training keep the order of the units?"
    published: ClassVar[str] = (
        "The number of transpositions after training follows that of the start, distance and barrier rise "
        "with it, and along the line between the two networks it rises steadily."
    )

    case: Case
    swaps: tuple[int, ...]
    runs: int

    def work(self, desk: Desk) -> Found:
        case, posterior = self.case, self.case.posterior()
        example = posterior.init(jax.random.key(0))
        group = symmetry.discover(posterior.network.apply, example, posterior.chunks.x[0, :2])
        keys = [jax.random.key(desk.seed + 7919 * number) for number in range(self.runs)]
        begins = [start for key in keys for start in self._starts(posterior, group, key)]
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *begins)
        method = replace(case.ensemble, chains=len(begins))
        run, test = case.drawn(desk, "permuted-starts", method, start=stacked), case.dataset().test
        desk.tell("transpositions and barriers between trained networks")
        size, rows = 1 + len(self.swaps), []
        for place, swaps in enumerate(self.swaps, start=1):
            pairs = [(number * size, number * size + place) for number in range(self.runs)]
            each = [
                self._pair(run, *(_network(run, chain, 0) for chain in pair), test=test) for pair in pairs
            ]
            rows.append({"start": swaps, **{name: [one[name] for one in each] for name in each[0]}})
        return {
            "rows": rows,
            "runs": self.runs,
            "t": WAYPOINTS,
            "units": group.permutations[0].size,
        }

    def _starts(self, posterior: Posterior, group: symmetry.Symmetry, key: jax.Array) -> list[Any]:
        """A network, and copies of it whose units are reordered by the given numbers of transpositions."""
        start, name = jax.tree.map(np.asarray, posterior.init(key)), group.permutations[0].name
        copies = [start]
        for place, swaps in enumerate(self.swaps, start=1):
            element = group.random_element(
                jax.random.fold_in(key, place), signs=False, spread=0.0, transpositions={name: swaps}
            )
            copies.append(jax.tree.map(np.asarray, group.act(element, start)))
        return copies

    def _pair(self, run: Opened, first: Any, other: Any, test: Any) -> dict[str, Any]:
        losses = scores_of_each(run, line_between(first, other, PLACES), test)["loss"]
        apart = jax.tree.map(lambda a, b: np.sum((a - b) ** 2), first["params"], other["params"])
        along = swaps_along(run, first, line_between(first, other, WAYPOINTS))
        return {
            "after": int(along[-1]),
            "distance": float(np.sqrt(sum(jax.tree.leaves(apart)))),
            "barrier": evaluate.barrier(losses, PLACES),
            "along": along.tolist(),
        }

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        start = np.array([row["start"] for row in rows], float)
        after, barriers = (np.array([np.mean(row[name]) for row in rows]) for name in ("after", "barrier"))
        together = float(np.corrcoef(start, after)[0, 1]) if np.ptp(start) and np.ptp(after) else 0.0
        follows = "follows" if together > 0.9 else "does not follow"
        rises = "rises" if barriers[-1] > barriers[0] else "does not rise"
        along = np.mean(rows[-1]["along"], axis=0)
        monotone = "rises" if np.all(np.diff(along) >= 0) else "does not always rise"
        return (
            f"The number of transpositions after training {follows} that of the start (correlation "
            f"{together:.2f}: {start[0]:.0f} become {after[0]:.0f}, {start[-1]:.0f} become "
            f"{after[-1]:.0f}; means of {found['runs']} runs), and the barrier {rises} with it, from "
            f"{barriers[0]:.3f} to {barriers[-1]:.3f} nats. Along the line between two networks the number "
            f"{monotone}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        columns = {"after": ",.1f", "distance": ".2f", "barrier": ".3f"}
        start = np.array([row["start"] for row in rows], float)
        series = {name: np.array([np.mean(row[name]) for row in rows]) for name in columns}
        shown = {"start": ",.0f"}
        for name, form in columns.items():
            shown |= {name: form, f"{name}, ±": form}
        table: list[Any] = [
            [row["start"], *(f(row[name]) for name in columns for f in (np.mean, _deviation))] for row in rows
        ]
        return [
            figures.curves(
                {"after training": (start, series["after"]), "unchanged": (start, start)},
                "transpositions at the start",
                "transpositions",
                "Transpositions before and after training",
                f"Transpositions of {found['units']} hidden units, as means of {found['runs']} runs.",
            ),
            figures.curves(
                {"barrier": (start, series["barrier"])},
                "transpositions at the start",
                "barrier (nats)",
                "Barrier against transpositions",
            ),
            figures.curves(
                {
                    f"{row['start']} at the start": (np.array(found["t"]), np.mean(row["along"], axis=0))
                    for row in rows
                },
                "place between the two networks",
                "transpositions",
                "Transpositions along the line between two networks",
                "Transpositions between the first network and the network at each place, after training.",
            ),
            Table(
                list(shown),
                table,
                "Networks trained from one start and from reordered copies of it: transpositions to the "
                "first network at the start and after training, distance between weights, and barrier on "
                f"test data. Means of {found['runs']} runs from different starts, with standard deviations.",
                shown,
            ),
        ]


def _deviation(values: Any) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _network(run: Opened, chain: int, draw: int) -> Any:
    return trees.index(run.draws.select([chain], [draw]).variables, (0, 0))


def _aligned(run: Opened, network: Any, to: Any, by: symmetry.Activations) -> Any:
    moved = symmetry.align(jax.tree.map(lambda leaf: leaf[None], network), run.group, to=to, by=by).draws
    return trees.index(moved, 0)


def _barriers(found: Found, form: str) -> list[float]:
    return [evaluate.barrier(np.array(losses), np.array(found["t"])) for losses in found["loss"][form]]
