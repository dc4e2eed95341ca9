from pathlib import Path

from symbayes.data import data_folder


def test_order_of_precedence(monkeypatch, tmp_path):
    monkeypatch.delenv("SYMBAYES_DATA", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / ".cache" / "symbayes"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_folder() == tmp_path / "cache" / "symbayes"
    monkeypatch.setenv("SYMBAYES_DATA", "~/here")
    assert data_folder() == tmp_path / "here"
    assert data_folder(tmp_path / "there") == tmp_path / "there"
    assert data_folder("relative") == Path("relative")
