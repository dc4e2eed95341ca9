"""All that is found about a run's symmetry: composed of alignment, fits and metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.columns import some_weights
from symbayes.data import Dataset
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.report.figures.compact import moving
from symbayes.report.symmetry.bounds import Bounds
from symbayes.report.symmetry.compactness import Compactness, compactness, held_out
from symbayes.report.symmetry.distances import LayerDistance, distances
from symbayes.report.symmetry.paths import Paths, paths
from symbayes.report.symmetry.pruning import Curve, pruned_accuracy
from symbayes.report.symmetry.subject import Subject, Tell, silent
from symbayes.symmetry import Symmetry

FEWEST_FOR_RHAT = 4


@dataclass(frozen=True)
class Spread:
    """How weights lie over the draws of all chains; R-hat is None where chains are too short or alone.

    Attributes:
        cosine: mean over pairs of draws of the inner product, over the mean squared norm.
        sigma: standard deviation of each weight that moves at all.
        still: how many do not.
        rhat: rank-normalised split R-hat of each weight.
    """

    cosine: float
    sigma: np.ndarray
    still: int
    rhat: np.ndarray | None

    @classmethod
    def of(cls, draws: Draws, bounds: Bounds) -> Spread:
        weights = some_weights(draws, bounds.weights)
        chains, count = weights.shape[0], weights.shape[0] * weights.shape[1]
        flat = weights.reshape(count, -1).astype(np.float64)
        squares = np.sum(flat**2)
        pairs = (np.sum(flat.sum(0) ** 2) - squares) / (count - 1)
        defined = chains > 1 and weights.shape[1] >= FEWEST_FOR_RHAT
        sigma = moving(flat.std(0, ddof=1))
        rhat = evaluate.rhat(weights) if defined else None
        return cls(float(pairs / squares), sigma, flat.shape[1] - sigma.size, rhat)

    @property
    def median_sigma(self) -> float:
        return float(np.median(self.sigma)) if self.sigma.size else math.nan

    def numbers(self) -> dict[str, Any]:
        found = {"cosine": self.cosine, "sigma": _quantiles(self.sigma), "still": self.still}
        if self.rhat is not None:
            found["rhat"] = _quantiles(self.rhat) | {"share_below_1.1": float(np.mean(self.rhat < 1.1))}
        return found


@dataclass(frozen=True)
class Looked:
    """How much was looked at, and how much there is."""

    chains: int
    draws: int
    all_draws: int
    weights: int
    all_weights: int
    test: int
    all_test: int

    @property
    def sentence(self) -> str:
        """What was left out, or nothing."""
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
        return f"To bound the work, this section looks at {', '.join(parts)}, chosen evenly or at random."


@dataclass(frozen=True, eq=False)
class Findings:
    """What is left of a run's symmetry after alignment, beside what was there before."""

    group: Symmetry
    looked: Looked
    objective: np.ndarray
    control_objective: np.ndarray
    distances: Mapping[str, LayerDistance]
    spread: Mapping[str, Spread]
    paths: Paths | None
    compactness: Compactness | None
    pruning: Mapping[str, Curve] | None

    def numbers(self) -> dict[str, Any]:
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
        if self.paths is not None:
            found["paths"] = _path_numbers(self.paths)
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
    run: Opened, data: Dataset, bounds: Bounds | None = None, tell: Tell = silent
) -> Findings | None:
    """Align a run and measure it before and after; None without symmetries, or without two draws."""
    bounds = bounds or Bounds()
    draws = bounds.some_draws(run.draws)
    if draws.chains * len(draws) < 2:
        return None
    tell("looking for symmetries")
    subject = Subject.of(run, data.test.x)
    if not subject.symmetric:
        return None
    test = bounds.some_examples(data.test, run.network)
    train = bounds.some_examples(data.train, run.network)
    tell(f"aligning {draws.chains * len(draws):,} draws")
    alignment = symmetry.align(draws, subject.group)
    aligned = alignment.draws
    tell(f"aligning {draws.chains * len(draws):,} draws of the prior, the null control")
    noise = subject.control(draws)
    control = symmetry.align(noise, subject.group)
    forms = {"raw": draws, "aligned": aligned, "prior, raw": noise, "prior, aligned": control.draws}
    tell("R-hat and sigma")
    spread = {form: Spread.of(part, bounds) for form, part in forms.items()}
    found_paths = None
    if draws.chains > 1:
        tell("loss between networks")
        parts = {"train": train, "test": test}
        found_paths = paths(subject, draws, aligned, parts, bounds.pairs, bounds.steps)
    fits = _fits(subject, draws, replace(data, test=test), bounds, tell)
    both = symmetry.Alignment(alignment.draws, alignment.elements, alignment.objective, control)
    return Findings(
        subject.group,
        _looked(run, draws, bounds, data, len(test)),
        alignment.objective,
        control.objective,
        distances(both, subject.group),
        spread,
        found_paths,
        *fits,
    )


def _fits(
    subject: Subject, draws: Draws, data: Dataset, bounds: Bounds, tell: Tell
) -> tuple[Compactness | None, dict[str, Curve] | None]:
    """Gaussians and pruned networks, made from draws that were aligned without the held-out ones."""
    parts = held_out(draws)
    if parts is None:
        return None, None
    fit, rest = parts
    tell("aligning the draws to be fitted")
    forms = {"raw": fit, "aligned": symmetry.align(fit, subject.group).draws}
    found = compactness(
        subject, forms, rest, data.test, samples=bounds.samples, tell=tell, scaling=data.target_scaling
    )
    if data.classes is None:
        return found, None
    tell("pruning")
    draw = trees.index(fit.select([0], [len(fit) - 1]).variables, (0, 0))
    return found, pruned_accuracy(subject, found.gaussians["aligned"], draw, data.test)


def _looked(run: Opened, draws: Draws, bounds: Bounds, data: Dataset, test: int) -> Looked:
    weights = sum(
        int(np.prod(shape)) for name, shape in draws.shapes.items() if not name.startswith("stats/")
    )
    return Looked(
        chains=draws.chains,
        draws=draws.chains * len(draws),
        all_draws=run.draws.chains * len(run.draws),
        weights=min(bounds.weights, weights),
        all_weights=weights,
        test=test,
        all_test=len(data.test),
    )


def _quantiles(values: np.ndarray) -> dict[str, float]:
    known = values[~np.isnan(values)]
    if known.size == 0:
        return {}
    levels = {"5%": 0.05, "25%": 0.25, "median": 0.5, "75%": 0.75, "95%": 0.95}
    return {name: float(np.quantile(known, level)) for name, level in levels.items()} | {
        "largest": float(known.max())
    }


def _path_numbers(found: Paths) -> dict[str, Any]:
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
