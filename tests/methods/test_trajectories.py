"""The compiled part of HMC: its accept step against float64, and its integrator's two properties."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
from symbayes.methods.trajectories import Chain, Flight, locate

import symbayes as sb
from symbayes import trees
from symbayes.methods import trajectories

CHAINS = 4

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
def whole_trajectory(posterior: Any, chain: Any, keys: Any, step_size: Any, steps: Any) -> dict[str, Any]:
    """Depart, fly and arrive; with both ends, and the naive difference of float32 totals."""
    yes, step = jnp.bool_(True), jax.tree.map(lambda _: step_size, chain.gradient)
    depart = functools.partial(trajectories._depart, step=step, begins=yes)
    flown, flight = trajectories._fly(posterior, chain, jax.vmap(depart)(keys, chain), step, steps)
    arrive = functools.partial(trajectories._arrive, posterior, step=step, ends=yes)
    _, info = jax.vmap(arrive)(keys, flown, flight)
    first = jax.vmap(trees.random_normal)(keys, chain.variables["params"])
    last = jax.tree.map(lambda p, g: p - step_size / 2 * g, flight.momentum, flown.gradient)

    def total(variables: Any, momentum: Any) -> jax.Array:
        return posterior.log_density(variables) - trees.dot(momentum, momentum) / 2

    naive = jax.vmap(total)(flown.variables, last) - jax.vmap(total)(chain.variables, first)
    return {"first": first, "end": flown.variables, "last": last, "naive": naive, **info}


def test_accept_step_is_that_of_float64(digits: sb.data.Dataset) -> None:
    """With 300,000 weights float32 resolves the energy to 0.02; the accept step must do far better."""
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(512, 512), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.05),
        digits.train[:128],
    )
    chain = locate(posterior, of_prior(posterior, seed=2))
    keys = jax.random.split(jax.random.key(1), CHAINS)
    made = whole_trajectory(posterior, chain, keys, jnp.float32(0.01), jnp.int32(6))
    before = energy(posterior, chain.variables["params"], made["first"])
    exact = before - energy(posterior, made["end"]["params"], made["last"])
    assert (exact < 0).all(), "the step is large enough that no acceptance is cut off at one"
    assert (exact > -50).all()
    assert np.abs(np.log(np.asarray(made["acceptance"], np.float64)) - exact).max() < 1e-3
    assert np.abs(np.asarray(made["naive"]) - exact).max() > 4e-3


def test_accept_step_is_float32_where_gradients_are_not(linear: Any) -> None:
    """The terms that come with a bfloat16 gradient decide nothing: arriving where it began is accepted."""
    posterior = linear[0].with_chunks_of(1)
    posterior.precision = "bf16"
    params = {"output": {"bias": jnp.array([0.3]), "kernel": jnp.array([[5.3], [-4.7]])}}
    variables = {"params": params, "stats": {}}

    @jax.jit
    def stay(posterior: Any, key: Any) -> tuple[Any, ...]:
        gradient, rough = posterior.gradient_and_terms(variables)
        exact = posterior.likelihood_terms(variables)
        chain = Chain(variables, gradient, trajectories._exact(posterior, variables, rough))
        step = jax.tree.map(lambda _: jnp.float32(0.1), gradient)
        half = jax.tree.map(lambda p, g: p + 0.05 * g, trees.random_normal(key, params), gradient)
        flight = Flight(params, gradient, half, rough)
        return rough, exact, trajectories._arrive(posterior, key, chain, flight, step, jnp.bool_(True))

    rough, exact, (arrived, info) = stay(posterior, jax.random.key(1))
    assert float(jnp.max(jnp.abs(rough - exact))) > 0.01
    np.testing.assert_allclose(arrived.likelihood, exact, rtol=1e-5, atol=1e-6)
    assert float(info["log_likelihood"]) == pytest.approx(float(jnp.sum(exact)), rel=1e-6)
    assert float(info["acceptance"]) == pytest.approx(1.0, abs=1e-4)


@jax.jit
def leapfrog(posterior: Any, variables: Any, momentum: Any, step_size: Any, steps: Any) -> tuple[Any, Any]:
    """Positions and momenta after some steps, both at the same time."""
    chain = locate(posterior, variables)
    half = jax.tree.map(lambda p, g: p + step_size / 2 * g, momentum, chain.gradient)
    flight = Flight(variables["params"], chain.gradient, half, chain.likelihood)
    step = jax.tree.map(lambda _: step_size, chain.gradient)
    flown, flight = trajectories._fly(posterior, chain, flight, step, steps)
    return flown.variables, jax.tree.map(lambda p, g: p - step_size / 2 * g, flight.momentum, flown.gradient)


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
