"""Noisy weights: the law of what an example sees, and the gradients' means and variances."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.posterior.numerics.noise import Estimator, noisy, uses_of

KEYS = 4000
STANDARD_ERRORS = 5.0


def many(function: Callable[..., Any], means: Any, scales: Any, x: Any, estimator: Estimator) -> np.ndarray:
    """The outputs for many keys, (key, example, ...)."""
    keys = jax.random.split(jax.random.key(11), KEYS)
    made = jax.jit(jax.vmap(lambda key: noisy(function, means, scales, x, key, estimator)))(keys)
    return np.asarray(made, np.float64)


def normals(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def assert_law(found: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> None:
    """Draws (key, number) have this mean and covariance, within Monte-Carlo error."""
    centred = found - mean
    error = np.sqrt(np.diag(covariance) / KEYS)
    assert np.abs(centred.mean(axis=0) / error).max() < STANDARD_ERRORS
    products = centred[:, :, None] * centred[:, None, :]
    errors = products.std(axis=0) / np.sqrt(KEYS)
    assert np.abs((products.mean(axis=0) - covariance) / errors).max() < STANDARD_ERRORS


def dense(params: Any, x: Any) -> Any:
    return x @ params["kernel"] + params["bias"]


@pytest.mark.parametrize("estimator", ["local", "flipout", "shared"])
def test_each_example_of_a_dense_layer_sees_the_law_of_its_weights(estimator: Estimator) -> None:
    """The outputs of one example: means x m + b, independent variances x^2 s^2 + sb^2."""
    x, kernel, bias = normals(0, 2, 3), normals(1, 3, 2), normals(2, 2)
    scales = {"kernel": jnp.abs(normals(3, 3, 2)), "bias": jnp.abs(normals(4, 2))}
    found = many(dense, {"kernel": kernel, "bias": bias}, scales, x, estimator)
    for example in range(2):
        variance = x[example] ** 2 @ scales["kernel"] ** 2 + scales["bias"] ** 2
        assert_law(found[:, example], x[example] @ kernel + bias, np.diag(variance))
    shared = (x[0] * x[1]) @ scales["kernel"] ** 2 + scales["bias"] ** 2
    between = np.mean((found[:, 0] - found[:, 0].mean(0)) * (found[:, 1] - found[:, 1].mean(0)), axis=0)
    expected = shared if estimator == "shared" else np.zeros(2)
    np.testing.assert_allclose(between, expected, atol=0.1 * np.abs(shared).max())


@pytest.mark.parametrize("estimator", ["local", "shared"])
def test_positions_of_one_example_share_its_weights(estimator: Estimator) -> None:
    """A convolution with one channel: the outputs at two positions have the covariance that one kernel for
    both gives them, also where every example has its own."""
    x, kernel = normals(5, 2, 4, 1), normals(6, 2, 1, 1)
    scale = jnp.abs(normals(7, 2, 1, 1))

    def convolved(params: Any, x: Any) -> Any:
        numbers = ("NHC", "HIO", "NHC")
        out = jax.lax.conv_general_dilated(x, params["kernel"], (1,), "VALID", dimension_numbers=numbers)
        return out + params["bias"].reshape(1, 1, 1)

    means, scales = (
        {"kernel": kernel, "bias": jnp.ones(1)},
        {"kernel": scale, "bias": jnp.full(1, 0.5)},
    )
    found = many(convolved, means, scales, x, estimator)[..., 0]
    for example in range(2):
        windows = np.stack([x[example, p : p + 2, 0] for p in range(3)])
        covariance = windows @ np.diag(scale.ravel() ** 2) @ windows.T + 0.5**2
        assert_law(found[:, example], windows @ kernel.ravel() + 1, covariance)


def test_flipped_signs_of_inputs_and_outputs_are_apart_for_examples() -> None:
    """With one input, outputs differ in signs only: those of the example's input and of each output."""
    means = {"kernel": jnp.zeros((1, 2)), "bias": jnp.zeros(2)}
    scales = {"kernel": jnp.ones((1, 2)), "bias": jnp.zeros(2)}
    found = many(dense, means, scales, jnp.ones((2, 1)), "flipout")
    np.testing.assert_allclose(np.abs(found[:, 0]), np.abs(found[:, 1]), rtol=1e-5)
    for signs in (np.sign(found[..., 0]), np.sign(found[..., 0] * found[..., 1])):
        assert abs(np.mean(signs[:, 0] * signs[:, 1])) < STANDARD_ERRORS / np.sqrt(KEYS)


