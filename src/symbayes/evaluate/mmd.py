"""Maximum mean discrepancy between two sets of draws, and a permutation test over chains.

With a kernel ``k``, the unbiased estimate of the squared discrepancy of ``n`` draws ``x`` and ``m`` draws
``y`` is

    sum_{i != j} k(x_i, x_j) / (n (n-1)) + sum_{i != j} k(y_i, y_j) / (m (m-1)) - 2 mean_{i,j} k(x_i, y_j)

(Gretton et al. 2012); it may be below zero.  The kernel is the mean of ten Gaussian kernels
``exp(-|x - y|^2 / h^2)`` and ten Laplace kernels ``exp(-|x - y|_1 / h)``, so the estimate is the mean of
theirs.  Bandwidths ``h`` are geometric from the 5 % quantile (a repeated draw has distance zero) to the
largest of the distances within the reference, and fixed once, so that all sets that are compared with one
reference can be compared with one another.

Draws of one chain depend on one another: the test permutes whole chains, of which each set has some.  Its
p-value is exact if chains are independent and alike: the share of all ways (or of random ones and the
observed one) to assign the chains to two sets that gives a discrepancy as large.  Chains of different length
are not alike, so longer ones are thinned to the length of the shortest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes.evaluate.distances import Distances, distances, points
from symbayes.evaluate.inputs import finite

BANDWIDTHS = 10
LOWEST = 0.05
PERMUTATIONS = 999


@dataclass(frozen=True)
class Kernels:
    """The bandwidths of the Gaussian and of the Laplace kernels."""

    gaussian: np.ndarray
    laplace: np.ndarray

    @classmethod
    def of(cls, reference: Distances) -> Kernels:
        """From the distances within a set of draws."""
        own = np.triu_indices(len(reference.squared), 1)
        if len(own[0]) == 0 or not np.any(reference.absolute[own] > 0):
            raise ValueError("the reference needs at least two different draws to take bandwidths from.")
        return cls(_spaced(np.sqrt(reference.squared[own])), _spaced(reference.absolute[own]))

    def __call__(self, between: Distances) -> np.ndarray:
        """The mean kernel of all pairs."""
        total = np.zeros(between.squared.shape)
        for h in self.gaussian:
            total += np.exp(-between.squared / h**2)
        for h in self.laplace:
            total += np.exp(-between.absolute / h)
        return total / (len(self.gaussian) + len(self.laplace))


def _spaced(values: np.ndarray) -> np.ndarray:
    largest = values.max()
    # More than 5 % may be repeated draws.
    lowest = max(float(np.quantile(values, LOWEST)), 1e-3 * float(largest))
    return np.geomspace(lowest, largest, BANDWIDTHS)


def mmd(x: ArrayLike, y: ArrayLike, kernels: Kernels | None = None) -> float:
    """The unbiased squared estimate between (n, d) and (m, d); without `kernels`, y is the reference."""
    within = distances(points(y, "y"))
    kernels = Kernels.of(within) if kernels is None else kernels
    return unbiased(kernels(distances(x)), kernels(within), kernels(distances(x, y)))


def unbiased(first: np.ndarray, second: np.ndarray, between: np.ndarray) -> float:
    """The estimate from the kernel within both sets and between them."""
    return _mean_of_others(first) + _mean_of_others(second) - 2 * float(between.mean())


def _mean_of_others(kernel: np.ndarray) -> float:
    count = len(kernel)
    if count < 2:
        raise ValueError("an unbiased discrepancy takes at least two draws of either set.")
    return float((kernel.sum() - np.trace(kernel)) / (count * (count - 1)))


@dataclass(frozen=True)
class PermutationTest:
    """The discrepancy at hand, its p-value, and in how many ways the chains were dealt.

    `smallest` is the least p-value that so many chains can give: without enough chains no test rejects.
    """

    statistic: float
    p_value: float
    ways: int
    smallest: float


def chain_test(
    kernel: ArrayLike,
    chains: tuple[int, int],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    lengths: Sequence[int] | None = None,
) -> PermutationTest:
    """The test from the kernel of all pairs of draws, those of `chains[0]` chains first, chain by chain.

    Every chain has the same number of draws, or `lengths` says how many each has.  With fewer ways than
    `permutations`, all are taken.
    """
    k, total = finite(kernel, "kernel"), sum(chains)
    if k.ndim == 2 and lengths is not None:
        k = _thinned(k, lengths, total)
    if k.ndim != 2 or k.shape[0] != k.shape[1] or min(chains) < 1 or len(k) % total:
        raise ValueError(f"a kernel of shape {k.shape} is not that of {total} chains of one length.")
    draws = len(k) // total
    if min(chains) * draws < 2:
        raise ValueError("an unbiased discrepancy takes at least two draws of either set.")
    sums = (k - np.diag(np.diag(k))).reshape(total, draws, total, draws).sum((1, 3))
    ways = math.comb(total, chains[0])
    every = ways <= permutations + 1
    dealt = _all(total, chains[0]) if every else _some(total, chains[0], permutations, seed)
    values = np.array([_dealt(sums, first, draws) for first in dealt])
    # Symmetric ways are equal but for rounding.
    as_large = int(np.sum(values >= values[0] - 1e-12 * abs(sums).max()))
    least = 2 if chains[0] == chains[1] else 1  # both sets may be swapped
    return PermutationTest(
        float(values[0]), as_large / len(values), len(values), least / ways if every else 1 / len(values)
    )


def _thinned(kernel: np.ndarray, lengths: Sequence[int], total: int) -> np.ndarray:
    """Between evenly spaced draws of every chain, as many as the shortest has, the last among them."""
    if len(lengths) != total or min(lengths) < 1 or sum(lengths) != len(kernel):
        raise ValueError(
            f"lengths are those of {total} chains with {len(kernel)} draws in all, not {list(lengths)}."
        )
    most, starts = min(lengths), np.cumsum([0, *lengths[:-1]])
    spaced = np.arange(1, most + 1)
    kept = np.concatenate([start + spaced * n // most - 1 for start, n in zip(starts, lengths, strict=True)])
    return kernel[np.ix_(kept, kept)]


def _all(total: int, first: int) -> Iterator[np.ndarray]:
    """Every way, that at hand first."""
    for chosen in itertools.combinations(range(total), first):
        yield np.isin(np.arange(total), chosen)


def _some(total: int, first: int, count: int, seed: int) -> Iterator[np.ndarray]:
    """The way at hand, and so many random ones."""
    rng, given = np.random.default_rng(seed), np.arange(total) < first
    yield given
    for _ in range(count):
        yield rng.permutation(given)


def _dealt(sums: np.ndarray, first: np.ndarray, draws: int) -> float:
    n, m = (int(each.sum()) * draws for each in (first, ~first))
    a, b = first.astype(np.float64), (~first).astype(np.float64)
    within = a @ sums @ a / (n * (n - 1)) + b @ sums @ b / (m * (m - 1))
    return float(within - 2 * (a @ sums @ b) / (n * m))
