"""The section of the page about symmetry; every number in its sentences comes from the findings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from symbayes.analyse.barriers import Barriers
from symbayes.analyse.compactness import Compactness, Row
from symbayes.analyse.findings import Findings
from symbayes.analyse.pruning import Curve
from symbayes.brief import counted
from symbayes.evaluate import FORMATS
from symbayes.evaluate.metric import written
from symbayes.report import figures
from symbayes.report.contents import Cell, Figure, Section, Table

CONTROL = "prior, aligned (control)"
MARGIN = 0.02
"""Differences of relative changes below this are not called a difference."""
CLOSE = 0.02
"""A pruned network counts as good as the full one if its accuracy is lower by at most this."""


def section(name: str, found: Findings) -> Section:
    """The section about one run."""
    items: list[Table | Figure] = [_spread_table(found)]
    if found.distances:
        items.append(_distance_table(found))
    if found.spread["raw"].rhat is not None:
        items.append(_rhat(found))
    items.append(_sigma(found))
    if found.barriers is not None:
        items += _barriers(found.barriers)
    if found.compactness is not None:
        items.append(compactness_table(found.compactness))
        if "agreement" in found.compactness.columns:
            items.append(_frontier(found.compactness))
    if found.pruning is not None:
        items.append(_pruning(found.pruning))
    return Section(f"Symmetry of {name}", _lead(found), items)


def _lead(found: Findings) -> str:
    group = found.group
    ways = []
    if group.permutations:
        ways.append(f"reordered in {_power(group.log10_permutations)} ways")
    if group.sign_bits:
        ways.append(f"given other signs in 2^{group.sign_bits} ways")
    if group.scale_dimension:
        ways.append(f"rescaled along {group.scale_dimension:,} free directions")
    paragraphs = [
        f"The units of this network can be {' and '.join(ways)} without a change of the function that it "
        "computes, so one function has many copies in weight space. Alignment moves every draw, by such "
        f"symmetries alone, so that the {found.looked.draws:,} draws are as close together as possible. "
        f"{_effect(found)}",
        "Alignment also brings pure noise closer together. As a control, therefore, "
        f"{found.looked.draws:,} draws of the prior, which do not depend on the data, are aligned in the "
        "same way: only an effect that is larger than that on the control is evidence.",
    ]
    if found.spread["raw"].rhat is None:
        paragraphs.append(
            "R-hat is left out: it compares several chains of at least four draws each, and here "
            f"{counted(found.looked.chains, 'chain')} of "
            f"{counted(found.looked.draws // found.looked.chains, 'draw')} were used."
        )
    if found.compactness is None:
        paragraphs.append(
            "Compact posteriors are left out: there are too few draws to fit some and hold others out."
        )
    if found.looked.sentence:
        paragraphs.append(found.looked.sentence)
    return "\n\n".join(paragraphs)


def _power(log10: float) -> str:
    return f"{round(10**log10):,}" if log10 < 6 else f"about 10^{log10:.0f}"


def _effect(found: Findings) -> str:
    if found.compactness is None:
        return ""
    raw, aligned = (found.compactness.of("mean network", form)[0].scores for form in ("raw", "aligned"))
    if "accuracy" in raw:
        return (
            "The network whose weights are the mean over draws has a test accuracy of "
            f"{raw['accuracy']:.1%} for raw draws and of {aligned['accuracy']:.1%} for aligned draws."
        )
    before, after = (written(scores["RMSE"], ".4g") for scores in (raw, aligned))
    return (
        "The network whose weights are the mean over draws has a test RMSE of "
        f"{before} for raw draws and of {after} for aligned draws."
    )


def _spread_table(found: Findings) -> Table:
    columns = ["draws", "cosine of two", "sigma, median"]
    formats = {"cosine of two": ".3f", "sigma, median": ".3f"}
    if found.spread["raw"].rhat is not None:
        columns += ["R-hat, median", "R-hat below 1.1"]
        formats |= {"R-hat, median": ".3f", "R-hat below 1.1": ".1%"}
    rows: list[list[Cell]] = []
    for form, spread in found.spread.items():
        # Plus zero, since a cosine of -0.0001 would read -0.000.
        row: list[Cell] = [form, round(spread.cosine, 3) + 0.0, spread.median_sigma]
        if spread.rhat is not None:
            row += [float(np.nanmedian(spread.rhat)), float(np.mean(spread.rhat < 1.1))]
        rows.append(row)
    notes = {
        "cosine of two": "mean inner product of two draws, divided by the mean squared norm of a draw",
        "sigma": "standard deviation of a weight over all draws",
    }
    caption = "The effect of alignment on the draws, and on the same number of draws of the prior."
    return Table(columns, rows, caption, formats, notes=notes)


def _distance_table(found: Findings) -> Table:
    columns = ["layer", "units", "between chains", "within a chain", "prior (control)", "random order"]
    rows: list[list[Cell]] = [
        [name, layer.units, layer.between, layer.within, layer.control, layer.random]
        for name, layer in found.distances.items()
    ]
    known = [i for i in range(len(columns)) if any(row[i] is not None for row in rows)]
    shown = [columns[i] for i in known]
    meanings = {
        "within a chain": "between two draws of a chain that are half its length apart",
        "random order": "between two random orders of n units: n minus the n-th harmonic number",
    }
    return Table(
        shown,
        [[row[i] for i in known] for row in rows],
        "The number of swaps of two units between the orders of two draws, as a mean over pairs of draws.",
        dict.fromkeys(shown[2:], ",.1f"),
        notes={word: meaning for word, meaning in meanings.items() if word in shown},
    )


def _rhat(found: Findings) -> Figure:
    named = {"raw": "raw", "aligned": "aligned", CONTROL: "prior, aligned"}
    values = {label: found.spread[form].rhat for label, form in named.items()}
    figure = figures.rhat_histograms({label: v for label, v in values.items() if v is not None}, {})
    below = {label: f"{np.mean(v < 1.1):.1%}" for label, v in values.items() if v is not None}
    caption = (
        "R-hat near 1 means that chains agree about a weight. It is below 1.1 for "
        f"{below['raw']} of the weights of raw draws, and for {below['aligned']} of the weights of aligned "
        "draws. Draws of the prior show the result for independent draws."
    )
    return dataclasses.replace(figure, title="R-hat before and after alignment", caption=caption)


def _sigma(found: Findings) -> Figure:
    spread = found.spread
    figure = figures.sigma_histograms(
        {
            "raw": spread["raw"].sigma,
            "aligned": spread["aligned"].sigma,
            CONTROL: spread["prior, aligned"].sigma,
        }
    )
    change, null = (
        spread[after].median_sigma / spread[before].median_sigma - 1
        for before, after in (("raw", "aligned"), ("prior, raw", "prior, aligned"))
    )
    verdict = (
        "it shrinks more than that of noise."
        if change < null - MARGIN
        else "noise shrinks as much, so this figure alone is no evidence of common structure."
    )
    caption = (
        "Copies of one function increase the sigma of every weight, and alignment removes them. Alignment "
        f"changes the median sigma by {change:+.0%} for this run and by {null:+.0%} for draws of the prior: "
        f"{verdict}"
    )
    still = sum(spread[form].still for form in ("raw", "aligned", "prior, aligned"))
    return dataclasses.replace(figure, caption=caption + figures.unmoved(still))


def _barriers(found: Barriers) -> list[Figure]:
    pairs = "one pair" if found.pairs == 1 else f"{found.pairs} pairs"
    loss = figures.barrier_curves({form: (found.t, v) for form, v in found.loss["test"].items()})
    before, after = (found.barrier("test", form) for form in ("raw", "aligned as a pair"))
    train = found.barrier("train", "aligned as a pair")
    text = (
        f"On straight lines between the last networks of independent chains (mean over {pairs}), the test "
        f"loss rises by {before:.3g} nats above the line between its ends for raw weights, and by "
        f"{after:.3g} nats after one network is aligned to the other ({train:.3g} on training examples). Two "
        "networks without a barrier lie in one basin."
    )
    if found.recomputed:
        text += (
            " Statistics of normalisers are computed again at every place of a line, on "
            f"{found.recomputed:,} training examples."
        )
    made = [dataclasses.replace(loss, caption=text)]
    if found.accuracy["test"]:
        accuracy = {form: (found.t, v) for form, v in found.accuracy["test"].items()}
        before, after = (100 * found.drop("test", form) for form in ("raw", "aligned as a pair"))
        text = (
            f"On the same lines, the test accuracy falls by {before:.1f} points for raw weights, and by "
            f"{after:.1f} points after alignment."
        )
        made.append(dataclasses.replace(figures.barrier_curves(accuracy, of="accuracy"), caption=text))
    return [*made, _order(found)]


def _order(found: Barriers) -> Figure:
    before, after = (found.swaps[form][-1] for form in ("raw", "aligned as a pair"))
    caption = (
        "The number of swaps of two units between the order of the first network and that of a network on "
        f"the line. At the end of the line it is {before:,.0f} for raw weights, and {after:,.0f} after one "
        "network is aligned to the other."
    )
    series = {form: (found.waypoints, values) for form, values in found.swaps.items()}
    title = "Order of the units between two networks"
    return figures.curves(series, "t, from one network to the other", "transpositions", title, caption)


CLOSENESS = {
    "agreement": "share of predictions equal to those of {}",
    "mean-distance": "distance from the means of {}, in their standard deviations",
    "TV": "total variation from the predictive of {}",
}


def compactness_table(found: Compactness) -> Table:
    """A table with a row for every compact posterior."""
    columns = found.columns
    caption = (
        f"Every compact posterior is made from {found.fitted:,} draws and evaluated on "
        f"{found.examples:,} test examples."
    )
    others = f"the {found.held_out:,} draws that were held out"
    return Table(
        columns=["posterior", "kbit stored", *columns],
        rows=[[row.name, row.bits / 1000, *(row.scores.get(c) for c in columns)] for row in found.rows],
        caption=caption,
        formats={"kbit stored": ",.0f", **{column: FORMATS[column] for column in columns}},
        notes={name: words.format(others) for name, words in CLOSENESS.items() if name in columns},
    )


def _frontier(found: Compactness) -> Figure:
    series: dict[str, list[Row]] = {
        "Gaussian, raw": found.of("Gaussian", "raw"),
        "Gaussian, aligned": found.of("Gaussian", "aligned"),
        "stored draws": found.of("stored draws"),
        "few bits": found.of("few bits"),
        "mean, raw": found.of("mean network", "raw"),
        "mean, aligned": found.of("mean network", "aligned"),
        "ceiling": found.of("ceiling"),
    }
    points = {
        label: (
            np.array([float(row.bits) for row in rows]),
            np.array([row.scores["agreement"] for row in rows]),
            np.array([row.scores["TV"] for row in rows]),
        )
        for label, rows in series.items()
        if rows
    }
    return dataclasses.replace(figures.frontier(points), caption=_frontier_caption(found))


def _frontier_caption(found: Compactness) -> str:
    text = (
        "Agreement with the held-out draws (share of equal predictions) and total variation from them, "
        "against the number of bits stored. "
    )
    gaussian = found.of("Gaussian", "aligned")[0]
    stored = [row for row in found.of("stored draws") if row.bits <= gaussian.bits]
    if stored:
        row = stored[-1]
        text += (
            f"With {gaussian.bits / 1000:,.0f} kbit, the aligned diagonal Gaussian agrees on "
            f"{gaussian.scores['agreement']:.1%} of the test points, and {row.name} on "
            f"{row.scores['agreement']:.1%}."
        )
    return text


def _pruning(curves: Mapping[str, Curve]) -> Figure:
    ends = []
    for name, (kept, accuracy) in curves.items():
        good = np.logical_and.accumulate(accuracy >= accuracy[0] - CLOSE)
        ends.append(f"{name} {kept[good][-1]:.0%}")
    caption = (
        "The accuracy of the aligned mean network, or of one draw, with only some of its weights; the others "
        f"are set to zero. The share of weights that keeps the accuracy within {100 * CLOSE:.0f} points of "
        f"that with all weights: {'; '.join(ends)}."
    )
    return dataclasses.replace(figures.pruning_curve(curves), caption=caption)
