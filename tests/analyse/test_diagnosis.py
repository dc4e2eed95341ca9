"""The diagnosis of a run: its numbers are the metrics' own, and its verdict follows from them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate
from symbayes.analyse.diagnosis import Within, diagnose
from symbayes.analyse.mixing import FORMATS, Mixing
from symbayes.analyse.verdict import verdict


@pytest.fixture(scope="module")
def diagnosis(runs: dict[str, Path], digits: sb.data.Dataset) -> sb.analyse.Diagnosis:
    return diagnose(runs["hmc"], digits.test.x[:20])


def test_every_space_is_told(diagnosis: sb.analyse.Diagnosis, hmc: Any, digits: sb.data.Dataset) -> None:
    assert list(diagnosis.across) == ["predictions", "weights", "aligned weights", "prior, aligned"]
    quantities = hmc.predict(digits.test.x[:20]).quantities
    np.testing.assert_array_equal(diagnosis.across["predictions"].rhat, evaluate.rhat(quantities))
    assert (diagnosis.chains, diagnosis.draws, diagnosis.modes, diagnosis.inputs) == (2, 8, 2, 20)
    alone = np.concatenate([evaluate.rhat(quantities[c : c + 1]) for c in range(2)])
    np.testing.assert_array_equal(diagnosis.within["predictions"].rhat, alone)
    moved = diagnosis.across["aligned weights"].values
    weights = diagnosis.across["weights"].values
    assert moved.shape == weights.shape
    assert not np.array_equal(moved, weights)
    assert diagnosis.acceptance == pytest.approx(hmc.draws.stats["acceptance"].mean())


def test_it_is_told_in_words_and_as_numbers(diagnosis: sb.analyse.Diagnosis) -> None:
    text = str(diagnosis)
    for sentence in diagnosis.verdict:
        assert sentence in text
        assert sentence in diagnosis._repr_html_()
    assert "prior, aligned" in text
    numbers = diagnosis.numbers()
    assert numbers["spaces"]["weights"] == diagnosis.across["weights"].numbers()
    assert numbers["spaces"]["weights, within modes"] == diagnosis.within["weights"].numbers()
    assert numbers["verdict"] == list(diagnosis.verdict)


def test_chains_of_one_mode_are_compared_with_one_another() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4, 40, 3)) + np.array([0.0, 9.0, 0.0, 9.0])[:, None, None]
    within = Within(values, np.array([0, 1, 0, 1]))
    assert np.all(evaluate.rhat(values) > 1.5), "modes lie apart"
    assert within.rhat.shape == (6,)
    assert np.all(within.rhat < 1.2)
    expected = sum(evaluate.ess_bulk(values[modes]) for modes in ([0, 2], [1, 3]))
    np.testing.assert_allclose(within.ess_bulk, expected)


def test_single_networks_cannot_be_diagnosed(runs: dict[str, Path]) -> None:
    found = diagnose(runs["ensemble"])
    assert found.mixed is None
    assert found.across == {}
    assert found.verdict == (
        "Whether chains have mixed is not known: 3 chains of 1 draw cannot be compared, which takes four "
        "draws.",
    )


def test_draws_in_memory_without_inputs(waves: Any) -> None:
    found = diagnose(waves[0], aligned=False)
    assert list(found.across) == ["weights"]
    assert "weight space" in found.verdict[0]


def mixed(chains: Any, draws: int = 60) -> Any:
    """Numbers of chains that lie at these places."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(len(chains), draws, 5)) + np.asarray(chains)[:, None, None]
    return Mixing(values).numbers(), Within(values, np.arange(len(chains))).numbers()


def test_the_verdict_follows_from_the_numbers() -> None:
    together, settled = mixed([0.0, 0.0, 0.0])
    apart, _ = mixed([0.0, 5.0, -5.0])
    good = verdict({"predictions": together}, {"predictions": settled}, 3, 60)
    assert good.mixed is True
    assert good.sentences[0].startswith("Mixed in function space: R-hat is below 1.1 for 100.0%")
    assert good.sentences[1].startswith(f"180 draws are worth about {together['ESS bulk, median']:.0f} indep")
    assert len(good.sentences) == 2, "nothing to change"

    lonely = verdict({"predictions": apart}, {"predictions": settled}, 3, 60)
    assert lonely.mixed is False
    assert lonely.sentences[0].startswith("Not mixed in function space")
    assert "but to a different place" in lonely.sentences[-1]
    drifting = verdict({"predictions": apart}, {"predictions": apart}, 3, 60)
    assert "Single chains still drift" in drifting.sentences[-1]
    told = verdict({"predictions": together}, {"predictions": settled}, 3, 60, 0.2, 7).sentences
    assert "7 of 180 trajectories diverged: use smaller steps." in told
    assert "Only 20% of proposals are accepted: use smaller steps." in told
    correlated = together | {"ESS bulk, median": 3.0}
    assert "correlated" in verdict({"weights": correlated}, {"weights": settled}, 3, 60).sentences[-1]


@pytest.mark.parametrize(
    ("raw", "aligned", "words"),
    [(1.01, 1.0, "do not keep chains apart"), (2.0, 1.02, "alone"), (2.0, 1.5, "by more than symmetries")],
)
def test_symmetries_are_told_beside_their_control(raw: float, aligned: float, words: str) -> None:
    together, settled = mixed([0.0, 0.0])
    medians = {"weights": raw, "aligned weights": aligned, "prior, aligned": 1.003}
    across = {space: together | {"R-hat, median": value} for space, value in medians.items()}
    told = verdict(across, {"weights": settled}, 2, 60).sentences
    (sentence,) = [s for s in told if "draws of the prior: 1.003" in s]
    assert words in sentence


def test_alignment_is_told_beside_the_same_draws() -> None:
    together, settled = mixed([0.0, 0.0])
    medians = {"weights": 2.0, "weights, same draws": 1.04, "aligned weights": 1.02, "prior, aligned": 1.003}
    across = {space: together | {"R-hat, median": value} for space, value in medians.items()}
    told = verdict(across, {"weights": settled}, 2, 60).sentences
    (sentence,) = [s for s in told if "draws of the prior: 1.003" in s]
    assert sentence.startswith(
        "The median R-hat of weights of the aligned draws is 1.040 before alignment and 1.020 after it"
    )
    assert "do not keep chains apart" in sentence


def test_where_few_draws_are_aligned_their_weights_are_told_too(runs: dict[str, Path]) -> None:
    found = diagnose(runs["hmc"], bounds=sb.analyse.Bounds(draws=8))
    assert found.aligned_draws == 4
    shapes = {space: mixing.values.shape[1] for space, mixing in found.across.items()}
    assert shapes == {"weights": 8, "weights, same draws": 4, "aligned weights": 4, "prior, aligned": 4}
    np.testing.assert_array_equal(
        found.across["weights, same draws"].values, found.across["weights"].values[:, 1::2]
    )


def test_quantities_that_never_change() -> None:
    still = Mixing(np.ones((2, 6, 3))).numbers()
    assert verdict({"weights": still}, {"weights": still}, 2, 6).mixed is None
    assert set(still) == set(FORMATS)
