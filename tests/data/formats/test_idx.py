import gzip
import struct

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symbayes.data.formats import DataFormatError, read_idx

from ..files import damage, flipped, idx_bytes, write_idx

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
arrays = hnp.arrays(np.uint8, hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=6))
SAMPLE = np.arange(2 * 3 * 5, dtype=np.uint8).reshape(2, 3, 5)


@quick
@given(array=arrays, zipped=st.booleans())
def test_reads_what_was_written(tmp_path, array, zipped):
    path = write_idx(tmp_path / "file", array, zipped)
    np.testing.assert_array_equal(read_idx(path), array)
    assert read_idx(path).dtype == np.uint8


@pytest.mark.parametrize("bit", range(8 * 16))
def test_every_turned_bit_of_the_header_is_noticed(tmp_path, bit):
    path = tmp_path / "file"
    path.write_bytes(flipped(idx_bytes(SAMPLE), bit))
    with pytest.raises(DataFormatError, match="file: "):
        read_idx(path)


@quick
@given(content=damage(gzip.compress(idx_bytes(SAMPLE), mtime=0)))
def test_a_damaged_gzip_gives_no_other_array(tmp_path, content):
    path = tmp_path / "file.gz"
    path.write_bytes(content)
    try:
        array = read_idx(path)
    except DataFormatError:
        return
    np.testing.assert_array_equal(array, SAMPLE)


@quick
@given(cut=st.integers(0, len(idx_bytes(SAMPLE)) - 1), zipped=st.booleans())
def test_cut_off(tmp_path, cut, zipped):
    path = tmp_path / "file"
    content = idx_bytes(SAMPLE)[:cut]
    path.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(DataFormatError):
        read_idx(path)


@quick
@given(tail=st.binary(min_size=1, max_size=20), zipped=st.booleans())
def test_bytes_after_the_end(tmp_path, tail, zipped):
    path = tmp_path / "file"
    content = idx_bytes(SAMPLE) + tail
    path.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(DataFormatError, match="bytes after"):
        read_idx(path)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_huge_claim_is_refused_before_it_is_allocated(tmp_path, zipped):
    path = tmp_path / "file"
    content = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1) + bytes(100)
    path.write_bytes(gzip.compress(content) if zipped else content)
    with pytest.raises(DataFormatError, match="more than the file can hold"):
        read_idx(path)


def test_a_bomb_is_read_no_further_than_the_header_claims(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(idx_bytes(SAMPLE) + bytes(50_000_000)))
    with pytest.raises(DataFormatError, match="bytes after"):
        read_idx(path)


@pytest.mark.parametrize("content", [b"", b"\0", b"\0\0\x08\0", b"\0\0\x0d\x01" + bytes(8), b"hello, world"])
def test_other_files(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(DataFormatError):
        read_idx(path)
