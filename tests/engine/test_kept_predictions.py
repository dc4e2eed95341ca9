"""Predictions kept in a run's folder: used again, and made again whenever anything is another."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from symbayes.draws.forward import PLAIN, Forward
from symbayes.engine import predictions


@pytest.fixture(scope="module")
def run(tiny: sb.Posterior, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "run"
    sb.run(sb.DeepEnsemble(epochs=1, chains=2), tiny, store=folder, progress=False)
    return folder


@pytest.fixture
def made(run: Path, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many inputs were predicted in truth, call by call; nothing is kept at first."""
    from symbayes.engine import opened

    for file in (run / predictions.FOLDER).glob("*"):
        file.unlink()
    calls: list[int] = []
    original = opened.predictions

    def counted(*arguments: Any) -> np.ndarray:
        calls.append(len(arguments[-1]))
        return original(*arguments)

    monkeypatch.setattr(opened, "predictions", counted)
    return calls


def kept(run: Path) -> list[Path]:
    return list((run / predictions.FOLDER).glob("*"))


def test_the_second_time_nothing_is_computed(run: Path, made: list[int], digits: sb.data.Dataset) -> None:
    x = digits.test.x[:7]
    first = sb.open(run).predict(x)
    again = sb.open(run).predict(x)
    assert made == [7]
    np.testing.assert_array_equal(again.every, first.every)
    assert again.every.dtype == first.every.dtype
    assert type(again) is type(first)
    direct = sb.open(run)
    plain = sb.posterior.prediction.predict(direct.network, direct.likelihood, direct.draws, x)
    np.testing.assert_array_equal(again.every, plain.every)


def test_other_inputs_draws_likelihoods_and_programs_are_predicted_anew(
    run: Path, made: list[int], digits: sb.data.Dataset, tiny: sb.Posterior
) -> None:
    x = np.asarray(digits.test.x[:3])
    sb.open(run).predict(x)
    changed = x.copy()
    changed[2, 0, 0, 0] += 1e-3
    sb.open(run).predict(changed)
    assert made == [3, 3]
    draws, network, likelihood = sb.open(run).draws, tiny.network, tiny.likelihood
    keys = {
        sb.draws.files.sha256(*predictions._described(list(shards), forward, net, law, x))
        for shards, forward, net, law in (
            (draws.segments, PLAIN, network, likelihood),
            ((), PLAIN, network, likelihood),
            (draws.segments, PLAIN, sb.networks.mlp(hidden=(6,), outputs=10, activation="tanh"), likelihood),
            (draws.segments, PLAIN, network, sb.likelihoods.Gaussian(0.5)),
            (draws.segments, PLAIN, network, sb.likelihoods.Gaussian(0.6)),
            (draws.segments, Forward("keyed"), network, likelihood),
            (draws.segments, Forward("linearised", {"a": np.zeros(2)}), network, likelihood),
            (draws.segments, Forward("linearised", {"a": np.ones(2)}), network, likelihood),
            (draws.segments, Forward("linearised", {"b": np.ones(2)}), network, likelihood),
        )
    }
    assert len(keys) == 9


def test_a_damaged_file_is_made_again(run: Path, made: list[int], digits: sb.data.Dataset) -> None:
    x = digits.test.x[:4]
    expected = sb.open(run).predict(x).every
    for damage in ("flipped", "cut", "empty"):
        (file,) = kept(run)
        content = bytearray(file.read_bytes())
        content[-9] ^= 1
        file.write_bytes({"flipped": bytes(content), "cut": content[:-40], "empty": b""}[damage])
        np.testing.assert_array_equal(sb.open(run).predict(x).every, expected)
    assert made == [4, 4, 4, 4]
    sb.open(run).predict(x)
    assert made == [4, 4, 4, 4], "the last one was kept whole"


def test_predictions_of_damaged_draws_are_refused(
    run: Path, made: list[int], digits: sb.data.Dataset, tmp_path: Path
) -> None:
    """Also those that are kept, since nobody else reads the draws then."""
    x = digits.test.x[:4]
    sb.open(run).predict(x)
    copy = shutil.copytree(run, tmp_path / "run")
    sb.open(copy).predict(x)
    assert made == [4]
    (shard,) = (copy / "draws").iterdir()
    content = bytearray(shard.read_bytes())
    content[-9] ^= 1
    shard.write_bytes(content)
    with pytest.raises(sb.RunError, match="its checksum does not match the journal"):
        sb.open(copy).predict(x)


def test_large_ones_are_not_kept_and_the_oldest_go_first(
    run: Path, made: list[int], digits: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predictions, "LARGEST", 2 * 5 * 10 * 4)  # chains, inputs, classes, bytes
    sb.open(run).predict(digits.test.x[:6])
    assert kept(run) == []
    sb.open(run).predict(digits.test.x[:5])
    (first,) = kept(run)
    os.utime(first, (1, 1))
    monkeypatch.setattr(predictions, "MOST", int(1.5 * first.stat().st_size))
    sb.open(run).predict(digits.test.x[5:10])
    (second,) = kept(run)
    assert second != first


def test_what_cannot_be_written_is_not_kept(
    run: Path, made: list[int], digits: sb.data.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise sb.draws.files.StorageError(28, "the disk is full")

    monkeypatch.setattr(sb.draws.files, "write_bytes", full)
    assert sb.open(run).predict(digits.test.x[:2]).examples == 2
    assert kept(run) == []
