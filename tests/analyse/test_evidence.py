"""The evidence from real runs: conjugate regression by HMC over a ladder, copies, and what is refused."""

import dataclasses
import json
import math
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.stats import multivariate_normal

import symbayes as sb
from symbayes import evaluate
from symbayes.analyse.evidence import along, climb, log_copies, models, prior_log_likelihoods
from symbayes.cli import main
from symbayes.posterior.prediction import log_likelihoods


@pytest.fixture(scope="module")
def exact(linear) -> float:
    """The log evidence of the regression."""
    train = linear[0].train
    design = np.c_[np.ones(len(train.x)), np.asarray(train.x)].astype(np.float64)
    covariance = 0.5**2 * np.eye(len(design)) + 0.8**2 * design @ design.T
    return float(multivariate_normal(np.zeros(len(design)), covariance).logpdf(np.asarray(train.y)[:, 0]))


@pytest.fixture(scope="module")
def top(linear) -> sb.Draws:
    method = sb.HMC(step_size=0.05, trajectory=0.3, burn_in=20, draws=150, chains=4, adapt=False)
    return sb.run(method, linear[0])


def test_a_ladder_of_runs_finds_the_evidence(top: sb.Draws, exact: float):
    ladder = climb(top, rungs=9)
    assert [run.config["posterior"]["tempers"] for run in ladder[1:]] == ["likelihood"] * 7
    found = models({"hmc": top}, ladder)
    for one in found.estimates:
        assert one.error is not None
        assert abs(one.value - exact) < 4 * one.error + 0.3
        assert one.corrected == one.value  # a ladder has counted all copies
    assert found.log_copies == 0
    assert found.rungs is not None
    np.testing.assert_allclose(found.rungs.powers, evaluate.ladder(9), rtol=1e-6)
    kept = ladder[0].draws.stats["log_likelihood"]
    assert found.rungs.means[-1] == pytest.approx(np.mean(kept))
    steps = np.diff(found.rungs.powers)
    area = np.sum(steps * (found.rungs.means[1:] + found.rungs.means[:-1]) / 2)
    area -= np.sum(steps**2 / 12 * np.diff(found.rungs.variances))
    assert area == pytest.approx(found.estimates[0].value), "the area under the picture's curve"
    values = log_likelihoods(*_parts(top))
    assert found.loo["hmc"].elpd == pytest.approx(evaluate.loo(values).elpd)
    assert found.waic["hmc"].elpd == pytest.approx(evaluate.waic(values).elpd)


def _parts(draws: sb.Draws):
    run = sb.open(draws)
    return run.network, run.likelihood, draws, run.posterior.train


def test_estimates_at_a_mode_gain_the_log_number_of_copies(waves):
    draws = waves[0]
    run = sb.open(draws)
    # Three tanh units: 3! orders and 2^3 signs.
    assert log_copies(run) == pytest.approx(math.log(6 * 8))
    shown = np.linspace(-20, -10, 40).reshape(4, 10)
    stats = {"elbo": shown}
    told = sb.Draws(sb.Draws.from_variables(draws.variables, stats).segments, origin=draws.origin)
    (bound,) = models({"vi": told}).estimates
    assert bound.of == "variational bound, vi"
    assert bound.value == pytest.approx(shown[-1].mean())
    assert bound.corrected == pytest.approx(bound.value + math.log(48))


def test_laplace_and_the_variational_bound_stand_beside_the_ladder(linear, exact: float):
    """Of a Gaussian posterior Laplace is exact, and a diagonal bound is lower by what it misses."""
    laplace = sb.run(
        sb.Laplace(epochs=400, learning_rate=0.02, draws=10, chains=1, structure="last-layer"), linear[0]
    )
    bound = sb.run(sb.MeanField(epochs=600, learning_rate=0.02, draws=200, chains=1), linear[0])
    found = {one.of: one for one in models({"laplace": laplace, "vi": bound}).estimates}
    assert found["Laplace, laplace"].value == pytest.approx(exact, abs=0.1)
    covariance = linear[2]
    missed = 0.5 * (np.sum(np.log(np.diag(np.linalg.inv(covariance)))) + np.linalg.slogdet(covariance)[1])
    one = found["variational bound, vi"]
    assert one.error is not None
    assert one.value == pytest.approx(exact - missed, abs=4 * one.error + 0.1)


def test_draws_of_the_prior(linear):
    posterior = linear[0]
    run = sb.open(sb.run(sb.DeepEnsemble(epochs=1, chains=1), posterior))
    found = prior_log_likelihoods(run, 4000)
    # The mean: minus (target^2 + prior variance of the function) / (2 noise^2), and the constant.
    x, y = (np.asarray(part, np.float64) for part in (posterior.train.x, posterior.train.y))
    spread = 0.8**2 * (1 + (x**2).sum(1))
    expected = -np.sum((y[:, 0] ** 2 + spread) / (2 * 0.25)) - len(x) * math.log(0.5 * math.sqrt(2 * math.pi))
    assert found.mean() == pytest.approx(expected, abs=5 * found.std() / math.sqrt(4000))


def test_what_is_no_ladder_is_refused(top: sb.Draws, linear, waves):
    posterior = linear[0]
    train = posterior.train
    both = sb.Posterior(posterior.network, posterior.likelihood, posterior.prior, train, temperature=2.0)
    method = sb.DeepEnsemble(epochs=1, chains=2)
    with pytest.raises(ValueError, match="tempers the prior too"):
        along([top, sb.run(method, both)])
    with pytest.raises(ValueError, match="at temperature 1"):
        climb(sb.run(method, both))
    with pytest.raises(ValueError, match="same training data"):
        models({"a": top, "b": waves[0]})
    with pytest.raises(ValueError, match="the same prior and the same dataset"):
        along([top, waves[0]])
    with pytest.raises(ValueError, match="not the same for all copies of a network"):
        log_copies(dataclasses.replace(sb.open(waves[0]), prior=Uneven(1.0)))


class Uneven(sb.priors.Normal):
    """A prior that is narrower for the first units."""

    def log_density(self, params):
        return -sum(
            np.sum((1 + np.arange(leaf.size)) * np.ravel(leaf) ** 2) for leaf in jax.tree.leaves(params)
        )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "hmc"
    words = (
        "sample hmc --hidden 3 --step-size 0.01 --trajectory 0.03 --burn-in 2 --draws 6 --chains 2 --store"
    )
    assert main([*words.split(), str(run)]) == 0
    numbers = tmp_path / "numbers.json"
    page = tmp_path / "models.html"
    assert main(["evidence", str(run), "--rungs", "3", "--json", str(numbers), "--out", str(page)]) == 0
    output = capsys.readouterr().out
    for part in ("Leave-one-out", "thermodynamic integration, 3 rungs", "stepping stones", "6 copies"):
        assert part in output
    assert (tmp_path / "hmc-ladder" / "rung-01" / "config.json").exists()
    told = json.loads(numbers.read_text())
    assert told["loo"]["hmc"]["elpd"] < 0
    assert told["ladder"]["powers"] == [0, 0.5**5, 1]
    for part in ("Which model?", "The log likelihood along the ladder", "Estimates of the log evidence"):
        assert part in page.read_text()
    assert main(["evidence", str(run)]) == 0
    assert "draw a ladder of temperatures with --rungs" in capsys.readouterr().out
