"""Padding leaves the symmetries of the networks for text as they are: numbers worked out by hand."""

import math

import jax
import numpy as np
import plain_layers as plain
import pytest

from symbayes import symmetry
from symbayes.networks import Network, cnn_lstm, transformer

TEXTS = np.random.default_rng(0).integers(1, 9, size=(6, 12)) * (
    np.arange(12) >= [[0], [3], [5], [0], [1], [4]]
)

LF = [math.lgamma(n + 1) / math.log(10) for n in range(8)]
"""Logarithms of factorials."""

# Heads, dimensions of query-key and of value-output in each, hidden units, the stream.  A sign and a scale
# for each dimension of queries (6) and of values (6) and behind each of three norms (18); one sign of the
# stream.
TRANSFORMER = (LF[2] + 2 * LF[3] + 2 * LF[3] + LF[5] + LF[6], 6 + 6 + 18 + 1, 6 + 6 + 18)
# Embedding (4), filters (3) and cells (5) in any order; signs of embedding and cells, scales of embedding
# and filters.
CNN_LSTM = (LF[4] + LF[3] + LF[5], 4 + 5, 4 + 3)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (transformer(outputs=3, vocabulary=9, width=6, heads=2, layers=1, hidden=5), TRANSFORMER),
        (cnn_lstm(outputs=3, vocabulary=9, embedding=4, filters=3, kernel=3, pool=2, cells=5), CNN_LSTM),
    ],
    ids=["transformer", "cnn-lstm"],
)
def test_the_three_numbers_on_padded_texts(network: Network, expected: tuple[float, int, int]) -> None:
    texts = jax.numpy.asarray(TEXTS, jax.numpy.int32)
    variables = plain.random_variables(network, np.asarray(texts), seed=1)
    group = symmetry.discover(network.apply, variables, texts)
    assert not group.dropped
    found = (group.log10_permutations, group.sign_bits, group.scale_dimension)
    assert found == (pytest.approx(expected[0], abs=1e-9), *expected[1:])
    assert group.check(network.apply, variables, texts) < 1e-9
