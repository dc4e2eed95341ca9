"""The trajectories of HMC: their accept step against float64, and their integrator's two properties."""

import copy
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import symbayes as sb
from symbayes import trees
from symbayes.engine import Left, Tick
from symbayes.methods.phases import Trajectories
from symbayes.methods.phases.adaptation import DualAveraging
from symbayes.methods.phases.trajectories import Flying, Resting

CHAINS = 4


def of_step(step_size: Any, steps: Any) -> tuple[Trajectories, DualAveraging]:
    """Trajectories of so many steps, and the state of a search that has found that size."""
    phase = Trajectories(
        units=1,
        step_size=step_size,
        trajectory=step_size * steps,
        target_accept=0.8,
        longest=10**6,
        adapting=False,
        keeps=True,
    )
    return phase, DualAveraging.start(step_size)


def resting(posterior: Any, variables: Any) -> Resting:
    """Every chain where its first trajectory begins."""
    phase, shared = of_step(0.1, 1)
    each = jax.vmap(lambda v: phase.enter(posterior, shared, Left(v), Tick(jax.random.key(0), 0)))
    return each(variables)


def flown(posterior: Any, phase: Trajectories, shared: Any, flight: Any, steps: Any) -> Any:
    """All chains after so many steps."""
    step = jax.vmap(lambda f: phase.step(posterior, shared, f, Tick(jax.random.key(0), 0)))
    return jax.lax.fori_loop(0, steps, lambda _, f: step(f), flight)


ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0), "tanh": np.tanh}


def energy(posterior: sb.Posterior, params: Any, momentum: Any) -> np.ndarray:
    """The Hamiltonian of every chain in float64, up to a constant, without the package."""
    w = {name: np.asarray(leaf, np.float64) for name, leaf in trees.flatten(params).items()}
    z = np.asarray(posterior.train.x, np.float64).reshape(posterior.size, -1)
    for layer in trees.names({name.split("/")[0]: 0 for name in w}):
        z = z @ w[f"{layer}/kernel"] + w[f"{layer}/bias"][:, None]
        z = z if layer == "output" else ACTIVATIONS[posterior.network.spec.activation](z)
    labels = np.asarray(posterior.train.y)
    log_likelihood = scipy.special.log_softmax(z, axis=-1)[:, np.arange(posterior.size), labels].sum(axis=1)
    weights = [leaf.reshape(CHAINS, -1) for leaf in w.values()]
    momenta = [np.asarray(leaf, np.float64).reshape(CHAINS, -1) for leaf in jax.tree.leaves(momentum)]
    prior = np.square(np.concatenate(weights, axis=1)).sum(axis=1) / (
        2 * float(posterior.prior.standard_deviation) ** 2
    )
    return -log_likelihood + prior + np.square(np.concatenate(momenta, axis=1)).sum(axis=1) / 2


def of_prior(posterior: sb.Posterior, seed: int) -> dict[str, Any]:
    def one(key: jax.Array) -> Any:
        return posterior.prior.sample(key, jax.eval_shape(posterior.init, key)["params"])

    return {"params": jax.vmap(one)(jax.random.split(jax.random.key(seed), CHAINS)), "stats": {}}


@jax.jit
def whole_trajectory(posterior: Any, variables: Any, keys: Any, step_size: Any, steps: Any) -> dict[str, Any]:
    """Open, fly and close; with both ends, and the naive difference of float32 totals."""
    phase, shared = of_step(step_size, steps)
    chain = resting(posterior, variables)
    opened = jax.vmap(lambda c, k: phase.open(posterior, shared, c, Tick(k, 0)))(chain, keys)
    flight = flown(posterior, phase, shared, opened, phase.steps(posterior, shared))
    closed = jax.vmap(lambda c, f, k: phase.close(posterior, shared, c, f, Tick(k, 0)))
    _, statistics, _ = closed(chain, flight, keys)
    first = jax.vmap(trees.random_normal)(keys, variables["params"])
    last = jax.tree.map(lambda p, g: p - step_size / 2 * g, flight.momentum, flight.gradient)

    def total(variables: Any, momentum: Any) -> jax.Array:
        return posterior.log_density(variables) - trees.dot(momentum, momentum) / 2

    naive = jax.vmap(total)(flight.variables, last) - jax.vmap(total)(variables, first)
    return {"first": first, "end": flight.variables, "last": last, "naive": naive, **statistics}


