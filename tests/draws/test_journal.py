import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.draws import files, journal

from .folders import fsync_fails_at

values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
records = st.dictionaries(st.text(max_size=3), values)
entries = st.dictionaries(st.text(max_size=4), values | records, max_size=4)


def written(path, many) -> bytes:
    length = 0
    for entry in many:
        length = journal.append(path, entry, length)
    assert path.stat().st_size == length
    return path.read_bytes()


@given(st.lists(entries, max_size=4))
def test_entries_read_back_in_order(tmp_path_factory, many):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    lengths = [sum(len(journal.encode(entry)) for entry in many[:n]) for n in range(1, len(many) + 1)]
    if many:
        content = written(path, many)
        assert content.count(b"\n") == len(many)
        assert path.stat().st_size == lengths[-1]
    assert journal.read(path) == (many, lengths)


@given(entries, st.data())
def test_any_changed_byte_is_noticed(entry, data):
    line = bytearray(journal.encode(entry))
    place = data.draw(st.integers(0, len(line) - 2))
    line[place] ^= data.draw(st.integers(1, 255))
    # Spaces between the parts of a line carry nothing: a change there may leave the entry as it was.
    assert journal.decode(bytes(line)) in (None, entry)


def test_a_torn_last_line_is_dropped_at_every_length(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # hundreds of flushes would only take time
    path = tmp_path / "journal.jsonl"
    many = [{"block": 0, "shard": None}, {"block": 1, "shard": {"file": "draws/1", "bytes": 12}}]
    whole = written(path, many)
    first = len(journal.encode(many[0]))
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        committed = many[:1] if length >= first else []
        assert journal.read(path) == (committed, [first] if committed else [])
        for entry in many[len(committed) :]:
            journal.append(path, entry, sum(journal.read(path)[1][-1:]))
        assert path.read_bytes() == whole


def test_what_follows_the_committed_lines_is_cut_off(tmp_path):
    """Also where it is longer than the line that takes its place."""
    path = tmp_path / "journal.jsonl"
    whole = written(path, [{"block": 0}, {"block": 1}])
    committed = len(journal.encode({"block": 0}))
    path.write_bytes(whole[:committed] + b"x" * 500)
    assert journal.append(path, {"block": 1}, committed) == len(whole)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("kept", range(4))
def test_lines_are_cut_off_and_others_take_their_place(tmp_path, kept):
    path = tmp_path / "journal.jsonl"
    many = [{"block": block, "note": "a" * block} for block in range(3)]
    whole = written(path, many)
    _, lengths = journal.read(path)
    journal.cut(path, lengths[kept - 1] if kept else 0)
    assert journal.read(path) == (many[:kept], lengths[:kept])
    for entry in many[kept:]:
        journal.append(path, entry, path.stat().st_size)
    assert path.read_bytes() == whole


def test_a_damaged_line_before_the_last_is_refused_by_name_and_number(tmp_path):
    path = tmp_path / "journal.jsonl"
    whole = bytearray(written(path, [{"block": block} for block in range(3)]))
    line = len(journal.encode({"block": 0}))
    for place in range(line, 2 * line - 1):
        damaged = whole.copy()
        damaged[place] ^= 1
        if journal.decode(bytes(damaged).splitlines(keepends=True)[1]) == {"block": 1}:
            continue
        path.write_bytes(damaged)
        with pytest.raises(journal.DamagedJournal, match=r"journal\.jsonl is damaged at line 2: restore it"):
            journal.read(path)
        assert path.read_bytes() == damaged


def test_a_full_disk_loses_no_committed_line(tmp_path, monkeypatch):
    path = tmp_path / "journal.jsonl"
    before = written(path, [{"block": 0}])
    with fsync_fails_at(monkeypatch, 0), pytest.raises(files.StorageError, match="the disk is full"):
        journal.append(path, {"block": 1}, len(before))
    assert path.read_bytes().startswith(before)
    journal.append(path, {"block": 2}, len(before))
    assert journal.read(path)[0] == [{"block": 0}, {"block": 2}]
