"""Examples in chunks: every example once, the rest masked."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes.posterior.numerics.chunks import Chunks


@given(st.integers(1, 60), st.integers(1, 70), st.sampled_from([1, 2, 3, 4, 8]))
def test_every_example_is_in_exactly_one_chunk(n: int, size: int, multiple: int) -> None:
    x, y = np.arange(n, dtype=np.float32)[:, None], np.arange(n, dtype=np.int32)
    chunks = jax.tree.map(np.asarray, Chunks.cut(x, y, size, multiple))
    count, width = chunks.mask.shape
    assert width % multiple == 0
    assert width <= max(math.ceil(size / multiple), 1) * multiple
    assert chunks.x.shape == (count, width, 1)
    assert chunks.y.shape == (count, width)
    rows_x, rows_y = chunks.rows()
    real = chunks.mask.ravel() == 1
    np.testing.assert_array_equal(np.flatnonzero(real), np.arange(n))
    np.testing.assert_array_equal(rows_x[:n], x)
    np.testing.assert_array_equal(rows_y[:n], y)
    np.testing.assert_array_equal(rows_y[n:], 0)


@pytest.mark.parametrize(
    ("examples", "size", "devices", "width"),
    [(60_000, 60_000, 1, 60_160), (60_000, 60_000, 2, 60_416), (60_000, 6_000, 1, 6_000), (500, 500, 1, 500)],
)
def test_rows_divide_on_an_accelerator_where_little_is_added(
    examples: int, size: int, devices: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(examples, dtype=np.float32)[:, None]
    on_cpu = Chunks.cut(x, x, size, devices)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    chunks = Chunks.cut(x, x, size, devices)
    assert chunks.mask.shape == (on_cpu.mask.shape[0], width)
    assert on_cpu.mask.size == examples
    assert float(chunks.mask.sum()) == examples
    np.testing.assert_array_equal(chunks.rows()[0][:examples], x)
