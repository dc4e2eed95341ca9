"""Scores of out-of-distribution inputs, by hand and where scores are constant or bad."""

import numpy as np
import pytest

from symbayes.evaluate import auroc, fpr


def test_by_hand() -> None:
    inside, outside = np.array([0.1, 0.2, 0.3, 0.9]), np.array([0.25, 0.8, 0.95])
    assert auroc(inside, outside) == pytest.approx((2 + 3 + 4) / 12)
    assert fpr(inside, outside, at=1.0) == 0.5  # the threshold is 0.25
    assert fpr(inside, outside, at=0.6) == 0.25  # two of three suffice: 0.8
    assert fpr(np.arange(20), np.arange(20) + 0.5) == pytest.approx(18 / 20)  # 19 of 20 foreign are found


def test_constant_scores_tell_nothing() -> None:
    assert auroc(np.ones(3), np.ones(5)) == 0.5
    assert fpr(np.ones(3), np.ones(5)) == 1.0
    assert auroc([0.0], [1.0]) == 1.0
    assert fpr([0.0], [1.0]) == 0.0


@pytest.mark.parametrize("score", [auroc, fpr])
def test_bad_input_is_refused(score) -> None:
    with pytest.raises(ValueError, match="inside is empty"):
        score([], [1.0])
    with pytest.raises(ValueError, match="outside holds values that are not finite"):
        score([1.0], [np.nan])
    with pytest.raises(ValueError, match="outside must hold one score per input"):
        score([1.0], [[1.0]])


def test_a_share_is_asked_for() -> None:
    with pytest.raises(ValueError, match=r"at is a share above 0 and at most 1, not 95\.0"):
        fpr([1.0], [1.0], at=95.0)
