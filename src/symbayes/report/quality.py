"""Tables of how far a run is from a reference, and the page about it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from symbayes import evaluate
from symbayes.analyse.quality import Apart, Quality
from symbayes.engine import Opened
from symbayes.report import page
from symbayes.report.contents import Section, Table
from symbayes.report.provenance import provenance

COLUMNS = ("MMD²", "floor", "p", "sliced W₂", "floor W₂")
FORMATS = {"MMD²": ".4f", "floor": ".4f", "p": ".3f", "sliced W₂": ".4g", "floor W₂": ".4g"}
NOTES = {
    "MMD²": "unbiased squared maximum mean discrepancy from one half of the reference; it may be below zero",
    "floor": "the same between the two halves of the reference, at the same number of draws",
    "p": "p-value of a permutation test: the share of all ways to split the chains into two sets for which "
    "the sets are at least as far apart. Longer chains are thinned to the length of the shortest; there is "
    "no p-value where that leaves one draw",
}


def quality_tables(found: Quality) -> list[Table]:
    """Tables of the distances of weights and functions, the Stein discrepancies, and the test of units."""
    rows: list[list[Any]] = []
    for form, layers in found.weights.items():
        rows += [_row(f"{name}, {form}", one) for name, one in layers.items()]
    if found.functions is not None:
        rows.append(_row("functions", found.functions))
    caption = f"Distances between {found.draws:,} draws of the run and {found.draws:,} of the reference."
    made = [Table(["weights of", *COLUMNS], rows, caption + _least(found), FORMATS, notes=NOTES)]
    if found.closeness:
        formats = {name: evaluate.FORMATS[name] for name in found.closeness}
        made.append(
            Table(
                ["predictions of", *found.closeness],
                [
                    [words, *(pair[number] for pair in found.closeness.values())]
                    for number, words in enumerate(("the run", "the reference (ceiling)"))
                ],
                "Mean predictions compared with those of one half of the reference; the ceiling is the "
                "result for its other half.",
                formats,
            )
        )
    if found.stein:
        made.append(
            Table(
                ["draws of", *(f"KSD² of {of}" for of in found.stein)],
                [
                    [words, *(one[name] for one in found.stein.values())]
                    for name, words in (("run", "the run"), ("reference", "the reference (ceiling)"))
                ],
                "Squared kernel Stein discrepancy from the posterior's density. It is near zero for draws of "
                "the posterior, and needs no draws of the reference.",
                {f"KSD² of {of}": ".4g" for of in found.stein},
            )
        )
    if found.units:
        made.append(
            Table(
                ["layer", "variance between units", "after relabelling", "p"],
                [[name, one.share, one.expected, one.p_value] for name, one in found.units.items()],
                "A test whether all units of a layer have the same marginal distribution. A small p means "
                "that units differ in the same way in all chains, as when chains had a common start.",
                {"variance between units": ".3f", "after relabelling": ".3f", "p": ".3f"},
            )
        )
    return made


def _row(name: str, one: Apart) -> list[Any]:
    return [name, one.mmd, one.floor, one.p_value, one.wasserstein, one.wasserstein_floor]


def _least(found: Quality) -> str:
    smallest = next(iter(next(iter(found.weights.values())).values())).smallest
    return (
        ""
        if smallest is None or smallest < 0.01
        else f" With so few chains, p cannot be smaller than {smallest:.2g}."
    )


def quality_section(name: str, reference: str, found: Quality) -> Section:
    """The part of a page about one run."""
    return Section(
        f"Distance of {name} from {reference}",
        "If a run draws from the posterior, its distance from one half of the reference is about the floor, "
        "the distance between the two halves. With raw weights, copies of one network count as different; "
        "with canonical weights they do not.",
        quality_tables(found),
    )


def write_quality(found: Quality, runs: Mapping[str, Opened], path: Path) -> Path:
    """Write the page; returns its path."""
    names = list(runs)
    last = {form: list(rows.values())[-1] for form, rows in found.weights.items()}
    told = "; ".join(f"{form} {one.mmd:.4f} (floor {one.floor:.4f})" for form, one in last.items())
    summary = f"Squared discrepancy of all weights of {names[0]} from those of {names[1]}: {told}."
    section = quality_section(names[0], names[1], found)
    page.write(path, page.render(f"{names[0]} and {names[1]}", summary, [section], provenance(runs)))
    return path
