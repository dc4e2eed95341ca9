"""Averages along training and SWAG, against NumPy on the weights that training went through."""

from typing import Any

import jax
import numpy as np
import pytest
from normed import HiddenNorm

import symbayes as sb
from symbayes import trees
from symbayes.distributions import Gaussian, Mixture
from symbayes.networks import NNXNetwork

RATE, EPOCHS, BATCH, CHAINS = 0.1, 5, 8, 2


@pytest.fixture(scope="module")
def posterior() -> sb.Posterior:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 4)).astype(np.float32)
    y = np.sin(x[:, :1]).astype(np.float32)
    return sb.Posterior(
        NNXNetwork(HiddenNorm(1)), sb.likelihoods.Gaussian(0.3), sb.priors.Normal(1.0), sb.data.Examples(x, y)
    )


@pytest.fixture(scope="module")
def start(posterior: sb.Posterior) -> Any:
    keys = jax.random.split(jax.random.key(3), CHAINS)
    return jax.jit(lambda posterior, keys: jax.vmap(posterior.init)(keys))(posterior, keys)


def weights(tree: Any, batch_dims: int = 2) -> np.ndarray:
    return np.asarray(trees.ravel(tree["params"], batch_dims), np.float64)


@pytest.fixture(scope="module")
def visited(posterior: sb.Posterior, start: Any) -> np.ndarray:
    """The weights at the end of every epoch of SGD at a constant rate, (chain, epoch, weight)."""
    method = sb.CheckpointEnsemble(
        RATE, EPOCHS, BATCH, CHAINS, optimizer="sgd", thin=1, draws=EPOCHS, schedule="constant"
    )
    return weights(sb.run(method, posterior, start=start, progress=False).variables)


SETTINGS: Any = {"learning_rate": 2 * RATE, "plateau": 0.5, "collect": EPOCHS, "batch": BATCH}
"""With a start there is no training before weights are taken."""


def test_checkpoints_are_those_of_the_training(
    posterior: sb.Posterior, start: Any, visited: np.ndarray
) -> None:
    method = sb.CheckpointEnsemble(
        RATE, EPOCHS, BATCH, CHAINS, optimizer="sgd", thin=2, draws=2, schedule="constant"
    )
    drawn = sb.run(method, posterior, start=start, progress=False)
    np.testing.assert_array_equal(weights(drawn.variables), visited[:, [2, 4]])


def test_swa_is_the_mean_of_the_epochs_with_the_statistics_that_it_has(
    posterior: sb.Posterior, start: Any, visited: np.ndarray
) -> None:
    drawn = sb.run(sb.SWA(**SETTINGS, chains=CHAINS), posterior, start=start, progress=False)
    np.testing.assert_allclose(weights(drawn.variables)[:, 0], visited.mean(axis=1), rtol=1e-5, atol=1e-6)
    for chain in range(CHAINS):
        one = trees.index(drawn.variables, (chain, 0))
        x = np.asarray(posterior.train.x)
        again = sb.networks.recomputed(posterior.network, one, x)
        for name, value in trees.flatten(again["stats"]).items():
            np.testing.assert_allclose(trees.flatten(one["stats"])[name], value, rtol=1e-4, err_msg=name)
        layer = one["params"]["layers"]["0"]
        hidden = x @ np.asarray(layer["kernel"]) + np.asarray(layer["bias"])
        np.testing.assert_allclose(one["stats"]["layers"]["1"]["mean"], hidden.mean(axis=0), rtol=1e-4)


