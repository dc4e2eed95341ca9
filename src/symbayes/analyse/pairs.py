"""Two trained networks: the order of their units, the loss between them, and their merged network.

The second network is aligned to the first, and the loss is followed on the straight line between them, before
and after alignment.  The merged network is the one half-way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.barriers import line_between
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.predictions import Statistics, scores_of_each, with_statistics
from symbayes.data import Dataset, Examples
from symbayes.networks import Network, checkpoints
from symbayes.posterior.likelihoods import Likelihood
from symbayes.specs import Record, require
from symbayes.symmetry import Criterion, Symmetry
from symbayes.trees import Array, Tree

FORMS = ("raw", "aligned")


@dataclass(frozen=True, eq=False)
class Trained:
    """Networks that were trained elsewhere: their variables, with network and likelihood.

    `names` maps layers of the checkpoints to layers of the network, where their shapes alone do not.
    """

    network: Network
    likelihood: Likelihood
    variables: Sequence[Tree]
    example: Array
    names: Mapping[str, str] | None = None

    @classmethod
    def load(
        cls,
        paths: Sequence[str | Path],
        network: Network,
        likelihood: Likelihood,
        data: Dataset,
        names: Mapping[str, str] | None = None,
    ) -> Trained:
        """Load the networks of some checkpoints, for inputs of the shape that a dataset has."""
        example = np.asarray(data.test.x[:2])
        found = [checkpoints.load(path, network, example, names=names) for path in paths]
        return cls(network, likelihood, found, example, names)

    def group(self) -> Symmetry:
        """The symmetries of the network, also where its statistics are computed again."""
        found = symmetry.discover(self.network.apply, self.variables[0], jnp.asarray(self.example))
        return found.with_statistics_computed()

    def losses(self, examples: Examples) -> Callable[[Tree], jax.Array]:
        """The mean loss of variables on some examples."""
        x, y = jnp.asarray(examples.x), jnp.asarray(examples.y)
        return lambda variables: -jnp.mean(self.likelihood.log_prob(self.network.apply(variables, x), y))


@dataclass(frozen=True, eq=False)
class Pair:
    """Scores along the line between two networks, by form (raw, aligned) and part of the data.

    Attributes:
        t: places on the line, from 0 to 1.
        scores: by form, part (train, test) and metric (loss in nats, accuracy), one number for each place.
        transpositions: the swaps of two units that aligned the second, per layer and in all.
        aligned: the second network, aligned to the first.
        merged: the aligned network half-way, with statistics of its own.
        recomputed: the number of training examples on which statistics of normalisers were computed again;
            zero where they were not.
    """

    t: np.ndarray
    scores: Mapping[str, Mapping[str, Mapping[str, np.ndarray]]]
    transpositions: Mapping[str, int]
    aligned: Tree
    merged: Tree
    recomputed: int

    def barrier(self, form: str, part: str = "test") -> float:
        """How far the loss rises above the line between its ends, in nats."""
        return evaluate.barrier(self.scores[form][part]["loss"], self.t)

    def drop(self, form: str, part: str = "test") -> float | None:
        """How far the accuracy falls below the line between its ends, as a share; None for regression."""
        accuracy = self.scores[form][part].get("accuracy")
        return None if accuracy is None else evaluate.accuracy_drop(accuracy, self.t)

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        told: dict[str, Any] = {"t": self.t.tolist(), "transpositions": dict(self.transpositions)}
        for form in FORMS:
            told[form] = {
                part: {
                    "barrier": self.barrier(form, part),
                    "drop": self.drop(form, part),
                    **{name: values.tolist() for name, values in scores.items()},
                }
                for part, scores in self.scores[form].items()
            }
        return told


def compare_pair(
    trained: Trained,
    data: Dataset,
    *,
    by: Criterion | None = None,
    restarts: int = 1,
    seed: int = 0,
    bounds: Bounds | None = None,
    statistics: Statistics = "recompute",
) -> Pair:
    """Align the second of two networks to the first, and follow the loss between them.

    Statistics of normalisers are computed again on training examples at every place, or interpolated.
    """
    require(len(trained.variables) == 2, f"a barrier lies between two networks, not {len(trained.variables)}")
    bounds = bounds or Bounds()
    first, second = trained.variables
    parts = {
        name: bounds.some_examples(part, trained.network)
        for name, part in (("train", data.train), ("test", data.test))
    }
    found = align_pair(trained, by, restarts, seed)
    aligned = trees.index(found.draws, 0)
    t = np.linspace(0.0, 1.0, bounds.steps)
    scores: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    for form, end in zip(FORMS, (second, aligned), strict=True):
        line = with_statistics(trained, line_between(first, end, t), parts["train"], statistics)
        scores[form] = {part: scores_of_each(trained, line, some) for part, some in parts.items()}
    middle = trees.index(line_between(first, aligned, np.array([0.5])).variables, (0, 0))
    merged = with_statistics(trained, middle, parts["train"], statistics)
    again = statistics == "recompute" and bool(jax.tree.leaves(first.get("stats", {})))
    swaps = {name: int(count[0]) for name, count in symmetry.transpositions(found.elements).items()}
    return Pair(t, scores, swaps, aligned, merged, len(parts["train"]) if again else 0)


def align_pair(
    trained: Trained, by: Criterion | None = None, restarts: int = 1, seed: int = 0
) -> symmetry.Alignment:
    """The other networks, aligned to the first."""
    first, *others = trained.variables
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *others)
    return symmetry.align(stacked, trained.group(), to=first, by=by, restarts=restarts, seed=seed)
