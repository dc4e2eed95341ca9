"""Predictions of many draws at once: what is averaged, and how far the draws disagree."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes import evaluate, trees
from symbayes.draws import Draws
from symbayes.networks import Network
from symbayes.posterior.likelihoods import Categorical, Gaussian, Likelihood
from symbayes.specs import require

INPUTS_AT_ONCE = 4096
DRAWS_AT_ONCE = 16


@dataclass(frozen=True, eq=False)
class CategoricalPredictive:
    """Probabilities of every draw, shape (chain, draw, example, class)."""

    probs: np.ndarray

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The predictive distribution, averaged over draws: (example, class)."""
        return self.probs.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def entropy(self) -> np.ndarray:
        """Entropy of the averaged distribution, in nats: (example,)."""
        return evaluate.entropy(self.mean)

    @functools.cached_property
    def mutual_information(self) -> np.ndarray:
        """Entropy of the mean minus mean of the entropies, in nats: (example,)."""
        return evaluate.mutual_information(self.probs.reshape(-1, *self.probs.shape[2:]))


@dataclass(frozen=True, eq=False)
class GaussianPredictive:
    """Means of every draw, shape (chain, draw, example, output), and the noise scale."""

    means: np.ndarray
    noise: float

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The mean of the mixture: (example, output)."""
        return self.means.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def std(self) -> np.ndarray:
        """The standard deviation of the mixture, noise included: (example, output)."""
        return np.sqrt(self.means.var(axis=(0, 1), dtype=np.float64) + self.noise**2)


Predictive = CategoricalPredictive | GaussianPredictive


def predict(network: Network, likelihood: Likelihood, draws: Any, x: Any) -> Predictive:
    """The predictive of `draws` (or of one tree of variables) at `x`, walking the draws in blocks."""
    x = np.asarray(x)
    require(x.ndim >= 2 and len(x) > 0, f"inputs have an axis over examples, not shape {x.shape}")
    if not isinstance(draws, Draws):
        draws = Draws.from_variables(jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], draws))
    parts = [outputs(network, likelihood, block.variables, x) for block in draws.blocks(DRAWS_AT_ONCE)]
    values = np.concatenate(parts, axis=1)
    if isinstance(likelihood, Categorical):
        return CategoricalPredictive(values)
    assert isinstance(likelihood, Gaussian)
    return GaussianPredictive(values, float(likelihood.scale))


def outputs(network: Network, likelihood: Likelihood, variables: Any, x: np.ndarray) -> np.ndarray:
    """Probabilities or means for stacked variables with leading axes (chain, draw)."""
    chains, count = jax.tree.leaves(variables)[0].shape[:2]
    flat = jax.tree.map(lambda a: np.reshape(a, (chains * count, *a.shape[2:])), variables)
    columns = [_padded_draws(network, likelihood, flat, piece, chains * count) for piece in _pieces(x)]
    joined = np.concatenate(columns, axis=1)[:, : len(x)]
    return joined.reshape(chains, count, *joined.shape[1:])


def _pieces(x: np.ndarray) -> Iterator[np.ndarray]:
    """Inputs in pieces of one size, so that they compile once; the last is padded."""
    size = min(len(x), INPUTS_AT_ONCE)
    for start in range(0, len(x), size):
        piece = x[start : start + size]
        yield np.concatenate([piece, np.repeat(piece[:1], size - len(piece), axis=0)])


def _padded_draws(
    network: Network, likelihood: Likelihood, flat: Any, x: np.ndarray, count: int
) -> np.ndarray:
    """Draws in groups of one size, for the same reason."""
    groups = []
    for start in range(0, count, DRAWS_AT_ONCE):
        rows = np.minimum(np.arange(start, start + DRAWS_AT_ONCE), count - 1)
        groups.append(np.asarray(_apply_group(network, likelihood, trees.index(flat, rows), x)))
    return np.concatenate(groups)[:count]


@functools.partial(jax.jit, static_argnames="network")
def _apply_group(network: Network, likelihood: Likelihood, variables: Any, x: jax.Array) -> jax.Array:
    return jax.vmap(lambda v: likelihood.predict(network.apply(v, x)))(variables)
