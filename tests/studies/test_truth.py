"""The study of what posteriors are like: it runs at a tiny size, and its answers follow its numbers."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbayes.posterior.likelihoods.categorical import CategoricalPredictive
from symbayes.studies.truth import Truth
from symbayes.studies.truth.averaging import _spread
from symbayes.studies.truth.case import gap
from symbayes.studies.truth.prior import FAMILIES
from symbayes.studies.truth.samplers import CEILING
from symbayes.studies.truth.shift import REPAIRED, SILENT

PARTS = Truth("tiny").parts()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    page = Truth("tiny", tmp_path_factory.mktemp("truth"))()
    return page.read_text(), json.loads((page.parent / "results.json").read_text())


def test_tiny_study_asks_and_answers_everything(done: tuple[str, dict[str, Any]]) -> None:
    text, numbers = done
    assert numbers["complete"]
    assert set(numbers["parts"]) == set(PARTS)
    for name, part in numbers["parts"].items():
        assert part["published"], name
        assert part["answer"].endswith("."), name
        assert part["answer"] in text.replace("&#39;", "'"), name


def test_tiny_study_measures_what_it_says(done: tuple[str, dict[str, Any]]) -> None:
    found = {name: part["found"] for name, part in done[1]["parts"].items()}
    averaging = found["averaging"]
    assert averaging["draws"][0] == 1
    assert averaging["draws"][-1] == 6
    # All draws of all chains are the reference row of the comparison.
    assert averaging["all chains"][-1]["NLL"] == pytest.approx(found["samplers"]["rows"]["hmc"]["NLL"])
    assert found["temperature"]["temperatures"]["1"]["difference"] == 0
    clean = {name: values[0] for name, values in found["shift"]["accuracy"]["gaussian-noise"].items()}
    assert clean["hmc"] == pytest.approx(found["samplers"]["rows"]["hmc"]["accuracy"])
    assert set(found["prior"]["scales"]) == {"0.25", "0.5"}
    assert set(found["mixing"]["rhat"]) == {"predictions", "weights", "aligned weights", "prior, aligned"}


def test_draws_are_spread_over_chains() -> None:
    probs = np.arange(2 * 5, dtype=float).reshape(2, 5, 1, 1)
    spread = _spread(CategoricalPredictive(probs), 3)
    assert spread.probs.ravel().tolist() == [0, 5, 1]


def test_gap_is_paired_over_examples() -> None:
    rng = np.random.default_rng(0)
    a, b = (CategoricalPredictive(rng.dirichlet(np.ones(3), size=(1, 1, 50))) for _ in range(2))
    y = rng.integers(0, 3, 50).astype(np.int32)
    found = gap(a, b, y)
    each = [-np.log(p[0, 0, np.arange(50), y]) for p in (a.probs, b.probs)]
    assert found["difference"] == pytest.approx(np.mean(each[0] - each[1]))
    assert found["error"] == pytest.approx(np.std(each[0] - each[1], ddof=1) / np.sqrt(50))


def test_gap_has_the_error_of_chains_too() -> None:
    """Chains that differ in the same way at all examples: the error over examples is nothing."""
    levels = np.array([[0.9, 0.6, 0.5], [0.4, 0.4, 0.4]])
    a, b = (
        CategoricalPredictive(np.broadcast_to(np.stack([p, 1 - p], -1)[:, None, None], (3, 1, 20, 2)))
        for p in levels
    )
    found = gap(a, b, np.zeros(20, np.int32))
    apart = -np.log(levels[0]) + np.log(levels[1])
    assert found["difference"] == pytest.approx(-np.log(2 / 3) + np.log(0.4))
    assert found["error"] == pytest.approx(np.std(apart, ddof=1) / np.sqrt(3))


@pytest.mark.parametrize("family", FAMILIES)
def test_families_have_the_standard_deviation_asked_for(family: str) -> None:
    import jax

    prior: Any = FAMILIES[family](0.7)
    draws = prior.sample(jax.random.key(1), {"w": np.zeros(200_000, np.float32)})["w"]
    assert float(np.asarray(draws).std()) == pytest.approx(0.7, rel=0.05)


def score(nll: float, accuracy: float = 0.9, **more: float) -> dict[str, float]:
    return {"NLL": nll, "accuracy": accuracy, "ECE": 0.01, **more}


def test_answer_on_averaging_follows_the_numbers() -> None:
    found: dict[str, Any] = {
        "chains": 4,
        "draws": [1, 100],
        "one chain": [score(0.5), score(0.31)],
        "spread": [score(0.5), score(0.30)],
        "all chains": [score(0.4), score(0.29, 0.95)],
    }
    answer = PARTS["averaging"].answer(found)
    assert "From one draw to 400 draws the loss falls from 0.500 to 0.290" in answer
    assert "one chain is about as good as 4 shorter ones" in answer
    assert Truth("tiny").answer({"averaging": found}) == answer
    worse = deepcopy(found)
    worse["one chain"][-1]["NLL"] = 0.4
    assert "one chain is worse than 4" in PARTS["averaging"].answer(worse)


def test_answer_on_mixing_follows_the_numbers() -> None:
    row = {"R-hat, median": 1.2, "below 1.1": 0.25}
    found = {"spaces": {"predictions": {"R-hat, median": 1.01, "below 1.1": 0.999}, "weights": row}}
    answer = PARTS["mixing"].answer(found)
    assert "99.9% of the predictions" in answer
    assert "25.0% of the weights" in answer
    assert "not closer" not in answer
    assert "not closer" in PARTS["mixing"].answer({"spaces": {"predictions": row, "weights": row}})
    found["spaces"] |= {"aligned weights": {"R-hat, median": 1.05}, "prior, aligned": {"R-hat, median": 1.02}}
    assert "median of the weights is 1.050 (draws of the prior: 1.020)" in PARTS["mixing"].answer(found)


@pytest.mark.parametrize(
    ("cold", "words"),
    [
        (score(0.40, difference=0.1, error=0.01), "lowest at temperature 1 .*no cold-posterior effect"),
        (score(0.29, difference=-0.01, error=0.01), "lowest at temperature 0.1 .*within two standard errors"),
        (score(0.20, difference=-0.10, error=0.01), "lowest at temperature 0.1 .*is a cold-posterior effect"),
    ],
)
def test_answer_on_temperature_follows_the_numbers(cold: dict[str, float], words: str) -> None:
    one = score(0.30, difference=0.0, error=0.0)
    answer = PARTS["temperature"].answer({"temperatures": {"0.1": cold, "1": one}})
    assert re.search(words, answer), answer


def test_answer_on_augmentation_tells_what_was_done() -> None:
    rows = {"0.1": score(0.2, difference=-0.1, error=0.01), "1": score(0.3, difference=0.0, error=0.0)}
    warm = {"0.1": score(0.4, difference=0.1, error=0.01), "1": rows["1"]}
    answer = PARTS["augmentation"].answer(
        {"temperatures": rows, "mini-batches": rows, "mini-batches, plain": warm}
    )
    fixed, fresh, plain = re.split(r"\. (?=With)", answer)
    assert fixed.startswith(
        "With augmentation (shift, 2 copies of every image) and HMC, the loss is lowest at"
    )
    assert fresh.startswith("With SGHMC and new copies in every mini-batch, the loss is lowest at")
    assert all("is a cold-posterior effect" in told for told in (fixed, fresh))
    assert plain.startswith("With SGHMC and no augmentation, the loss is lowest at temperature 1")


def test_answer_on_priors_follows_the_numbers() -> None:
    scales = {"0.1": score(0.3, 0.95), "1": score(0.2, 0.955)}
    families = {"normal": score(0.2, 0.955), "logistic": score(0.2, 0.90)}
    answer = PARTS["prior"].answer({"scales": scales, "families": families})
    assert "robust to the scale: over a factor of 10" in answer
    assert "lowest at a scale of 1" in answer
    assert "different accuracies: 90.0% to 95.5%" in answer
    scales["0.1"]["accuracy"] = 0.5
    assert "sensitive to the scale" in PARTS["prior"].answer({"scales": scales, "families": {}})


def test_answer_on_shift_follows_the_numbers() -> None:
    def answer(**last: tuple[float, float, float]) -> str:
        names = ("hmc", "one network", REPAIRED)
        accuracy = {
            {"silent": SILENT}.get(kind, kind): {
                name: [0.9, end] for name, end in zip(names, ends, strict=True)
            }
            for kind, ends in last.items()
        }
        return PARTS["shift"].answer({"accuracy": accuracy, "silent": 7, "pixels": 64})

    told = answer(fog=(0.5, 0.7, 0.8), silent=(0.8, 0.8, 0.88))
    assert "HMC loses 25.0 points" in told
    assert "kinds of shift, more than one trained network (15.0), and most under fog (40.0)" in told
    assert "7 of 64 pixels" in told
    assert "loses 10.0 points, which the covariance prior repairs (2.0)" in told
    told = answer(fog=(0.8, 0.7, 0.8), silent=(0.7, 0.8, 0.75))
    assert "no more than one" in told
    assert "does not repair (15.0)" in told
    assert "the prior has nothing to repair" in answer(silent=(0.9, 0.9, 0.9))


def test_answers_on_samplers_follow_the_numbers() -> None:
    rows = {
        "hmc": score(0.2),
        "sgld": score(0.25, agreement=0.97, TV=0.04),
        "ensemble": score(0.3, agreement=0.95, TV=0.06),
        "one network": score(0.4, agreement=0.93, TV=0.09),
        CEILING: {"agreement": 0.98, "TV": 0.02},
    }
    answer = PARTS["samplers"].answer({"rows": rows})
    assert "Closest to HMC is sgld, with an agreement of 97.0% and a total variation of 0.040" in answer
    assert "ceiling: 98.0% and 0.020" in answer
    assert "0.200 nats, is better" in answer
    study = Truth("tiny")
    found: dict[str, Any] = {
        "mixing": {"mixed": True},
        "temperature": {"temperatures": {"0.1": score(0.3), "1": score(0.2)}},
        "samplers": {"rows": rows},
    }
    whole = study.answer(found)
    assert whole.startswith(
        "The chains of HMC have mixed in the space of functions. A temperature below one "
    )
    assert "one does not give the lowest loss. HMC does predict better than all other methods" in whole
    assert "one of them does not come as close to it" in whole
    rows["sgld"] |= {"TV": 0.01, "NLL": 0.1}
    found["temperature"]["temperatures"]["0.1"]["NLL"] = 0.1
    whole = study.answer(found)
    assert "one does give the lowest loss. HMC does not predict better" in whole
    assert "one of them does come as close" in whole
    several = {f"{case}.{name}": numbers for case in ("a", "b") for name, numbers in found.items()}
    assert "have on 2 of 2 posteriors mixed" in study.answer(several)
    assert study.answer({"temperature": found["temperature"]}) == (
        "A temperature below one does give the lowest loss."
    )


def test_part_that_is_asked_alone(tmp_path: Path) -> None:
    page = Truth("tiny", tmp_path, only=("temperature",))()
    assert "not complete" in page.read_text()
