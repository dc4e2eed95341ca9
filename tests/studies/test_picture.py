"""The study of the smallest network: it runs at a tiny size, and its answer follows its numbers."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbayes import evaluate
from symbayes.engine import open_run
from symbayes.studies.picture import Picture, last_weights, mirror_distance, networks_in, units_told

PART = Picture("tiny").parts()["densities"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    page = Picture("tiny", tmp_path_factory.mktemp("picture"))()
    return page, json.loads((page.parent / "results.json").read_text())


def test_three_forms_of_one_fleet(done: tuple[Path, dict[str, Any]]) -> None:
    page, numbers = done
    found = numbers["parts"]["densities"]["found"]
    assert found["networks"] == 40
    assert [sum(one["counts"]) for one in found["forms"].values()] == [40, 40, 40]
    assert (page.parent / "figures" / "densities-1.pdf").exists()
    run = open_run(page.parent / "runs" / "fleet")
    raw, scaled, ordered = (last_weights(run, form) for form in found["forms"])
    kernels = run.draws.variables["params"]["hidden1"]
    norms = np.sqrt((kernels["kernel"][:, 0] ** 2).sum(1) + kernels["bias"][:, 0] ** 2)
    # The last weight takes the norm of what leads into its unit; sorting swaps some of the pairs.
    np.testing.assert_allclose(scaled, raw * norms, rtol=1e-4)
    np.testing.assert_allclose(np.sort(ordered, 1), np.sort(scaled, 1), rtol=1e-4)
    assert not np.allclose(ordered, scaled)


def test_the_mirror_image() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(500, 2))
    assert mirror_distance(np.concatenate([points, points[:, ::-1]]), 0.1) == pytest.approx(0)
    assert mirror_distance(np.abs(points) * [1, -1], 0.1) == pytest.approx(1, abs=0.05)


def test_units_of_relabelled_networks_share_one_marginal(done: tuple[Path, dict[str, Any]]) -> None:
    """Where units are swapped by the toss of a coin the corollary is exact: p is uniform."""
    run, rng = open_run(done[0].parent / "runs" / "fleet"), np.random.default_rng(3)
    ordered = np.asarray(networks_in(run, "scaled and sorted").variables["params"]["hidden1"]["kernel"])
    assert evaluate.unit_test(ordered, 199).p_value == 1 / 200, "sorted units differ"
    found = []
    for number in range(200):
        swapped = rng.random(len(ordered)) < 0.5
        tossed = np.where(swapped[:, None, None, None], ordered[..., ::-1], ordered)
        found.append(evaluate.unit_test(tossed, 39, seed=number).p_value)
    # On 1/40, 2/40, ... 1, of which the mean is 0.5125 and the deviation 0.29; four of 200 fleets' errors.
    assert np.mean(found) == pytest.approx(0.5125, abs=4 * 0.29 / np.sqrt(200))
    assert np.mean(np.array(found) <= 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


def test_what_is_told_of_units_follows_the_numbers() -> None:
    groups = {"all": 0.01234, "groups": [0.01, 0.04, 0.3, 0.9]}
    told = units_told({"raw": groups, "scaled and sorted": {"all": 0.001, "groups": []}})
    assert "p = 0.012 for the networks as trained, and p < 0.05 for 2 of 4 groups" in told
    assert "where 0.2 are expected by chance. Sorting makes the units different: p = 0.001" in told


def test_the_answer_follows_the_numbers(done: tuple[Path, dict[str, Any]]) -> None:
    found = deepcopy(done[1]["parts"]["densities"]["found"])
    found["forms"]["raw"] |= {"half": 90, "mirror": 0.1}
    found["forms"]["scaled and sorted"]["half"] = 12
    found["floor"] = 0.09
    told = PART.answer(found)
    assert "90 hexagons as trained" in told
    assert "removing copies makes the density more compact" in told
    assert "is close to its mirror image" in told
    found["forms"]["scaled and sorted"]["half"] = 95
    found["forms"]["raw"]["mirror"] = 0.6
    told = PART.answer(found)
    assert "does not make" in told
    assert "differs from its mirror image" in told
