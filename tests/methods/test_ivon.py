"""Improved variational online Newton against a plain transcription of its update."""

from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees

SEED, BATCH, EPOCHS = 3, 7, 3
RATE, SCALE, BETA1, BETA2 = 0.2, 0.15, 0.8, 0.9


def transcribed(x: np.ndarray, y: np.ndarray, start: Any, decay: float, size: float) -> tuple[Any, Any]:
    """Mean and variance after some epochs of Shen et al. (2024), algorithm 1, for a linear network with
    Gaussian noise 0.5, in float64."""
    design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    mean = np.concatenate([start["output"]["bias"], start["output"]["kernel"][:, 0]]).astype(np.float64)
    first = 1 / (size * SCALE**2)
    momentum, curvature, number = np.zeros(3), np.full(3, first), 0
    scale = 1 / np.sqrt(size * (curvature + decay))
    chain_key = jax.random.fold_in(jax.random.key(SEED), 0)
    for epoch in range(EPOCHS):
        key = jax.random.fold_in(chain_key, epoch)
        order = np.asarray(jax.random.permutation(key, len(x)))
        for j in range(len(x) // BATCH):
            rows, number = order[j * BATCH : (j + 1) * BATCH], number + 1
            noise = trees.random_normal(jax.random.fold_in(jax.random.fold_in(key, j), 1), start)["output"]
            drawn = mean + scale * np.concatenate([noise["bias"], noise["kernel"][:, 0]])
            gradient = design[rows].T @ (design[rows] @ drawn - y[rows, 0]) / 0.5**2 / BATCH
            found = gradient * (drawn - mean) / scale**2
            momentum = BETA1 * momentum + (1 - BETA1) * gradient
            curvature = (
                BETA2 * curvature
                + (1 - BETA2) * found
                + 0.5 * (1 - BETA2) ** 2 * (curvature - found) ** 2 / (curvature + decay)
            )
            rate = RATE * (first + decay)
            mean = mean - rate * (momentum / (1 - BETA1**number) + decay * mean) / (curvature + decay)
            scale = 1 / np.sqrt(size * (curvature + decay))
    return mean, scale**2


@pytest.mark.parametrize(("temperature", "tempers"), [(0.5, "posterior"), (2.0, "likelihood")])
def test_steps_are_those_of_the_paper_with_settings_of_the_posterior(
    linear: Any, temperature: float, tempers: Any
) -> None:
    plain = linear[0]
    train = jax.tree.map(np.asarray, plain.train)
    posterior = sb.Posterior(
        plain.network, plain.likelihood, plain.prior, train, temperature=temperature, tempers=tempers
    )
    method = sb.IVON(RATE, EPOCHS, BATCH, SCALE, BETA1, BETA2, draws=1, chains=1, schedule="constant")
    start = {"output": {"bias": np.float32([0.1]), "kernel": np.float32([[-0.3], [0.7]])}}
    drawn = sb.run(method, posterior, seed=SEED, start={"params": start, "stats": {}}, progress=False)
    gaussians: Any = drawn.origin.distribution if drawn.origin else None
    size = 24 / temperature
    # A normal prior of scale 0.8: its log density is -N/T d m^2 / 2, tempered or not.
    decay = (1 / temperature if tempers == "posterior" else 1.0) / (0.8**2 * size)
    expected = transcribed(train.x, train.y, start, decay, size)
    for part, values in zip(("location", "diagonal"), expected, strict=True):
        output = getattr(gaussians.components, part)["params"]["output"]
        found = np.concatenate([output["bias"][0], output["kernel"][0, :, 0]])
        np.testing.assert_allclose(found, values, rtol=2e-4, err_msg=part)


def test_a_steep_likelihood_is_descended_with_the_usual_rate(linear: Any) -> None:
    """Noise of a hundredth makes gradients ten thousand times as large as noise of one."""
    plain = linear[0]
    train = jax.tree.map(np.asarray, plain.train)
    posterior = sb.Posterior(plain.network, sb.likelihoods.Gaussian(0.01), plain.prior, train)
    drawn = sb.run(sb.IVON(epochs=100, batch=12, draws=1), posterior, progress=False)
    assert drawn.origin is not None
    loss = drawn.origin.traces["loss"][0]
    assert loss[-1] < loss[0] / 2
    assert sb.IVON(learning_rate=0.3).resolve(posterior).learning_rate == 0.3


def test_each_layer_has_the_decay_of_its_prior(linear: Any) -> None:
    from symbayes.methods.phases.newton import weight_decay

    plain = linear[0]
    layers = sb.priors.PerLayer({"*/bias": sb.priors.Normal(2.0)}, rest=sb.priors.Normal(0.5))
    posterior = sb.Posterior(plain.network, plain.likelihood, layers, jax.tree.map(np.asarray, plain.train))
    decay = weight_decay(posterior, posterior.init(jax.random.key(0))["params"])["output"]
    assert decay["bias"] == pytest.approx(1 / (2.0**2 * 24))
    assert decay["kernel"] == pytest.approx(1 / (0.5**2 * 24))


def test_a_prior_that_is_not_normal_is_refused(linear: Any) -> None:
    plain = linear[0]
    train = jax.tree.map(np.asarray, plain.train)
    posterior = sb.Posterior(plain.network, plain.likelihood, sb.priors.Laplace(1.0), train)
    with pytest.raises(ValueError, match=r"takes its weight decay from a normal prior: use priors\.Normal"):
        sb.run(sb.IVON(), posterior)
