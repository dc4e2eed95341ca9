"""Agreement and total variation against plain loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import agreement, total_variation


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 6))
def test_plain_loops(seed: int, n: int, k: int):
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.ones(k), size=(2, n))
    same = sum(max(range(k), key=p[i].__getitem__) == max(range(k), key=q[i].__getitem__) for i in range(n))
    # The largest difference any event can have is the sum of the positive differences.
    events = sum(max(p[i, c] - q[i, c], 0.0) for i in range(n) for c in range(k))
    assert agreement(p, q) == pytest.approx(same / n)
    assert total_variation(p, q) == pytest.approx(events / n)
    assert total_variation(p, q) == pytest.approx(total_variation(q, p))


def test_extremes():
    identity = np.eye(3)
    assert agreement(identity, identity) == 1.0
    assert total_variation(identity, identity) == 0.0
    assert agreement(identity, identity[[1, 2, 0]]) == 0.0
    assert total_variation(identity, identity[[1, 2, 0]]) == 1.0


@pytest.mark.parametrize("distance", [agreement, total_variation])
def test_bad_input_is_refused(distance):
    with pytest.raises(ValueError, match="one shape"):
        distance(np.eye(3), np.eye(2))
    with pytest.raises(ValueError, match="q must sum to one"):
        distance(np.eye(2), np.ones((2, 2)))
    with pytest.raises(ValueError, match="p must have shape"):
        distance(np.full(2, 0.5), np.eye(2))
