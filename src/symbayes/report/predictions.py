"""Sections about predictions; each kind of predictive names the figures that show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes import evaluate
from symbayes.analyse.predicted import Judged
from symbayes.data import Dataset
from symbayes.posterior import Predictive
from symbayes.report import figures
from symbayes.report.contents import Figure, Section

LEVEL = 0.9
"""The probability of the intervals that are drawn."""
MOST = 1000
"""The most examples whose intervals are computed for the figures."""
PICTURES = 8
DRAWS = 3
"""The number of draws that are shown one by one."""


@dataclass(frozen=True, eq=False)
class Shown:
    """The data of the figures: predictives of one kind at the test inputs of a dataset."""

    predictives: Mapping[str, Any]
    reference: str
    data: Dataset

    @property
    def target(self) -> Any:
        return self.predictives[self.reference]

    @property
    def x(self) -> np.ndarray:
        return np.asarray(self.data.test.x)

    @property
    def y(self) -> np.ndarray:
        return np.asarray(self.data.test.y)

    @property
    def unit(self) -> str:
        """The name of a single real target; empty for several."""
        single = self.target.mean.shape[1:] == (1,)
        return (self.data.targets[0] if self.data.targets else "target") if single else ""

    @property
    def unsure(self) -> np.ndarray:
        """The examples of which the reference is least sure, the least sure first."""
        return np.argsort(-self.target.uncertainty, kind="stable")[:PICTURES]


@dataclass(frozen=True)
class Drawing:
    """A kind of figure: its section, and the function that draws it, or gives None if it does not apply."""

    section: str
    draw: Callable[[Shown], Figure | None]


def prediction_sections(
    predictives: Mapping[str, Predictive], reference: str, data: Dataset
) -> list[Section]:
    """The sections about predictions, each with those figures that suit this kind of predictive."""
    shown = Shown(predictives, reference, data)
    drawn: dict[str, list[Figure]] = {}
    for name in shown.target.figures:
        figure = DRAWINGS[name].draw(shown) if name in DRAWINGS else None
        if figure is not None:
            drawn.setdefault(DRAWINGS[name].section, []).append(figure)
    return [Section(title, LEADS[title].format(reference=reference), made) for title, made in drawn.items()]


def detection_sections(judged: Mapping[str, Judged], reference: str) -> list[Section]:
    """How well each run detects out-of-distribution inputs, with a figure for every set of them."""
    made = []
    for where in judged[reference].ood:
        scores = {name: (one.test.doubt, one.ood[where].doubt) for name, one in judged.items()}
        curves = {name: evaluate.roc(*pair) for name, pair in scores.items()}
        areas = {name: evaluate.auroc(*pair) for name, pair in scores.items()}
        made.append(figures.detection(scores, curves, areas, where))
    return [Section(ELSEWHERE, LEADS[ELSEWHERE], made)] if made else []


def pair_figures(predictives: Mapping[str, Any], reference: str) -> list[Figure]:
    """Every run against the reference, where the kind of predictive has such a figure."""
    target = predictives[reference]
    if "confidences" not in target.figures:
        return []
    return [
        figures.predictive_comparison(_points(predictive.mean), _points(target.mean), (name, reference))
        for name, predictive in predictives.items()
        if name != reference
    ]


def _points(probs: np.ndarray) -> np.ndarray:
    return probs.reshape(-1, probs.shape[-1])


def _reliability(shown: Shown) -> Figure:
    bins = {name: evaluate.reliability(p.mean, shown.y) for name, p in shown.predictives.items()}
    return figures.reliability({name: (r.confidence, r.accuracy, r.count) for name, r in bins.items()})


def _entropies(shown: Shown) -> Figure:
    return figures.entropy_histogram({name: p.entropy.ravel() for name, p in shown.predictives.items()})


def _risk_coverage(shown: Shown) -> Figure:
    curves = {name: evaluate.risk_coverage_of(p.mean, shown.y) for name, p in shown.predictives.items()}
    return figures.risk_coverage({name: (c.coverage, c.risk) for name, c in curves.items()})


def _predicted(shown: Shown) -> Figure:
    return figures.predicted_against_true(
        {name: _in_units(shown, p) for name, p in shown.predictives.items()}, LEVEL, shown.unit
    )


def _intervals(shown: Shown) -> Figure:
    return figures.sorted_intervals(shown.reference, _in_units(shown, shown.target), LEVEL, shown.unit)


def _in_units(shown: Shown, predictive: Any) -> figures.Predicted:
    """The points of a single target in its own units; several targets stay standardised."""
    y, scaling = shown.y, shown.data.target_scaling
    if len(y) > MOST:
        some = np.linspace(0, len(y) - 1, MOST).astype(int)
        predictive, y = predictive.of_examples(some), y[some]
    if scaling is not None and shown.unit:
        predictive, y = predictive.unscaled(scaling), scaling.undo(y)
    low, high = predictive.interval(LEVEL)
    arrays = (y, predictive.mean, low, high)
    return figures.Predicted(*(np.asarray(array, np.float64).ravel() for array in arrays))


def _coverages(shown: Shown) -> Figure:
    return figures.coverage_curves(_transforms(shown))


def _pit(shown: Shown) -> Figure:
    return figures.pit_histogram(_transforms(shown))


def _transforms(shown: Shown) -> dict[str, np.ndarray]:
    """The probability that each predictive gives to values below the targets."""
    return {
        name: evaluate.mixture_cdf(p.component_means, p.component_scales, shown.y).ravel()
        for name, p in shown.predictives.items()
    }


def _least_sure(shown: Shown) -> Figure | None:
    if shown.x.ndim != 4 or shown.x.shape[-1] not in (1, 3):
        return None
    probs = {name: predictive.mean[shown.unsure] for name, predictive in shown.predictives.items()}
    names = list(shown.data.class_names) or [str(label) for label in range(shown.target.mean.shape[-1])]
    return figures.uncertain_images(shown.x[shown.unsure], probs, shown.y[shown.unsure], names)


def _pictures(shown: Shown) -> Figure | None:
    target, some = shown.target, shown.unsure
    if len(target.positions) != 2 or target.mean.shape[-1] not in (1, 3):
        return None
    low, high = float(shown.y.min()), float(shown.y.max())

    def grey(pictures: np.ndarray) -> np.ndarray:
        return (pictures - low) / (high - low or 1.0)

    columns = _inputs(shown) | {"true": grey(shown.y[some]), "mean": grey(target.mean[some])}
    columns |= {"sd": target.std[some].mean(axis=-1)}
    columns |= {f"draw {i + 1}": grey(draw[some]) for i, draw in enumerate(_some_draws(target))}
    return figures.picture_grid(
        columns,
        maps=("sd",),
        title="Predicted pictures",
        caption=(
            "Each row is a test example: the input, the truth, the mean prediction of "
            f"{shown.reference}, its standard deviation (dark means certain), and the predictions of single "
            "draws. Where the mean is blurred, draws differ."
        ),
    )


def _label_maps(shown: Shown) -> Figure | None:
    target, some = shown.target, shown.unsure
    if len(target.positions) != 2:
        return None
    most = target.mean.shape[-1] - 1
    columns = _inputs(shown) | {"true": shown.y[some] / most}
    columns |= {"most probable": target.mean[some].argmax(axis=-1) / most, "entropy": target.entropy[some]}
    columns |= {
        f"draw {i + 1}": draw[some].argmax(axis=-1) / most for i, draw in enumerate(_some_draws(target))
    }
    return figures.picture_grid(
        columns,
        maps=("entropy",),
        title="Predicted labels",
        caption=(
            "Each row is a test example: the input, the true labels, the most probable labels under "
            f"{shown.reference}, the entropy of the prediction (dark means certain), and the most probable "
            "labels of single draws. Labels are shades of grey."
        ),
    )


def _inputs(shown: Shown) -> dict[str, np.ndarray]:
    """The inputs as a column, if they are pictures."""
    pictures = shown.x.ndim == 4 and shown.x.shape[-1] in (1, 3)
    return {"input": shown.x[shown.unsure]} if pictures else {}


def _some_draws(predictive: Predictive) -> np.ndarray:
    """A few draws from all chains, evenly spaced."""
    chosen = np.linspace(0, predictive.count - 1, min(DRAWS, predictive.count)).astype(int)
    return predictive.each[chosen]


CALIBRATION = "Calibration: are predictions correct as often as they claim?"
UNSURE = "Uncertainty: which examples are the least certain?"
ELSEWHERE = "Out-of-distribution inputs: are predictions less certain there?"

REGRESSION = "Regression: how close are predictions to the targets?"

LEADS = {
    REGRESSION: "Predictions and true values of the test targets.",
    CALIBRATION: (
        "A model is calibrated if its predictions are correct as often as it claims: of all predictions made "
        "with a probability of 80%, four out of five."
    ),
    ELSEWHERE: "Predictions at inputs from another dataset should be less certain than at test inputs.",
    UNSURE: "The test examples of which {reference} is least certain.",
}

DRAWINGS: dict[str, Drawing] = {
    "reliability": Drawing(CALIBRATION, _reliability),
    "entropies": Drawing(CALIBRATION, _entropies),
    "risk coverage": Drawing(CALIBRATION, _risk_coverage),
    "predicted": Drawing(REGRESSION, _predicted),
    "intervals": Drawing(REGRESSION, _intervals),
    "coverages": Drawing(CALIBRATION, _coverages),
    "pit": Drawing(CALIBRATION, _pit),
    "least sure": Drawing(UNSURE, _least_sure),
    "pictures": Drawing(UNSURE, _pictures),
    "label maps": Drawing(UNSURE, _label_maps),
}
"""The figures, by the names that predictives give; the figure of pairs is in the comparison's section."""
