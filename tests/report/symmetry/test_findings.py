"""All findings of a run, and the section about them."""

import json
from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.engine import open_run
from symbayes.report.contents import Figure, Table
from symbayes.report.symmetry import Bounds, Findings, investigate, section
from symbayes.report.symmetry.findings import Spread

QUICK = Bounds(samples=4, steps=5, examples=150)


@pytest.fixture(scope="module")
def findings(runs: dict[str, Path], digits: sb.data.Dataset) -> dict[str, Findings]:
    found = {name: investigate(open_run(path), digits, QUICK) for name, path in runs.items()}
    return {name: result for name, result in found.items() if result is not None}


def test_spread_is_that_of_the_weights(hmc_draws: sb.Draws) -> None:
    weights = np.asarray(trees.ravel(hmc_draws.variables["params"], batch_dims=2)).astype(np.float64)
    spread = Spread.of(hmc_draws, Bounds())
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
    assert len(numbers["paths"]["test"]["raw"]["loss"]) == 5
    assert "rhat" not in findings["ensemble"].numbers()["spread"]["raw"]


def test_the_section_tells_the_findings(findings: dict[str, Findings]) -> None:
    made = section("hmc", findings["hmc"])
    assert made.title == "Symmetry of hmc"
    assert "reordered in 720 ways" in made.lead
    assert "150 of 360 test examples" in made.lead
    compact = findings["hmc"].compactness
    assert compact is not None
    for form in ("raw", "aligned"):
        accuracy = compact.of("mean network", form)[0].scores["accuracy"]
        assert f"{accuracy:.1%}" in made.lead
    titles = [item.title for item in made.items if isinstance(item, Figure)]
    assert titles == [
        "R-hat before and after alignment",
        "Sigma of the weights",
        "Loss between two networks",
        "Accuracy between two networks",
        "Order of the units between two networks",
        "Quality against size",
        "Accuracy after pruning",
    ]
    assert sum(isinstance(item, Table) for item in made.items) == 3


def test_an_ensemble_has_no_rhat_and_the_page_says_why(findings: dict[str, Findings]) -> None:
    made = section("ensemble", findings["ensemble"])
    assert "R-hat is left out" in made.lead
    assert "3 chains of 1 draw were looked at" in made.lead
    assert not any("R-hat" in item.title for item in made.items if isinstance(item, Figure))
    columns = [item.columns for item in made.items if isinstance(item, Table)]
    assert "within a chain" not in columns[1]


def test_a_network_without_symmetries_has_no_findings(digits: sb.data.Dataset, tmp_path: Path) -> None:
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale=0.5),
        digits.train[:64],
    )
    sb.run(sb.DeepEnsemble(epochs=1, chains=2), posterior, store=tmp_path / "run")
    assert investigate(open_run(tmp_path / "run"), digits, QUICK) is None


def test_regression_is_told_in_errors_instead_of_agreements(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2)).astype(np.float32)
    y = np.sin(x[:, :1]).astype(np.float32)
    part = sb.data.Examples(x, y)
    data = sb.data.Dataset("waves", part, part, part, None, (), "sines")
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(3,), outputs=1, activation="tanh"),
        sb.likelihoods.Gaussian(scale=0.1),
        sb.priors.Normal(scale=1.0),
        part,
    )
    sb.run(sb.DeepEnsemble(epochs=2, chains=4, batch=20), posterior, store=tmp_path / "run")
    found = investigate(open_run(tmp_path / "run"), data, QUICK)
    assert found is not None
    made = section("waves", found)
    assert "RMSE" in made.lead
    assert "2^3 ways" in made.lead
    titles = [item.title for item in made.items if isinstance(item, Figure)]
    order = "Order of the units between two networks"
    assert titles == ["Sigma of the weights", "Loss between two networks", order]
    assert found.compactness is not None
    assert found.compactness.columns[:2] == ["RMSE", "NLL"]
