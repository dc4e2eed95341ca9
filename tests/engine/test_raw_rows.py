"""Predictions at rows that are prepared already, and at rows as they were before."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes import cli
from symbayes.data import Preparation

RNG = np.random.default_rng(np.random.SeedSequence().entropy % 2**32)
RAW = RNG.normal(700, 150, (40, 3)) * [1, 3, 0.2]
Y = RAW @ [0.2, 0.1, 1] + 30 * RNG.normal(size=40)


@pytest.fixture(scope="module")
def rents() -> sb.data.Dataset:
    return sb.data.from_arrays(RAW, Y, name="rents", test=0.2)


@pytest.fixture(scope="module")
def posterior(rents: sb.data.Dataset) -> sb.Posterior:
    network = sb.networks.mlp(hidden=(4,), **rents.sizes)
    return sb.Posterior(network, sb.likelihoods.Gaussian(0.2), sb.priors.Normal(1.0), rents.train)


@pytest.fixture(scope="module")
def folder(rents: sb.data.Dataset, posterior: sb.Posterior, tmp_path_factory: pytest.TempPathFactory) -> Path:
    method = sb.HMC(0.02, trajectory=0.04, burn_in=2, draws=4, chains=2)
    return sb.run(method, posterior, store=tmp_path_factory.mktemp("rents") / "run", about=rents.about).path  # pyright: ignore[reportReturnType]


def test_raw_rows_are_prepared_and_predicted_in_the_targets_units(rents, folder, tmp_path):
    run = sb.open(folder)
    told = run.predict(RAW[:5], raw=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = run.predict(rents.input_scaling.apply(RAW[:5]))
    np.testing.assert_allclose(told.mean, rents.target_scaling.undo(prepared.mean), rtol=1e-5)
    assert np.abs(told.mean[:, 0] - Y[:5]).max() < 6 * Y.std()
    assert np.abs(prepared.mean).max() < 10
    # The command reads an array from a file as raw rows too.
    np.savez(tmp_path / "new.npz", x=RAW[:5])
    out = tmp_path / "told.npz"
    assert cli.main(["predict", str(folder), "--data", str(tmp_path / "new.npz"), "--out", str(out)]) == 0
    with np.load(out) as arrays:
        np.testing.assert_allclose(arrays["mean"], told.mean, rtol=1e-5)


def test_raw_rows_that_are_taken_for_prepared_ones_are_told(rents, folder):
    run = sb.open(folder)
    with pytest.warns(UserWarning, match=r"not prepared as the training data are: predict\(x, raw=True\)"):
        silently = run.predict(RAW[:5])
    np.testing.assert_array_equal(run.predict(RAW[:5], raw=False).mean, silently.mean)
    grid = np.linspace(-3, 3, 50)[:, None] * np.ones(3)
    for fine in (rents.test.x, grid, 1e4 * grid):
        run.predict(fine)  # any warning is an error here


def test_bytes_are_no_prepared_images() -> None:
    pixels = RNG.integers(0, 256, (30, 4, 4)).astype(np.uint8)
    data = sb.data.from_arrays(pixels, np.arange(30) % 2, test=6)
    network = sb.networks.mlp(hidden=(), **data.sizes)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(1.0), data.train)
    run = sb.open(sb.run(sb.DeepEnsemble(epochs=1, chains=1), posterior, about=data.about))
    told = run.predict(pixels[:4], raw=True)
    np.testing.assert_allclose(
        told.mean, run.predict(pixels[:4, ..., None] / np.float32(255)).mean, atol=1e-6
    )
    with pytest.warns(UserWarning, match="not prepared"):
        run.predict(pixels[:4, ..., None])


def test_tokens_stay_whole_numbers() -> None:
    """As the network takes them."""
    data = sb.data.Examples(RNG.integers(0, 9, (12, 5)).astype(np.int32), np.arange(12, dtype=np.int32) % 2)
    network = sb.networks.from_functions(fresh_table, looked_up)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(1.0), data)
    about = {"preparation": Preparation().record()}
    run = sb.open(sb.run(sb.DeepEnsemble(epochs=1, chains=1), posterior, about=about))
    np.testing.assert_array_equal(run.predict(data.x, raw=True).mean, run.predict(data.x).mean)


def fresh_table(key, x):
    import jax

    return {"table": jax.random.normal(key, (9, 2))}


def looked_up(params, x):
    return params["table"][x].mean(axis=1)


def test_raw_rows_that_cannot_be_prepared_are_refused(posterior, folder):
    run = sb.open(folder)
    with pytest.raises(ValueError, match=r"rows have shape \(3,\) in the training data, and \(2,\) here"):
        run.predict(RAW[:5, :2], raw=True)
    with pytest.raises(ValueError, match="NaN or infinity in 1 of 2 rows, first in row 2"):
        run.predict([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]], raw=True)
    untold = sb.open(run.draws.select(), posterior=posterior)
    for rows in (RAW[:5], {"a": [1.0]}):
        with pytest.raises(sb.RunError, match=r"how its data were prepared: .* about=data.about"):
            untold.predict(rows, raw=True)
    told = sb.open(run.draws.select(), posterior=posterior, about=run.about)
    np.testing.assert_allclose(
        told.predict(RAW[:5], raw=True).mean, run.predict(RAW[:5], raw=True).mean, rtol=1e-5
    )
