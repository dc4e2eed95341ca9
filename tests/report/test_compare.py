"""Runs side by side: every number is the metric's own, and the ceiling is half against half."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

import symbayes as sb
from symbayes import evaluate
from symbayes.engine import open_run
from symbayes.posterior import CategoricalPredictive, GaussianPredictive
from symbayes.report.compare import FORMATS, Comparison, compare_predictives, split


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


def test_a_single_chain_is_split_by_draws_and_a_single_draw_not_at_all() -> None:
    rng = np.random.default_rng(3)
    probs = rng.dirichlet(np.ones(4), size=(1, 6, 5))
    halves = split(CategoricalPredictive(probs))
    assert halves is not None
    np.testing.assert_allclose(halves[0], probs[0, :3].mean(axis=0))
    np.testing.assert_allclose(halves[1], probs[0, 3:].mean(axis=0))
    assert split(CategoricalPredictive(probs[:, :1])) is None


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
        console.print(Comparison(rows, "hmc", 360))
    shown = captured.get()
    assert "…" not in shown
    for row in rows.values():
        for column, value in row.items():
            assert column in shown
            assert format(value, FORMATS[column]) in shown
    assert max(map(len, shown.splitlines())) <= width
