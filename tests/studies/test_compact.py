"""The study of the compact representation: it runs at a tiny size, and its answers follow its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.analyse import prior_draws
from symbayes.analyse.barriers import line_between
from symbayes.analyse.predictions import predictive_of, scores_of_each
from symbayes.distributions import Gaussian
from symbayes.draws import Draws
from symbayes.studies.compact import Compact
from symbayes.studies.compact.attempts import Attempts, means, shares
from symbayes.studies.compact.frontier import REACH, _best, bought, rounded, weighted
from symbayes.studies.compact.gaussians import CONTROL, RAW, REBASED
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.stored import Unfinished

PARTS: dict[str, Any] = dict(Compact("tiny").parts())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    page = Compact("tiny", tmp_path_factory.mktemp("compact"))()
    return page, json.loads((page.parent / "results.json").read_text())


def test_tiny_study_asks_and_answers_everything(done: tuple[Path, dict[str, Any]]) -> None:
    page, numbers = done
    text = page.read_text()
    assert set(numbers["parts"]) == set(PARTS)
    for name, part in numbers["parts"].items():
        assert part["answer"] in text.replace("&#39;", "'"), name
    assert "agreement, paper" in text


def test_control_is_noise_of_the_prior(done: tuple[Path, dict[str, Any]]) -> None:
    rows = done[1]["parts"]["gaussians"]["found"]["rows"]
    run = sb.open(done[0].parent / "runs/tiny/hmc")
    noise = prior_draws(run, run.draws.select(chains=[0])).select()
    test = PARTS["gaussians"].case.dataset().test
    mean = predictive_of(run, Gaussian.fit(noise).mean, test.x).mean
    assert rows[CONTROL[0]]["of the mean"] == pytest.approx(sb.evaluate.accuracy(mean, test.y))
    assert rows[CONTROL[0]]["TV"] != rows[CONTROL[1]]["TV"], "alignment moves noise too"


def test_finished_rows_are_not_made_again(
    done: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a part that was cut off, only the row that is missing is fitted."""
    rows = done[1]["parts"]["gaussians"]["found"]["rows"]
    unfinished = Unfinished(tmp_path, "gaussians", {})
    unfinished.steps = {name: row for name, row in rows.items() if name != REBASED}
    fit, fitted = Gaussian.fit, []
    monkeypatch.setattr(Gaussian, "fit", lambda *given: fitted.append(given) or fit(*given))
    found = PARTS["gaussians"].work(Desk(done[0].parent, unfinished=unfinished))
    assert len(fitted) == 1
    assert found["rows"] == rows


def test_barriers_are_rebased_as_gaussians_are(done: tuple[Path, dict[str, Any]]) -> None:
    found = done[1]["parts"]["interpolation"]["found"]
    case = PARTS["interpolation"].case
    run, test = sb.open(done[0].parent / "runs/tiny/training"), case.dataset().test
    x = np.asarray(case.dataset().train.x)[: case.inputs]
    first, second = (trees.index(run.draws.variables, (chain, -1)) for chain in (0, 1))
    by = sb.symmetry.Activations(run.network.apply, x, scale=None)
    one = jax.tree.map(lambda leaf: np.asarray(leaf)[None], second)
    moved = trees.index(sb.symmetry.align(one, run.group, to=first, by=by).draws, 0)
    losses = scores_of_each(run, line_between(first, moved, np.array(found["t"])), test)["loss"]
    np.testing.assert_allclose(found["loss"]["rebased"][-1], losses, rtol=1e-5)


