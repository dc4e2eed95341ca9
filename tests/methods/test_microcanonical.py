"""Isokinetic dynamics against its differential equation; microcanonical chains: tuning, bias, what is
told."""

import dataclasses
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gaussians import tempered, weights

import symbayes as sb
from symbayes.engine.phase import Left, Tick
from symbayes.methods.phases.isokinetic import partly_refreshed, turned
from symbayes.methods.phases.microcanonical import judged
from symbayes.methods.phases.resting import rest

ZERO = {"params": {"output": {"bias": np.zeros(1), "kernel": np.zeros((2, 1))}}}


def test_turning_solves_its_differential_equation() -> None:
    """du/dt = (g - u <u, g>) / (d - 1), and the kinetic energy changes by <u, g> dt: in small steps."""
    seed = int(np.random.default_rng().integers(2**31))
    print("seed", seed)
    rng = np.random.default_rng(seed)
    for time in (0.05, 0.7, 3.0):
        u, g = rng.normal(size=(2, 5))
        u, g = u / np.linalg.norm(u), 3 * g
        after, change = turned({"w": jnp.float32(u)}, {"w": jnp.float32(g)}, jnp.float32(time))
        plain, energy, steps = u.copy(), 0.0, 20_000
        for _ in range(steps):
            middle = plain + time / steps / 2 * (g - plain * (plain @ g)) / 4
            energy += time / steps * (middle @ g)
            plain = plain + time / steps * (g - middle * (middle @ g)) / 4
        np.testing.assert_allclose(after["w"], plain, atol=2e-4)
        assert float(change) == pytest.approx(energy, rel=1e-3, abs=1e-3)


def test_a_velocity_forgets_its_direction_over_its_length() -> None:
    """After a path of the length given, the mean of <u, u'> has fallen to about 1/e."""
    steps, size, length = 50, 0.2, 10.0

    def one(key: jax.Array) -> jax.Array:
        first = {"w": jnp.eye(40)[0]}
        last, _ = jax.lax.scan(
            lambda u, k: (partly_refreshed(k, u, size, length), None), first, jax.random.split(key, steps)
        )
        return last["w"][0]

    kept = jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 400))
    assert float(jnp.mean(kept)) == pytest.approx(np.exp(-1), abs=0.06)


def test_small_energy_errors_leave_little_bias(linear: Any) -> None:
    """Of three weights the energy error is heavy-tailed: its variance may be told to be off."""
    posterior, mean, covariance = linear
    method = sb.MCLMC(energy_variance=1e-4, thin=10, burn_in=150, draws=400, chains=16)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = sb.run(method, posterior, start=ZERO, progress=False)
    white = np.linalg.solve(np.linalg.cholesky(covariance), (weights(drawn) - mean)[..., None])[..., 0]
    found = np.cov(white.reshape(-1, 3).T)
    print(np.round(found, 2), drawn.stats["energy_variance"].mean())
    assert np.abs(white.mean((0, 1))).max() < 0.15
    assert np.abs(found - np.eye(3)).max() < 0.15
    assert 1e-5 < np.median(drawn.stats["energy_variance"]) < 3e-4
    assert np.unique(drawn.stats["step_size"]).size == 16, "each chain has its own, fixed after burn-in"
    assert drawn.origin is not None
    assert "draws of MCLMC are biased by their energy error" in method.tell(drawn.origin.traces)[0]


TICK = Tick(jax.random.key(0), jnp.int32(0))


def gliding(posterior: sb.Posterior) -> tuple[Any, Any, Any, Any]:
    """A phase of adjusted trajectories, what its chains share, and a chain before a trajectory and in it."""
    method = sb.AdjustedMCLMC(step_size=0.1, trajectory=0.2, burn_in=0, draws=1, chains=1).resolve(posterior)
    flies = jax.tree.map(jnp.asarray, method.phases(posterior)[-1])
    here = jax.tree.map(jnp.float32, ZERO)
    shared = flies.begin(posterior, Left(jax.tree.map(lambda leaf: leaf[None], here)), TICK)
    chain = rest(posterior, here)
    return flies, shared, chain, flies.open(posterior, shared, chain, TICK)


def test_only_the_end_of_an_adjusted_trajectory_is_measured_in_float32(
    linear: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With gradients in reduced precision that is one more pass over all data, which other steps save."""
    posterior = tempered(linear[0], 1.0)
    posterior.precision = "bf16"
    flies, shared, chain, flight = gliding(posterior)
    passes: list[Any] = []

    def measured(self: Any, variables: Any) -> Any:
        passes.append(variables)
        return chain.likelihood

    monkeypatch.setattr(sb.Posterior, "measured_terms", measured)
    flight = flies.step(posterior, shared, flight, TICK)
    assert len(passes) == 0
    flies.judged(posterior, shared, chain, flight, TICK)
    assert len(passes) == 1


@pytest.mark.parametrize("change", [-np.inf, np.inf, np.nan])
def test_a_trajectory_whose_energy_is_not_finite_is_rejected(linear: Any, change: float) -> None:
    """The velocity can point against a gradient so large that its kinetic energy would vanish."""
    flies, shared, chain, flight = gliding(linear[0])
    flight = dataclasses.replace(flight, change=jnp.float32(change))
    assert flies.judged(linear[0], shared, chain, flight, TICK)[1] == -np.inf


def test_an_energy_variance_that_is_off_is_told_loudly() -> None:
    traces = {"energy_variance": np.array([[9.0, 1e-4], [9.0, 5e-4]]), "taken_back": np.zeros((2, 2))}
    (warning,) = judged(traces, 1, 1e-4)
    assert "0.0005 after tuning (chain 1), but its target was 0.0001" in warning
    assert judged(traces, 1, 5e-4) == judged(traces, 1, None) == []
    (warning,) = judged({**traces, "taken_back": np.array([[0.5, 0.0], [0.0, 0.02]])}, 1, None)
    assert "2.0% of the steps of a draw were not finite" in warning


def test_an_ensemble_is_trained_unless_it_is_given(tiny: sb.Posterior, begin: Any) -> None:
    given = sb.MicrocanonicalEnsemble(epochs=2, batch=32, thin=2, burn_in=10, draws=2, chains=2)
    method: Any = given.resolve(tiny)
    assert [phase.units for phase in method.phases(tiny)] == [2, 8, 1, 1, 2]
    assert [phase.units for phase in method.started().phases(tiny)] == [0, 8, 1, 1, 2]
    drawn = sb.run(method, tiny, start=begin, progress=False)
    assert drawn.origin is not None
    assert "loss" not in drawn.origin.traces
    assert drawn.origin.config["method"]["epochs"] == 0
