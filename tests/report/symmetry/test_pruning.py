"""Networks with few weights."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.compact import Gaussian
from symbayes.report.symmetry.pruning import SHARES, largest, pruned_accuracy
from symbayes.report.symmetry.subject import Subject


@given(keep=st.floats(0.02, 1.0), seed=st.integers(0, 99))
def test_the_largest_weights_stay_and_statistics_do_not_count(keep: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = {
        "params": {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=8)},
        "stats": {"c": np.full(2, 9.0)},
    }
    kept = largest(tree, keep)
    before, after = (np.concatenate([t["params"]["a"].ravel(), t["params"]["b"]]) for t in (tree, kept))
    chosen = after != 0
    assert chosen.sum() == round(keep * 20)
    np.testing.assert_array_equal(after[chosen], before[chosen])
    if 0 < chosen.sum() < 20:
        assert np.abs(before[chosen]).min() >= np.abs(before[~chosen]).max()
    np.testing.assert_array_equal(kept["stats"]["c"], 9.0)


def test_curves_begin_at_the_full_network(
    subject: Subject, hmc_draws: sb.Draws, digits: sb.data.Dataset
) -> None:
    draw = trees.index(hmc_draws.select([1], [2]).variables, (0, 0))
    gaussian = Gaussian.fit(hmc_draws)
    curves = pruned_accuracy(subject, gaussian, draw, digits.test)
    y = np.asarray(digits.test.y)
    for name, network in (("mean, by sigma", gaussian.mean), ("one draw, by size", draw)):
        kept, accuracy = curves[name]
        assert kept.tolist() == list(SHARES)
        assert accuracy[0] == evaluate.accuracy(subject.predict(network, digits.test.x).mean, y)
    pruned = subject.predict(gaussian.prune(SHARES[4], by="signal"), digits.test.x).mean
    assert curves["mean, by |mean|/sigma"][1][4] == evaluate.accuracy(pruned, y)
