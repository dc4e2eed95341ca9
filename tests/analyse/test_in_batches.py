"""Runs compared in batches of examples: the table of all examples at once."""

from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse import Comparison, in_batches
from symbayes.analyse.in_batches import fitting_batch
from symbayes.analyse.predicted import Places
from symbayes.engine import open_run

EVERY_KIND = [
    *("accuracy", "NLL", "ECE", "ACE", "conformal-coverage", "mutual-information", "agreement"),
    *("AUROC", "AUROC-energy"),
]
"""Means, sums, kept scores; with validation examples, draws, a reference, inputs from elsewhere."""


def same(found: Comparison, whole: Comparison) -> None:
    assert found.columns == whole.columns
    assert list(found.rows) == list(whole.rows)
    # Networks predict in float32, and a batch of another size may round otherwise.
    for name, row in whole.rows.items():
        assert found.rows[name] == pytest.approx(row, rel=1e-6, abs=1e-9)


def test_the_table_is_that_of_all_examples(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    noise = np.random.default_rng(2).random((70, 8, 8, 1))
    foreign = {"flipped": np.asarray(digits.test.x)[:, ::-1], "noise": noise}
    options = {"ood": foreign, "shift": "contrast", "metrics": EVERY_KIND, "recalibrate": "temperature"}
    for recalibrate in (None, "temperature"):
        metrics = EVERY_KIND if recalibrate is None else ["NLL", "AUROC"]
        options |= {"recalibrate": recalibrate, "metrics": metrics}
        whole, found = (sb.compare(runs, "hmc", digits, batch=batch, **options) for batch in (None, 150))
        same(found, whole)
        for run, margins in found.margins.items():
            for column, margin in margins.items():
                if np.isfinite(margin):
                    assert margin == pytest.approx(whole.margins[run][column], rel=1e-6)
        assert np.isfinite(found.margins["hmc"]["NLL"])
        assert np.isfinite(found.margins["hmc"]["AUROC (noise)"])
        assert found.notes[-1] == "Predicted 150 examples at a time."
        assert found.notes[:-1] == whole.notes


def test_real_targets_are_told_in_their_own_units(linear: tuple) -> None:
    posterior = linear[0]
    draws = {
        str(seed): sb.run(sb.DeepEnsemble(epochs=1, chains=3), posterior, seed=seed, progress=False)
        for seed in (0, 1)
    }
    scaling = sb.data.Scaling(np.array([4.0]), np.array([2.5]))
    names = ["RMSE", "mean-distance", "TV", "coverage"]
    whole, found = (
        sb.compare(draws, "0", posterior.train, scaling, metrics=names, batch=batch) for batch in (None, 7)
    )
    same(found, whole)
    margin = whole.margins["ceiling: half of 0"]["mean-distance"]
    assert margin > 0, "the ceiling has an interval, and so have roots of means"
    assert found.margins["ceiling: half of 0"]["mean-distance"] == pytest.approx(margin, rel=1e-9)


def test_batches_are_taken_where_predictions_do_not_fit(
    runs: dict[str, Path], digits: sb.data.Dataset
) -> None:
    opened = {name: open_run(path) for name, path in runs.items()}
    places = Places.of(digits)
    assert fitting_batch(opened, places) is None
    draws = sum(run.draws.chains * len(run.draws) for run in opened.values())
    each = 4 * in_batches.WORKING * draws * 10  # ten classes
    with patch.object(in_batches, "MEMORY", 100.5 * each):
        assert fitting_batch(opened, places) == 100
        found = sb.compare(runs, "hmc", digits, metrics=["NLL"])
    assert found.notes == ("Predicted 100 examples at a time.",)
    with pytest.raises(ValueError, match="batch is a number of examples, at least 1, not 0"):
        sb.compare(runs, "hmc", digits, batch=0)