def test_training_from_a_start_that_is_not_moved_gives_no_transpositions(
    done: tuple[Path, dict[str, Any]],
) -> None:
    still, moved = done[1]["parts"]["transpositions"]["found"]["rows"]
    assert (still["start"], still["after"]) == (0, [0, 0])
    assert moved["start"] == 3
    assert min(moved["distance"]) > max(still["distance"])
    for along, after in zip(moved["along"], moved["after"], strict=True):
        assert (along[0], along[-1]) == (0, after), "from no transposition to those of the other end"


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_rounded_draws_take_as_many_levels_as_their_bits_allow(bits: int) -> None:
    rng = np.random.default_rng(bits)
    mean = {"params": {"w": rng.normal(size=500).astype(np.float32)}, "stats": {}}
    leaf = mean["params"]["w"] + rng.normal(size=(2, 3, 500)).astype(np.float32)
    found = rounded(Draws.from_variables({"params": {"w": leaf}, "stats": {}}), mean, bits)
    away = found.variables["params"]["w"] - mean["params"]["w"]
    assert len(np.unique(away.round(4))) <= 2**bits
    error = np.sqrt(np.mean((found.variables["params"]["w"] - leaf) ** 2))
    # Rate-distortion theory allows no less than 2^-b; levels that are evenly spaced need somewhat more.
    assert 2.0**-bits < error < 2.5 * 2.0**-bits
    narrow, wide = (_error(leaf, mean["params"]["w"], bits, reach * REACH[bits]) for reach in (0.75, 1.4))
    assert error < min(narrow, wide), "the reach is about the best"


