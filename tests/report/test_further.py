"""Parts of the page made where they are asked for, and the page about models, from made-up numbers."""

import dataclasses
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.evidence import Estimate, Models
from symbayes.analyse.landscape import Landscape
from symbayes.analyse.quality import Apart, Quality
from symbayes.engine import open_run
from symbayes.evaluate import Eigenvalues, LeaveOneOut, UnitTest, rungs
from symbayes.report import further
from symbayes.report.contents import Figure, Table
from symbayes.report.evidence import models_section, write_models

FAR = Apart(0.25, 0.01, 0.1, 0.1, 2.0, 0.5)
QUALITY = Quality(
    {"raw": {"all": FAR}},
    FAR,
    {"agreement": (0.9, 0.97), "TV": (0.1, 0.03)},
    {"weights": {"run": 0.5, "reference": 0.01}, "functions": {"run": 0.7, "reference": 0.02}},
    {"hidden": UnitTest(0.5, 0.2, 0.01)},
    20,
)
LANDSCAPE = Landscape({}, None, [Eigenvalues(np.array([3.0, 1.0]), np.array([0.1, 0.2]))], 10)


def tables(items) -> dict[str, Table]:
    return {item.columns[0]: item for item in items if isinstance(item, Table)}


def test_parts_are_made_where_they_are_asked_for(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    opened = {name: open_run(path) for name, path in runs.items()}
    with (
        patch.object(further, "quality", return_value=QUALITY) as far,
        patch.object(further, "landscape", side_effect=[LANDSCAPE, ValueError("it predicts otherwise")]),
    ):
        assert further.further_sections((), opened, "hmc", digits, Bounds(), print) == []
        both = ("quality", "landscape")
        made = further.further_sections(both, opened, "hmc", digits, Bounds(draws=40), print)
    assert [section.title for section in made] == [
        "Distance of ensemble from hmc",
        "Landscape of hmc",
        "Landscape of ensemble",
    ]
    assert far.call_args.args[:2] == (opened["ensemble"], opened["hmc"])
    assert far.call_args.args[3].draws == 40
    assert made[2].lead == "Not available: it predicts otherwise."
    shown = tables(made[0].items)
    assert shown["predictions of"].rows == [["the run", 0.9, 0.1], ["the reference (ceiling)", 0.97, 0.03]]
    assert shown["draws of"].columns == ["draws of", "KSD² of weights", "KSD² of functions"]
    assert shown["draws of"].rows[1] == ["the reference (ceiling)", 0.01, 0.02]
    with pytest.raises(ValueError, match="a page can also have quality and landscape, not 'plane'"):
        sb.Report.of(opened, digits, also=["plane"])


def models(estimates: list[Estimate], negative: bool = True) -> Models:
    each = np.random.default_rng(1).normal(size=(3, 2, 6)) + (-50 if negative else 50)
    left_out = LeaveOneOut(np.array([-1.0, -2.0]), 1.5, np.array([0.2, 0.9]))
    ladder = rungs([0, 0.5, 1], list(each))
    return Models({"hmc": left_out}, {"hmc": left_out}, estimates, np.log(48), ladder)


def test_the_page_about_models_shows_the_ladder_and_every_estimate(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    found = models([Estimate("ladder", -40.0, 0.5), Estimate("Laplace, map", -45.0, None, float(np.log(48)))])
    with (
        patch("symbayes.report.figures.curves", return_value=Figure("a", "", "", "a")) as curves,
        patch("symbayes.report.figures.dots", return_value=Figure("b", "", "", "b")) as dots,
    ):
        section = models_section(found)
    assert [type(item) for item in section.items] == [Table, Table, Figure, Figure]
    assert found.rungs is not None
    ((places, heights),) = curves.call_args.args[0].values()
    np.testing.assert_allclose(places, np.array([0, 0.5, 1]) ** 0.2)
    np.testing.assert_allclose(heights, -found.rungs.means)
    assert curves.call_args.kwargs == {"log_y": True}
    assert dots.call_args.args[0] == {
        "not corrected": {"ladder": -40.0, "Laplace, map": -45.0},
        "with all copies of a mode": {"Laplace, map": pytest.approx(-45 + np.log(48))},
    }
    page = write_models(found, {"hmc": open_run(runs["hmc"])}, tmp_path / "page.html").read_text()
    assert "Laplace, map: -41.1 nats" in page
    assert "48 copies of every mode" in page
    apart = [Estimate("integrated", -40.0, 0.5), Estimate("stones", -43.0, 0.5)]
    for estimates, told in ((apart, False), ([*apart[:1], Estimate("stones", -44.0, 0.5)], True)):
        (table,) = list(tables(models_section(models(estimates)).items).values())[1:]
        assert ("use more rungs" in table.caption) == told
    # Densities may be above one; and without a ladder there is no picture of it.
    assert models_section(models([], negative=False)).items
    alone = dataclasses.replace(found, rungs=None, estimates=[])
    assert [type(item) for item in models_section(alone).items] == [Table]
