"""Augmentation changes the density: over all data to fixed copies, in mini-batches to fresh ones."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.data.augmentations import augmented
from symbayes.engine import placement
from symbayes.posterior.minibatches import AUGMENTED

WAYS, COPIES, EXAMPLES = ("flip", "shift"), 3, 24


@pytest.fixture(scope="module")
def examples() -> sb.data.Examples:
    rng = np.random.default_rng(4)
    x = rng.random((EXAMPLES, 6, 6, 1), np.float32)
    return sb.data.Examples(x, rng.integers(3, size=EXAMPLES).astype(np.int32))


def made(examples: sb.data.Examples, **options: Any) -> sb.Posterior:
    network = sb.networks.mlp(hidden=(4,), outputs=3)
    return sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(0.7), examples, **options)


@pytest.fixture(scope="module")
def posterior(examples: sb.data.Examples) -> sb.Posterior:
    return made(examples, augmentation=WAYS, copies=COPIES, chunk=7)


@pytest.fixture(scope="module")
def variables(posterior: sb.Posterior) -> Any:
    return posterior.init(jax.random.key(1))


density = jax.jit(lambda posterior, variables: posterior.log_density(variables))


@pytest.fixture(scope="module")
def whole(examples: sb.data.Examples, variables: Any) -> float:
    """The log density from copies made by hand: each a dataset of its own."""
    total = 0.0
    for number in range(COPIES):
        own = jax.random.fold_in(jax.random.key(AUGMENTED), number)
        keys = jax.vmap(lambda i, own=own: jax.random.fold_in(own, i))(np.arange(EXAMPLES))
        x = np.asarray(augmented(WAYS, keys, jnp.asarray(examples.x)))
        assert not np.array_equal(x, examples.x)
        total += float(density(made(sb.data.Examples(x, examples.y), chunk=7), variables))
    return total / COPIES


def test_over_all_data_it_is_the_mean_over_fixed_copies(
    posterior: sb.Posterior, variables: Any, whole: float, examples: sb.data.Examples
) -> None:
    assert float(density(posterior, variables)) == pytest.approx(whole, rel=1e-5)
    plain = float(density(made(examples, chunk=7), variables))
    assert abs(plain - whole) > 0.05, "it is another density"


def test_gradients_are_those_of_that_density(posterior: sb.Posterior, variables: Any) -> None:
    found = jax.jit(lambda posterior, variables: posterior.gradient(variables))(posterior, variables)
    expected = jax.jit(jax.grad(lambda v, posterior: posterior.log_density(v)))(variables, posterior)
    for name, value in trees.flatten(expected["params"]).items():
        np.testing.assert_allclose(trees.flatten(found)[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def test_neither_chunks_nor_devices_change_the_copies(
    examples: sb.data.Examples, variables: Any, whole: float
) -> None:
    other = made(examples, augmentation=WAYS, copies=COPIES, chunk=11)
    mesh = sb.make_mesh(1, devices=jax.devices()[:4], data=4)
    for same in (other, placement.place_posterior(other, mesh)):
        assert float(density(same, variables)) == pytest.approx(whole, rel=1e-5)


def test_mini_batches_draw_it_by_their_key(
    posterior: sb.Posterior, examples: sb.data.Examples, variables: Any
) -> None:
    estimate = jax.jit(lambda posterior, *rest: posterior.minibatch_log_density(*rest)[0])
    rows, values = jnp.array([3, 9, 20, 7]), []
    for seed in (5, 6):
        key = jax.random.key(seed)
        x = np.asarray(examples.x).copy()
        keys = jax.random.split(jax.random.fold_in(key, AUGMENTED), 4)
        x[np.asarray(rows)] = augmented(WAYS, keys, jnp.asarray(examples.x[rows]))
        expected = estimate(made(sb.data.Examples(x, examples.y), chunk=7), variables, rows, key)
        values.append(float(estimate(posterior, variables, rows, key)))
        assert values[-1] == pytest.approx(float(expected), rel=1e-5)
    assert values[0] != values[1]


def test_it_is_recorded_with_the_run_and_found_again(tmp_path: Any) -> None:
    dataset = sb.data.load("digits")
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(2,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(1.0),
        dataset.train,
        augmentation=["crop"],
        copies=2,
    )
    sb.run(
        sb.DeepEnsemble(epochs=1, chains=1),
        posterior,
        store=tmp_path / "run",
        about=dataset.about,
        progress=False,
    )
    again = sb.open(tmp_path / "run").posterior
    assert (again.augmentation, again.copies) == (("crop",), 2)
