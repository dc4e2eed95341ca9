"""Mixing in weights and in functions: the metrics' own numbers, and where there are none."""

from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.analyse.mixing import FORMATS, Mixing, mixing


def test_the_numbers_are_the_metrics_own(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    opened = sb.open(runs["hmc"])
    predictive = opened.predict(digits.test.x[:20])
    found = mixing(runs["hmc"], predictive)
    weights = np.asarray(trees.ravel(opened.draws.variables["params"], batch_dims=2))
    np.testing.assert_array_equal(found["weights"].rhat, evaluate.rhat(weights))
    np.testing.assert_array_equal(found["predictions"].rhat, evaluate.rhat(predictive.every).reshape(-1))
    numbers = found["predictions"].numbers()
    assert numbers.keys() == FORMATS.keys()
    finite = found["predictions"].rhat[~np.isnan(found["predictions"].rhat)]
    assert numbers["R-hat, largest"] == finite.max()
    assert numbers["below 1.1"] == np.mean(finite < 1.1)
    assert numbers["ESS bulk, median"] == np.nanmedian(evaluate.ess_bulk(predictive.quantities))
    assert mixing(opened, most=7)["weights"].rhat.shape == (7,)


def test_single_networks_have_no_mixing_and_still_chains_no_number(runs: dict[str, Path]) -> None:
    assert mixing(runs["ensemble"]) == {}
    assert all(np.isnan(list(Mixing(np.ones((2, 6, 3))).numbers().values())))


def test_the_predictive_of_another_run_is_refused(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    other = sb.open(runs["ensemble"]).predict(digits.test.x[:2])
    with pytest.raises(ValueError, match="give the predictive of the same run"):
        mixing(runs["hmc"], other)