def test_accept_step_is_that_of_float64(digits: sb.data.Dataset) -> None:
    """With 300,000 weights float32 resolves the energy to 0.02; the accept step must do far better."""
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(512, 512), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.05),
        digits.train[:128],
    )
    variables = of_prior(posterior, seed=2)
    keys = jax.random.split(jax.random.key(1), CHAINS)
    made = whole_trajectory(posterior, variables, keys, jnp.float32(0.01), jnp.int32(6))
    before = energy(posterior, variables["params"], made["first"])
    exact = before - energy(posterior, made["end"]["params"], made["last"])
    assert (exact < 0).all(), "the step is large enough that no acceptance is cut off at one"
    assert (exact > -50).all()
    assert np.abs(np.log(np.asarray(made["acceptance"], np.float64)) - exact).max() < 1e-3
    assert np.abs(np.asarray(made["naive"]) - exact).max() > 4e-3


def test_accept_step_is_float32_where_gradients_are_not(linear: Any) -> None:
    """The terms that come with a bfloat16 gradient decide nothing: arriving where it began is accepted."""
    posterior = copy.copy(linear[0])
    posterior.precision = "bf16"
    params = {"output": {"bias": jnp.array([0.3]), "kernel": jnp.array([[5.3], [-4.7]])}}
    variables = {"params": params, "stats": {}}

    @jax.jit
    def stay(posterior: Any, key: Any) -> tuple[Any, ...]:
        phase, shared = of_step(jnp.float32(0.1), 1)
        gradient, rough = posterior.gradient_and_terms(variables)
        exact = posterior.likelihood_terms(variables)
        chain = phase.enter(posterior, shared, Left(variables), Tick(key, 0))
        half = jax.tree.map(lambda p, g: p + 0.05 * g, trees.random_normal(key, params), gradient)
        flight = Flying(variables, gradient, rough, half)
        closed, statistics, _ = phase.close(posterior, shared, chain, flight, Tick(key, 0))
        return rough, exact, chain, closed, statistics

    rough, exact, chain, closed, statistics = stay(posterior, jax.random.key(1))
    assert float(jnp.max(jnp.abs(rough - exact))) > 0.01
    for each in (chain, closed):
        np.testing.assert_allclose(each.likelihood, exact, rtol=1e-5, atol=1e-6)
    assert float(statistics["log_likelihood"]) == pytest.approx(float(jnp.sum(exact)), rel=1e-6)
    assert float(statistics["acceptance"]) == pytest.approx(1.0, abs=1e-4)


@jax.jit
def leapfrog(posterior: Any, variables: Any, momentum: Any, step_size: Any, steps: Any) -> tuple[Any, Any]:
    """Positions and momenta after some steps, both at the same time."""
    phase, shared = of_step(step_size, steps)
    chain = resting(posterior, variables)
    half = jax.tree.map(lambda p, g: p + step_size / 2 * g, momentum, chain.gradient)
    flight = Flying(variables, chain.gradient, chain.likelihood, half)
    flight = flown(posterior, phase, shared, flight, steps)
    momentum = jax.tree.map(lambda p, g: p - step_size / 2 * g, flight.momentum, flight.gradient)
    return flight.variables, momentum


@pytest.fixture(scope="module")
def smooth(digits: sb.data.Dataset) -> tuple[sb.Posterior, Any, Any]:
    """A posterior without kinks, and where trajectories begin."""
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(6,), outputs=10, activation="tanh"),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.5),
        digits.train[:128],
    )
    variables = of_prior(posterior, seed=0)
    return posterior, variables, of_prior(posterior, seed=1)["params"]


def test_turning_back_leads_to_the_start(smooth: Any) -> None:
    posterior, variables, momentum = smooth
    end, last = leapfrog(posterior, variables, momentum, jnp.float32(0.02), jnp.int32(10))
    back, arrived = leapfrog(
        posterior, end, jax.tree.map(jnp.negative, last), jnp.float32(0.02), jnp.int32(10)
    )
    far, near = (trees.ravel(tree["params"], 1) - trees.ravel(variables["params"], 1) for tree in (end, back))
    assert float(jnp.abs(far).max()) > 0.1
    assert float(jnp.abs(near).max()) < 1e-5
    flipped = trees.ravel(arrived, 1) + trees.ravel(momentum, 1)
    assert float(jnp.abs(flipped).max()) < 1e-4


def test_energy_error_falls_with_the_square_of_the_step(smooth: Any) -> None:
    posterior, variables, momentum = smooth
    before = energy(posterior, variables["params"], momentum)
    errors = []
    for step, steps in ((0.02, 8), (0.01, 16), (0.005, 32)):
        end, last = leapfrog(posterior, variables, momentum, jnp.float32(step), jnp.int32(steps))
        errors.append(np.linalg.norm(energy(posterior, end["params"], last) - before))
    ratios = np.array(errors[:-1]) / np.array(errors[1:])
    assert math.isfinite(errors[0])
    np.testing.assert_allclose(ratios, 4, rtol=0.2)