def test_ema_is_a_plain_loop_over_the_steps(posterior: sb.Posterior, start: Any) -> None:
    """With mini-batches of all data a step is an epoch, whose weights checkpoints show."""
    settings: Any = {"epochs": 7, "batch": 30, "chains": CHAINS, "schedule": "linear", "optimizer": "sgd"}
    steps = weights(
        sb.run(
            sb.CheckpointEnsemble(0.05, **settings, thin=1, draws=7), posterior, start=start, progress=False
        ).variables
    )
    decay, mean = 0.7, np.zeros_like(steps[:, 0])
    for step in range(7):
        mean = decay * mean + (1 - decay) * steps[:, step]
    found = sb.run(sb.EMA(0.05, **settings, decay=decay), posterior, start=start, progress=False)
    np.testing.assert_allclose(weights(found.variables)[:, 0], mean / (1 - decay**7), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rank", [3, 20])
def test_swag_has_the_covariance_of_its_formula(
    posterior: sb.Posterior, start: Any, visited: np.ndarray, rank: int
) -> None:
    """A rank of 20 is more than the five deviations that there are."""
    method = sb.SWAG(**SETTINGS, chains=CHAINS, rank=rank, draws=2)
    drawn = sb.run(method, posterior, start=start, progress=False)
    assert drawn.origin is not None
    fitted = drawn.origin.distribution
    assert isinstance(fitted, Mixture)
    for chain in range(CHAINS):
        w = visited[chain]
        running = np.cumsum(w, axis=0) / np.arange(1, EPOCHS + 1)[:, None]
        columns = (w - running)[-rank:].T
        kept = min(rank, EPOCHS)
        expected = np.diag(w.var(axis=0)) / 2 + columns @ columns.T / (2 * (kept - 1))
        own = trees.index(fitted.components, chain)
        assert isinstance(own, Gaussian)
        assert own.rank == kept
        np.testing.assert_allclose(weights(own.mean, 0), w.mean(axis=0), rtol=1e-5, atol=1e-6)
        factors = weights(own.factors, 1)
        found = np.diag(weights(own.diagonal, 0)) + factors.T @ factors
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * np.abs(expected).max())


def test_draws_of_swag_have_that_covariance_and_statistics_of_their_own(
    posterior: sb.Posterior, start: Any
) -> None:
    method = sb.SWAG(**SETTINGS, chains=CHAINS, rank=3, draws=4000)
    drawn = sb.run(method, posterior, start=start, progress=False)
    assert drawn.origin is not None
    own: Any = trees.index(drawn.origin.distribution.components, 1)
    samples, factors = weights(drawn.variables)[1], weights(own.factors, 1)
    expected = np.diag(weights(own.diagonal, 0)) + factors.T @ factors
    scales = np.sqrt(np.diag(expected))
    error = (np.cov(samples.T) - expected) / np.outer(scales, scales)
    # A correlation of 4,000 draws is off by 1 / sqrt(4000), a variance by sqrt(2) of it: five of those.
    assert np.abs(error).max() < 5 * np.sqrt(2 / 4000)
    assert np.abs((samples.mean(axis=0) - weights(own.mean, 0)) / scales).max() < 5 / np.sqrt(4000)
    one = trees.index(drawn.variables, (1, 17))
    again = sb.networks.recomputed(posterior.network, one, np.asarray(posterior.train.x))
    for name, value in trees.flatten(again["stats"]).items():
        np.testing.assert_allclose(trees.flatten(one["stats"])[name], value, rtol=1e-4, err_msg=name)


def test_snapshots_end_cycles_in_which_the_rate_falls_to_zero(posterior: sb.Posterior, start: Any) -> None:
    """The first is the network of one training; the next begin there, with the optimiser's memory."""
    settings: Any = {"learning_rate": 0.05, "epochs": 3, "batch": BATCH, "chains": CHAINS, "optimizer": "sgd"}
    cycles = sb.SnapshotEnsemble(**settings, draws=2, momentum=0.0)
    drawn = sb.run(cycles, posterior, start=start, progress=False)
    first = sb.run(sb.DeepEnsemble(**settings, momentum=0.0), posterior, start=start, progress=False)
    np.testing.assert_array_equal(weights(drawn.variables)[:, 0], weights(first.variables)[:, 0])
    assert np.abs(np.diff(weights(drawn.variables), axis=1)).max() > 1e-3


def test_a_start_takes_the_place_of_training(posterior: sb.Posterior) -> None:
    for method in (sb.SWA(epochs=9), sb.SWAG(epochs=9)):
        units = [each.resolve(posterior).phases(posterior)[0].units for each in (method, method.started())]
        assert units == [9, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sb.SWAG(collect=1), "a spread needs two epochs: use collect and rank above 1"),
        (lambda: sb.SWAG(rank=1), "a spread needs two epochs"),
        (lambda: sb.SWA(plateau=0.0), "plateau is a share of the learning rate, above 0"),
        (
            lambda: sb.CheckpointEnsemble(epochs=5, thin=2, draws=4),
            "4 draws 2 epochs apart need 7 epochs, but there are 5: use fewer draws",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()
