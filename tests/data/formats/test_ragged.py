from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.data.formats import DataFormatError, pad_ragged

PATH = Path("tokens.npz")
rows = st.lists(st.lists(st.integers(1, 9), max_size=7), max_size=6)


def ragged(lists):
    ids = np.array([token for row in lists for token in row], np.uint16)
    return ids, np.cumsum([0, *map(len, lists)], dtype=np.int64)


@settings(deadline=None, max_examples=100)
@given(lists=rows, length=st.integers(1, 9))
def test_keeps_the_last_tokens_and_pads_in_front(lists, length):
    padded = pad_ragged(PATH, *ragged(lists), 10, length)
    expected = [[0] * (length - len(row[-length:])) + row[-length:] for row in lists]
    assert padded.dtype == np.int32
    assert padded.shape == (len(lists), length)
    assert padded.tolist() == expected


@settings(deadline=None, max_examples=100)
@given(choice=st.data())
def test_wrong_offsets_are_refused(choice):
    ids, offsets = ragged([[1, 2], [3], [4, 5, 6]])
    where = choice.draw(st.integers(0, len(offsets) - 1))
    value = choice.draw(st.integers(-10, 10))
    low = offsets[where - 1] if where else 0
    high = offsets[where + 1] if where + 1 < len(offsets) else len(ids)
    fits = value == offsets[where] if where in (0, len(offsets) - 1) else low <= value <= high
    changed = offsets.copy()
    changed[where] = value
    if fits:
        assert pad_ragged(PATH, ids, changed, 10, 3).shape == (3, 3)
    else:
        with pytest.raises(DataFormatError, match=r"tokens\.npz: the offsets"):
            pad_ragged(PATH, ids, changed, 10, 3)


IDS, OFFSETS = ragged([[1, 2], [3]])


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        (IDS, OFFSETS[:0], "offsets must run"),
        (IDS, OFFSETS.astype(float), "offsets must be a vector of integers"),
        (IDS[None], OFFSETS, "ids must be a vector of integers"),
        (IDS.astype(np.float32), OFFSETS, "ids must be a vector of integers"),
        (IDS * 0, OFFSETS, "tokens must lie in 1..9"),
        (IDS + np.uint16(7), OFFSETS, "tokens must lie in 1..9"),
        (IDS, np.array([0, 2**63 - 1, 3]), "offsets must not fall"),
        (IDS, np.array([0, 2**64 - 1, 3], np.uint64), "offsets must not fall"),
    ],
)
def test_other_arrays(ids, offsets, message):
    with pytest.raises(DataFormatError, match=message):
        pad_ragged(PATH, ids, offsets, 10, 2)


def test_length_must_be_positive():
    with pytest.raises(ValueError, match="length must be at least 1"):
        pad_ragged(PATH, IDS, OFFSETS, 10, 0)
