"""The study of one mode and many: it runs at a tiny size, and its answer follows its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse.quality import quality
from symbayes.studies.modes import Modes
from symbayes.studies.modes.predictions import Predictions, elsewhere
from symbayes.studies.modes.presets import SETTINGS
from symbayes.studies.modes.weights import Weights


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Modes("tiny", tmp_path_factory.mktemp("modes"))().parent


def test_one_mode_is_the_first_chain(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text())["parts"]["predictions"]["found"]
    assert list(found["rows"]) == ["ensemble|one", "ensemble|many", "swag|one", "swag|many"]
    test = sb.data.load(SETTINGS["tiny"].data).test
    run = sb.open(folder / "runs" / "swag")
    every = run.predict(test.x).every
    for modes, probs in (("one", every[0].mean(axis=0)), ("many", every.mean(axis=(0, 1)))):
        row = found["rows"][f"swag|{modes}"]
        assert row["NLL"] == pytest.approx(sb.evaluate.nll(probs, test.y))
    size = sum(int(np.prod(shape)) for shape in run.draws.shapes.values())
    assert found["rows"]["swag|many"]["floats"] == 2 * 2 * size
    assert found["rows"]["swag|one"]["draws"] == 2
    same = SETTINGS["tiny"].elsewhere[0]
    assert found["rows"]["swag|one"][f"AUROC|{same}"] == pytest.approx(0.5), (
        "the same inputs are not told apart"
    )
    assert "mutual-information" not in found["rows"]["ensemble|one"], "one draw has none"
    assert "Loss of one mode and of many" in (folder / "index.html").read_text()


def test_inputs_with_shuffled_pixels_keep_their_values() -> None:
    x, shuffled = sb.data.load("digits").test.x, elsewhere("digits, pixels shuffled")
    assert shuffled.shape == x.shape
    assert not np.array_equal(shuffled, x)
    np.testing.assert_array_equal(
        np.sort(shuffled.reshape(len(x), -1), axis=1), np.sort(np.asarray(x).reshape(len(x), -1), axis=1)
    )


def made_up(**losses: tuple[float, float]) -> dict[str, Any]:
    rows = {}
    for name, pair in losses.items():
        for modes, loss in zip(("one", "many"), pair, strict=True):
            rows[f"{name}|{modes}"] = {"NLL": loss, "ECE": 0.1, "AUROC|far": 1 - loss}
    return {"rows": rows, "elsewhere": ["far"], "chains": 3}


def test_answer_follows_the_numbers() -> None:
    part = Predictions(SETTINGS["tiny"])
    told = part.answer(made_up(swag=(0.4, 0.3), vi=(0.2, 0.5)))
    assert (
        "With 3 modes instead of one the loss of 1 of 2 methods falls, and the calibration error of 0."
        in told
    )
    assert "The lowest loss has vi of one mode (0.200 nats)" in told
    assert "far is told apart best by vi of one mode (AUROC 0.800)" in told
    told = part.answer(made_up(swag=(0.4, 0.1), vi=(0.5, 0.2)))
    assert "2 of 2 methods" in told
    assert "swag of many modes (0.100 nats)" in told


def test_weights_are_compared_with_independent_networks(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text())["parts"]["weights"]["found"]
    assert list(found["rows"]) == ["ensemble|many", "swag|one", "swag|many"], "one network is too few"
    expected = quality(sb.open(folder / "runs/swag"), sb.open(folder / "runs/fleet")).weights["canonical"][
        "all"
    ]
    assert found["rows"]["swag|many"]["canonical"]["mmd"] == pytest.approx(expected.mmd)
    assert sb.open(folder / "runs/fleet").draws.chains == 8


def test_answer_about_weights_follows_the_numbers() -> None:
    def row(raw: float, canonical: float) -> dict[str, Any]:
        return {"raw": {"mmd": raw}, "canonical": {"mmd": canonical}}

    part = Weights(SETTINGS["tiny"])
    rows = {"swag|one": row(2, 3), "swag|many": row(1, 4), "vi|one": row(5, 6), "vi|many": row(4, 2)}
    told = part.answer({"rows": rows, "fleet": 8})
    assert "Of 2 methods, many modes are nearer to independently trained networks than one for 2" in told
    assert "and for 1 with symmetries removed" in told
    assert "lets 1 of the 2" in told
    assert part.answer({"rows": {"swa|many": row(1, 1)}, "fleet": 8}).startswith("No method has draws enough")
