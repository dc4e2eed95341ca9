"""Intervals by resampling: standard errors in closed form, and both ways to them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import METRICS
from symbayes.evaluate.bootstrap import margin, replicates, samples, told_apart
from symbayes.evaluate.metric import Kind
from symbayes.evaluate.metrics import find

from .oracles import CASES


def test_the_error_of_a_mean_is_the_deviation_over_the_root() -> None:
    case = CASES["classes"](1, 400, 3, 2, (), 1.0)
    row = find("NLL", "classes")
    arguments = row.arguments(case.predictive, case.y)
    assert row.each is not None
    each = row.each(*(one.values for one in arguments))
    expected = 1.96 * each.std() / np.sqrt(len(each))
    assert margin(replicates(row, arguments, 4000)) == pytest.approx(expected, rel=0.06)


@settings(max_examples=10)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(
        [
            *(("classes", name) for name in ("NLL", "Brier", "agreement", "TV")),
            *(("reals", name) for name in ("RMSE", "mean-distance", "epistemic-sd")),
        ]
    ),
)
def test_a_mean_is_resampled_as_any_other_metric(seed: int, of: tuple[Kind, str]) -> None:
    """The quick way gives what computing it again gives, positions staying with their example."""
    kind, name = of
    case = CASES[kind](seed, 5, 3, 2, (2,), 1.0)
    row = find(name, kind)
    arguments = row.arguments(case.predictive, case.y, case.reference)
    slow = replicates(replace(row, each=None), arguments, 20)
    np.testing.assert_allclose(replicates(row, arguments, 20), slow)


@pytest.mark.parametrize("row", METRICS, ids=lambda row: f"{row.name}-{row.kinds[0]}")
def test_every_row_has_an_interval_or_says_that_it_has_none(row) -> None:
    case = CASES[row.kinds[0]](3, 30, 3, 3, (), 1.0)
    arguments = row.arguments(case.predictive, case.y, case.reference, case.ood, case.validation)
    found = replicates(row, arguments, 5)
    if not row.resampled and row.each is None:
        assert found is None
        assert np.isnan(margin(found))
    else:
        assert found is not None
        assert found.shape == (5,)


def test_inputs_from_elsewhere_are_drawn_by_themselves() -> None:
    inside, outside = samples(10, "test", 50), samples(10, "ood", 50)
    assert not np.array_equal(inside, outside)
    assert np.array_equal(inside, samples(10, "test", 50))
    assert inside.min() == 0
    assert inside.max() == 9


def test_differences_have_an_error_of_their_own() -> None:
    rng = np.random.default_rng(0)
    common = rng.normal(size=1000)
    first, second = common + 0.01 * rng.normal(size=1000), common + 0.01 * rng.normal(size=1000)
    assert told_apart(0.1, first, second), "both err together"
    assert not told_apart(0.1, first, rng.normal(size=1000))
    assert not told_apart(0.0, None, None)
    assert told_apart(0.1, None, None)
    assert np.isnan(margin(np.array([np.inf, 1.0])))
