import io
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symbayes.data.formats import DataFormatError, read_npz

from ..files import damage

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
numbers = st.sampled_from([np.uint8, np.uint16, np.int64, np.float32, np.float64, np.bool_])
SAMPLE = {"x": np.arange(24, dtype=np.float32).reshape(2, 3, 4), "y": np.array([3, 1], np.uint8)}


def npz_bytes(compressed=True, **arrays):
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def zip_bytes(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return buffer.getvalue()


def npy_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def written(tmp_path, content):
    path = tmp_path / "file.npz"
    path.write_bytes(content)
    return path


@quick
@given(values=st.data(), compressed=st.booleans(), fortran=st.booleans())
def test_reads_what_was_written(tmp_path, values, compressed, fortran):
    shape = values.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    array = values.draw(hnp.arrays(values.draw(numbers), shape))
    array = np.asarray(array, order="F" if fortran else "C")
    read = read_npz(written(tmp_path, npz_bytes(compressed, x=array, other=np.ones(2))), ["x"])
    assert list(read) == ["x"]
    np.testing.assert_array_equal(read["x"], array)
    assert read["x"].dtype == array.dtype


@pytest.mark.parametrize("compressed", [False, True])
@settings(quick, max_examples=300)
@given(choice=st.data())
def test_a_damaged_file_gives_no_other_array(tmp_path, compressed, choice):
    path = written(tmp_path, choice.draw(damage(npz_bytes(compressed, **SAMPLE))))
    try:
        arrays = read_npz(path, ["x", "y"])
    except DataFormatError:
        return
    for name, array in SAMPLE.items():
        np.testing.assert_array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


@quick
@given(choice=st.data())
def test_a_damaged_array_in_a_sound_archive(tmp_path, choice):
    whole = npy_bytes(SAMPLE["x"])
    header = choice.draw(damage(whole[:128]))
    path = written(tmp_path, zip_bytes(x=header + whole[128:]))
    try:
        array = read_npz(path, ["x"])["x"]
    except DataFormatError:
        return
    assert array.nbytes <= len(whole)
    assert array.dtype.kind in "biuf"


def test_cut_off_and_longer(tmp_path):
    content = npz_bytes(**SAMPLE)
    for damaged in (b"", content[:3], content[:100], content[:-1], content + b"\0", b"\0" + content):
        with pytest.raises(DataFormatError, match=r"not an \.npz archive"):
            read_npz(written(tmp_path, damaged), ["x"])


def test_nothing_is_unpickled(tmp_path):
    content = npz_bytes(x=np.array([{"a": 1}, None], object))
    with pytest.raises(DataFormatError, match="not an array of numbers"):
        read_npz(written(tmp_path, content), ["x"])


@pytest.mark.parametrize("array", [np.array(["a", "b"]), np.array([1 + 2j]), np.zeros(2, "i4,f8")])
def test_only_numbers(tmp_path, array):
    with pytest.raises(DataFormatError, match="not an array of numbers"):
        read_npz(written(tmp_path, npz_bytes(x=array)), ["x"])


def test_a_huge_claim_is_refused_before_it_is_allocated(tmp_path):
    header = npy_bytes(SAMPLE["x"])[:128].replace(b"(2, 3, 4), }" + b" " * 12, b"(99999999999999999999,)}")
    with pytest.raises(DataFormatError, match="size does not match"):
        read_npz(written(tmp_path, zip_bytes(x=header + bytes(96))), ["x"])


def test_a_bomb_is_refused(tmp_path):
    content = bytearray(npz_bytes(x=np.zeros(10)))
    directory = content.rindex(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (2**31).to_bytes(4, "little")
    with pytest.raises(DataFormatError, match="more than the file can hold"):
        read_npz(written(tmp_path, bytes(content)), ["x"])


def test_missing_array(tmp_path):
    with pytest.raises(DataFormatError, match="holds 0 arrays called 'z'"):
        read_npz(written(tmp_path, npz_bytes(**SAMPLE)), ["x", "z"])
