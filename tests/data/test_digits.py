import numpy as np
import pytest
from sklearn.datasets import load_digits

from symbayes import data


def test_parts_and_values():
    digits = data.load("digits")
    parts = digits.train, digits.validation, digits.test
    assert [len(part) for part in parts] == [1257, 180, 360]
    assert digits.train.x.shape[1:] == (8, 8, 1)
    assert digits.classes == 10
    assert digits.class_names == tuple("0123456789")
    assert all(part.x.dtype == np.float32 and part.y.dtype == np.int32 for part in parts)
    assert all(part.x.min() == 0 and part.x.max() == 1 for part in parts)


def test_every_image_once_in_the_fixed_order():
    digits, bunch = data.load("digits"), load_digits()
    x = np.concatenate([digits.train.x, digits.validation.x, digits.test.x])
    y = np.concatenate([digits.train.y, digits.validation.y, digits.test.y])
    order = np.random.RandomState(0).permutation(1797)
    np.testing.assert_array_equal(x[..., 0] * 16, bunch.images[order])
    np.testing.assert_array_equal(y, bunch.target[order])
    assert order[:3].tolist() == [1081, 1707, 927]


def test_the_whole_training_set():
    digits = data.load("digits", validation=0)
    assert [len(digits.train), len(digits.validation), len(digits.test)] == [1437, 0, 360]
    assert digits.test.checksum() == data.load("digits").test.checksum()


def test_too_large_a_validation_part():
    with pytest.raises(ValueError, match=r"0\.\.1437"):
        data.load("digits", validation=1438)


def test_halves_are_those_of_the_same_images():
    digits, halves = data.load("digits"), data.load("digits-halves")
    for part in ("train", "validation", "test"):
        whole, cut = getattr(digits, part), getattr(halves, part)
        assert cut.x.shape == cut.y.shape == (len(whole), 8, 4, 1)
        np.testing.assert_array_equal(np.concatenate([cut.x, cut.y], axis=2), whole.x)
    assert halves.classes is None
    assert halves.sizes == {"outputs": (8, 4, 1)}
