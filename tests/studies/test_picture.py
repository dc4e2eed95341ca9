"""The study of the smallest network: it runs at a tiny size, and its answer follows its numbers."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbayes.engine import open_run
from symbayes.studies.picture import Picture, last_weights, mirror_distance

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


def test_the_answer_follows_the_numbers(done: tuple[Path, dict[str, Any]]) -> None:
    found = deepcopy(done[1]["parts"]["densities"]["found"])
    found["forms"]["raw"] |= {"half": 90, "mirror": 0.1}
    found["forms"]["scaled and sorted"]["half"] = 12
    found["floor"] = 0.09
    told = PART.answer(found)
    assert "90 hexagons as trained" in told
    assert "without copies shrinks" in told
    assert "cannot be told from its mirror image" in told
    found["forms"]["scaled and sorted"]["half"] = 95
    found["forms"]["raw"]["mirror"] = 0.6
    told = PART.answer(found)
    assert "does not shrink" in told
    assert "is lopsided" in told
