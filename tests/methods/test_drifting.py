"""How a microcanonical chain tunes itself: its first step, what follows from its stages, and what another run
takes over."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.methods.phases import drifting
from symbayes.methods.phases.drifting import Drifting, Means
from symbayes.methods.phases.isokinetic import any_direction
from symbayes.methods.phases.mass import Spread
from symbayes.methods.phases.resting import Resting, rest

AIM = 1e-3
ZERO = {"params": {"output": {"bias": np.zeros(1), "kernel": np.zeros((2, 1))}}, "stats": {}}


def chain(**changes: Any) -> Drifting:
    """One of two weights, whose step size is 2 and whose length is 5; `changes` are what it has collected."""
    two, zero = {"w": jnp.zeros(2)}, jnp.zeros(())
    nothing = Spread.none(two)
    made = Drifting(
        resting=Resting(None, None, None),
        velocity=two,
        step_size=jnp.float32(2.0),
        length=jnp.float32(5.0),
        cap=jnp.float32(100.0),
        above=zero,
        below=zero,
        logarithms=zero,
        spread=nothing,
        means=Means(two, zero, nothing),
        errors=jnp.zeros(3),
        measured=jnp.zeros(3),
    )
    return dataclasses.replace(made, **changes)


def spread_of(positions: np.ndarray) -> Spread:
    return Spread.none({"w": jnp.zeros(2)}).add({"w": jnp.float32(positions)})


def test_the_first_step_is_the_largest_of_its_doublings_that_keeps_to_the_aim(linear: Any) -> None:
    posterior = linear[0]
    seed = int(np.random.default_rng().integers(2**31))
    print("seed", seed)

    @jax.jit
    def tried(key: jax.Array) -> tuple[jax.Array, ...]:
        here = rest(posterior, jax.tree.map(jnp.float32, ZERO))
        velocity = any_direction(key, here.variables["params"])
        scales = jax.tree.map(jnp.ones_like, velocity)
        step = drifting.first_step(posterior, here, velocity, scales, AIM)
        errors = [
            drifting.energy_error(posterior, here, velocity, each * step, scales)[2] for each in (1.0, 2.0)
        ]
        return step, *errors

    step, good, bad = (float(each) for each in tried(jax.random.key(seed)))
    assert good**2 <= 3 * AIM < bad**2
    assert np.log2(step / drifting.FIRST_STEP) == pytest.approx(round(np.log2(step / drifting.FIRST_STEP)))


def test_the_third_stage_has_the_mean_step_and_a_length_from_the_spread() -> None:
    positions = np.random.default_rng().normal(size=(6, 2))
    logarithms = jnp.float32(4 * np.log(0.5) + 2 * np.log(4.0))
    collected = chain(spread=spread_of(positions), logarithms=logarithms)
    third = drifting.after_collecting(collected, False, False)
    assert float(third.step_size) == pytest.approx(0.9 * np.exp(float(logarithms) / 6), rel=1e-5)
    assert float(third.length) == pytest.approx(np.sqrt(positions.var(axis=0, ddof=1).sum()), rel=1e-4)
    capped = drifting.after_collecting(dataclasses.replace(collected, cap=jnp.float32(0.1)), False, False)
    assert float(capped.step_size) == pytest.approx(0.1)
    given = drifting.after_collecting(collected, True, True)
    assert (float(given.step_size), float(given.length)) == (2.0, 5.0)
    empty = drifting.after_collecting(chain(), False, False)
    assert (float(empty.step_size), float(empty.length)) == (2.0, 5.0)


@pytest.mark.parametrize(("variance", "smaller"), [(0.1, 1.0), (2.0, 0.5 ** (1 / 6)), (1e6, 0.75)])
def test_draws_are_made_with_a_step_that_keeps_to_the_aim(variance: float, smaller: float) -> None:
    """Measured are 10 errors of mean 3, and this many times the aim in variance per weight."""
    square = variance * AIM * 2 + 9.0
    measured = chain(measured=jnp.float32([30.0, 10 * square, 10.0]))
    step = drifting.after_batches(measured, 4, AIM, False, False).step_size
    assert float(step) == pytest.approx(2.0 * smaller, rel=2e-3)
    assert float(drifting.after_batches(measured, 4, AIM, True, False).step_size) == 2.0


@pytest.mark.parametrize(("batch", "length"), [(1000, 0.4 * 2.0 * 10.0), (20, 0.4 * 2.0 * 10.0), (2, 5.0)])
def test_short_batches_do_not_shorten_the_length(batch: int, length: float) -> None:
    """Ten steps per effective draw, told by long batches; short ones can only say that it is more."""
    positions = np.random.default_rng(0).normal(size=(8, 2))
    ratio = min(10.0 / batch, 1.0)
    told = chain(
        spread=spread_of(positions),
        means=Means({"w": jnp.zeros(2)}, jnp.zeros(()), spread_of(np.sqrt(ratio) * positions)),
        measured=jnp.float32([0.0, 0.0, 10.0]),
    )
    found = drifting.after_batches(told, batch, AIM, False, False).length
    assert float(found) == pytest.approx(length, rel=1e-3)


def test_a_short_burn_in_keeps_to_the_aim(tiny: sb.Posterior, begin: Any) -> None:
    method = sb.MCLMC(energy_variance=1e-3, thin=10, burn_in=20, draws=20, chains=4)
    drawn = sb.run(method, tiny, start=begin, progress=False)
    assert drawn.origin is not None
    first = drawn.origin.traces["step_size"][:, 0]
    last = drawn.stats["step_size"][:, -1]
    print(drawn.stats["energy_variance"].mean(axis=1), first, last)
    assert (first > last / 5).all(), "tuning begins near the end, not at a thousandth"
    assert 1e-5 < np.median(drawn.stats["energy_variance"]) < 3e-3


def test_another_run_begins_with_what_was_found(tiny: sb.Posterior, begin: Any) -> None:
    method = sb.MCLMC(energy_variance=1e-3, thin=10, burn_in=20, draws=20, chains=4)
    drawn = sb.run(method, tiny, start=begin, progress=False)
    again = dataclasses.replace(method, burn_in=0, draws=2)
    with pytest.raises(ValueError, match="chains are tuned during burn-in: use a burn_in of at least 10"):
        sb.run(again, tiny, start=begin, progress=False)
    after = sb.run(again, tiny, start=drawn, progress=False)
    for name in ("step_size", "length"):
        mean = np.exp(np.log(drawn.stats[name][:, -1].astype(np.float64)).mean())
        np.testing.assert_allclose(after.stats[name], mean, rtol=1e-5)
    given = sb.run(dataclasses.replace(again, step_size=0.3), tiny, start=drawn, progress=False)
    assert np.unique(given.stats["step_size"]) == pytest.approx([0.3])
