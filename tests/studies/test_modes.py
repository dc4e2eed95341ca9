"""The study of one mode and many: it runs at a tiny size, and its answer follows its numbers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import symbayes as sb
from symbayes import trees
from symbayes.analyse.bounds import evenly
from symbayes.analyse.predictions import predictive_of
from symbayes.analyse.quality import halves
from symbayes.draws.forward import Forward
from symbayes.evaluate import Kernels
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.modes import Modes, further
from symbayes.studies.modes.correlation import correlation, spearman
from symbayes.studies.modes.predictions import Predictions
from symbayes.studies.modes.presets import SIZES
from symbayes.studies.modes.reference import FORMS, in_form
from symbayes.studies.modes.weights import FLOOR


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Modes("tiny", tmp_path_factory.mktemp("modes"))().parent


def test_one_mode_is_the_first_chain(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text())["parts"]["predictions"]["found"]
    assert list(found["rows"]) == ["ensemble|one", "ensemble|many", "swag|one", "swag|many"]
    test = sb.data.load(SIZES["tiny"].settings.data).test
    run = sb.open(folder / "runs" / "swag")
    every = run.predict(test.x).every
    for modes, probs in (("one", every[0].mean(axis=0)), ("many", every.mean(axis=(0, 1)))):
        row = found["rows"][f"swag|{modes}"]
        assert row["NLL"] == pytest.approx(sb.evaluate.nll(probs, test.y))
    size = sum(int(np.prod(shape)) for shape in run.draws.shapes.values())
    assert found["rows"]["swag|many"]["floats"] == 2 * 2 * size
    assert found["rows"]["swag|one"]["draws"] == 2
    same = SIZES["tiny"].settings.elsewhere[0]
    assert found["rows"]["swag|one"][f"AUROC|{same}"] == pytest.approx(0.5), (
        "the same inputs are not told apart"
    )
    assert "mutual-information" not in found["rows"]["ensemble|one"], "one draw has none"
    assert "Loss with one mode and with many" in (folder / "index.html").read_text()


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
    part = Predictions(SIZES["tiny"].settings, {})
    told = part.answer(made_up(swag=(0.4, 0.3), vi=(0.2, 0.5)))
    assert (
        "With 3 modes instead of one, the loss falls for 1 of 2 methods, and the calibration error for 0."
        in told
    )
    assert "The loss is lowest for vi with one mode (0.200 nats)" in told
    assert "detection of far is best for vi with one mode (AUROC 0.800)" in told
    told = part.answer(made_up(swag=(0.4, 0.1), vi=(0.5, 0.2)))
    assert "2 of 2 methods" in told
    assert "swag with many modes (0.100 nats)" in told


def test_weights_are_compared_with_independent_networks(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text())["parts"]["weights"]["found"]
    rows = found["rows"]
    assert list(rows) == [
        FLOOR,
        "ensemble|many",
        *(f"{n}|{m}" for n in ("dropout", "swag") for m in ("one", "many")),
    ]
    sizes = [(rows[name]["chains"], rows[name]["draws"]) for name in rows]
    assert sizes == [(4, 1), (2, 1), (1, 4), (2, 2), (1, 4), (2, 2)]
    fleet, swag = sb.open(folder / "runs/fleet"), sb.open(folder / "runs/weights/swag")
    first, second = halves(fleet.draws)
    few = swag.draws.select(draws=[0, 3])
    for form, how in (("raw", lambda d: d), ("canonical", lambda d: sb.symmetry.canonical(d, fleet.group))):
        x, y, z = (np.asarray(trees.ravel(how(d).variables["params"], 2)) for d in (few, first, second))
        x, y, z = (each.reshape(4, -1) for each in (x, y, z))
        kernels = Kernels.of(sb.evaluate.distances(y))
        assert rows["swag|many"][form]["mmd"] == pytest.approx(sb.evaluate.mmd(x, y, kernels), rel=1e-4)
        assert rows[FLOOR][form]["mmd"] == pytest.approx(sb.evaluate.mmd(z, y, kernels), rel=1e-4)
    assert 0 < rows[FLOOR]["canonical"]["p_value"] <= 1
    test = sb.data.load(SIZES["tiny"].settings.data).test
    each = predictive_of(swag, swag.draws.select(chains=[0]), test.x).each
    scores = rows["swag|one"]["scores"]
    assert scores["accuracy"] == pytest.approx(sb.evaluate.accuracy(each.mean(0), test.y))
    assert scores["MI out"] == pytest.approx(sb.evaluate.mutual_information(each).mean(), rel=1e-4)
    assert "The paper&#39;s ten columns" in (folder / "index.html").read_text()
    assert "p_value" not in rows["swag|one"]["raw"], "one chain cannot be permuted"


def test_weights_count_whatever_predicts_with_them(folder: Path) -> None:
    run = sb.open(folder / "runs/weights/swag")
    draws = run.draws.select()
    other = replace(draws, forward=Forward("linearised"))
    for form in FORMS:
        np.testing.assert_array_equal(in_form(other, run.group, form), in_form(draws, run.group, form))


def test_weights_of_dropout_are_its_networks(folder: Path) -> None:
    rows = json.loads((folder / "results.json").read_text())["parts"]["weights"]["found"]["rows"]
    assert rows["dropout|one"]["raw"] == rows["dropout|one"]["canonical"] == {}, "one network is too few"
    fleet, dropout = sb.open(folder / "runs/fleet"), sb.open(folder / "runs/weights/dropout")
    first = np.asarray(trees.ravel(halves(fleet.draws)[0].variables["params"], 2)).reshape(4, -1)
    each = np.asarray(trees.ravel(dropout.draws.variables["params"], 2))
    assert np.array_equal(each[:, 0], each[:, -1]), "all draws of a chain have the weights of one network"
    kernels = Kernels.of(sb.evaluate.distances(first))
    expected = sb.evaluate.mmd(each[:, 0], first[evenly(4, 2)], kernels)
    assert rows["dropout|many"]["raw"]["mmd"] == pytest.approx(expected, rel=1e-4)
    here = dropout.predict(sb.data.load(SIZES["tiny"].settings.data).test.x).every[0]
    one = rows["dropout|one"]["scores"]
    assert one["MI in"] == pytest.approx(sb.evaluate.mutual_information(here).mean(), rel=1e-4)
    assert one["MI in"] > 0, "scores are of the masks"


def test_answer_about_weights_follows_the_numbers() -> None:
    def row(raw: float, canonical: float, **units: float) -> dict[str, Any]:
        return {"raw": {"mmd": raw}, "canonical": {"mmd": canonical}, "units": units}

    part = Modes("tiny").parts()["weights"]
    rows = {"swag|one": row(2, 3), "swag|many": row(1, 4, a=0.01, b=0.5), "vi|one": row(5, 6)}
    rows["vi|many"] = row(4, 2, a=0.2, b=0.3)
    told = part.answer({"rows": rows, "fleet": 8})
    assert "instead of one, 2 of 2 methods are nearer to independently trained networks" in told
    assert "and 1 with symmetries removed" in told
    assert "increases the distance of 1 of the 2" in told
    assert "rejected at 0.05 in 1 of 4 layers of all methods, where 0.2 are expected by chance" in told
    rows |= {"dropout|one": {"raw": {}, "canonical": {}}, "dropout|many": row(1, 1)}
    assert "2 of 2 methods" in part.answer({"rows": rows, "fleet": 8})
    assert part.answer({"rows": {"swa|many": row(1, 1)}, "fleet": 8}).startswith("No method has enough draws")


def test_rank_correlation_and_its_interval() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 30))
    assert spearman(x, y) == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
    assert np.isnan(spearman(x, np.ones(30)))
    part = Modes("tiny").parts()["correlation"]
    rows = [
        {"setting": f"swag|{n // 2}|many", "seed": n % 2, "mmd": float(n), "AUROC": -n / 40, "accuracy": 0.5}
        for n in range(20)
    ]
    told = part.answer({"rows": rows, "elsewhere": "far"})
    assert told.startswith("Nearer weights go with better detection: over 20 runs of 10 settings")
    assert "is -1.00 (95 % interval -1.00 to -1.00)" in told
    for n, row in enumerate(rows):
        row["AUROC"] = abs(n - 9.0)  # rises on one side nearly as it falls on the other
    seen = correlation(rows, "AUROC")
    assert seen.low < 0 < seen.value < seen.high
    assert part.answer({"rows": rows, "elsewhere": "far"}).startswith("There is no clear correlation")


def test_runs_of_the_correlation_differ_by_rate_and_seed(folder: Path) -> None:
    rows = json.loads((folder / "results.json").read_text())["parts"]["correlation"]["found"]["rows"]
    settings = [f"swag|{factor}|{modes}" for factor in (1, 3) for modes in ("one", "many")]
    assert sorted({row["setting"] for row in rows}) == sorted(settings)
    assert len(rows) == 8
    assert len({row["mmd"] for row in rows}) == 8
    assert all(row["AUROC"] == pytest.approx(0.5) for row in rows), "the same inputs are not told apart"


def test_disagreement_of_pairs(folder: Path) -> None:
    found = json.loads((folder / "results.json").read_text())["parts"]["collapse"]["found"]
    same = SIZES["tiny"].settings.elsewhere[0]
    run, test = sb.open(folder / "runs/small-fleet"), sb.data.load(SIZES["tiny"].settings.data).test
    each = run.predict(test.x).every[:, 0]
    pairs = [sb.evaluate.mutual_information(each[[i, j]]).mean() for i in range(8) for j in range(i + 1, 8)]
    assert found["sets"]["test"]["mean"] == pytest.approx(np.mean(pairs), rel=1e-4)
    assert found["correlation"][same][0] == pytest.approx(1)
    part = Modes("tiny").parts()["collapse"]
    sets = {"test": {"mean": 0.1, "deviation": 0.01}, "far": {"mean": 0.4, "deviation": 0.1}}
    made: dict[str, Any] = {"networks": 1000, "sets": sets, "correlation": {"far": [0.2, 0.1, 0.3]}}
    told = part.answer(made)
    assert (
        "Two of 1,000 networks have a mutual information of 0.100 nats (± 0.010 over pairs) on test data"
        in told
    )
    assert "of 0.400 (± 0.100) on far, so the spread is wider there" in told
    assert "weakly correlated over pairs: 0.20 (95 % interval 0.10 to 0.30)" in told
    sets["far"]["deviation"] = 0.005
    made["correlation"]["far"][0] = 0.8
    assert "no wider" in part.answer(made)
    assert "strongly" in part.answer(made)


def test_further_posteriors_are_those_whose_files_are_there(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SYMBAYES_DATA", str(tmp_path))
    own = list(Modes("gpu").parts())
    files = ("cifar-100-binary/train.bin", "cifar-100-binary/test.bin", "svhn_test_10k.npz")
    for file in files:
        assert list(Modes("gpu").parts()) == own
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    assert list(Modes("gpu").parts()) == [*own, "cifar100.predictions", "cifar100.weights"]
    for file in ("wnids.txt", "val/val_annotations.txt"):
        (tmp_path / "tiny-imagenet-200" / file).parent.mkdir(parents=True)
        (tmp_path / "tiny-imagenet-200" / file).touch()
    assert "tiny-imagenet.weights" in Modes("gpu").parts()
    assert list(Modes("quick").parts()) == own


def test_further_posteriors_have_runs_of_their_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tiny = SIZES["tiny"]
    again = further.Further(replace(tiny.settings, name="again"), tiny.compared, tiny.fleet)
    monkeypatch.setattr(further, "FURTHER", (again,))
    page = Modes("gpu", tmp_path, only=("again",))()
    assert sorted(each.name for each in (tmp_path / "runs").iterdir()) == ["again"]
    runs = sorted(each.name for each in (tmp_path / "runs/again").iterdir())
    assert runs == ["dropout", "ensemble", "fleet", "swag"], "both parts ask for the same runs"
    numbers = json.loads((tmp_path / "results.json").read_text())
    assert list(numbers["parts"]) == ["again.predictions", "again.weights"]
    assert numbers["answer"].startswith("MLP on digits: With 2 modes instead of one, the loss falls for")
    assert "What do many modes add to one? (MLP on digits)" in page.read_text()
