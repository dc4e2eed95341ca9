"""Stochastic-gradient Langevin dynamics: the law of the discretised chain, schedules, and preconditioning."""

import dataclasses
import math
from typing import Any

import jax
import numpy as np
import pytest
from gaussians import STANDARD_ERRORS, drawn, errors_of, tempered, weights
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from conformance.play import job, play
from symbayes import trees
from symbayes.engine.sinks import MemorySink
from symbayes.methods.phases.diffusion import Diffusion, diffusions, epochs_for, explored

FULL: dict[str, Any] = {"batch": 24, "burn_in": 50, "thin": 20, "draws": 500, "chains": 16}
"""Mini-batches of all data: then the law of the chain is known, and an epoch is a step."""

METHODS: dict[str, Any] = {"sgld": sb.SGLD(**FULL), "sghmc": sb.SGHMC(momentum=0.6, **FULL)}


def law(covariance: np.ndarray, rate: float, momentum: float, temperature: float = 1.0) -> np.ndarray:
    """The covariance of the chain; `covariance` is that of the posterior at temperature one."""
    precision = np.linalg.inv(covariance) / temperature
    step = rate / 24 * temperature * precision
    return np.linalg.inv(precision @ (np.eye(3) - step / (2 * (1 + momentum))))


@pytest.mark.parametrize("temperature", [1.0, 0.1])
@pytest.mark.parametrize("name", METHODS)
def test_draws_follow_the_law_of_the_discretised_chain(linear: Any, name: str, temperature: float) -> None:
    """At this rate the largest variance of the chain is a third above the posterior's, or more; a
    correct chain fails for one seed in 16,000, and the seed is fixed."""
    posterior, mean, covariance = linear
    momentum = getattr(METHODS[name], "momentum", 0.0)
    rate = 0.5 * (1 + momentum) * 24 * np.linalg.eigvalsh(covariance)[0]
    method = dataclasses.replace(METHODS[name], learning_rate=float(rate))
    expected = law(covariance, rate, momentum, temperature)
    found = drawn(method, tempered(posterior, temperature))
    errors = errors_of(found, mean, expected)
    print(name, temperature, np.round(errors, 1))
    assert np.abs(errors).max() < STANDARD_ERRORS
    assert np.abs(errors_of(found, mean, temperature * covariance)).max() > STANDARD_ERRORS


@pytest.mark.parametrize("name", METHODS)
def test_draws_approach_the_target_as_the_rate_shrinks(linear: Any, name: str) -> None:
    posterior, mean, covariance = linear
    momentum = getattr(METHODS[name], "momentum", 0.0)
    rate = 0.02 * (1 + momentum) * 24 * np.linalg.eigvalsh(covariance)[0]
    method = dataclasses.replace(METHODS[name], learning_rate=float(rate), thin=100, draws=200, burn_in=400)
    assert np.abs(errors_of(drawn(method, posterior), mean, covariance)).max() < STANDARD_ERRORS


def test_a_frozen_preconditioner_keeps_the_law(linear: Any) -> None:
    """With G, the chain is that of A' = sqrt(G) A sqrt(G) in the coordinates w / sqrt(G)."""
    posterior, mean, covariance = linear
    rate = 0.3 * 24 * np.linalg.eigvalsh(covariance)[0]
    method = dataclasses.replace(METHODS["sgld"], learning_rate=float(rate), precondition=True)
    sink = MemorySink()
    squares = [
        np.asarray(trees.ravel(made.state.chain.squares, 1), np.float64)
        for made, _ in job(method, posterior).work(sink)
        if made.after.phase == 1
    ]
    assert len(squares) > 1
    assert all(np.array_equal(each, squares[0]) for each in squares), "frozen after burn-in"
    roots = np.sqrt(squares[0])
    found = weights(sink.draws) - mean
    for chain, root in enumerate(roots):
        scale = np.sqrt(1.1 * root.mean() / (root + 0.1 * root.mean()))
        assert scale.max() / scale.min() > 1.05, "it does something"
        precision = np.linalg.inv(covariance) * scale[:, None] * scale
        inner = np.linalg.inv(precision @ (np.eye(3) - rate / 24 * precision / 2))
        expected = inner * scale[:, None] * scale
        found[chain] = np.linalg.solve(np.linalg.cholesky(expected), found[chain].T).T
    assert np.abs(errors_of(found, np.zeros(3), np.eye(3))).max() < STANDARD_ERRORS


def phases_of(method: Any) -> tuple[Diffusion, Diffusion]:
    return diffusions(method, momentum=None)


@given(
    st.integers(1, 40),
    st.integers(1, 7),
    st.sampled_from(["constant", "decaying", "cyclical"]),
    st.integers(1, 12),
    st.floats(0.01, 0.99),
)
def test_a_run_has_the_draws_that_are_asked_for(
    draws: int, thin: int, schedule: Any, cycle: int, share: float
) -> None:
    method = sb.SGLD(draws=draws, thin=thin, schedule=schedule, cycle=cycle, exploration=share, burn_in=3)
    burn_in, drawing = phases_of(method)
    kept = [unit for unit in range(drawing.units) if drawing.kept(unit)]
    assert len(kept) == draws
    assert kept[-1] == drawing.units - 1, "and no epoch more"
    assert not any(burn_in.kept(unit) for unit in range(burn_in.units))
    if schedule == "cyclical":
        exploring = explored(cycle, share)
        assert all(unit % cycle >= exploring for unit in kept), "from the sampling part"
        ends = {unit // cycle for unit in kept if unit % cycle == cycle - 1}
        assert ends >= set(range(kept[-1] // cycle)), "the end of every whole cycle"
        assert epochs_for(draws, thin, schedule, cycle, exploring) == drawing.units


def test_rates_of_the_schedules(linear: Any) -> None:
    posterior = linear[0]
    settings: dict[str, Any] = {"learning_rate": 1e-3, "batch": 24, "burn_in": 3, "thin": 1, "chains": 2}
    played = play(sb.SGLD(schedule="decaying", decay=5, draws=5, **settings), posterior)
    expected = [1e-3 * (1 + t / 5) ** -0.55 for t in range(8)]
    np.testing.assert_allclose(played.traces["rate"], [expected] * 2, rtol=1e-5)
    cycles = sb.SGLD(schedule="cyclical", cycle=4, exploration=0.5, draws=5, **settings)
    falls = [1e-3 * (1 + math.cos(math.pi * t / 4)) / 2 for t in range(4)]
    played = play(cycles, posterior)
    np.testing.assert_allclose(played.traces["rate"], [[1e-3] * 3 + (falls * 3)[:11]] * 2, rtol=1e-5)


def test_a_cycle_explores_without_noise(linear: Any) -> None:
    """Chains that begin at one place stay together until the sampling part."""
    posterior = linear[0]
    method = sb.SGLD(
        learning_rate=1e-3,
        batch=24,
        burn_in=0,
        thin=1,
        draws=3,
        chains=3,
        schedule="cyclical",
        cycle=4,
        exploration=0.5,
    )
    start = jax.tree.map(np.asarray, posterior.init(jax.random.key(0)))
    played = play(method, posterior, start=start)
    loss = played.traces["loss"]
    np.testing.assert_allclose(loss[:, :3], np.tile(loss[:1, :3], (3, 1)), rtol=1e-6)
    assert np.unique(loss[:, 3]).size == 3
