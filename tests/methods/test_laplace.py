"""Laplace approximations against exact Bayesian linear regression, and their runs."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.distributions import Gaussian, Kronecker, LastLayer, Mixture
from symbayes.posterior.likelihoods.scaled import Marginals

KINDS = {"diagonal": Gaussian, "kronecker": Kronecker, "last-layer": LastLayer}


def at_the_mode(mean: np.ndarray) -> dict[str, Any]:
    bias, kernel = mean[:1].astype(np.float32), mean[1:, None].astype(np.float32)
    return {"params": {"output": {"bias": bias, "kernel": kernel}}}


def evidence(posterior: sb.Posterior, scale: float) -> float:
    """log N(y; 0, noise^2 I + scale^2 X X') of the linear regression."""
    x, y = (np.asarray(part, np.float64) for part in (posterior.train.x, posterior.train.y[:, 0]))
    design = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    covariance = float(posterior.likelihood.scale) ** 2 * np.eye(len(x)) + scale**2 * design @ design.T
    return -0.5 * (
        y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(covariance)[1] + len(y) * np.log(2 * np.pi)
    )


def covariance_of(law: Any) -> np.ndarray:
    """Over bias and kernel, from the variances of sums and single weights."""
    pairs = np.array([np.eye(3)[i] + np.eye(3)[j] for i in range(3) for j in range(3)], np.float32)
    slopes = {"params": {"output": {"bias": pairs[:, :1], "kernel": pairs[:, 1:, None]}}}
    sums = np.asarray(law.variances(slopes), np.float64).reshape(3, 3)
    single = np.diag(sums) / 4
    return (sums - single[:, None] - single) / 2


@pytest.mark.parametrize("structure", KINDS)
def test_linear_regression_is_exact(linear: Any, structure: Any) -> None:
    """The last layer's whole matrix gives the posterior and its evidence; the other forms what they keep of
    its precision."""
    posterior, mean, covariance = linear
    method = sb.Laplace(structure=structure, draws=2, predict="samples")
    drawn = sb.run(method, posterior, start=at_the_mode(mean), progress=False)
    run = sb.open(drawn)
    assert isinstance(run.distribution, Mixture)
    assert isinstance(run.distribution[0], KINDS[structure])
    precision = np.linalg.inv(covariance)
    expected = {
        "diagonal": np.diag(1 / np.diag(precision)),
        "kronecker": np.pad(np.linalg.inv(precision[1:, 1:]), (1, 0)),
        "last-layer": covariance,
    }[structure]
    if structure == "kronecker":
        expected[0, 0] = 1 / precision[0, 0]
    np.testing.assert_allclose(covariance_of(run.distribution[0]), expected, atol=2e-6)
    found = float(run.traces["log_evidence"][0, -1])
    lost = 0.5 * (np.linalg.slogdet(precision)[1] + np.linalg.slogdet(expected)[1])
    assert found == pytest.approx(evidence(posterior, 0.8) + lost, abs=1e-3)


def test_evidence_tunes_the_prior(linear: Any) -> None:
    """To the scale at which the exact evidence of the regression is largest, for the mode as it is."""
    posterior, mean, _ = linear
    method = sb.Laplace(structure="last-layer", prior_precision="evidence", draws=1)
    run = sb.open(sb.run(method, posterior, start=at_the_mode(mean), progress=False))
    factor = float(run.traces["precision_factor"][0, -1])
    x = np.concatenate([np.ones((24, 1)), np.asarray(posterior.train.x, np.float64)], axis=1)
    values = np.linalg.eigvalsh(x.T @ x) / 0.25 * 0.64

    def objective(p: float) -> float:
        return 1.5 * np.log(p) - p * np.sum((mean / 0.8) ** 2) / 2 - 0.5 * np.sum(np.log(values + p))

    grid = np.exp(np.linspace(-8, 8, 20001))
    assert factor == pytest.approx(grid[np.argmax([objective(p) for p in grid])], rel=5e-3)
    assert "multiplied by" in " ".join(method.tell(run.traces))


def test_a_factor_at_the_end_of_those_tried_is_told(linear: Any) -> None:
    """Around weights of zero the evidence grows with the precision for ever."""
    method = sb.Laplace(structure="last-layer", prior_precision="evidence", draws=1)
    with pytest.warns(UserWarning, match=r"evidence chose is 1e\+08, the largest that is tried"):
        sb.run(method, linear[0], start=at_the_mode(np.zeros(3)), progress=False)
    low = {"precision_factor": np.array([[1.0], [1e-8]])}
    (told,) = method.review(low)
    assert "1e-08, the smallest that is tried" in told
    assert dataclasses.replace(method, prior_precision="prior").review(low) == []


def test_layers_have_factors_of_their_own(tiny: sb.Posterior, begin: Any) -> None:
    one, each = (
        sb.open(
            sb.run(
                sb.Laplace(structure="diagonal", prior_precision=kind, predict="probit"), tiny, start=begin
            )
        )
        for kind in ("evidence", "layers")
    )
    assert each.traces["log_evidence"][0, -1] > one.traces["log_evidence"][0, -1]
    told = sb.Laplace(prior_precision="layers").tell(each.traces)[1]
    assert all(f" in {layer}" in told for layer in ("hidden1", "output"))
    factor = float(each.traces["precision_factor/output"][0, -1])
    law: Any = each.distribution[0] if each.distribution is not None else None
    assert float(np.max(law.diagonal["params"]["output"]["kernel"])) <= 0.25 / factor * (1 + 1e-5)
    assert "precision_factor" in one.traces


def test_closed_form_predictions_of_regression_are_exact(linear: Any) -> None:
    posterior, mean, covariance = linear
    method = sb.Laplace(structure="last-layer", predict="probit")
    drawn = sb.run(method, posterior, start=at_the_mode(mean), progress=False)
    assert len(drawn) == 1
    x = np.array([[0.0, 3.0], [-1.0, 0.5]], np.float32)
    design = np.concatenate([np.ones((2, 1)), x], axis=1)
    made = sb.open(drawn).predict(x)
    np.testing.assert_allclose(made.mean[:, 0], design @ mean, rtol=1e-5)
    spread = np.einsum("ni,ij,nj->n", design, covariance, design)
    np.testing.assert_allclose(made.std[:, 0], np.sqrt(0.25 + spread), rtol=1e-5)


@pytest.mark.parametrize("predict", ["linearised", "probit"])
def test_a_stored_run_predicts_as_it_did(tiny: sb.Posterior, tmp_path: Path, predict: Any) -> None:
    """From its folder, joined, observed, and when it is asked for more."""
    x = np.asarray(tiny.train.x[:5])
    method = sb.Laplace(epochs=2, chains=2, draws=3, structure="last-layer", predict=predict)
    options: dict[str, Any] = {"observers": [sb.Predictions(x)], "progress": False}
    drawn = sb.run(method, tiny, store=tmp_path / "run", **options)
    expected = sb.open(drawn).predict(x)
    np.testing.assert_allclose(drawn.observed["predictions"]["probs"], expected.mean, atol=1e-6)
    opened = sb.open(tmp_path / "run")
    assert opened.draws.forward.kind == method.forward
    np.testing.assert_array_equal(opened.predict(x).every, expected.every)
    other = sb.run(method, tiny, seed=1, progress=False)
    both = sb.join(tmp_path / "run", other).predict(x).every
    np.testing.assert_allclose(both[:2], expected.every, atol=1e-6)
    np.testing.assert_allclose(both[2:], sb.open(other).predict(x).every, atol=1e-6)
    assert "predictions" in str(opened.summary())
    assert "log evidence" in str(opened.summary())
    if predict == "linearised":
        longer = dataclasses.replace(method, draws=4)
        more = sb.run(longer, tiny, store=tmp_path / "run", **options)
        np.testing.assert_allclose(sb.open(more).predict(x).every[:, :3], expected.every, atol=1e-6)


def test_examples_on_many_devices_change_nothing(tiny: sb.Posterior) -> None:
    start = tiny.init(jax.random.key(3))
    method = sb.Laplace(draws=1, structure="kronecker", chains=2)
    mesh = sb.make_mesh(2, data=4)
    runs = [sb.open(sb.run(method, tiny, start=start, mesh=m, progress=False)) for m in (None, mesh)]
    found = [run.traces["log_evidence"] for run in runs]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_only_the_last_layer_moves(tiny: sb.Posterior) -> None:
    drawn = sb.run(sb.Laplace(epochs=1, draws=3, structure="last-layer"), tiny, progress=False)
    for name, leaf in trees.flatten(drawn.variables).items():
        same = np.array_equal(leaf, np.broadcast_to(leaf[:, :1], leaf.shape))
        assert same == name.startswith("params/hidden1"), name


def test_precision_on_validation_data(digits: Any, tiny: sb.Posterior) -> None:
    method = sb.Laplace(epochs=1, draws=1, structure="last-layer", prior_precision="validation")
    with pytest.raises(ValueError, match="no validation data to choose the precision on"):
        sb.run(method, tiny, progress=False)
    posterior = sb.Posterior(
        tiny.network, tiny.likelihood, tiny.prior, digits.train[:128], digits.validation[:20]
    )
    with pytest.warns(UserWarning, match="validation chose is 1e-08, the smallest that is tried"):
        run = sb.open(sb.run(method, posterior, progress=False))
    assert np.log10(run.traces["precision_factor"]) * 2 == pytest.approx(
        np.round(np.log10(run.traces["precision_factor"]) * 2), abs=1e-4
    )


def test_marginals_of_regression_are_their_own(linear: Any) -> None:
    law = linear[0].likelihood.marginals
    assert isinstance(law, Marginals)
    assert law.marginals is law
    values = jax.numpy.ones((2, 1))
    np.testing.assert_array_equal(law.marginal(values, values), linear[0].likelihood.marginal(values, values))
