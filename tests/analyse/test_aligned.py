"""A run and its aligned twin, on disk and in memory."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes.analyse import AlignedRun, align_run
from symbayes.draws.draws import MemorySegment
from symbayes.engine import open_run

METHOD = sb.HMC(step_size=0.01, trajectory=0.03, burn_in=2, draws=6, chains=2)


@pytest.fixture(scope="module", autouse=True)
def many_blocks() -> Iterator[None]:
    """One draw of each chain in a block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symbayes.analyse.aligned.BLOCK_BYTES", 1)
        yield


@pytest.fixture(scope="module")
def source(tiny: sb.Posterior, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aligned") / "hmc"
    sb.run(METHOD, tiny, store=folder)
    return folder


@pytest.fixture(scope="module")
def x(digits: sb.data.Dataset) -> np.ndarray:
    return np.asarray(digits.test.x)


@pytest.fixture(scope="module")
def twin(source: Path) -> AlignedRun:
    return align_run(source, source.with_name("twin"))


@pytest.fixture(scope="module")
def in_memory(tiny: sb.Posterior) -> sb.Draws:
    """The draws of the stored run, made without a folder."""
    return sb.run(METHOD, tiny)


def folder_of(found: AlignedRun) -> Path:
    assert found.path is not None
    return found.path


def assert_same_draws(one: sb.Draws, other: sb.Draws) -> None:
    jax.tree.map(np.testing.assert_array_equal, one.variables, other.variables)
    assert one.stats.keys() == other.stats.keys()
    for name, values in one.stats.items():
        np.testing.assert_array_equal(values, other.stats[name])


def contents(run: Path) -> dict[str, bytes]:
    files = itertools.chain(run.glob("draws/*"), run.glob("observed/*"), [run / "journal.jsonl"])
    return {str(path.relative_to(run)): path.read_bytes() for path in files}


def test_the_twin_predicts_the_same_from_other_weights(source: Path, twin: AlignedRun, x: np.ndarray) -> None:
    old, new = open_run(source), open_run(folder_of(twin))
    np.testing.assert_allclose(new.predict(x).probs, old.predict(x).probs, atol=2e-5)
    before, after = (run.draws.variables["params"]["hidden1"]["kernel"] for run in (old, new))
    assert np.abs(before - after).max() > 0.1
    np.testing.assert_array_equal(new.draws.stats["energy"], old.draws.stats["energy"])


def test_the_twin_is_a_run_that_says_where_it_comes_from(source: Path, twin: AlignedRun) -> None:
    run = sb.Run(folder_of(twin))
    assert run.finished
    assert run.config["derived_from"] == str(source)
    assert run.config["posterior"] == sb.Run(source).config["posterior"]
    assert run.config["alignment"]["by"]["kind"] == "Weights"
    elements = run.draws.observed["alignment"]
    np.testing.assert_array_equal(
        elements["permutations/hidden1"], twin.alignment.elements.permutations["hidden1"]
    )


def test_the_control_is_aligned_too(twin: AlignedRun) -> None:
    assert twin.alignment.control is not None
    assert twin.alignment.control.objective[-1] > twin.alignment.control.objective[0]
    assert twin.alignment.objective[-1] > twin.alignment.objective[0]
    (layer,) = twin.distances.values()
    assert layer.control is not None


def test_an_alignment_that_was_stopped_is_finished_to_the_same_bytes(
    source: Path, twin: AlignedRun, tmp_path: Path
) -> None:
    class Stop(Exception):
        pass

    def stop(doing: str, done: int, total: int | None) -> None:
        if doing == "writing":
            raise Stop

    out = tmp_path / "twin"
    with pytest.raises(Stop):
        align_run(source, out, progress=stop)
    assert 0 < sb.Run(out).blocks < sb.Run(folder_of(twin)).blocks
    align_run(source, out)
    assert contents(out) == contents(folder_of(twin))
    with pytest.raises(sb.RunError, match="holds a run already"):
        align_run(source, out)


def test_progress_counts_every_draw_that_is_written(source: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    align_run(source, tmp_path / "twin", to=source, progress=lambda *step: seen.append(step))
    assert {doing for doing, _, _ in seen} == {"aligning", "control", "writing"}
    assert [done for doing, done, _ in seen if doing == "writing"][-1] == 12
    assert {total for _, _, total in seen} == {12}


def test_draws_are_aligned_to_the_mean_of_an_aligned_run(
    source: Path, twin: AlignedRun, tmp_path: Path
) -> None:
    found = align_run(source, tmp_path / "again", to=folder_of(twin))
    mean = jax.tree.map(lambda leaf: leaf.mean((0, 1)), twin.draws.variables)
    expected = sb.symmetry.align(open_run(source).draws, found.group, to=mean).draws
    kernels = found.draws.variables["params"]["hidden1"]["kernel"]
    np.testing.assert_allclose(
        kernels, expected.variables["params"]["hidden1"]["kernel"], rtol=1e-4, atol=1e-6
    )
    products, raw = (
        np.sum(draws.variables["params"]["hidden1"]["kernel"] * mean["params"]["hidden1"]["kernel"])
        for draws in (found.draws, open_run(source).draws)
    )
    assert products > 1.1 * raw


def test_what_cannot_be_aligned_is_refused(source: Path, digits, tmp_path: Path) -> None:
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
        align_run(source, tmp_path / "out", to=stored((3,)))
    with pytest.raises(ValueError, match="has no symmetries: there is nothing to align"):
        align_run(stored(()), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_draws_in_memory_are_aligned_in_memory_as_those_of_a_folder(
    in_memory: sb.Draws, twin: AlignedRun, x: np.ndarray
) -> None:
    found = align_run(in_memory)
    assert found.path is None
    assert all(isinstance(segment, MemorySegment) for segment in found.draws.segments)
    assert_same_draws(found.draws, twin.draws)
    again = open_run(found.draws)
    np.testing.assert_allclose(again.predict(x).mean, open_run(in_memory).predict(x).mean, atol=2e-5)
    assert again.config["derived_from"] == "draws in memory"
    assert again.config["alignment"]["to"] == "joint"
    assert "alignment" not in open_run(in_memory).config


def test_what_is_in_memory_is_stored_where_a_folder_is_given(
    in_memory: sb.Draws, twin: AlignedRun, tmp_path: Path
) -> None:
    found = align_run(in_memory, tmp_path / "out")
    assert sb.Run(folder_of(found)).finished
    assert_same_draws(found.draws, twin.draws)
    with pytest.raises(sb.RunError, match="holds a run already"):
        align_run(in_memory, tmp_path / "out")


def test_a_folder_is_aligned_without_another(source: Path, twin: AlignedRun) -> None:
    before = contents(source)
    found = align_run(source)
    assert found.path is None
    assert_same_draws(found.draws, twin.draws)
    assert contents(source) == before


def test_another_reference_is_another_alignment(
    in_memory: sb.Draws, twin: AlignedRun, tmp_path: Path
) -> None:
    """Draws in memory are told apart by their checksum when a folder was begun."""
    to_twin = align_run(in_memory, to=align_run(in_memory).draws)
    to_last = align_run(in_memory, to=in_memory)
    kernels = [a.draws.variables["params"]["hidden1"]["kernel"] for a in (to_twin, to_last)]
    assert np.abs(kernels[0] - kernels[1]).max() > 0.01
    configs = [open_run(a.draws).config["alignment"] for a in (to_twin, to_last)]
    assert configs[0]["to"] == configs[1]["to"] == "draws in memory"
    assert configs[0]["to_sha256"] != configs[1]["to_sha256"]
