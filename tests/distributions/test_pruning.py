"""Networks with few weights, chosen by a Gaussian or by their size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.distributions import Gaussian, keep_largest, prune
from symbayes.draws import Draws

SIZE = 11


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0]),
    st.sampled_from(["sigma", "signal"]),
)
def test_pruning_keeps_the_best_weights(seed, keep, by):
    x = np.random.default_rng(seed).normal(size=(1, 4, SIZE)) * np.geomspace(0.1, 1, SIZE) + 1
    fitted = Gaussian.fit(Draws.from_variables({"w": x}))
    mean, sigma = x[0].mean(axis=0), x[0].std(axis=0, ddof=1)
    worth = -sigma if by == "sigma" else np.abs(mean) / sigma
    pruned = prune(fitted, keep, by)["w"]
    kept = np.flatnonzero(pruned)
    assert len(kept) == round(keep * SIZE)
    np.testing.assert_allclose(pruned[kept], mean[kept], rtol=1e-13)
    left = np.setdiff1d(np.arange(SIZE), kept)
    assert worth[kept].min(initial=np.inf) >= worth[left].max(initial=-np.inf)


def test_certain_weights_have_the_highest_signal_unless_they_are_zero():
    w = np.array([[[2.0, 0.0, 1.0, 9.0], [2.0, 0.0, 3.0, 9.5]]])
    fitted = Gaussian.fit(Draws.from_variables({"w": w}))
    assert prune(fitted, 0.25, "signal")["w"].tolist() == [2.0, 0.0, 0.0, 0.0]
    assert prune(fitted, 0.75, "signal")["w"].tolist() == [2.0, 0.0, 2.0, 9.25]


@given(keep=st.floats(0.02, 1.0), seed=st.integers(0, 99))
def test_the_largest_weights_stay_and_statistics_do_not_count(keep: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = {
        "params": {"a": rng.normal(size=(3, 4)), "b": rng.normal(size=8)},
        "stats": {"c": np.full(2, 9.0)},
    }
    kept = keep_largest(tree, keep)
    before, after = (np.concatenate([t["params"]["a"].ravel(), t["params"]["b"]]) for t in (tree, kept))
    chosen = after != 0
    assert chosen.sum() == round(keep * 20)
    np.testing.assert_array_equal(after[chosen], before[chosen])
    if 0 < chosen.sum() < 20:
        assert np.abs(before[chosen]).min() >= np.abs(before[~chosen]).max()
    np.testing.assert_array_equal(kept["stats"]["c"], 9.0)


def test_pruning_leaves_constants_and_refuses_odd_shares():
    rng = np.random.default_rng(0)
    draws = Draws.from_variables(
        {"params": {"w": rng.normal(size=(1, 3, 4))}, "stats": {"m": np.ones((1, 3))}}
    )
    fitted = Gaussian.fit(draws)
    assert prune(fitted, 0.5)["stats"]["m"] == 1.0
    for keep in (0.0, 1.1):
        with pytest.raises(ValueError, match="share to keep"):
            prune(fitted, keep)
