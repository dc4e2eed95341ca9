"""The table of a comparison as files, with margins and marks; and runs judged in many places."""

import csv
import io
import json
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate
from symbayes.analyse.compare import compare_predictives
from symbayes.analyse.comparison import Comparison
from symbayes.analyse.recalibrated import Recalibration
from symbayes.data.shifts import shift
from symbayes.engine import open_run
from symbayes.evaluate.metrics import chosen
from symbayes.evaluate.recalibration import TemperatureScaling
from symbayes.posterior import CategoricalPredictive, GaussianPredictive


@pytest.fixture(scope="module")
def table() -> Comparison:
    rows = {"a_b": {"accuracy": 0.981, "NLL": 0.2, "ECE": 0.1}, "c": {"accuracy": 0.9, "NLL": 0.1}}
    margins = {
        "a_b": {"accuracy": 0.01, "NLL": float("nan"), "ECE": 0.02},
        "c": {"accuracy": 0.02, "NLL": 0.03},
    }
    best = {"accuracy": ("a_b",), "NLL": ("a_b", "c")}
    return Comparison(
        rows, chosen("classes", ["accuracy", "NLL", "ECE"], ["targets"]), "a_b", 50, (), margins, best
    )


def test_markdown_has_margins_and_the_best_in_bold(table: Comparison) -> None:
    lines = table.markdown().splitlines()
    assert lines[:4] == [
        "| run | accuracy ↑ | NLL ↓ | ECE ↓ |",
        "| --- | ---: | ---: | ---: |",
        "| a_b | **98.1% ±1.0** | **0.200** | 0.100 ±0.020 |",
        "| c | 90.0% ±2.0 | **0.100 ±0.030** | – |",
    ]
    assert "In bold are the best run and those not significantly different from it." in lines[-1]


def test_latex_escapes_what_is_special(table: Comparison) -> None:
    text = table.latex()
    assert r"a\_b & \textbf{98.1\% $\pm$1.0} & \textbf{0.200} & 0.100 $\pm$0.020 \\" in text
    assert r"run & accuracy $\uparrow$ & NLL $\downarrow$ & ECE $\downarrow$ \\" in text
    assert text.count(r"\\") == 3


def test_csv_and_json_and_pandas_have_the_numbers(table: Comparison) -> None:
    first, second = csv.DictReader(io.StringIO(table.csv()))
    assert first["run"] == "a_b"
    assert float(first["accuracy"]) == 0.981
    assert float(first["ECE margin"]) == 0.02
    assert first["NLL margin"] == second["ECE"] == ""
    numbers = json.loads(json.dumps(table.numbers(), allow_nan=False))
    assert numbers["best"] == {"accuracy": ["a_b"], "NLL": ["a_b", "c"]}
    assert numbers["margins"]["a_b"] == {"accuracy": 0.01, "NLL": None, "ECE": 0.02}
    frame = table.to_pandas()
    assert frame.loc["a_b", "accuracy"] == 0.981
    assert np.isnan(frame.loc["c", "ECE"])
    assert table.to_pandas(margins=True).loc["c", "NLL"] == 0.03


def test_it_is_saved_as_the_ending_says(table: Comparison, tmp_path: Path) -> None:
    for ending, made in ((".md", table.markdown()), (".csv", table.csv()), (".tex", table.latex())):
        path = table.save(tmp_path / "new" / f"table{ending}")
        assert path.read_text() == made
    assert json.loads(table.save(tmp_path / "table.json").read_text()) == table.numbers()
    with pytest.raises(
        ValueError, match=r"a table is saved as \.md, \.csv, \.tex, \.json, and .*table.doc ends"
    ):
        table.save(tmp_path / "table.doc")