def _error(leaf: np.ndarray, mean: np.ndarray, bits: int, reach: float) -> float:
    away = leaf - mean
    width = 2 * reach * away.std() / 2**bits
    level = np.clip(np.floor(away / width), -(2**bits) // 2, 2**bits // 2 - 1) + 0.5
    return float(np.sqrt(np.mean((level * width - away) ** 2)))


def test_frontier_is_what_nothing_beats_at_its_size() -> None:
    rows = [
        {"name": name, "family": family, "bits": bits, "TV": tv}
        for name, family, bits, tv in (
            ("a", "stored draws", 10_000, 0.5),
            ("b", "stored draws", 20_000, 0.3),
            ("c", "Gaussian, aligned", 20_000, 0.4),
            ("d", "draws of 4 bits", 15_000, 0.3),
            ("e", "draws of 4 bits", 30_000, 0.1),
            ("all", "ceiling", 1_000, 0.0),
            ("far", "Gaussian, raw", 1_000, 0.8),
        )
    ]
    assert [row["name"] for row in _best(rows)] == ["a", "d", "b", "e"]
    answer = PARTS["frontier"].answer({"rows": rows})
    assert "are the families stored draws and draws of 4 bits, and no Gaussian." in answer
    assert "mutual information" not in answer
    for row, value in zip(rows, (0.0, 0.2, 2.0, 0.1, 0.3, 0.4, 2.0), strict=True):
        row["MI out"] = value
    answer = PARTS["frontier"].answer({"rows": rows, "held out": {"MI out": 0.4}, "elsewhere": "far"})
    assert answer.endswith("Of the mutual information of held-out draws at far, b have 50%.")
    rows[2]["TV"] = 0.05
    rows[3]["TV"] = rows[4]["TV"] = 0.9
    answer = PARTS["frontier"].answer({"rows": rows})
    assert "are the families stored draws and Gaussian, aligned." in answer


def test_bits_are_compared_at_the_closeness_that_both_families_reach() -> None:
    rows = [
        {"name": name, "family": family, "bits": bits, "TV": tv}
        for name, family, bits, tv in (
            ("1 network", "few bits", 10_000, 0.075),
            ("20 networks", "few bits", 127_000, 0.024),
            ("20 draws of 6 bits", "draws of 6 bits", 366_000, 0.023),
            ("1 chosen draw", "chosen draws", 77_000, 0.079),
            ("20 chosen draws", "chosen draws", 1_542_000, 0.024),
            ("50 stored draws", "stored draws", 3_856_000, 0.019),
        )
    ]
    assert bought({"rows": rows}) == (
        "At a total variation of 0.024, the closest that both reach, networks in few bits take 8% of the "
        "bits of stored draws: 20 networks (0.024 with 127 kbit), and 20 chosen draws (0.024 with 1,542 "
        "kbit). Closest of all are 50 stored draws (0.019 with 3,856 kbit)."
    )
    rows[1]["TV"] = 0.018  # now those in few bits are the closest: 50 stored draws bound what both reach
    assert bought({"rows": rows}).endswith(
        "take 3% of the bits of stored draws: 20 networks (0.018 with 127 kbit), and 50 stored draws (0.019 "
        "with 3,856 kbit)."
    )
    assert bought({"rows": rows[:2]}) == ""


def test_answers_on_gaussians_follow_the_numbers() -> None:
    rows = {
        "hmc: draws": {"agreement": 0.99, "TV": 0.01},
        RAW: {"agreement": 0.1, "TV": 0.8},
        REBASED: {"agreement": 0.9, "TV": 0.3},
        CONTROL[0]: {"agreement": 0.09},
        CONTROL[1]: {"agreement": 0.11},
    }
    answer = PARTS["gaussians"].answer({"rows": rows})
    assert "Rebasing lifts the agreement of a Gaussian with held-out HMC draws from 10.0% to 90.0%" in answer
    assert "and that of a Gaussian of pure noise from 9.0% to 11.0%." in answer
    assert "One Gaussian is not enough: the best (Gaussian, rebased) agrees on 90.0%" in answer
    assert "closes 90% of the gap" in Compact("tiny").answer({"gaussians": {"rows": rows}})
    rows[REBASED]["agreement"] = 0.05
    rows["hmc: Gaussian, aligned jointly"] = {"agreement": 0.985, "TV": 0.02}
    answer = PARTS["gaussians"].answer({"rows": rows})
    assert "does not lift" in answer
    assert "is enough: the best (Gaussian, aligned jointly)" in answer
    assert "Published" not in answer
    mnist = Compact("gpu").parts()["gaussians"].answer({"rows": rows})
    assert mnist.endswith(
        "The published numbers are 12.1% and 82.5%, measured with the same draws that were fitted."
    )


def test_answers_on_sigmas_and_barriers_follow_the_numbers() -> None:
    median = {"raw": 1.0, "aligned": 0.8, "prior, raw": 1.0, "prior, aligned": 0.95}
    pruned = {"mean, by sigma": {"kept": [1.0, 0.5, 0.1], "accuracy": [0.9, 0.895, 0.4]}}
    answer = PARTS["sigmas"].answer({"median": median, "pruned": pruned})
    assert "by 20.0%, more than that of pure noise (5.0%)" in answer
    assert "with the 50% of its weights" in answer
    pruned["mean, by sigma"]["accuracy"][1] = 0.7
    answer = PARTS["sigmas"].answer({"median": median, "pruned": pruned})
    assert answer.endswith("and of 70.0% when only the 50% of its weights of lowest sigma are left.")
    found: dict[str, Any] = {
        "epochs": [1, 9],
        "t": [0, 0.5, 1],
        "loss": {"naive": [[1, 1.5, 1], [0, 2, 0]], "rebased": [[1, 1.1, 1], [0, 0.1, 0]]},
    }
    answer = PARTS["interpolation"].answer(found)
    assert "The barrier disappears" in answer
    assert "after 9 epochs from 2.000 to 0.100 nats, and after 1 from 0.500 to 0.100" in answer
    found["loss"]["rebased"][1][1] = 1.5
    assert "The barrier shrinks" in PARTS["interpolation"].answer(found)


def test_answer_on_transpositions_follows_the_numbers() -> None:
    rows: list[Any] = [
        {"start": n, "after": [n, n + 2], "barrier": [0, n / 5], "along": [[0, n], [0, n + 2]]}
        for n in (0, 5, 9)
    ]
    answer = PARTS["transpositions"].answer({"rows": rows, "runs": 2})
    assert "follows that of the start (correlation 1.00: 0 become 1, 9 become 10; means of 2 runs)" in answer
    assert "rises with it, from 0.000 to 0.900" in answer
    assert answer.endswith("Along the line between two networks the number rises.")
    for row, after in zip(rows, (9, 2, 8), strict=True):
        row["after"], row["barrier"], row["along"] = [after, after], [0.1], [[3, 2]]
    answer = PARTS["transpositions"].answer({"rows": rows, "runs": 2})
    assert "does not follow" in answer
    assert "does not rise" in answer
    assert answer.endswith("does not always rise.")


def test_cluster_centres_are_those_of_k_means() -> None:
    rng = np.random.default_rng(2)
    middles = 10 * rng.normal(size=(3, 4))
    label = rng.permutation(np.repeat(np.arange(3), 7))
    points = (middles[label] + 0.1 * rng.normal(size=(21, 4))).astype(np.float32)
    found = means(points, 3)
    expected = np.stack([points[label == k].mean(0) for k in range(3)])
    nearest = np.linalg.norm(found[:, None] - expected, axis=-1).argmin(1)
    assert sorted(nearest) == [0, 1, 2]
    np.testing.assert_allclose(found, expected[nearest], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(means(points, 1)[0], points.mean(0), rtol=1e-4, atol=1e-4)


def test_weights_of_draws_are_those_that_made_the_target() -> None:
    rng = np.random.default_rng(4)
    features, weights = rng.random((4, 30)), np.array([0.1, 0.6, 0.0, 0.3])
    np.testing.assert_allclose(shares(features, weights @ features), weights, atol=1e-6)
    probs = rng.dirichlet(np.ones(3), size=(4, 5))
    mean, information = weighted(probs, weights)
    np.testing.assert_allclose(mean, np.einsum("k,knc->nc", weights, probs))
    divergence = np.sum(probs * np.log(probs / mean), axis=-1)
    assert information == pytest.approx((weights @ divergence).mean())


def test_informed_weights_alone_have_noise(done: tuple[Path, dict[str, Any]]) -> None:
    run = sb.open(done[0].parent / "runs/tiny/hmc")
    draws = run.draws.select()
    flat = np.asarray(trees.ravel(draws.variables["params"], 2), np.float64).reshape(12, -1)
    prior = float(np.sqrt(2) * np.median(flat.std(0, ddof=1)))
    x = np.asarray(run.posterior.chunks.x[0])
    one, other = Attempts(run, draws, draws, x, prior, 400).informed()
    size, known = flat.shape[1], int(np.sum(flat.var(0, ddof=1) < prior**2 / 2))
    assert (one.bits, other.bits) == (32 * (size + known) + size, 64 * known + size)
    assert f"{known / size:.1%} informed" in one.name
    # At their mean, weights that are not informed do not make predictions differ as they do from the prior.
    narrow, wide = (each.predict(x).each.std(axis=0).mean() for each in (one, other))
    assert 0 < narrow < wide


def test_every_family_is_on_the_frontier_s_table(done: tuple[Path, dict[str, Any]]) -> None:
    rows = done[1]["parts"]["frontier"]["found"]["rows"]
    families = {row["family"].partition(",")[0] for row in rows}
    assert families == {
        "mean network",
        "Gaussian",
        "Gaussian of informed weights",
        "stored draws",
        "chosen draws",
        "cluster centres with noise",
        "draws of 2 bits",
        "few bits",
        "ensemble",
        "ceiling",
    }
    single = next(row for row in rows if row["name"] == "1 stored draw")
    assert single["MI in"] == single["MI out"] == 0, "one network is certain of itself"
    every = next(row for row in rows if row["family"] == "ceiling")
    run = sb.open(done[0].parent / "runs/tiny/hmc")
    fit = run.draws.select(chains=[0])
    each = predictive_of(run, fit, elsewhere(PARTS["frontier"].case.elsewhere)).each
    assert every["MI out"] == pytest.approx(sb.evaluate.mutual_information(each).mean(), rel=1e-5)
