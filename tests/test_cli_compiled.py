"""Programs kept between commands: where, how many, and when not."""

import os
import sys
from pathlib import Path

import pytest

from symbayes.cli import compiled
from symbayes.cli.commands import _show_warning

JAX_FOLDER = "JAX_COMPILATION_CACHE_DIR"
SET = (JAX_FOLDER, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES")


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """As before JAX is imported, with a cache of the user's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in (*SET, "SYMBAYES_COMPILED"):
        monkeypatch.setenv(name, "")  # so that what is set here is put back afterwards
        monkeypatch.delenv(name)
    monkeypatch.delitem(sys.modules, "jax")
    return tmp_path


def test_the_folder_is_in_the_users_cache_and_their_own(fresh: Path) -> None:
    folder = compiled.keep_compiled()
    assert folder is not None
    assert folder.parent == fresh / "cache/symbayes/compiled"
    assert os.environ[JAX_FOLDER] == str(folder)
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("word", ["off", "OFF", "0"])
def test_one_variable_switches_it_off(fresh: Path, monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("SYMBAYES_COMPILED", word)
    assert compiled.keep_compiled() is None
    assert JAX_FOLDER not in os.environ
    assert not (fresh / "cache").exists()


def test_jax_with_a_folder_of_its_own_is_left_alone(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(JAX_FOLDER, "elsewhere")
    assert compiled.keep_compiled() is None
    monkeypatch.delenv(JAX_FOLDER)
    monkeypatch.setitem(sys.modules, "jax", sys)
    assert compiled.keep_compiled() is None


def test_a_folder_into_which_others_can_write_is_not_used(
    fresh: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYMBAYES_COMPILED", str(fresh / "own"))
    folder = compiled.keep_compiled()
    assert folder is not None
    assert folder.parent == fresh / "own"
    monkeypatch.delenv(JAX_FOLDER)
    folder.chmod(0o777)
    assert compiled.keep_compiled() is None


def test_a_place_that_cannot_be_written_is_no_error(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fresh / "file").write_text("no folder")
    monkeypatch.setenv("SYMBAYES_COMPILED", str(fresh / "file"))
    assert compiled.keep_compiled() is None


def test_what_was_not_used_for_longest_goes_first(fresh: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = compiled.keep_compiled()
    assert folder is not None
    for age, name in enumerate(["new", "middle", "old"]):
        (folder / name).write_bytes(bytes(40))
        os.utime(folder / name, (1e9 - age, 1e9 - age))
    monkeypatch.setattr(compiled, "MOST", 100)
    monkeypatch.delenv(JAX_FOLDER)
    compiled.keep_compiled()
    assert {path.name for path in folder.iterdir()} == {"new", "middle"}


def test_a_damaged_entry_is_forgotten_without_a_word(fresh: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = compiled.keep_compiled()
    assert folder is not None
    (folder / "entry-cache").write_bytes(b"half")
    _show_warning("Error reading persistent compilation cache entry for 'jit_f': error: bad data")
    assert list(folder.iterdir()) == []
    _show_warning("something else")
    assert capsys.readouterr().err == "symbayes: warning: something else\n"
