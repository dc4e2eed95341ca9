"""All findings of a run."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import symbayes as sb
from conformance.compilations import compilations
from symbayes import evaluate, trees
from symbayes.analyse import Bounds, Findings, Spread, investigate
from symbayes.engine.opened import group_of

QUICK = Bounds(samples=4, steps=5, examples=150)


def test_spread_is_that_of_the_weights(hmc_draws: sb.Draws) -> None:
    weights = np.asarray(trees.ravel(hmc_draws.variables["params"], batch_dims=2)).astype(np.float64)
    spread = Spread.of(hmc_draws, 10**6)
    np.testing.assert_allclose(spread.rhat, evaluate.rhat(weights))
    flat = weights.reshape(16, -1)
    np.testing.assert_allclose(spread.sigma, flat.std(0, ddof=1))
    products = flat @ flat.T
    pairs = products[~np.eye(16, dtype=bool)].mean()
    assert spread.cosine == pytest.approx(pairs / np.diag(products).mean())


def test_alignment_brings_draws_together_and_the_control_too(findings: dict[str, Findings]) -> None:
    for found in findings.values():
        spread = found.spread
        assert spread["aligned"].cosine > spread["raw"].cosine
        assert spread["prior, aligned"].cosine > spread["prior, raw"].cosine + 0.05
        assert abs(spread["prior, raw"].cosine) < 0.05
        assert found.objective[-1] >= found.objective[0]
        assert found.control_objective[-1] > found.control_objective[0]


def test_few_programs_are_compiled(runs: dict[str, Path], digits: sb.data.Dataset) -> None:
    """On a GPU each takes seconds: what is small is computed on the host."""
    jax.clear_caches()
    group_of.cache_clear()
    with compilations() as names:
        investigate(runs["ensemble"], digits, QUICK)
    assert len(names) <= 20, names
    with compilations() as names:
        investigate(runs["hmc"], digits, QUICK)
    assert len(names) <= 6, names  # of the same network, with more draws


def test_numbers_are_plain_and_complete(findings: dict[str, Findings]) -> None:
    numbers = json.loads(json.dumps(findings["hmc"].numbers()))
    assert numbers["log10_permutations"] == pytest.approx(np.log10(720))
    assert numbers["looked_at"]["draws"] == 16
    assert numbers["looked_at"]["test"] == 150
    assert numbers["compact"]["fitted"] == 8
    assert {row["name"] for row in numbers["compact"]["rows"]} >= {
        "mean network, raw",
        "mean network, aligned",
        "Gaussian, diagonal, aligned",
        "1 stored draw",
    }
    assert len(numbers["barriers"]["test"]["raw"]["loss"]) == 5
    assert "rhat" not in findings["ensemble"].numbers()["spread"]["raw"]


def test_a_network_without_symmetries_has_no_findings(digits: sb.data.Dataset) -> None:
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        digits.train[:64],
    )
    assert investigate(sb.run(sb.DeepEnsemble(epochs=1, chains=2), posterior), digits, QUICK) is None


def test_a_regression_with_more_draws_than_weights_is_measured_in_errors(
    waves: tuple[sb.Draws, sb.data.Dataset],
) -> None:
    """20 draws are fitted, of 13 weights: no Gaussian has a rank beyond the weights."""
    draws, data = waves
    found = investigate(draws, data, QUICK)
    assert found is not None
    assert found.group.sign_bits == 3
    assert found.pruning is None
    assert found.barriers is not None
    assert found.barriers.accuracy["test"] == {}
    assert found.compactness is not None
    assert found.compactness.columns == ["RMSE", "NLL", "coverage", "mean-distance", "TV"]
    assert found.compactness.fitted == 20
    assert [row.size for row in found.compactness.of("Gaussian", "aligned")] == [0, 4, 13]
