"""Disks that are full or read-only: pretended ones everywhere, real ones where they may be mounted."""

import re
import shutil
import subprocess

import numpy as np
import pytest

from symbayes.draws import Run, files

from .folders import (
    BLOCKS,
    DRAWS,
    block_draws,
    contents,
    everything,
    fsync_fails_at,
    replace,
    without_config,
    work_on,
)

PAGE = 4096
FULL = "the disk is full: make room and run the same command again, it goes on where it was"


def refusal(folder) -> str | None:
    """Work on the run; what the disk's refusal says, or None."""
    try:
        work_on(folder)
    except files.StorageError as error:
        return str(error)
    return None


def read_committed(folder) -> int:
    """Read every draw that is committed; gives the number of blocks."""
    if not (folder / "config.json").exists():
        return 0
    run = Run(folder)
    energies = [block.stats["energy"] for block in run.draws.blocks(DRAWS)]
    expected = everything()[1]["energy"]
    read = np.concatenate([expected[:, :0], *energies], axis=1)
    np.testing.assert_array_equal(read, expected[:, : read.shape[1]])
    assert read.shape[1] == sum(block_draws(block) for block in range(run.blocks))
    return run.blocks


def test_a_disk_that_refuses_at_any_moment_loses_nothing(tmp_path, undisturbed, monkeypatch):
    """Refuse from the first flush on, from the second, and so on, until a whole run goes through."""
    folder, reached = tmp_path / "run", []
    while True:
        with fsync_fails_at(monkeypatch, call=len(reached)):
            message = refusal(folder)
        if message is None:
            break
        assert FULL in message
        reached.append(read_committed(folder))
        work_on(folder)
        assert without_config(contents(folder)) == without_config(undisturbed), (
            f"flush {len(reached) - 1} failed"
        )
        shutil.rmtree(folder)
    assert sorted(reached) == reached
    assert set(reached) == set(range(BLOCKS + 1))


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    if not _mounted("-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)):
        pytest.skip("mounting a file system is not permitted here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def _mounted(*arguments: str) -> bool:
    command = shutil.which("mount")
    return bool(command) and not subprocess.run([command, *arguments], capture_output=True).returncode


@pytest.mark.parametrize("pages", range(0, 30, 2))
def test_a_full_disk_keeps_earlier_blocks_and_the_run_goes_on(small_disk, undisturbed, pages):
    folder, filler = small_disk / "run", small_disk / "filler"
    folder.mkdir()
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free - pages * PAGE))
    if (message := refusal(folder)) is not None:
        assert FULL in message
        blocks = read_committed(folder)
        assert blocks >= pages // 3 - 2
        assert FULL in str(refusal(folder))
        assert read_committed(folder) == blocks
    else:
        assert pages > BLOCKS
    filler.unlink()
    work_on(folder)
    assert without_config(contents(folder)) == without_config(undisturbed)


def test_a_read_only_disk_is_said_clearly(small_disk, undisturbed):
    replace(small_disk / "run", undisturbed)
    if not _mounted("-o", "remount,ro", str(small_disk)):
        pytest.skip("mounting read-only is not permitted here")
    advice = "the file system is read-only: choose another folder"
    assert advice in str(refusal(small_disk / "run"))
    assert advice in str(refusal(small_disk / "new"))
    with pytest.raises(files.StorageError, match=re.escape(advice)):
        Run(small_disk / "run").draws.save(small_disk / "all.safetensors")
    assert read_committed(small_disk / "run") == BLOCKS
    assert contents(small_disk / "run") == undisturbed
