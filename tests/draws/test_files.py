import errno
import json
import os

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symbayes.draws import files

from .folders import contents, fsync_fails_at

dtypes = st.sampled_from([np.float32, np.float64, np.int32, np.int64, np.uint32, np.bool_])
arrays = dtypes.flatmap(lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3)))
floats = hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3), elements=st.floats(width=32))


def joined(content) -> bytes:
    return b"".join(bytes(part) for part in content)


@given(st.dictionaries(st.text(st.characters(codec="ascii"), min_size=1, max_size=5), arrays, min_size=1))
def test_arrays_read_back_and_the_bytes_depend_on_them_alone(tmp_path_factory, named):
    path = tmp_path_factory.mktemp("arrays") / "a.safetensors"
    named.pop("__metadata__", None)
    content = joined(files.pack(named))
    assert content == joined(files.pack(dict(reversed(named.items()))))
    assert len(content) == files.size(files.pack(named))
    assert files.sha256(content) == files.sha256(*files.pack(named))
    files.write_bytes(path, *files.pack(named))
    assert path.read_bytes() == content
    read = files.read_arrays(path)
    assert read.keys() == named.keys()
    for name, array in named.items():
        assert read[name].dtype == array.dtype
        np.testing.assert_array_equal(read[name], array)


@given(st.dictionaries(st.text("abcXYZ019/_", min_size=1, max_size=5), floats, min_size=1))
def test_the_bytes_are_those_of_the_library(named):
    assert joined(files.pack(named)) == safetensors.numpy.save(named)


@pytest.mark.parametrize("array", [np.array("text"), np.array(1j), np.zeros(2, ">f4"), np.array([object()])])
def test_what_is_no_plain_number_is_refused(array):
    with pytest.raises(TypeError, match="cannot be stored: store plain numbers"):
        files.pack({"a": array})


def test_transposed_arrays_keep_their_values(tmp_path):
    array = np.arange(6.0).reshape(2, 3).T
    files.write_bytes(tmp_path / "a", *files.pack({"t": array, "s": np.arange(10)[::3]}))
    np.testing.assert_array_equal(files.read_arrays(tmp_path / "a")["t"], array)
    np.testing.assert_array_equal(files.read_arrays(tmp_path / "a")["s"], [0, 3, 6, 9])


def test_json_and_checksums(tmp_path):
    files.write_json(tmp_path / "a.json", {"b": 1, "a": [0.1, None]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [0.1, None], "b": 1}
    # From FIPS 180-4's example: the digest of "abc".
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert files.sha256(b"abc") == abc
    (tmp_path / "abc").write_bytes(b"abc")
    assert files.file_sha256(tmp_path / "abc") == abc


@pytest.mark.parametrize("call", [0, 1])
@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full: make room"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only: choose another folder"),
        (errno.EIO, "choose another folder or repair the disk"),
    ],
)
def test_a_refused_write_leaves_a_whole_file_and_says_what_to_do(tmp_path, monkeypatch, number, advice, call):
    path = tmp_path / "config.json"
    path.write_bytes(b"old")
    with fsync_fails_at(monkeypatch, call, number), pytest.raises(files.StorageError, match=advice) as caught:
        files.write_bytes(path, b"new")
    assert caught.value.errno == number
    assert str(path) in str(caught.value)
    # The first flush comes before the new file takes the place of the old one, the second after.
    assert contents(tmp_path) == {"config.json": [b"old", b"new"][call]}


def test_a_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(files.StorageError, match="a parent of it is a file, not a folder"):
        files.make_folders(tmp_path / "file" / "run")
    with pytest.raises(files.StorageError, match="a parent of it is a file, not a folder"):
        files.write_bytes(tmp_path / "file" / "a.json", b"")
    assert contents(tmp_path) == {"file": b"mine"}


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
