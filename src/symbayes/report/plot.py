"""Figures on axes of matplotlib, for notebooks and papers: ``sb.plot.reliability(predictive, y, ax=ax)``.

Every function draws one series onto `ax` (by default the current axes) and returns the axes.  Another call
with the same axes adds the next series in the next colour; `label` names it in the legend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from symbayes import evaluate
from symbayes.analyse.mixing import mixing
from symbayes.engine import Source, open_run
from symbayes.posterior import Predictive
from symbayes.specs import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["coverage", "entropy", "intervals", "pit", "predicted", "reliability", "rhat", "trace"]


def reliability(predictive: Predictive, y: Any, ax: Axes | None = None, label: str | None = None) -> Axes:
    """Reliability of predicted classes: accuracy against confidence, with 95% intervals and the diagonal."""
    from symbayes.report.figures.calibration import diagonal, draw_reliability

    _require("classes", predictive)
    axes, index = _axes(ax)
    bins = evaluate.reliability(predictive.mean, np.asarray(y))
    filled = bins.count > 0
    handle = draw_reliability(
        axes, bins.confidence[filled], bins.accuracy[filled], bins.count[filled], index, 1
    )
    diagonal(axes)
    axes.set(xlabel="confidence", ylabel="accuracy", xlim=(-0.02, 1.02), ylim=(-0.02, 1.04))
    return _named(axes, handle, label)


def entropy(predictive: Predictive, ax: Axes | None = None, label: str | None = None) -> Axes:
    """A histogram of the entropy of predicted classes over the inputs."""
    from symbayes.report.figures.calibration import draw_entropies

    _require("classes", predictive)
    axes, index = _axes(ax)
    values = np.asarray(predictive.entropy).ravel()  # type: ignore[attr-defined]
    edges = np.linspace(0, max(1e-9, float(values.max())), 31)
    handle = draw_entropies(axes, values, edges, index)
    axes.set(xlabel="predictive entropy (nats)", ylabel="number of inputs")
    return _named(axes, handle, label)


def coverage(predictive: Predictive, y: Any, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The share of real targets in the central interval of every probability, with the diagonal."""
    from symbayes.report.figures.calibration import diagonal, draw_coverage

    axes, index = _axes(ax)
    handle = draw_coverage(axes, _transforms(predictive, y), index)
    diagonal(axes)
    axes.set(xlabel="probability of the interval", ylabel="targets inside")
    return _named(axes, handle, label)


def pit(predictive: Predictive, y: Any, ax: Axes | None = None, label: str | None = None) -> Axes:
    """A histogram of the probability integral transform of real targets: flat where predictives are right."""
    from symbayes.report.figures.regression import draw_pit

    axes, index = _axes(ax)
    return _named(axes, draw_pit(axes, _transforms(predictive, y), index), label)


def predicted(
    predictive: Predictive, y: Any, ax: Axes | None = None, label: str | None = None, level: float = 0.9
) -> Axes:
    """Predicted means and central intervals against true values, with the diagonal."""
    from symbayes.report.figures.regression import draw_predicted

    axes, index = _axes(ax)
    return _named(axes, draw_predicted(axes, _points(predictive, y, level), index), label)


def intervals(predictive: Predictive, y: Any, ax: Axes | None = None, level: float = 0.9) -> Axes:
    """Central intervals side by side, in the order of the predicted means, with the targets."""
    from symbayes.report.figures.regression import draw_intervals

    axes, _ = _axes(ax)
    draw_intervals(axes, _points(predictive, y, level))
    axes.legend()
    return axes


def trace(run: Source, statistic: str = "energy", ax: Axes | None = None) -> Axes:
    """A statistic of every draw, with a line for each chain."""
    from symbayes.report.figures.canvas import pen

    axes, index = _axes(ax)
    stats = open_run(run).draws.stats
    require(statistic in stats, f"these draws have no {statistic!r}: they have {', '.join(sorted(stats))}")
    for chain, values in enumerate(stats[statistic]):
        axes.plot(values, color=pen(index + chain).color, linewidth=1, label=f"chain {chain + 1}")
    axes.set(xlabel="draw", ylabel=statistic.replace("_", " "))
    axes.legend()
    return axes


def rhat(run: Source, predictive: Predictive | None = None, ax: Axes | None = None) -> Axes:
    """Histograms of R-hat of the weights and, with the run's predictive, of its predictions.

    It is the rank-normalised split R-hat of Vehtari et al. (2021).
    """
    from symbayes.report.figures.canvas import pen

    axes, index = _axes(ax)
    found = mixing(run, predictive)
    require(bool(found), "R-hat takes at least two chains of at least four draws")
    for number, (space, mixed) in enumerate(found.items()):
        values = mixed.rhat[np.isfinite(mixed.rhat)]
        ink = pen(index + number)
        axes.hist(values, 40, color=ink.color, linestyle=ink.linestyle, histtype="step", label=space)
    axes.set(xlabel="R-hat", ylabel="number")
    axes.legend()
    return axes


def _axes(ax: Axes | None) -> tuple[Axes, int]:
    """The axes to draw on, and how many series they have already."""
    if ax is None:
        from matplotlib import pyplot

        ax = pyplot.gca()
    return ax, len(ax.get_legend_handles_labels()[1])


def _named(axes: Axes, handle: Any, label: str | None) -> Axes:
    """Add the series to the legend; one without a name is counted too, but not shown there."""
    handle.set_label(label or f"series {len(axes.get_legend_handles_labels()[1]) + 1}")
    if label is not None:
        axes.legend()
    return axes


def _require(kind: str, predictive: Predictive) -> None:
    require(predictive.kind == kind, f"this figure shows {kind}, and the predictive is of {predictive.kind}")


def _transforms(predictive: Any, y: Any) -> np.ndarray:
    _require("reals", predictive)
    return evaluate.mixture_cdf(
        predictive.component_means, predictive.component_scales, _targets(predictive, y)
    ).ravel()


def _points(predictive: Any, y: Any, level: float) -> Any:
    from symbayes.report.figures.regression import Predicted

    _require("reals", predictive)
    low, high = predictive.interval(level)
    arrays = (_targets(predictive, y), predictive.mean, low, high)
    return Predicted(*(np.asarray(array, np.float64).ravel() for array in arrays))


def _targets(predictive: Any, y: Any) -> np.ndarray:
    """Targets in the shape of the means: one number for each example may be given without its own axis."""
    values = np.asarray(y, np.float64)
    return values.reshape(predictive.mean.shape) if values.size == predictive.mean.size else values
