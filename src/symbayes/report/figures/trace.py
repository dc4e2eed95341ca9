"""Traces of a run: the potential energy and the acceptance of every chain."""

from __future__ import annotations

import numpy as np
from jaxtyping import Real, Shaped
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from symbayes.evaluate.metric import written
from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import SHADE, SOFT, blank, left_out, legend, pen, sheet, to_svg

_NAMED = 8  # with more chains than this a legend would be longer than the figure


def traces(
    energy: Real[np.ndarray, "chain draw"],
    acceptance: Shaped[np.ndarray, "chain draw"] | None = None,
    burn_in_energy: Real[np.ndarray, "chain step"] | None = None,
) -> Figure:
    """Potential energy per chain, with burn-in shaded, and below it the running mean of the acceptance.

    ``acceptance`` holds acceptance probabilities, or whether each proposal was accepted.  With one
    draw per chain (an ensemble) there is no trace: the energies are drawn side by side.
    """
    energy = np.asarray(energy, dtype=np.float64)
    if energy.ndim != 2:
        raise ValueError(f"energy has shape {energy.shape}; it needs the axes (chain, draw)")
    if acceptance is not None and acceptance.shape != energy.shape:
        raise ValueError(
            f"acceptance has shape {acceptance.shape} and energy {energy.shape}; they must agree"
        )
    if burn_in_energy is not None and (burn_in_energy.ndim != 2 or len(burn_in_energy) != len(energy)):
        raise ValueError(
            f"burn_in_energy has shape {burn_in_energy.shape}; it needs {len(energy)} chains and steps"
        )
    if energy.shape[1] == 1:
        return _members(energy[:, 0])
    burn_in = np.empty((len(energy), 0)) if burn_in_energy is None else np.asarray(burn_in_energy, np.float64)
    return _chains(energy, None if acceptance is None else np.asarray(acceptance, np.float64), burn_in)


def _chains(energy: np.ndarray, acceptance: np.ndarray | None, burn_in: np.ndarray) -> Figure:
    steps = burn_in.shape[1]
    with sheet(3.0 if acceptance is None else 4.2) as drawing:
        panels = [2] if acceptance is None else [2, 1]
        grid = drawing.add_gridspec(len(panels), 1, height_ratios=panels)
        top = bottom = drawing.add_subplot(grid[0])
        lines = _lines(top, np.concatenate([burn_in, energy], axis=1), 0)
        top.set(ylabel="potential energy (nats)")
        outside = _frame(top, energy, burn_in)
        if acceptance is not None:
            bottom = drawing.add_subplot(grid[1], sharex=top)
            _lines(bottom, 100 * _running_mean(acceptance), steps)
            bottom.set(ylabel="accepted (%)", ylim=(-3, 103), yticks=[0, 50, 100])
            top.tick_params(labelbottom=False)
        bottom.set(xlabel="iteration")
        if steps:
            for axes in {top, bottom}:
                axes.axvspan(-0.5, steps - 0.5, color=SHADE, linewidth=0, zorder=0)
        handles, names = [], []
        if 1 < len(lines) <= _NAMED:
            handles, names = [*lines], [f"chain {number}" for number in range(1, len(lines) + 1)]
        if steps:
            handles, names = [*handles, Patch(color=SHADE)], [*names, "burn-in"]
        legend(drawing, handles, names, columns=5)
        svg = to_svg(drawing)
    dropped = sum(int(np.sum(~np.isfinite(a))) for a in (energy, burn_in, acceptance) if a is not None)
    title = "Energy along the chains" if acceptance is None else "Energy and acceptance along the chains"
    return Figure(title, svg, _caption(energy, acceptance, outside, dropped), _alt(energy, acceptance, steps))


def _lines(axes: Axes, values: np.ndarray, start: int) -> list[Line2D]:
    if not np.isfinite(values).any():
        blank(axes)
        return []
    x = start + np.arange(values.shape[1])
    # Dashes would break up a jagged trace: without colour, small markers now and then tell chains apart.
    apart = max(1, values.shape[1] // 8)
    lines = []
    for index, chain in enumerate(values):
        ink = pen(index)
        marker = ink.marker if len(values) <= _NAMED else ""
        place = (index * apart // len(values), apart)
        drawn = np.where(np.isfinite(chain), chain, np.nan)
        lines += axes.plot(
            x, drawn, color=ink.color, linewidth=0.9, marker=marker, markersize=3.5, markevery=place
        )
    return lines


def _frame(axes: Axes, energy: np.ndarray, burn_in: np.ndarray) -> float | None:
    """Scale to the draws, not to the descent before them; returns the highest energy outside the frame."""
    draws, descent = energy[np.isfinite(energy)], burn_in[np.isfinite(burn_in)]
    if draws.size == 0 or descent.size == 0:
        return None
    low, high = draws.min(), draws.max()
    span = max(high - low, 1e-3 * abs(high), 1e-12)
    bottom, top = max(min(low, descent.min()), low - 2 * span), min(max(high, descent.max()), high + 2 * span)
    margin = 0.06 * max(top - bottom, span)
    axes.set_ylim(bottom - margin, top + margin)
    return float(descent.max()) if descent.max() > top + margin else None


def _running_mean(values: np.ndarray) -> np.ndarray:
    known = np.isfinite(values)
    counts = np.cumsum(known, axis=1)
    totals = np.cumsum(np.where(known, values, 0.0), axis=1)
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def _caption(energy: np.ndarray, acceptance: np.ndarray | None, outside: float | None, dropped: int) -> str:
    text = (
        "Chains that have reached one distribution overlap at one level and do not drift."
        if len(energy) > 1
        else "A chain that has settled does not drift. One chain cannot show whether others would agree."
    )
    if acceptance is not None and np.isfinite(acceptance).any():
        text += f" On average {100 * np.nanmean(acceptance):.1f}% of the proposals were accepted."
    if outside is not None:
        text += f" Burn-in begins above the frame, at energies up to {written(outside, '.4g')} nats."
    return text + left_out(dropped)


def _alt(energy: np.ndarray, acceptance: np.ndarray | None, steps: int) -> str:
    chains, draws = energy.shape
    panels = "potential energy" + ("" if acceptance is None else " and running acceptance")
    before = f" after {steps} steps of burn-in" if steps else ""
    return f"Traces of {panels} of {chains} chain{'s' * (chains != 1)}, {draws} draws each{before}."


def _members(energy: np.ndarray) -> Figure:
    """One energy per chain: the members of an ensemble."""
    known = np.isfinite(energy)
    with sheet(2.4) as drawing:
        axes = drawing.add_subplot()
        if known.any():
            members = np.flatnonzero(known) + 1
            axes.plot(members, energy[known], linestyle="", marker="o", color=pen(0).color)
            axes.axhline(energy[known].mean(), color=SOFT, linewidth=0.9, linestyle="--")
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlim(0.5, len(energy) + 0.5)
        else:
            blank(axes)
        axes.set(xlabel="member", ylabel="potential energy (nats)")
        svg = to_svg(drawing)
    caption = "Each member gave one draw; the dashed line is their mean." + left_out(int(np.sum(~known)))
    alt = f"Potential energy of {len(energy)} members with one draw each."
    return Figure("Energy of the members", svg, caption, alt)
