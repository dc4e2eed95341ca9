"""Arrays that all draws share are stored once, and read back as if they were stored with every draw."""

from pathlib import Path

import numpy as np
import pytest

from symbayes.draws import Draws, Run, Writer, files
from symbayes.draws.draws import VARIABLES
from symbayes.draws.shards import ShardSegment

from .folders import contents, without_config

CHAINS = 2
COUNTS = (0, 3, 1, 2, 0, 2)
"""Draws of each block."""
TURN = 3
"""The block from which on the array that changes once is another."""
CONFIG = {"format": 2, "method": {"kind": "Masks"}, "seed": 0, "units": [sum(COUNTS)]}


def steady(shape: tuple[int, ...], count: int, seed: int) -> np.ndarray:
    """The same numbers in every draw, others in every chain."""
    one = np.random.default_rng(seed).normal(size=(CHAINS, 1, *shape)).astype(np.float32)
    return np.repeat(one, count, axis=1)


def block(number: int) -> dict[str, np.ndarray]:
    count, rng = COUNTS[number], np.random.default_rng(number)
    return {
        "variables/params/body": steady((4, 2), count, 100),
        "variables/params/gain": steady((), count, 101),
        "variables/params/turned": steady((3,), count, 102 + (number >= TURN)),
        "variables/params/head": rng.normal(size=(CHAINS, count, 2)).astype(np.float32),
        "statistics/mode": np.zeros((CHAINS, count), np.int32),
    }


def work_on(folder: Path, upto: int = len(COUNTS)) -> Run:
    with Writer.open(folder, CONFIG) as run:
        for number in range(run.blocks, upto):
            drawn = sum(COUNTS[: number + 1])
            cursor = {"phase": 0, "unit": drawn, "piece": 0, "drawn": drawn}
            run.commit(block(number), COUNTS[number], cursor=cursor, state={"n": np.asarray(number)})
    return Run(folder)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return work_on(tmp_path_factory.mktemp("shards") / "run")


def together() -> dict[str, np.ndarray]:
    parts = [block(number) for number, count in enumerate(COUNTS) if count]
    return {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}


def stored(run: Run) -> dict[str, dict[str, int]]:
    """Of every shard, the arrays that it holds and how many draws of them."""
    return {
        path.stem: {name: array.shape[1] for name, array in files.read_arrays(path).items()}
        for path in sorted((run.path / "draws").iterdir())
    }


def test_what_does_not_change_is_in_the_first_shard_with_one_draw(run: Run) -> None:
    body, gain, turned = (f"variables/params/{name}" for name in ("body", "gain", "turned"))
    always = {"variables/params/head", "statistics/mode"}
    found = stored(run)
    assert {stem: set(arrays) - always for stem, arrays in found.items()} == {
        "000001": {body, gain, turned},
        "000002": set(),
        "000003": {turned},
        "000005": set(),
    }
    assert found["000001"] == dict.fromkeys((body, gain, turned), 1) | dict.fromkeys(always, 3)


def test_it_is_read_back_with_every_draw(run: Run) -> None:
    expected = together()
    draws = run.draws
    assert len(draws) == sum(COUNTS)
    for name, array in expected.items():
        parts = [segment.read(name, slice(None)) for segment in draws.segments]
        np.testing.assert_array_equal(np.concatenate(parts, axis=1), array, err_msg=name)
    for segment in draws.segments:
        assert segment.shapes() == {
            name: (CHAINS, segment.draws, *array.shape[2:]) for name, array in expected.items()
        }
    first = draws.segments[0]
    some = first.read("variables/params/body", slice(1, 3), slice(1, 4))
    np.testing.assert_array_equal(some, expected["variables/params/body"][:, 1:3, 1:4])
    for name, rows, values in draws.columns(max_bytes=64):
        whole = expected[f"{VARIABLES}/{name}"]
        np.testing.assert_array_equal(values, whole[:, :, rows] if whole.ndim > 2 else whole)


@pytest.mark.parametrize("upto", range(len(COUNTS)))
def test_a_run_that_was_stopped_ends_with_the_same_bytes(tmp_path: Path, run: Run, upto: int) -> None:
    work_on(tmp_path / "run", upto)
    work_on(tmp_path / "run")
    assert without_config(contents(tmp_path / "run")) == without_config(contents(run.path))


def test_floats_count_what_is_shared_once(run: Run) -> None:
    """The array that changes once, and the head, are another in some draws."""
    expected = CHAINS * (4 * 2 + 1 + sum(COUNTS) * (3 + 2))
    assert run.draws.floats == expected
    assert Draws.from_arrays(together()).floats == expected
    assert run.draws.select(chains=[1], draws=slice(0, 3)).floats == 4 * 2 + 1 + 3 + 3 * 2


def test_checksums_are_of_all_files_that_hold_its_arrays(run: Run) -> None:
    """Draws of other weights have other checksums, even where their own shard is the same."""
    own = {entry["block"]: entry["shard"]["sha256"] for entry in run.entries if entry["shard"]}
    found = [
        sorted(segment.checksums()) for segment in run.draws.segments if isinstance(segment, ShardSegment)
    ]
    assert found == [sorted(own[n] for n in homes) for homes in ((1,), (1, 2), (1, 3), (1, 3, 5))]
