"""Metrics of examples in batches: for every row of METRICS those of all examples at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import METRICS, Metric, RunningMetrics
from symbayes.evaluate.bootstrap import of_examples, replicates
from symbayes.evaluate.metrics import find

from .oracles import CASES
from .test_metrics import ALL, IDS, ROWS


def cut(predictive, which: slice):
    return predictive.of_examples(np.arange(predictive.examples)[which])


def in_batches(running: RunningMetrics, case, size: int, foreign: int) -> RunningMetrics:
    """All test examples, and then all from elsewhere, in batches of two sizes; the last may be shorter."""
    for first in range(0, case.predictive.examples, size):
        some = slice(first, first + size)
        parts = (cut(case.predictive, some), case.y[some], cut(case.reference, some))
        running = running.update(*parts, validation=case.validation)
    for first in range(0, case.ood.examples, foreign):
        running = running.update(ood=cut(case.ood, slice(first, first + foreign)))
    return running


@pytest.mark.parametrize(("row", "kind"), ROWS, ids=IDS)
@settings(deadline=None, max_examples=4)
@given(data=st.data())
def test_batches_give_what_all_examples_give(row: Metric, kind: str, data: st.DataObject) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1), "seed")
    case = CASES[kind](seed, data.draw(st.integers(1, 7), "examples"), 3, 2, (), 1.0)
    sizes = data.draw(st.integers(1, 4), "size"), data.draw(st.integers(1, 4), "size elsewhere")
    expected = row.of(case.predictive, case.y, case.reference, case.ood, case.validation)
    for intervals in (False, True):
        running = in_batches(RunningMetrics.init([row], intervals), case, *sizes)
        assert running.finish()[row.name] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        each = running.of_examples(row.name)
        assert (each is not None) == (intervals and row.each is not None)


def test_sums_do_not_grow_with_the_examples_and_scores_hold_no_draw() -> None:
    """What is kept of a metric is a sum, or as many numbers for each point as it has classes at most."""
    for kind, make in CASES.items():
        case = make(1, 12, 3, 5, (), 1.0)
        for row in [row for row in METRICS if kind in row.kinds and row.possible(case.predictive, ALL)]:
            sizes = []
            for size in (12, 2):
                running = in_batches(RunningMetrics.init([row]), case, size, 20)
                sizes.append(sum(piece.size for batch in running.batches[0] for piece in batch))
            assert sizes[0] == sizes[1], row.name
            assert row.told_of_batches.added or sizes[0] <= (12 + 13) * 4, row.name


def test_an_interval_is_the_same_from_batches() -> None:
    case = CASES["reals"](5, 9, 2, 3, (), 1.0)
    for name in ("RMSE", "NLL", "mean-distance", "epistemic-sd"):
        row = find(name, "reals")
        running = in_batches(RunningMetrics.init([row], intervals=True), case, 4, 20)
        each = running.of_examples(name)
        assert each is not None
        arguments = row.arguments(case.predictive, case.y, case.reference)
        np.testing.assert_allclose(of_examples(row, each), replicates(row, arguments), rtol=1e-12)


def test_a_stream_says_what_is_missing() -> None:
    case, rows = CASES["classes"](0, 3, 3, 2, (), 1.0), [find("NLL", "classes"), find("AUROC", "classes")]
    empty = RunningMetrics.init(rows)
    with pytest.raises(ValueError, match="No examples were taken in for NLL"):
        empty.finish()
    with pytest.raises(ValueError, match="a predictive, or ood"):
        empty.update()
    with pytest.raises(ValueError, match="NLL needs the true targets: give targets"):
        empty.update(case.predictive)
    only = empty.update(case.predictive, case.y)
    with pytest.raises(ValueError, match="outside is empty"):
        only.finish()
    with pytest.raises(ValueError, match="No examples were taken in for NLL"):
        empty.update(ood=case.ood).finish()
    with pytest.raises(ValueError, match="names that differ"):
        RunningMetrics.init([rows[0], replace(rows[0])])
    assert empty.batches == ((), ()), "an update gives another, and leaves this one as it is"
