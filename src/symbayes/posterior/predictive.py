"""Predictions of many draws at once: what is averaged, and how far the draws disagree."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes import evaluate
from symbayes.draws import Draws
from symbayes.networks import Network
from symbayes.posterior.likelihoods import Categorical, Gaussian, HeteroscedasticGaussian, Likelihood
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
    """An equal mixture of normals, one of every draw.

    Attributes:
        means: of every draw, shape (chain, draw, example, output).
        noise: standard deviation of the targets around them: one number, or shaped like the means.
    """

    means: np.ndarray
    noise: float | np.ndarray

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The mean of the mixture: (example, output)."""
        return self.means.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def aleatoric(self) -> np.ndarray:
        """The part of `std` that is noise, ``sqrt(mean of noise^2 over draws)``: (example, output)."""
        squares = np.square(self.noise, dtype=np.float64)
        return np.sqrt(np.broadcast_to(squares, self.means.shape).mean(axis=(0, 1)))

    @functools.cached_property
    def epistemic(self) -> np.ndarray:
        """The part of `std` that is disagreement, the draws' means' deviation: (example, output)."""
        return self.means.std(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def std(self) -> np.ndarray:
        """The standard deviation of the mixture, ``sqrt(aleatoric^2 + epistemic^2)``: (example, output)."""
        return np.hypot(self.aleatoric, self.epistemic)

    def log_density(self, y: Any) -> np.ndarray:
        """The log predictive density of targets (example, output), ``log mean_s p(y | draw s)``:
        (example,), in nats."""
        return evaluate.mixture_log_density(*self.components, y)

    @property
    def components(self) -> tuple[np.ndarray, np.ndarray]:
        """Means and scales of all draws as one axis, each (s, example, output)."""
        shape = (-1, *self.means.shape[2:])
        return self.means.reshape(shape), np.broadcast_to(self.noise, self.means.shape).reshape(shape)

    @property
    def entropy(self) -> np.ndarray:
        raise AttributeError(
            "the entropy of a mixture of normals has no closed form: use std, or log_density of targets"
        )

    @property
    def mutual_information(self) -> np.ndarray:
        raise AttributeError(
            "mutual_information is for classes: in regression, epistemic says how far the draws disagree"
        )


Predictive = CategoricalPredictive | GaussianPredictive


def predict(network: Network, likelihood: Likelihood, draws: Any, x: Any) -> Predictive:
    """The predictive of `draws` (or of one tree of variables) at `x`, walking the draws in blocks."""
    x = np.asarray(x)
    require(x.ndim >= 2 and len(x) > 0, f"inputs have an axis over examples, not shape {x.shape}")
    if not isinstance(draws, Draws):
        draws = Draws.from_variables(jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], draws))
    require(bool(draws.segments), "there are no draws to predict with: the run kept none")
    blocks = (block.variables for block in draws.blocks(DRAWS_AT_ONCE))
    parts = [joined(outputs(network, likelihood, variables, x), len(x)) for variables in blocks]
    values = np.concatenate(parts, axis=1)
    if isinstance(likelihood, Categorical):
        return CategoricalPredictive(values)
    if isinstance(likelihood, HeteroscedasticGaussian):
        return GaussianPredictive(*np.split(values, 2, axis=-1))
    assert isinstance(likelihood, Gaussian)
    return GaussianPredictive(values, float(likelihood.scale))


def outputs(network: Network, likelihood: Likelihood, variables: Any, x: Any) -> list[jax.Array]:
    """What the likelihood predicts for stacked variables with leading axes (chain, draw), in pieces of `x`.

    Each piece is (chain, draw, examples, outputs), the last one padded; they are computed while the
    caller goes on.
    """
    return [_outputs(network, likelihood, variables, piece) for piece in _pieces(x)]


def joined(pieces: Sequence[Any], examples: int) -> np.ndarray:
    """What `outputs` gave, as one array without padding."""
    return np.concatenate([np.asarray(piece) for piece in pieces], axis=2)[:, :, :examples]


def _pieces(x: Any) -> Iterator[Any]:
    """Inputs in pieces of one size, so that they compile once; the last is padded."""
    size = min(len(x), INPUTS_AT_ONCE)
    for start in range(0, len(x), size):
        piece = x[start : start + size]
        short = size - len(piece)
        yield piece if not short else np.concatenate([piece, np.repeat(piece[:1], short, axis=0)])


@functools.partial(jax.jit, static_argnames="network")
def _outputs(network: Network, likelihood: Likelihood, variables: Any, x: jax.Array) -> jax.Array:
    chains, count = jax.tree.leaves(variables)[0].shape[:2]
    flat = jax.tree.map(lambda leaf: leaf.reshape(chains * count, *leaf.shape[2:]), variables)
    with jax.default_matmul_precision("float32"):
        values = jax.lax.map(
            lambda v: likelihood.predict(network.apply(v, x)),
            flat,
            batch_size=min(DRAWS_AT_ONCE, chains * count),
        )
    return values.reshape(chains, count, *values.shape[1:])
