"""A run and its aligned twin on disk."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes.engine import open_run
from symbayes.studies import align as studied
from symbayes.studies.align import align_run


@pytest.fixture(scope="module")
def source(tiny: sb.Posterior, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aligned") / "hmc"
    method = sb.HMC(step_size=0.01, trajectory=0.03, burn_in=2, draws=6, chains=2, block_steps=8)
    sb.run(method, tiny, store=folder)
    return folder


@pytest.fixture(scope="module")
def x(digits: sb.data.Dataset) -> np.ndarray:
    return np.asarray(digits.test.x)


@pytest.fixture(scope="module")
def twin(source: Path, x: np.ndarray) -> studied.AlignedRun:
    return align_run(source, source.with_name("twin"), x)


def contents(run: Path) -> dict[str, bytes]:
    files = itertools.chain(run.glob("draws/*"), run.glob("observed/*"), [run / "journal.jsonl"])
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def test_the_twin_predicts_the_same_from_other_weights(
    source: Path, twin: studied.AlignedRun, x: np.ndarray
) -> None:
    old, new = open_run(source), open_run(twin.path)
    np.testing.assert_allclose(new.predict(x).probs, old.predict(x).probs, atol=2e-5)
    before, after = (run.draws.variables["params"]["hidden1"]["kernel"] for run in (old, new))
    assert np.abs(before - after).max() > 0.1
    np.testing.assert_array_equal(new.draws.stats["energy"], old.draws.stats["energy"])


def test_the_twin_is_a_run_that_says_where_it_comes_from(source: Path, twin: studied.AlignedRun) -> None:
    run = sb.Run(twin.path)
    assert run.finished
    assert run.config["derived_from"] == str(source)
    assert run.config["posterior"] == sb.Run(source).config["posterior"]
    assert run.config["alignment"]["by"]["kind"] == "Weights"
    elements = run.draws.observed["alignment"]
    np.testing.assert_array_equal(
        elements["permutations/hidden1"], twin.alignment.elements.permutations["hidden1"]
    )


def test_the_control_is_aligned_too(twin: studied.AlignedRun) -> None:
    assert twin.control.objective[-1] > twin.control.objective[0]
    assert twin.alignment.objective[-1] > twin.alignment.objective[0]
    (layer,) = twin.distances.values()
    assert layer.control is not None


def test_an_alignment_that_was_stopped_is_finished_to_the_same_bytes(
    source: Path, twin: studied.AlignedRun, x: np.ndarray, tmp_path: Path
) -> None:
    class Stop(Exception):
        pass

    def stop(doing: str, done: int, total: int | None) -> None:
        if doing == "writing":
            raise Stop

    out = tmp_path / "twin"
    with pytest.raises(Stop):
        align_run(source, out, x, progress=stop)
    assert 0 < sb.Run(out).blocks < sb.Run(twin.path).blocks
    align_run(source, out, x)
    assert contents(out) == contents(twin.path)
    with pytest.raises(sb.RunError, match="holds a run already"):
        align_run(source, out, x)


def test_progress_counts_every_draw_that_is_written(source: Path, x: np.ndarray, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    align_run(source, tmp_path / "twin", x, to=source, progress=lambda *step: seen.append(step))
    assert {doing for doing, _, _ in seen} == {"aligning", "control", "writing"}
    assert [done for doing, done, _ in seen if doing == "writing"][-1] == 12
    assert {total for _, _, total in seen} == {12}


def test_draws_are_aligned_to_the_mean_of_an_aligned_run(
    source: Path, twin: studied.AlignedRun, x: np.ndarray, tmp_path: Path
) -> None:
    found = align_run(source, tmp_path / "again", x, to=twin.path)
    mean = twin.alignment.draws.variables["params"]["hidden1"]["kernel"].mean((0, 1))
    kernels = found.alignment.draws.variables["params"]["hidden1"]["kernel"]
    products = np.sum(kernels * mean, axis=(2, 3))
    raw = np.sum(open_run(source).draws.variables["params"]["hidden1"]["kernel"] * mean, axis=(2, 3))
    assert products.sum() > 1.1 * raw.sum()


def test_what_cannot_be_aligned_is_refused(source: Path, x: np.ndarray, digits, tmp_path: Path) -> None:
    def stored(hidden: tuple[int, ...]) -> Path:
        posterior = sb.Posterior(
            sb.networks.mlp(hidden=hidden, outputs=10),
            sb.likelihoods.Categorical(),
            sb.priors.Normal(scale=0.5),
            digits.train[:64],
        )
        folder = tmp_path / f"run-{len(hidden)}"
        sb.run(sb.DeepEnsemble(epochs=1, chains=2), posterior, store=folder)
        return folder

    with pytest.raises(sb.RunError, match="is a run of another network"):
        align_run(source, tmp_path / "out", x, to=stored((3,)))
    with pytest.raises(ValueError, match="has no symmetries: there is nothing to align"):
        align_run(stored(()), tmp_path / "out", x)
    assert not (tmp_path / "out").exists()
