"""The loss between two networks while they are trained, and how far apart their orders are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.barriers import line_between
from symbayes.analyse.predictions import scores_of_each
from symbayes.engine import Opened
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.compact.case import Case
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part

PLACES = np.linspace(0.0, 1.0, 9)
SMALL = 0.1
"""Alignment removes a barrier if less than this share of it is left."""


@dataclass(frozen=True)
class Interpolation(Part):
    """The test loss on the line between two networks at many epochs, as they are and rebased."""

    question: ClassVar[str] = "Does the barrier between two trainings disappear?"
    published: ClassVar[str] = (
        "At every epoch the loss has a ridge half-way between two networks, which disappears when one of "
        "them "
        "is rebased."
    )

    case: Case

    def work(self, desk: Desk) -> Found:
        case = self.case
        run, test = case.drawn(desk, "training", case.training), case.dataset().test
        count, method = len(run.draws), case.training
        epochs = [method.epochs - (count - 1 - n) * method.thin for n in range(count)]
        found: dict[str, list[list[float]]] = {"naive": [], "rebased": []}
        for number in range(count):
            first, second = (_network(run, chain, number) for chain in (0, 1))
            moved = _aligned(run, second, first)
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
            f"{naive[0]:.3f} to "
            f"{rebased[0]:.3f}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        epochs, t = np.array(found["epochs"], float), np.array(found["t"])
        last = {form: (t, np.array(found["loss"][form][-1])) for form in ("naive", "rebased")}
        ridge = {form: (epochs, np.array(_barriers(found, form))) for form in ("naive", "rebased")}
        return [
            figures.curves(
                ridge,
                "epoch",
                "barrier (nats)",
                "Barrier while training",
                "How far the test loss rises between two networks above its values at them.",
            ),
            figures.curves(
                last,
                "place between the two networks",
                "loss (nats)",
                "Loss between two networks",
                f"After {found['epochs'][-1]} epochs.",
            ),
        ]


@dataclass(frozen=True)
class Transpositions(Part):
    """Networks trained from one start whose units were reordered by a known number of transpositions."""

    question: ClassVar[str] = "Does training keep the order of the units?"
    published: ClassVar[str] = (
        "The number of transpositions after training follows that of the start, and distance and barrier "
        "rise "
        "with it."
    )

    case: Case
    swaps: tuple[int, ...]

    def work(self, desk: Desk) -> Found:
        case, posterior = self.case, self.case.posterior()
        start = jax.tree.map(np.asarray, posterior.init(jax.random.key(desk.seed)))
        group = symmetry.discover(posterior.network.apply, start, posterior.chunks.x[0, :2])
        name = group.permutations[0].name
        begins = [start]
        for number, swaps in enumerate(self.swaps):
            key = jax.random.key(1000 + number)
            element = group.random_element(key, signs=False, spread=0.0, transpositions={name: swaps})
            begins.append(jax.tree.map(np.asarray, group.act(element, start)))
        stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *begins)
        method = replace(case.ensemble, chains=len(begins))
        run, test = case.drawn(desk, "permuted-starts", method, start=stacked), case.dataset().test
        first = _network(run, 0, 0)
        rows = [
            self._row(run, first, _network(run, n, 0), swaps, test) for n, swaps in enumerate(self.swaps, 1)
        ]
        return {"rows": rows, "units": group.permutations[0].size}

    def _row(self, run: Opened, first: Any, other: Any, swaps: int, test: Any) -> dict[str, Any]:
        elements = symmetry.align(jax.tree.map(lambda leaf: leaf[None], other), run.group, to=first).elements
        losses = scores_of_each(run, line_between(first, other, PLACES), test)["loss"]
        apart = jax.tree.map(lambda a, b: np.sum((a - b) ** 2), first["params"], other["params"])
        return {
            "start": swaps,
            "after": int(np.asarray(symmetry.transpositions(elements)["total"])[0]),
            "distance": float(np.sqrt(sum(jax.tree.leaves(apart)))),
            "barrier": evaluate.barrier(losses, PLACES),
        }

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        start, after = (np.array([row[name] for row in rows], float) for name in ("start", "after"))
        barriers = np.array([row["barrier"] for row in rows])
        together = float(np.corrcoef(start, after)[0, 1]) if np.ptp(start) and np.ptp(after) else 0.0
        follows = "follows" if together > 0.9 else "does not follow"
        rises = "rises" if barriers[-1] > barriers[0] else "does not rise"
        return (
            f"The number of transpositions after training {follows} that of the start (correlation "
            f"{together:.2f}: {start[0]:.0f} become {after[0]:.0f}, {start[-1]:.0f} become "
            f"{after[-1]:.0f}), and "
            f"the barrier {rises} with it, from {barriers[0]:.3f} to {barriers[-1]:.3f} nats."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        columns = {"start": ",.0f", "after": ",.0f", "distance": ".2f", "barrier": ".3f"}
        series = {name: np.array([row[name] for row in rows], float) for name in columns}
        return [
            figures.curves(
                {
                    "after training": (series["start"], series["after"]),
                    "as at the start": (series["start"], series["start"]),
                },
                "transpositions at the start",
                "transpositions",
                "Order before and after training",
                f"Of {found['units']} hidden units.",
            ),
            figures.curves(
                {"barrier": (series["start"], series["barrier"])},
                "transpositions at the start",
                "barrier (nats)",
                "Barrier against transpositions",
            ),
            Table(
                list(columns),
                [[row[name] for name in columns] for row in rows],
                "Networks trained from one start and from reordered copies of it: transpositions to the "
                "first "
                "at the start and after training, distance of weights, and barrier on test data.",
                columns,
            ),
        ]


def _network(run: Opened, chain: int, draw: int) -> Any:
    return trees.index(run.draws.select([chain], [draw]).variables, (0, 0))


def _aligned(run: Opened, network: Any, to: Any) -> Any:
    moved = symmetry.align(jax.tree.map(lambda leaf: leaf[None], network), run.group, to=to).draws
    return trees.index(moved, 0)


def _barriers(found: Found, form: str) -> list[float]:
    return [evaluate.barrier(np.array(losses), np.array(found["t"])) for losses in found["loss"][form]]