def test_one_draw_for_all_examples_is_that_of_plain_weights() -> None:
    x, means = normals(0, 4, 3), {"kernel": normals(1, 3, 2), "bias": normals(2, 2)}
    scales = jax.tree.map(jnp.abs, means)
    key = jax.random.key(5)
    noise = trees.random_normal(
        jax.random.split(key)[0], {name: jnp.zeros(v.shape) for name, v in means.items()}
    )
    drawn = jax.tree.map(lambda m, s, e: m + s * e, means, scales, noise)
    np.testing.assert_allclose(noisy(dense, means, scales, x, key, "shared"), dense(drawn, x), rtol=1e-5)


def everywhere(params: Any, x: Any) -> Any:
    """Tokens (n, 4) to outputs, by parameters in all kinds of places."""
    y = params["table"][x]
    y = y + params["position"]
    y = jnp.tanh(jnp.einsum("nld,de->nle", y, params["tokens"]))
    y = (y.reshape(-1, y.shape[-1]) @ params["merged"]).reshape(y.shape)
    y = y * params["gain"]
    y, _ = jax.lax.scan(lambda h, z: (jnp.tanh(z + h @ params["loop"]), None), y[:, 0], jnp.swapaxes(y, 0, 1))
    y = y @ params["tied"] @ params["tied"]
    y = jnp.einsum("oi,ni->no", params["left"].T, y)
    return jax.jit(dense)(params["layer"], y) + jnp.sum(params["sum"] * params["sum"])


def test_every_parameter_is_followed_to_its_use() -> None:
    d = 3
    params = {name: normals(1, d, d) for name in ("tokens", "merged", "loop", "tied", "left")}
    params |= {
        "table": normals(2, 7, d),
        "position": normals(3, 4, d),
        "gain": normals(4, d),
        "sum": normals(5, 2),
    }
    tree = {**params, "layer": {"kernel": normals(6, d, 2), "bias": normals(7, 2)}}
    x = jnp.zeros((5, 4), jnp.int32)
    kinds = {name: use.kind for name, use in uses_of(everywhere, tree, x, "local").items()}
    assert kinds == {
        "gain": "spread",
        "layer/bias": "spread",
        "layer/kernel": "local",
        "left": "local",
        "loop": "once",
        "merged": "once",
        "position": "spread",
        "sum": "once",
        "table": "once",
        "tied": "once",
        "tokens": "flipout",
    }
    scales = jax.tree.map(jnp.zeros_like, tree)
    made = noisy(everywhere, tree, scales, x, jax.random.key(0), "local")
    np.testing.assert_allclose(made, everywhere(tree, x), rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def gradients(digits: sb.data.Dataset) -> dict[str, np.ndarray]:
    """Of the log likelihood of 16 digits in means and scales of a convolution and a dense layer, for many
    keys, by estimator: (key, weight)."""
    x, y = jnp.asarray(digits.train.x[:16]).reshape(16, 8, 8, 1), digits.train.y[:16]
    params = {"conv": 0.3 * normals(1, 3, 3, 1, 2), "dense": 0.3 * normals(2, 18, 10)}

    def outputs(params: Any, x: Any) -> Any:
        numbers = ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(x, params["conv"], (2, 2), "VALID", dimension_numbers=numbers)
        return jax.nn.relu(h).reshape(len(x), -1) @ params["dense"]

    def likelihood(moving: Any, key: jax.Array, estimator: Estimator) -> jax.Array:
        logits = noisy(outputs, moving[0], moving[1], x, key, estimator)
        return jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(16), y])

    moving = params, jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.2), params)
    keys, made = jax.random.split(jax.random.key(2), 3000), {}
    for estimator in ("local", "flipout", "shared"):
        gradient = jax.grad(functools.partial(likelihood, estimator=estimator))
        leaves = jax.tree.leaves(jax.jit(jax.vmap(gradient, in_axes=(None, 0)))(moving, keys))
        made[estimator] = np.concatenate([np.asarray(leaf).reshape(3000, -1) for leaf in leaves], axis=1)
    return made


def test_gradients_have_the_same_mean(gradients: dict[str, np.ndarray]) -> None:
    """398 of them: one is further off than 5 standard errors in 1 of 4,000 trials."""
    means = {name: each.mean(axis=0) for name, each in gradients.items()}
    squares = {name: each.var(axis=0) / len(each) for name, each in gradients.items()}
    for name in ("local", "flipout"):
        errors = np.sqrt(squares[name] + squares["shared"])
        apart = (means[name] - means["shared"])[errors > 0] / errors[errors > 0]
        assert np.abs(apart).max() < STANDARD_ERRORS
        assert apart.std() < 1.2, "as differences by chance alone are"
    assert np.abs(means["shared"]).max() > 20 * np.sqrt(squares["shared"].max())


def test_local_noise_varies_least_and_shared_noise_most(
    gradients: dict[str, np.ndarray],
) -> None:
    local, flipout, shared = (gradients[name].var(axis=0).sum() for name in ("local", "flipout", "shared"))
    assert local < 0.8 * flipout
    assert flipout < 0.5 * shared
