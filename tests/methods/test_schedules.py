"""Learning rates: those of optax's schedules, and cycles that begin again."""

from typing import Any, get_args

import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symbayes as sb
from symbayes.methods.phases.schedules import Rate, Schedule

PEAK = 0.3
shares = st.floats(0.0, 0.875, width=32)


def of_optax(schedule: str, steps: int, floor: float) -> Any:
    """What is left of the rate, by optax."""
    return {
        "constant": optax.constant_schedule(1.0),
        "linear": optax.linear_schedule(1.0, floor, steps),
        "cosine": optax.cosine_decay_schedule(1.0, steps, alpha=floor),
        "step": optax.piecewise_constant_schedule(1.0, {steps / 2: 0.1, 3 * steps / 4: 0.1}),
    }[schedule]


@pytest.mark.parametrize("schedule", get_args(Schedule))
@settings(max_examples=10, deadline=None)
@given(epochs=st.integers(1, 9), steps=st.integers(1, 7), warmup=shares, floor=shares)
def test_rates_are_those_of_optax(
    schedule: Any, epochs: int, steps: int, warmup: float, floor: float
) -> None:
    if schedule == "step":
        floor = 0.0
    rate = Rate.of(PEAK, schedule, epochs, warmup, floor)
    total = epochs * steps
    number = np.arange(126)  # always as many, since each shape is compiled; two cycles of the longest
    done = number % total / total
    place = (done - warmup) / (1 - warmup) * total
    expected = np.where(
        done < warmup, done / (warmup or 1), of_optax(schedule, total, floor)(np.maximum(place, 0))
    )
    found = np.asarray(rate.at(number // steps, number % steps, steps))
    # A step that falls on a drop is before it for optax, and after it here; one at the end of the warm-up is
    # on either side of it, as rounding has it.
    near = [abs(place / total - drop) for drop in ((0.0, 0.5, 0.75) if schedule == "step" else (0.0,))]
    clear = np.min(near, axis=0) > 1e-6
    np.testing.assert_allclose(found[clear], PEAK * expected[clear], rtol=1e-4, atol=1e-6)


def test_a_step_drops_at_half_and_at_three_quarters_and_not_below_the_floor() -> None:
    epoch = np.arange(8)
    left = Rate.of(1.0, "step", 8).at(epoch, 0, 1)
    np.testing.assert_allclose(left, [1] * 4 + [0.1] * 2 + [0.01] * 2, rtol=1e-6)
    assert Rate.of(1.0, "step", 8, floor=0.5).at(epoch, 0, 1)[-1] == 0.5


def noisy(linear: Any, noise: float) -> sb.Posterior:
    posterior = linear[0]
    likelihood = sb.likelihoods.Gaussian(scale=noise)
    return sb.Posterior(posterior.network, likelihood, posterior.prior, posterior.train)


def test_a_rate_that_is_not_given_follows_from_optimiser_and_likelihood(
    tiny: sb.Posterior, linear: Any
) -> None:
    """One over the variance of the noise is how steep a regression is."""

    def rate(method: Any, posterior: sb.Posterior) -> float:
        resolved = method.resolve(posterior)
        assert resolved.resolve(posterior) == resolved
        return resolved.learning_rate

    assert rate(sb.DeepEnsemble(), tiny) == rate(sb.DeepEnsemble(), noisy(linear, 0.1)) == 1e-3
    assert rate(sb.SWAG(), tiny) == rate(sb.SWAG(), noisy(linear, 2.0)) == 0.05
    assert rate(sb.SWAG(), noisy(linear, 0.5)) == pytest.approx(0.05 / 4)
    assert rate(sb.SnapshotEnsemble(), noisy(linear, 0.1)) == pytest.approx(0.05 / 100)
    assert rate(sb.SWAG(optimizer="adam"), tiny) == 1e-3
    assert rate(sb.SWAG(learning_rate=0.3), noisy(linear, 0.1)) == 0.3


def test_training_by_plain_gradients_stands_little_noise(linear: Any) -> None:
    """With the rate of a classification it diverges."""
    posterior = noisy(linear, 0.05)
    for rate, works in ((None, True), (0.05, False)):
        method = sb.SWA(rate, epochs=30, collect=5, batch=8)
        if works:
            drawn = sb.run(method, posterior, progress=False)
            assert drawn.origin is not None
            loss = drawn.origin.traces["loss"]
            assert np.isfinite(loss).all()
            assert loss[0, -1] < loss[0, 0]
        else:
            with pytest.raises(FloatingPointError, match="learning_rate"):
                sb.run(method, posterior, progress=False)
