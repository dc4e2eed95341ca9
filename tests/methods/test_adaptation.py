"""Dual averaging against its recursion in plain numbers."""

import math

import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from symbayes.methods.adaptation import DualAveraging


def plain(initial: float, target: float, acceptances: list[float]) -> tuple[float, float]:
    """Step size and average after these trials: Hoffman & Gelman (2014), equation 6, drawn to `initial`."""
    h, log_step, log_average = 0.0, math.log(initial), math.log(initial)
    for t, acceptance in enumerate(acceptances, start=1):
        h = (1 - 1 / (t + 10)) * h + (target - acceptance) / (t + 10)
        log_step = math.log(initial) - math.sqrt(t) / 0.05 * h
        log_average = t**-0.75 * log_step + (1 - t**-0.75) * log_average
    return math.exp(log_step), math.exp(log_average)


@given(st.floats(1e-4, 1.0), st.floats(0.5, 0.95), st.lists(st.floats(0, 1), max_size=12))
@settings(max_examples=15)
def test_is_the_published_recursion(initial: float, target: float, acceptances: list[float]) -> None:
    adaptation = DualAveraging.start(initial)
    for acceptance in acceptances:
        adaptation = adaptation.update(jnp.float32(acceptance), jnp.float32(target), jnp.float32(initial))
    step_size, average = plain(initial, target, acceptances)
    assert float(adaptation.step_size) == pytest.approx(step_size, rel=1e-3)
    assert float(adaptation.average) == pytest.approx(average, rel=1e-3)