def test_the_best_and_what_is_not_told_from_it_are_marked() -> None:
    """Two runs that differ in one of 200 examples are not told apart, one that errs in half is."""
    y, rng = np.zeros(200, int), np.random.default_rng(5)
    good = np.tile([0.9, 0.1], (200, 1))
    slight, bad = good.copy(), good.copy()
    slight[0] = [0.1, 0.9]
    bad[rng.permutation(200)[:100]] = [0.1, 0.9]
    runs = {
        name: CategoricalPredictive(p[None, None])
        for name, p in (("good", good), ("slight", slight), ("bad", bad))
    }
    found = compare_predictives(runs, "good", y, metrics=["accuracy", "entropy"])
    assert found.best == {"accuracy": ("good", "slight")}, "an entropy is neither good nor bad"
    assert found.margins["bad"]["accuracy"] == pytest.approx(1.96 * 0.5 / np.sqrt(200), rel=0.15)
    assert found.margins["good"]["accuracy"] == 0
    assert "99.5%" in str(found)
    alone = compare_predictives({"good": runs["good"]}, "good", y)
    assert alone.best == {}
    bare = compare_predictives(runs, "good", y, intervals=False)
    assert (bare.margins, bare.best) == ({}, {})
    assert {name: row["accuracy"] for name, row in bare.rows.items()} == {
        name: row["accuracy"] for name, row in compare_predictives(runs, "good", y).rows.items()
    }


def test_coverage_is_best_where_it_is_nearest() -> None:
    y = np.linspace(-2, 2, 400)[:, None]
    runs = {
        f"noise {scale}": GaussianPredictive(np.zeros((1, 1, 400, 1)), scale) for scale in (0.3, 1.094, 5.0)
    }
    found = compare_predictives(runs, "noise 0.3", y, metrics=["coverage"])
    assert found.best == {"coverage": ("noise 1.094",)}


def test_runs_are_judged_elsewhere_under_shifts_and_recalibrated(
    runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    x = np.asarray(digits.test.x)
    turned, noise = x[:, ::-1], np.random.default_rng(0).random(x.shape, dtype=np.float32)
    names = ["accuracy", "AUROC", "AUROC-energy", "conformal-coverage", "entropy"]
    found = sb.compare(
        runs,
        "hmc",
        digits,
        metrics=names,
        ood={"turned": turned, "noise": noise},
        shift=["fog:5"],
        recalibrate="temperature",
    )
    assert found.columns == [
        "accuracy",
        "conformal-coverage",
        "entropy",
        "accuracy (fog:5)",
        *(f"{name} ({where})" for where in ("turned", "noise") for name in ("AUROC", "AUROC-energy")),
    ]
    run = open_run(runs["hmc"])
    held_out = run.predict(digits.validation.x)
    fitted = TemperatureScaling.fit(held_out.mean, np.asarray(digits.validation.y))
    row = found.rows["hmc"]
    assert row["entropy"] == evaluate.mean_entropy(fitted.apply(run.predict(x).mean))
    fog = shift(x, "fog", 5)
    assert row["accuracy (fog:5)"] == evaluate.accuracy(run.predict(fog).mean, digits.test.y)
    doubts = [1 - fitted.apply(run.predict(inputs).mean).max(axis=1) for inputs in (x, noise)]
    assert row["AUROC (noise)"] == pytest.approx(evaluate.auroc(*doubts))
    assert f"hmc is recalibrated: {fitted.words}." in found.caption
    energies = []
    for inputs in (x, turned):
        logits = [run.network.apply(one, jnp.asarray(inputs)) for one in _each(run)]
        energies.append(
            np.mean([-np.logaddexp.reduce(np.asarray(z, np.float64), axis=1) for z in logits], axis=0)
        )
    assert row["AUROC-energy (turned)"] == pytest.approx(evaluate.auroc(*energies), abs=1e-4)


def _each(run):
    from symbayes import trees

    variables = run.draws.select().variables
    return [trees.index(variables, place) for place in np.ndindex(run.draws.chains, len(run.draws))]


def test_what_cannot_be_judged_is_refused(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    with pytest.raises(
        ValueError, match="recalibration is fitted on validation examples, and there are none"
    ):
        sb.compare(runs, on=digits.test, recalibrate="temperature")
    with pytest.raises(ValueError, match="no recalibration is called 'platt'"):
        sb.compare(runs, on=digits, recalibrate="platt")
    with pytest.raises(ValueError, match=r"write a shift as .* not 'fog:9'"):
        sb.compare(runs, on=digits, shift="fog:9")
    with pytest.raises(ValueError, match="APS-size needs validation examples"):
        sb.compare(runs, on=digits.test, metrics=["APS-size"])
    with pytest.raises(ValueError, match="recalibration by vector is for classes"):
        Recalibration.fit("vector", GaussianPredictive(np.zeros((1, 1, 3, 1)), 1.0), np.zeros((3, 1)))
