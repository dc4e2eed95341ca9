"""The posteriors, runs and findings that tests of several rooms share."""

from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest
from hypothesis import settings

import symbayes as sb

BLANK = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"></svg>'

settings.register_profile("symbayes", deadline=None, print_blob=True, max_examples=25)
settings.load_profile("symbayes")


@pytest.fixture(scope="session")
def digits() -> sb.data.Dataset:
    return sb.data.load("digits")


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are composed and not drawn, which takes longer than all else on a page.

    For tests of what makes a page; ``tests/report`` has those of drawing."""
    from matplotlib.figure import Figure

    def save(self: Figure, file: IO[Any], format: str, **_: Any) -> None:
        file.write(BLANK if format == "svg" else BLANK.encode())

    monkeypatch.setattr(Figure, "savefig", save)


@pytest.fixture
def forms_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The forms of a run's states are traced once, and not anew whenever an equal run begins or goes on.

    For tests that crash a run many times."""
    from conformance import play
    from symbayes.engine.course import Course

    monkeypatch.setattr(Course, "forms", play.forms_once)


@pytest.fixture(scope="session")
def tiny(digits: sb.data.Dataset) -> sb.Posterior:
    """A posterior that runs in milliseconds: 128 digits, six hidden units."""
    return sb.Posterior(
        sb.networks.mlp(hidden=(6,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        digits.train[:128],
    )


@pytest.fixture(scope="session")
def linear() -> tuple[sb.Posterior, np.ndarray, np.ndarray]:
    """Conjugate linear regression: a posterior with known mean and covariance.

    A network without hidden layer, y = x W + b, has the Gaussian posterior with precision
    X'X / noise^2 + I / scale^2 over (W, b), where X has a column of ones.
    """
    rng = np.random.default_rng(7)
    n, noise, scale = 24, 0.5, 0.8
    x = rng.normal(size=(n, 2)).astype(np.float32)
    y = (x @ np.array([[1.0], [-0.5]]) + 0.3 + noise * rng.normal(size=(n, 1))).astype(np.float32)
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1),
        sb.likelihoods.Gaussian(scale=noise),
        sb.priors.Normal(scale=scale),
        sb.data.Examples(x, y),
    )
    # Natural order of the names: bias before kernel.
    design = np.concatenate([np.ones((n, 1)), x], axis=1).astype(np.float64)
    precision = design.T @ design / noise**2 + np.eye(3) / scale**2
    covariance = np.linalg.inv(precision)
    mean = covariance @ design.T @ y[:, 0].astype(np.float64) / noise**2
    return posterior, mean, covariance


@pytest.fixture(scope="session")
def runs(digits: sb.data.Dataset, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A short HMC run and a short ensemble on digits."""
    folder = tmp_path_factory.mktemp("runs")
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(6,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        digits.train,
    )
    methods = {
        "hmc": sb.HMC(step_size=0.01, trajectory=0.05, burn_in=5, draws=8, chains=2),
        "ensemble": sb.DeepEnsemble(epochs=6, chains=3, learning_rate=1e-2),
    }
    for name, method in methods.items():
        sb.run(method, posterior, store=folder / name, about={"data": "digits"})
    return {name: folder / name for name in methods}


@pytest.fixture(scope="session")
def findings(runs: dict[str, Path], digits: sb.data.Dataset) -> dict[str, sb.analyse.Findings]:
    """What is found about the two runs when little is looked at."""
    bounds = sb.analyse.Bounds(samples=4, steps=5, examples=150)
    found = {name: sb.analyse.investigate(path, digits, bounds) for name, path in runs.items()}
    return {name: result for name, result in found.items() if result is not None}


@pytest.fixture(scope="session")
def waves() -> tuple[sb.Draws, sb.data.Dataset]:
    """Four chains of 10 draws in memory, of a network with 13 weights that learns a sine."""
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    part = sb.data.Examples(x, np.sin(x[:, :1]).astype(np.float32))
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(3,), outputs=1, activation="tanh"),
        sb.likelihoods.Gaussian(scale=0.1),
        sb.priors.Normal(scale=1.0),
        part,
    )
    method = sb.HMC(step_size=0.005, trajectory=0.02, burn_in=0, draws=10, chains=4)
    return sb.run(method, posterior), sb.data.Dataset("waves", part, part, part, None, (), "sines")
