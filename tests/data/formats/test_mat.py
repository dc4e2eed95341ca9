import io
import struct
import zlib

import numpy as np
import pytest
import scipy.io
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbayes.data.formats import DataFormatError, read_mat

from ..files import damage, flipped, random_images

quick = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def mat_bytes(compressed=True, **arrays):
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, arrays, do_compression=compressed)
    return buffer.getvalue()


def svhn(count, seed=0, dtype=np.uint8):
    images = random_images(seed, count, 32, 3)
    labels = np.random.default_rng(seed).integers(1, 11, (count, 1)).astype(dtype)
    return {"X": images.transpose(1, 2, 3, 0), "y": labels}


SAMPLE = svhn(2)
CONTENT = mat_bytes(**SAMPLE)


def written(tmp_path, content):
    path = tmp_path / "train_32x32.mat"
    path.write_bytes(content)
    return path


@quick
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 4),
    dtype=st.sampled_from([np.uint8, np.float64]),
    compressed=st.booleans(),
)
def test_reads_what_was_written(tmp_path, seed, count, dtype, compressed):
    arrays = svhn(count, seed, dtype)
    x, y = read_mat(written(tmp_path, mat_bytes(compressed, **arrays)))
    np.testing.assert_array_equal(x, arrays["X"].transpose(3, 0, 1, 2))
    np.testing.assert_array_equal(y, arrays["y"][:, 0] % 10)
    assert x.dtype == y.dtype == np.uint8


@settings(quick, max_examples=200)
@given(content=damage(CONTENT))
def test_a_damaged_file_gives_no_other_array(tmp_path, content):
    path = written(tmp_path, content)
    try:
        x, y = read_mat(path)
    except DataFormatError:
        return
    np.testing.assert_array_equal(x, SAMPLE["X"].transpose(3, 0, 1, 2))
    np.testing.assert_array_equal(y, SAMPLE["y"][:, 0] % 10)


PLAIN = mat_bytes(compressed=False, **SAMPLE)


@pytest.mark.parametrize("byte", range(116, 192))
def test_a_turned_bit_in_the_headers_gives_no_other_array(tmp_path, byte):
    for bit in range(8 * byte, 8 * byte + 8):
        path = written(tmp_path, flipped(PLAIN, bit))
        try:
            x, y = read_mat(path)
        except DataFormatError:
            continue
        np.testing.assert_array_equal(x, SAMPLE["X"].transpose(3, 0, 1, 2))
        np.testing.assert_array_equal(y, SAMPLE["y"][:, 0] % 10)


@pytest.mark.parametrize("compressed", [False, True])
def test_cut_off_anywhere(tmp_path, compressed):
    content = mat_bytes(compressed, **SAMPLE)
    for cut in (0, 1, 100, 128, 130, 136, 200, len(content) // 2, len(content) - 1):
        with pytest.raises(DataFormatError):
            read_mat(written(tmp_path, content[:cut]))


@pytest.mark.parametrize("tail", [b"\0", bytes(8), bytes(100), b"x" * 50])
def test_bytes_after_the_end(tmp_path, tail):
    with pytest.raises(DataFormatError):
        read_mat(written(tmp_path, CONTENT + tail))


def test_a_huge_claim_is_refused_before_it_is_allocated(tmp_path):
    # dimensions stand at 128 + 8 (tag) + 16 (flags) + 8 (tag): (32, 32, 3, n) with n last
    content = bytearray(PLAIN)
    assert struct.unpack_from("<4i", content, 160) == (32, 32, 3, 2)
    struct.pack_into("<i", content, 172, 2**31 - 1)
    with pytest.raises(DataFormatError, match="claims the shape"):
        read_mat(written(tmp_path, bytes(content)))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": SAMPLE["X"]}, "holds X, not X and y"),
        ({**SAMPLE, "z": np.zeros(3)}, "holds 'z'"),
        ({"X": SAMPLE["X"].astype(np.int16), "y": SAMPLE["y"]}, "X is not of class"),
        ({"X": SAMPLE["X"].astype(np.float64), "y": SAMPLE["y"]}, "X is float64"),
        ({"X": SAMPLE["X"][:31], "y": SAMPLE["y"]}, "X is uint8"),
        ({"X": SAMPLE["X"], "y": SAMPLE["y"][:1]}, "y is uint8"),
        ({"X": SAMPLE["X"], "y": SAMPLE["y"] * 0}, "outside 1..10"),
        ({"X": SAMPLE["X"], "y": SAMPLE["y"] * 0 + 11}, "outside 1..10"),
        ({"X": SAMPLE["X"], "y": SAMPLE["y"] * 0 + 1.5}, "outside 1..10"),
        ({"X": SAMPLE["X"], "y": np.array(["a", "b"], object)}, "no plain matrix"),
    ],
)
def test_other_contents(tmp_path, arrays, message):
    with pytest.raises(DataFormatError, match=message):
        read_mat(written(tmp_path, mat_bytes(**arrays)))


def test_other_files(tmp_path):
    with pytest.raises(DataFormatError, match="not a MATLAB 5 file"):
        read_mat(written(tmp_path, b"\x89HDF" + bytes(500)))


def test_a_compressed_claim_larger_than_the_stream(tmp_path):
    inner = struct.pack("<II", 14, 2**31) + bytes(100)
    stream = zlib.compress(inner)
    content = PLAIN[:128] + struct.pack("<II", 15, len(stream)) + stream
    with pytest.raises(DataFormatError, match="more than the file can hold"):
        read_mat(written(tmp_path, content))


def test_a_bomb_is_unpacked_no_further_than_it_claims(tmp_path):
    stream = zlib.compress(struct.pack("<II", 14, 80) + bytes(50_000_000))
    content = PLAIN[:128] + struct.pack("<II", 15, len(stream)) + stream
    with pytest.raises(DataFormatError, match="too long"):
        read_mat(written(tmp_path, content))


def test_doubles_stored_as_bytes(tmp_path):
    """MATLAB stores a double matrix of small whole numbers as bytes; the class stays double."""
    content = bytearray(PLAIN)
    flags = content.rindex(struct.pack("<II", 6, 8)) + 8
    assert content[flags] == 9
    content[flags] = 6
    _, y = read_mat(written(tmp_path, bytes(content)))
    np.testing.assert_array_equal(y, SAMPLE["y"][:, 0] % 10)
