"""The analysis of a run's symmetry: alignment, compact posteriors and metrics, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from symbayes import symmetry, trees
from symbayes.analyse.aligned import movable
from symbayes.analyse.barriers import Barriers, barriers
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compactness import Compactness, compactness, held_out
from symbayes.analyse.control import prior_draws
from symbayes.analyse.distances import LayerDistance, distances
from symbayes.analyse.predictions import Statistics
from symbayes.analyse.progress import Tell, silent
from symbayes.analyse.pruning import Curve, pruned_accuracy
from symbayes.analyse.spread import Spread
from symbayes.brief import briefly
from symbayes.data import Dataset
from symbayes.distributions import weight_count
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run
from symbayes.specs import Record
from symbayes.symmetry import Symmetry


@dataclass(frozen=True)
class Looked:
    """How much of a run was analysed, and how much there is."""

    chains: int
    draws: int
    all_draws: int
    weights: int
    all_weights: int
    test: int
    all_test: int

    @property
    def sentence(self) -> str:
        """A sentence about what was left out; empty where nothing was."""
        parts = [
            f"{some:,} of {every:,} {what}"
            for some, every, what in (
                (self.draws, self.all_draws, "draws"),
                (self.weights, self.all_weights, "weights (for R-hat, sigma and cosine)"),
                (self.test, self.all_test, "test examples"),
            )
            if some < every
        ]
        if not parts:
            return ""
        return f"To save time, this section uses {', '.join(parts)}, evenly spaced or chosen at random."


@briefly
@dataclass(frozen=True, eq=False)
class Findings:
    """Measurements of a run before and after alignment, with those of the null control."""

    group: Symmetry
    looked: Looked
    objective: np.ndarray
    control_objective: np.ndarray
    distances: Mapping[str, LayerDistance]
    spread: Mapping[str, Spread]
    barriers: Barriers | None
    compactness: Compactness | None
    pruning: Mapping[str, Curve] | None

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        found: dict[str, Any] = {
            "log10_permutations": self.group.log10_permutations,
            "sign_bits": self.group.sign_bits,
            "scale_dimensions": self.group.scale_dimension,
            "looked_at": asdict(self.looked),
            "objective": self.objective.tolist(),
            "control_objective": self.control_objective.tolist(),
            "transpositions": {name: asdict(layer) for name, layer in self.distances.items()},
            "spread": {form: spread.numbers() for form, spread in self.spread.items()},
        }
        if self.barriers is not None:
            found["barriers"] = _barrier_numbers(self.barriers)
        if self.compactness is not None:
            c = self.compactness
            rows = [asdict(row) | {"name": row.name} for row in c.rows]
            found["compact"] = {"fitted": c.fitted, "held_out": c.held_out, "rows": rows}
        if self.pruning is not None:
            found["pruning"] = {
                name: {"kept": kept.tolist(), "accuracy": accuracy.tolist()}
                for name, (kept, accuracy) in self.pruning.items()
            }
        return found


def investigate(
    source: Source,
    data: Dataset,
    bounds: Bounds | None = None,
    tell: Tell = silent,
    statistics: Statistics = "recompute",
) -> Findings | None:
    """Align a run and measure it before and after.

    The result is None if the network has no symmetries, if there are fewer than two draws, or if a draw does
    not predict by its weights alone.

    The source is the folder of a run, or draws in memory as `run` gave them.  For networks on lines between
    draws, and for mean networks, statistics of normalisers are computed again on training examples, or
    interpolated.
    """
    run, bounds = open_run(source), bounds or Bounds()
    draws = bounds.some_draws(run.draws)
    if draws.chains * len(draws) < 2 or not draws.forward.plain:
        return None
    tell("looking for symmetries")
    if not movable(run.group):
        return None
    test, train = (bounds.some_examples(part, run.network) for part in (data.test, data.train))
    tell(f"aligning {draws.chains * len(draws):,} draws")
    alignment = symmetry.align(draws, run.group)
    tell(f"aligning {draws.chains * len(draws):,} draws of the prior, the null control")
    noise = prior_draws(run, draws)
    control = symmetry.align(noise, run.group)
    forms = {"raw": draws, "aligned": alignment.draws, "prior, raw": noise, "prior, aligned": control.draws}
    tell("R-hat and sigma")
    spread = {form: Spread.of(part, bounds.weights) for form, part in forms.items()}
    found_barriers = None
    if draws.chains > 1:
        tell("loss between networks")
        parts = {"train": train, "test": test}
        found_barriers = barriers(run, draws, alignment.draws, parts, bounds.pairs, bounds.steps, statistics)
    fits = _fits(run, draws, replace(data, test=test, train=train), bounds, tell, statistics)
    return Findings(
        run.group,
        _looked(run, draws, bounds, data, len(test)),
        alignment.objective,
        control.objective,
        distances(replace(alignment, control=control), run.group),
        spread,
        found_barriers,
        *fits,
    )


def _fits(
    run: Opened, draws: Draws, data: Dataset, bounds: Bounds, tell: Tell, statistics: Statistics
) -> tuple[Compactness | None, dict[str, Curve] | None]:
    """Gaussians and pruned networks, made from draws that were aligned without the held-out ones."""
    parts = held_out(draws)
    if parts is None:
        return None, None
    fit, rest = parts
    tell("aligning the draws to be fitted")
    forms = {"raw": fit, "aligned": symmetry.align(fit, run.group).draws}
    found = compactness(
        run,
        forms,
        rest,
        data.test,
        samples=bounds.samples,
        tell=tell,
        scaling=data.target_scaling,
        train=data.train,
        statistics=statistics,
    )
    if data.classes is None:
        return found, None
    tell("pruning")
    draw = trees.index(fit.select([0], [len(fit) - 1]).variables, (0, 0))
    return found, pruned_accuracy(
        run, found.gaussians["aligned"], draw, data.test, data.train if statistics == "recompute" else None
    )


def _looked(run: Opened, draws: Draws, bounds: Bounds, data: Dataset, test: int) -> Looked:
    weights = weight_count(draws)
    return Looked(
        chains=draws.chains,
        draws=draws.chains * len(draws),
        all_draws=run.draws.chains * len(run.draws),
        weights=min(bounds.weights, weights),
        all_weights=weights,
        test=test,
        all_test=len(data.test),
    )


def _barrier_numbers(found: Barriers) -> dict[str, Any]:
    numbers: dict[str, Any] = {"t": found.t.tolist(), "pairs": found.pairs}
    for part, forms in found.loss.items():
        for form, loss in forms.items():
            here: dict[str, Any] = {"loss": loss.tolist(), "barrier": found.barrier(part, form)}
            if form in found.accuracy[part]:
                here["accuracy"] = found.accuracy[part][form].tolist()
                here["drop"] = found.drop(part, form)
            numbers.setdefault(part, {})[form] = here
    swaps = {form: values.tolist() for form, values in found.swaps.items()}
    return numbers | {"transpositions": {"t": found.waypoints.tolist(), **swaps}}
