"""Loss, accuracy and the order of units along straight lines between networks of independent chains."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.predictions import Statistics, scores_of_each, with_statistics
from symbayes.brief import briefly
from symbayes.data import Examples
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run

PARTS = ("train", "test")

WAYPOINTS = 6
"""The number of places on a line at which the order of the units is measured."""


@briefly
@dataclass(frozen=True)
class Barriers:
    """Means over pairs of networks at the places `t`, by part of the data and by form of the networks.

    `accuracy` is empty for regression.  `swaps` are, by form, the numbers of transpositions between the order
    of units in the first network and that in the network at each of the `waypoints`.
    """

    t: np.ndarray
    loss: Mapping[str, Mapping[str, np.ndarray]]
    accuracy: Mapping[str, Mapping[str, np.ndarray]]
    pairs: int
    waypoints: np.ndarray
    swaps: Mapping[str, np.ndarray]
    recomputed: int = 0
    """The number of training examples on which statistics of normalisers were computed again."""

    def barrier(self, part: str, form: str) -> float:
        """The barrier of the mean loss, in nats per example."""
        return evaluate.barrier(self.loss[part][form], self.t)

    def drop(self, part: str, form: str) -> float:
        """The drop of the mean accuracy, as a share."""
        return evaluate.accuracy_drop(self.accuracy[part][form], self.t)


def barriers(
    source: Source,
    raw: Draws,
    aligned: Draws,
    examples: Mapping[str, Examples],
    pairs: int,
    steps: int,
    statistics: Statistics = "recompute",
) -> Barriers:
    """The barriers between the last draws of the first chains: raw, aligned jointly, and aligned as a pair.

    Statistics of normalisers are computed again on the training examples at every place, or interpolated.
    """
    run = open_run(source)
    chosen = list(itertools.islice(itertools.combinations(range(raw.chains), 2), pairs))
    t = np.linspace(0.0, 1.0, steps)
    forms = {"raw": raw, "aligned jointly": aligned}
    waypoints = np.linspace(0.0, 1.0, WAYPOINTS)
    sums: dict[tuple[str, str, str], np.ndarray] = {}
    swaps: dict[str, np.ndarray] = {}
    for pair in chosen:
        ends = {form: tuple(_last(draws, chain) for chain in pair) for form, draws in forms.items()}
        start, end = ends["raw"]
        moved = symmetry.align(jax.tree.map(lambda leaf: leaf[None], end), run.group, to=start).draws
        ends["aligned as a pair"] = (start, trees.index(moved, 0))
        for form, (a, b) in ends.items():
            line = with_statistics(run, line_between(a, b, t), examples["train"], statistics)
            away = swaps_along(run, a, line_between(a, b, waypoints))
            swaps[form] = swaps.get(form, np.zeros(WAYPOINTS)) + away / len(chosen)
            for part in PARTS:
                for what, values in scores_of_each(run, line, examples[part]).items():
                    key = (what, part, form)
                    sums[key] = sums.get(key, np.zeros(steps)) + values / len(chosen)

    def collected(what: str) -> dict[str, dict[str, np.ndarray]]:
        return {
            part: {form: values for (w, p, form), values in sums.items() if (w, p) == (what, part)}
            for part in PARTS
        }

    again = statistics == "recompute" and any(name.startswith("stats/") for name in raw.shapes)
    counted = len(examples["train"]) if again else 0
    return Barriers(t, collected("loss"), collected("accuracy"), len(chosen), waypoints, swaps, counted)


def _last(draws: Draws, chain: int) -> dict[str, Any]:
    return trees.index(draws.select([chain], [len(draws) - 1]).variables, (0, 0))


def line_between(a: Any, b: Any, t: np.ndarray) -> Draws:
    """The networks ``(1-t) a + t b``, as one chain."""

    def mixed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        share = t.reshape(-1, *(1 for _ in range(np.ndim(x)))).astype(np.float32)
        return ((1 - share) * x + share * y)[None]

    return Draws.from_variables(jax.tree.map(mixed, a, b))


def swaps_along(run: Opened, start: Any, line: Draws) -> np.ndarray:
    """The numbers of transpositions between the order of units in a network and in the networks on a line."""
    elements = symmetry.align(trees.index(line.variables, 0), run.group, to=start).elements
    return np.asarray(symmetry.transpositions(elements)["total"], np.float64)
