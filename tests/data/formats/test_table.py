import gzip

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symbayes.data.formats import DataFormatError, read_indices, read_table
from symbayes.data.formats import table as table_module

quick = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
finite = st.floats(allow_nan=False, allow_infinity=False)


@quick
@given(array=hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=finite))
def test_reads_what_was_written(tmp_path, array):
    path = tmp_path / "data.txt"
    np.savetxt(path, array, fmt="%.17g")
    np.testing.assert_array_equal(read_table(path), array)


@quick
@given(content=st.binary(max_size=60))
def test_any_bytes_give_numbers_or_an_error(tmp_path, content):
    path = tmp_path / "data.txt"
    path.write_bytes(content)
    try:
        table = read_table(path)
    except DataFormatError:
        return
    assert table.ndim == 2
    assert table.size >= 1
    assert np.isfinite(table).all()


@quick
@given(indices=st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True), across=st.booleans())
def test_indices(tmp_path, indices, across):
    path = tmp_path / "index.txt"
    path.write_text((" " if across else "\n").join(map(str, indices)))
    assert read_indices(path, 51).tolist() == indices
    with pytest.raises(DataFormatError, match="indices must lie in"):
        read_indices(path, max(indices))


def test_a_bomb_is_read_no_further_than_the_bound(tmp_path, monkeypatch):
    monkeypatch.setattr(table_module, "MOST_BYTES", 1000)
    path = tmp_path / "data.txt.gz"
    path.write_bytes(gzip.compress(b"1 " * 100_000))
    with pytest.raises(DataFormatError, match="at most 1000 bytes"):
        read_table(path)
