"""Learning rates: those of optax's schedules, and cycles that begin again."""

from typing import Any, get_args

import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
