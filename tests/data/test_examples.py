import hashlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import data
from symbayes.data import Examples, Scaling, validate
from symbayes.data.examples import hold_out, images


def some(count=6):
    x = np.arange(count * 4, dtype=np.float32).reshape(count, 2, 2, 1) / (4 * count)
    return Examples(x, np.arange(count, dtype=np.int32) % 3)


def test_a_pytree_under_transformations():
    examples = some()
    doubled = jax.tree.map(lambda leaf: leaf * 2, examples)
    np.testing.assert_array_equal(doubled.x, examples.x * 2)
    total = jax.jit(lambda e: e[:4].x.sum() + len(e))(examples)
    np.testing.assert_allclose(total, examples.x[:4].sum() + 6, rtol=1e-6)
    abstract = jax.eval_shape(lambda e: e, examples)
    assert abstract.y.shape == (6,)


def test_lists_and_tables_become_arrays():
    listed = Examples([[0.5, 1.0], [2.0, 3.0]], [0, 1])
    assert (listed.x.dtype, listed.y.dtype, len(listed)) == (np.float32, np.int32, 2)
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [0.5, 2.0], "b": [1, 3], "label": [0, 1]})
    tabled = Examples(table[["a", "b"]], table["label"])
    np.testing.assert_array_equal(tabled.x, listed.x)
    assert tabled.checksum() == listed.checksum()
    again = jax.tree.map(lambda leaf: leaf, listed)
    assert isinstance(again.x, np.ndarray)
    array = np.zeros((2, 1))
    assert Examples(array, array).x is array


@settings(deadline=None, max_examples=30)
@given(rows=st.lists(st.integers(0, 5), max_size=8), start=st.integers(0, 6), stop=st.integers(0, 6))
def test_indexing_takes_the_same_rows_of_both(rows, start, stop):
    examples = some()
    where = np.array(rows, int)
    np.testing.assert_array_equal(examples[where].x, examples.x[where])
    np.testing.assert_array_equal(examples[where].y, examples.y[where])
    assert len(examples[where]) == len(rows)
    assert len(examples[start:stop]) == max(0, stop - start)
    np.testing.assert_array_equal(examples[start:stop].y, examples.y[start:stop])


def test_indexing_with_other_things():
    with pytest.raises(TypeError):
        some()[3]  # pyright: ignore
    with pytest.raises(ValueError, match="one axis"):
        some()[np.zeros((2, 2), int)]


def test_checksum_by_hand():
    x, y = np.array([[1.5, 2.0]], np.float32), np.array([7], np.int32)
    expected = hashlib.sha256(b"<f4 (1, 2);" + x.tobytes() + b"<i4 (1,);" + y.tobytes()).hexdigest()
    assert Examples(x, y).checksum() == expected
    assert Examples(jnp.asarray(x), jnp.asarray(y)).checksum() == expected
    assert Examples(x.astype(">f4"), y).checksum() == expected
    rows = np.repeat(x, 3, axis=0)
    assert Examples(np.asfortranarray(rows), y).checksum() == Examples(rows, y).checksum()


def test_checksum_tells_shape_type_and_values_apart():
    x, y = np.zeros((2, 4), np.float32), np.zeros(2, np.int32)
    others = [
        Examples(x, y),
        Examples(x.reshape(4, 2), y),
        Examples(x.view(np.int32), y),
        Examples(x, y + 1),
        Examples(x + 1, y),
    ]
    assert len({other.checksum() for other in others}) == len(others)


def test_checksum_is_the_same_in_another_process():
    program = "from symbayes import data; print(data.load('digits').test.checksum())"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == data.load("digits").test.checksum()
    assert run.stdout.startswith("5593e884baed")


X, Y = np.zeros((3, 2), np.float32), np.zeros(3, np.int32)


@pytest.mark.parametrize(
    ("x", "y", "classes", "message"),
    [
        (X.astype(np.float64), Y, 3, "float32 or int32"),
        (X[:, 0], Y, 3, "two axes or more"),
        (X, Y[:2], 3, "x has 3 examples but y has 2"),
        (X + np.nan, Y, 3, "not finite"),
        (X[:, :, None, None] + 1.5, Y, 3, r"images must lie in \[0, 1\]"),
        (X[:, :, None, None] - 0.5, Y, 3, r"images must lie in \[0, 1\]"),
        (X, Y.astype(np.int64), 3, "labels must be int32"),
        (X, Y[:, None], 3, "labels must be int32"),
        (X, Y + 3, 3, r"labels must lie in 0\.\.2, not 3\.\.3"),
        (X, Y - 1, 3, r"labels must lie in 0\.\.2"),
        (X, Y, None, "regression targets"),
        (X, X[:, 0], None, "regression targets"),
        (X, X + np.inf, None, "y holds values that are not finite"),
    ],
)
def test_validate_refuses(x, y, classes, message):
    with pytest.raises(ValueError, match=message):
        validate(x, y, classes)


def test_validate_accepts():
    assert len(validate(X, Y, 1)) == 3
    assert len(validate(X, X, None)) == 3
    assert len(validate(X.astype(np.int32), Y, 1)) == 3
    assert len(validate(X[:0], Y[:0], 1)) == 0


def test_images_from_bytes():
    pixels = np.arange(256, dtype=np.uint8).reshape(4, 8, 8)
    examples = images(pixels, np.zeros(4, np.uint8), 1)
    assert examples.x.shape == (4, 8, 8, 1)
    assert examples.x.dtype == np.float32
    np.testing.assert_array_equal(np.rint(examples.x[..., 0] * 255), pixels)
    assert examples.x.max() == 1
    with pytest.raises(ValueError, match="pixels must be uint8"):
        images(pixels.astype(np.float32), np.zeros(4, np.uint8), 1)


@settings(deadline=None, max_examples=20)
@given(validation=st.integers(0, 6))
def test_hold_out_takes_the_end(validation):
    train, held = hold_out(some(), validation)
    np.testing.assert_array_equal(np.concatenate([train.y, held.y]), some().y)
    assert len(held) == validation


@pytest.mark.parametrize("validation", [-1, 7])
def test_hold_out_refuses(validation):
    with pytest.raises(ValueError, match=r"validation must lie in 0\.\.6"):
        hold_out(some(), validation)


def test_scaling_is_undone():
    scaling = Scaling(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    values = np.array([[4.0, 10.0]])
    np.testing.assert_array_equal(scaling.apply(values), [[1.0, 2.0]])
    np.testing.assert_array_equal(scaling.undo(scaling.apply(values)), values)


def test_rows_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"the rows of y have different lengths \(1, 2 values\)"):
        Examples([[1.0], [2.0]], [[1.0, 2.0], [3.0]])
