"""Compact posteriors against draws they have not seen."""

import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.analyse.compactness import RANKS, compactness, held_out, possible_ranks
from symbayes.analyse.few_bits import few_bits, normal_entropy
from symbayes.analyse.predictions import predictive_of, sampled_predictive
from symbayes.distributions import Gaussian, mean_network
from symbayes.distributions.few_bits import FewBits
from symbayes.distributions.few_bits.networks import rounded
from symbayes.engine import Opened, open_run
from symbayes.posterior import CategoricalPredictive


def numbered(chains: int, draws: int) -> sb.Draws:
    return sb.Draws.from_variables({"params": {"w": np.arange(chains * draws).reshape(chains, draws, 1)}})


@pytest.mark.parametrize(("chains", "draws", "fitted"), [(2, 8, 8), (3, 1, 2), (5, 4, 12), (1, 9, 5)])
def test_held_out_draws_are_the_others(chains: int, draws: int, fitted: int) -> None:
    parts = held_out(numbered(chains, draws))
    assert parts is not None
    values = [part.variables["params"]["w"].ravel().tolist() for part in parts]
    assert sorted(values[0] + values[1]) == list(range(chains * draws))
    assert len(values[0]) == fitted
    if chains > 1:  # whole chains are held out
        assert {value // draws for value in values[0]}.isdisjoint({value // draws for value in values[1]})


@pytest.mark.parametrize(("chains", "draws"), [(1, 1), (2, 1), (1, 2)])
def test_too_few_draws_are_not_split(chains: int, draws: int) -> None:
    assert held_out(numbered(chains, draws)) is None


def test_rows_say_what_the_metrics_say(hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset) -> None:
    fit, rest = hmc_draws.select(chains=[0]), hmc_draws.select(chains=[1])
    found = compactness(hmc, {"raw": fit}, rest, digits.test, ranks=(0, 3, 100), samples=4)
    y, target = np.asarray(digits.test.y), predictive_of(hmc, rest, digits.test.x).mean
    (mean,) = found.of("mean network", "raw")
    probs = predictive_of(hmc, mean_network(fit), digits.test.x).mean
    assert mean.scores["accuracy"] == evaluate.accuracy(probs, y)
    assert mean.scores["agreement"] == evaluate.agreement(probs, target)
    (ceiling,) = found.of("ceiling")
    whole = predictive_of(hmc, fit, digits.test.x).mean
    assert ceiling.scores["TV"] == evaluate.total_variation(whole, target)
    assert ceiling.name == "ceiling: all 8 draws"
    size = 32 * (64 * 6 + 6 + 6 * 10 + 10)
    assert [(row.size, row.bits) for row in found.of("Gaussian", "raw")] == [
        (0, 2 * size),
        (3, 5 * size),
        (7, 9 * size),  # eight draws have no more
    ]
    assert [row.bits for row in found.of("stored draws")] == [size, 2 * size, 3 * size, 5 * size]
    assert found.gaussians["raw"].rank == 7
    assert (found.fitted, found.held_out) == (8, 8)


def test_networks_in_few_bits_are_rows_too(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset, tmp_path: Path
) -> None:
    fit, rest = hmc_draws.select(chains=[0]), hmc_draws.select(chains=[1])
    few = {"bits": 3.0, "networks": 3}
    found = compactness(hmc, {"raw": fit}, rest, digits.test, (0,), 2, train=digits.train[:40], **few)
    made = found.networks
    assert made is not None
    rows = found.of("few bits")
    assert [row.size for row in rows] == [1, 2, 3]
    assert rows[-1].bits == made.bits
    assert 3 * 3 * 460 < rows[-1].bits < 12 * 3 * 460, "three networks share the tables of the code"
    made.save(tmp_path / "few.safetensors")
    again = FewBits.load(tmp_path / "few.safetensors").draws
    target = predictive_of(hmc, rest, digits.test.x).mean
    probs = predictive_of(hmc, again, digits.test.x).mean
    assert rows[-1].scores["TV"] == evaluate.total_variation(probs, target)
    with pytest.raises(FileExistsError, match="exists already"):
        made.save(tmp_path / "few.safetensors")
    with pytest.raises(ValueError, match="chosen at training examples"):
        compactness(hmc, {"raw": fit}, rest, digits.test, (0,), 2, **few)


def test_networks_of_many_bits_are_the_draws(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset
) -> None:
    """Each of the candidates comes back, in the order of their choice; with few bits, as a neighbour."""
    fit, x = hmc_draws.select(chains=[0]), digits.train.x[:40]
    whole = np.asarray(trees.ravel(fit.variables, 2)[0])
    near = np.asarray(trees.ravel(few_bits(hmc, fit, x, 7.0, 8).draws.variables, 2)[0])
    nearest = [int(np.argmin(np.abs(whole - one).max(axis=1))) for one in near]
    assert sorted(nearest) == list(range(8))
    assert np.abs(whole[nearest] - near).mean() < 0.02 * whole.std()
    with pytest.raises(ValueError, match="9 networks cannot be chosen from 8 draws"):
        few_bits(hmc, fit, x, 2.0, 9)


def test_compensation_keeps_predictions_where_they_were(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit, x = hmc_draws.select(chains=[0]), digits.train.x[:200]
    whole = predictive_of(hmc, fit, x).each

    def error() -> float:
        few = few_bits(hmc, fit, x, 2.0, 8)
        return float(np.abs(predictive_of(hmc, few.draws, x).each - whole[few.numbers]).mean())

    compensated = error()

    def alone(matrices: Any, rows: Any, freedoms: Any, numbers: Any) -> Any:
        return rounded(matrices, rows, {}, numbers)

    monkeypatch.setattr(sys.modules["symbayes.analyse.few_bits"], "rounded", alone)
    plain = error()
    print(f"mean error of probabilities: {compensated}, with each weight rounded alone {plain}")
    assert compensated < 0.8 * plain


@given(st.floats(0.05, 30), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=20)
def test_bits_of_rounded_normal_numbers_are_those_of_samples(spread: float, seed: int) -> None:
    integers = np.rint(np.random.default_rng(seed).normal(0, spread, 40_000)).astype(int)
    counts = np.unique(integers, return_counts=True)[1] / 40_000
    assert normal_entropy(np.array([spread]))[0] == pytest.approx(-np.sum(counts * np.log2(counts)), abs=0.02)


def test_samples_of_a_gaussian_come_in_pieces_but_not_twice(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaussian = Gaussian.fit(hmc_draws)
    monkeypatch.setattr("symbayes.analyse.predictions.PIECE", 3 * trees.size(gaussian.mean))
    predictive = sampled_predictive(hmc, gaussian, digits.test.x[:5], 7)
    assert isinstance(predictive, CategoricalPredictive)
    assert predictive.probs.shape == (1, 7, 5, 10)
    assert len({p.tobytes() for p in predictive.probs[0]}) == 7
    draws = gaussian.draws(jax.random.key(0), 7)
    expected = predictive_of(hmc, draws, digits.test.x[:5])
    np.testing.assert_allclose(predictive.mean, expected.mean, rtol=1e-5)


def test_ranks_are_bounded_by_the_weights_of_a_tiny_network() -> None:
    """400 draws of a network with fewer weights, as on the smallest tables of numbers."""
    rng = np.random.default_rng(0)
    params = {"kernel": rng.normal(size=(4, 100, 6, 5)), "bias": rng.normal(size=(4, 100, 5))}
    draws = sb.Draws.from_variables({"params": params, "stats": {"mean": rng.normal(size=(4, 100, 500))}})
    assert possible_ranks(RANKS, draws) == [0, 4, 32, 35]
    assert possible_ranks(RANKS, draws.select(draws=slice(0, 5))) == [0, 4, 19]
    for rank in possible_ranks(RANKS, draws):
        assert Gaussian.fit(draws, rank).rank == rank


def test_numbers_of_standardised_targets_are_in_their_own_units(
    waves: tuple[sb.Draws, sb.data.Dataset],
) -> None:
    """``y = 3 z + 2`` has three times the RMSE, and log 3 nats more of NLL."""
    draws, data = waves
    run, parts = open_run(draws), held_out(draws)
    assert parts is not None
    scaling = sb.data.Scaling(np.array([2.0]), np.array([3.0]))
    plain, scaled = (
        compactness(run, {"raw": parts[0]}, parts[1], data.test, ranks=(0,), samples=2, scaling=s).rows
        for s in (None, scaling)
    )
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(other.scores["RMSE"], 3 * one.scores["RMSE"], rtol=1e-5)
        np.testing.assert_allclose(other.scores["NLL"], one.scores["NLL"] + np.log(3), rtol=1e-5)
