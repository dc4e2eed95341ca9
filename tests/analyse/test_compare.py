"""Runs side by side: every number is the metric's own, and the ceiling is half against half."""

import re
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import symbayes as sb
from symbayes import evaluate
from symbayes.analyse.compare import Comparison, compare_predictives
from symbayes.analyse.predicted import Judged
from symbayes.engine import open_run
from symbayes.evaluate import FORMATS
from symbayes.evaluate.metrics import chosen
from symbayes.posterior import CategoricalPredictive, GaussianPredictive
from symbayes.report.comparison import comparison_table, good


def test_the_numbers_are_the_metrics_own(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    comparison = sb.compare(runs, reference="hmc", on=digits.test)
    hmc, ensemble = (open_run(path).predict(digits.test.x).mean for path in runs.values())
    y = digits.test.y
    assert comparison.rows["hmc"] == {
        "accuracy": evaluate.accuracy(hmc, y),
        "NLL": evaluate.nll(hmc, y),
        "Brier": evaluate.brier(hmc, y),
        "ECE": evaluate.ece(hmc, y),
    }
    assert comparison.rows["ensemble"]["agreement"] == evaluate.agreement(hmc, ensemble)
    assert comparison.rows["ensemble"]["TV"] == evaluate.total_variation(hmc, ensemble)


def test_the_ceiling_is_one_half_of_the_chains_against_the_other(
    runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    comparison = sb.compare(runs, reference="hmc", on=digits.test)
    probs = open_run(runs["hmc"]).predict(digits.test.x).probs
    first, second = (chain.mean(axis=0, dtype=np.float64) for chain in probs)
    assert comparison.rows["ceiling: half of hmc"] == {
        "agreement": evaluate.agreement(first, second),
        "TV": evaluate.total_variation(first, second),
    }


def test_folders_and_draws_in_memory_are_compared(
    runs: dict[str, Path], digits: sb.data.Dataset, tiny: sb.Posterior
) -> None:
    in_memory = sb.run(sb.DeepEnsemble(epochs=1, chains=2), tiny, progress=False)
    sources = {"folder": runs["hmc"], "run": sb.Run(runs["hmc"]), "opened": open_run(runs["hmc"])}
    found = sb.compare({**sources, "memory": in_memory}, reference="folder", on=digits.test[:50])
    assert found.rows["run"] | {"agreement": 1.0, "TV": 0.0} == found.rows["run"]
    assert found.rows["run"] == found.rows["opened"]
    probs = tiny.predict(in_memory, digits.test.x[:50]).mean
    assert found.rows["memory"]["NLL"] == evaluate.nll(probs, digits.test.y[:50])


def test_metrics_are_those_named_in_their_order(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    named = ("mutual-information", "ace", "auroc")
    found = sb.compare(runs, "hmc", digits.test, metrics=named, ood=np.asarray(digits.test.x)[:, ::-1])
    assert found.columns == ["mutual-information", "ACE", "AUROC"]
    hmc = open_run(runs["hmc"])
    inside, outside = (hmc.predict(x) for x in (digits.test.x, np.asarray(digits.test.x)[:, ::-1]))
    assert found.rows["hmc"]["AUROC"] == evaluate.auroc(inside.doubt, outside.doubt)
    assert list(found.rows) == list(runs), "without an agreement there is no ceiling"
    with pytest.raises(ValueError, match="AUROC needs out-of-distribution inputs"):
        sb.compare(runs, "hmc", digits.test, metrics=["AUROC"])
    with pytest.raises(ValueError, match="'RMSE' is not for classes"):
        sb.compare(runs, "hmc", digits.test, metrics=["RMSE"])


def test_what_cannot_be_compared_is_refused() -> None:
    one = CategoricalPredictive(np.full((1, 1, 3, 2), 0.5))
    other = GaussianPredictive(np.zeros((1, 1, 3, 1)), 1.0)
    with pytest.raises(ValueError, match="b predicts reals, but a classes: compare runs of one kind"):
        compare_predictives({"a": one, "b": other}, "a", np.zeros(3, int))
    with pytest.raises(ValueError, match="a comparison is of at least one run"):
        sb.compare({}, "a", sb.data.Examples(np.zeros((1, 1)), np.zeros(1)))


def test_a_single_draw_has_no_ceiling_and_no_mutual_information() -> None:
    one = CategoricalPredictive(np.full((1, 1, 3, 2), 0.5))
    found = compare_predictives({"a": one}, "a", np.zeros(3, int), metrics=["NLL", "mutual-information"])
    assert found.rows == {"a": {"NLL": pytest.approx(np.log(2))}}
    assert found.columns == ["NLL"]


def test_regression_has_its_distances_and_their_ceiling() -> None:
    rng = np.random.default_rng(9)
    a, b = (GaussianPredictive(rng.normal(size=(2, 3, 7, 2, 1)), 0.3) for _ in range(2))
    scaling = sb.data.Scaling(np.array([4.0]), np.array([2.5]))
    y = rng.normal(size=(7, 2, 1))
    for how in (None, scaling):
        rows = compare_predictives({"a": a, "b": b}, "a", y, how).rows
        parts = [(p.component_means, p.component_scales) for p in (b, a)]
        distance = evaluate.mixture_total_variation(*parts[0], *parts[1])
        assert rows["b"]["TV"] == pytest.approx(distance, abs=1e-6), "units do not matter"
        first, second = (a.means[i].mean(axis=0) for i in (0, 1))
        scale = np.sqrt(0.3**2 + a.means[1].var(axis=0))
        expected = np.sqrt(np.mean(((first - second) / scale) ** 2))
        assert rows["ceiling: half of a"]["mean-distance"] == pytest.approx(expected)
    assert rows["a"]["RMSE"] == pytest.approx(2.5 * evaluate.rmse(a.mean, y))


def test_the_page_shades_what_is_better_and_says_which_way(
    runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    comparison = sb.compare(runs, reference="hmc", on=digits.test)
    table = comparison_table(comparison)
    assert table.best == {name: comparison.best[name] for name in ("accuracy", "NLL", "Brier", "ECE")}
    assert table.caption == "On 360 examples. Agreement and TV are with hmc."
    assert table.notes["Brier"].startswith("squared distance of probabilities")
    assert list(table.notes) == [*comparison.columns, "ceiling", "±", "–"]
    assert table.notes["–"] == "no number: hmc is not compared with itself"
    words = good(comparison.told)
    assert words == "high accuracy and agreement and low NLL, Brier, ECE and TV"
    assert (
        good(list(chosen("reals", ["rmse", "coverage"], ["targets"]))) == "low RMSE and a coverage near 90%"
    )


def test_a_note_stands_once_and_what_is_missing_is_explained() -> None:
    p = np.random.default_rng(2).dirichlet(np.ones(3), size=(2, 3, 5))
    several, single = (CategoricalPredictive(probs) for probs in (p, p[:1, :1]))
    judged = {
        name: Judged(one, {"letters": one, "noise": one}, {"fog": one, "blur": one})
        for name, one in (("several", several), ("single", single))
    }
    names = ["NLL", "mutual-information", "TV", "AUROC"]
    found = compare_predictives(judged, "several", np.arange(5) % 3, metrics=names, intervals=False)
    assert len(found.columns) == 7
    table = comparison_table(found)
    assert list(table.notes) == [*names, "ceiling", "–"]
    why = "several is not compared with itself; the metric takes several draws and the run predicts with one"
    assert found.untold == why
    assert f"A – means that there is no number: {why}." in found.caption
    assert good(found.told) == "high AUROC and low NLL and TV"
    alone = compare_predictives({"several": several}, "several", np.arange(5) % 3, metrics=["NLL"])
    assert alone.untold == ""
    assert "–" not in alone.caption


def test_regression_has_rmse_and_the_nll_of_the_mixture() -> None:
    rng = np.random.default_rng(4)
    means, y = rng.normal(size=(2, 3, 7, 1)), rng.normal(size=(7, 1))
    rows = compare_predictives({"a": GaussianPredictive(means, 0.3)}, "a", y).rows
    flat = means.reshape(6, 7, 1)
    density = np.mean(np.exp(-0.5 * ((y - flat) / 0.3) ** 2) / (0.3 * np.sqrt(2 * np.pi)), axis=0)
    assert rows["a"]["RMSE"] == pytest.approx(np.sqrt(np.mean((flat.mean(axis=0) - y) ** 2)))
    assert rows["a"]["NLL"] == pytest.approx(-np.mean(np.log(density)))


def test_it_prints_as_a_table_and_refuses_an_unknown_reference(
    runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    text = str(sb.compare(runs, reference="hmc", on=digits.test))
    assert "agreement" in text
    assert "ceiling: half of hmc" in text
    with pytest.raises(ValueError, match="'nuts' is not among the runs hmc, ensemble"):
        sb.compare(runs, reference="nuts", on=digits.test)


@pytest.mark.parametrize("width", [34, 40, 60, 80, 120])
def test_no_number_is_cut_in_a_narrow_terminal(width: int) -> None:
    rows = {
        "hmc": {"accuracy": 0.981, "NLL": 0.111, "Brier": 0.042, "ECE": 0.064},
        "other": {
            "accuracy": 0.978,
            "NLL": 0.102,
            "Brier": 0.04,
            "ECE": 0.054,
            "agreement": 0.997,
            "TV": 0.014,
        },
    }
    console = Console(width=width)
    with console.capture() as captured:
        metrics = chosen("classes", None, ["targets", "reference"])
        console.print(Comparison(rows, metrics, "hmc", 360))
    shown = captured.get()
    assert "…" not in shown
    for row in rows.values():
        for column, value in row.items():
            assert column in shown
            assert format(value, FORMATS[column]) in shown
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize("width", [34, 44])
def test_many_runs_and_metrics_are_shown_in_several_tables(width: int) -> None:
    metrics = chosen("classes", None, ["targets"])
    rng = np.random.default_rng(0)
    rows = {f"run-{i}": {metric.name: float(rng.random()) for metric in metrics} for i in range(12)}
    console = Console(width=width)
    with console.capture() as captured:
        console.print(Comparison(rows, metrics, "run-0", 360, margins=rows))
    shown = captured.get()
    assert "…" not in shown
    for row in rows.values():
        for column, value in row.items():
            assert f"{format(value, FORMATS[column])} ±" in shown
    times = {len(re.findall(rf"{name}\b", shown)) for name in rows}
    assert len(times) == 1, "every table has all runs"
    assert times.pop() > 1
    assert shown.count("On 360 examples.") == 1
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize(("width", "margins"), [(60, False), (120, True)])
def test_margins_are_explained_where_they_are_shown(width: int, margins: bool) -> None:
    names = ("accuracy", "NLL", "Brier", "ECE")
    rows = {run: dict.fromkeys(names, 0.5) for run in ("hmc", "other")}
    console = Console(width=width)
    with console.capture() as captured:
        metrics = chosen("classes", names, ["targets"])
        console.print(Comparison(rows, metrics, "hmc", 360, margins=rows))
    shown = " ".join(captured.get().split())
    assert ("±" in shown) == margins
    assert ("± is half of the 95% interval" in shown) == margins
