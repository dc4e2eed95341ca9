"""Classes: labels under logits, and the probabilities of every draw."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from symbayes import evaluate
from symbayes.brief import briefly
from symbayes.data import Scaling
from symbayes.evaluate.metric import Kind
from symbayes.evaluate.predictions import SMALLEST_PROBABILITY
from symbayes.posterior.likelihoods.likelihood import over_positions, shape_words
from symbayes.posterior.likelihoods.predictive import Predictive, as_key
from symbayes.pytrees import pytree
from symbayes.specs import require, require_probability


@pytree
@dataclass(frozen=True)
class Categorical:
    """Labels 0..k-1 with logits as outputs: ``log p(y) = z_y - logsumexp(z)``.

    With positions, outputs (n, ..., k) have labels (n, ...): segmentation has one for every pixel.
    """

    def log_prob(self, outputs: jax.Array, y: jax.Array) -> jax.Array:
        # A comparison, not a gather: its gradient is element-wise and not a scatter.
        chosen = jnp.arange(outputs.shape[-1]) == y[..., None]
        return over_positions(jnp.sum(jnp.where(chosen, jax.nn.log_softmax(outputs), 0.0), axis=-1))

    def check(self, outputs: tuple[int, ...], y: np.ndarray) -> None:
        places, classes = outputs[1:-1], outputs[-1]
        where = f" and position, of shape {shape_words('n', *places)}," if places else ""
        require(
            y.ndim >= 1 and y.shape[1:] == places and np.issubdtype(y.dtype, np.integer),
            f"labels are one integer per example{where or ','} not {y.dtype} of shape {y.shape}",
        )
        if y.size and (y.min() < 0 or y.max() >= classes):
            raise ValueError(
                f"labels run from {y.min()} to {y.max()}, but the network has outputs for 0 to {classes - 1}"
                f": count classes from 0, or make the network with outputs={max(1, y.max() + 1)}"
            )

    def predict(self, outputs: jax.Array) -> jax.Array:
        return jax.nn.softmax(outputs)

    def predictive(self, values: np.ndarray) -> CategoricalPredictive:
        return CategoricalPredictive(values)

    def running(self, shape: tuple[int, ...]) -> evaluate.RunningPredictive:
        return evaluate.RunningPredictive.init(shape)

    def curvature_root(self, outputs: jax.Array) -> jax.Array:
        """``diag(sqrt p) - p sqrt(p)'``, whose product with its transpose is ``diag(p) - p p'``."""
        p = jax.nn.softmax(outputs)
        return jnp.eye(p.shape[-1]) * jnp.sqrt(p)[..., None] - p[..., None] * jnp.sqrt(p)[..., None, :]

    def marginal(self, mean: jax.Array, variance: jax.Array) -> jax.Array:
        """Logits shrunk by the probit approximation, ``m / sqrt(1 + pi/8 v)`` (MacKay 1992)."""
        return mean / jnp.sqrt(1 + math.pi / 8 * variance)

    @property
    def marginals(self) -> Categorical:
        return self

    def energies(self) -> Energies:
        """What gives the energies of outputs, which probabilities do not tell."""
        return Energies()


@pytree
@dataclass(frozen=True)
class Energies(Categorical):
    """The same labels, but of outputs the free energy is kept, ``-logsumexp(z)``, and not probabilities.

    Out-of-distribution inputs tend to have a higher one (Liu et al. 2020).
    """

    def predict(self, outputs: jax.Array) -> jax.Array:
        return -jax.nn.logsumexp(outputs, axis=-1, keepdims=True)


@briefly
@dataclass(frozen=True, eq=False)
class CategoricalPredictive(Predictive):
    """Probabilities of every draw, shape (chain, draw, example, ..., class).

    `energies` of the outputs, (chain, draw, example, ..., 1), are there if they were asked for: probabilities
    do not tell them.
    """

    kind: ClassVar[Kind] = "classes"

    probs: np.ndarray
    energies: np.ndarray | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        return {"probs": self.probs} | ({} if self.energies is None else {"energies": self.energies})

    @property
    def every(self) -> np.ndarray:
        return self.probs

    @functools.cached_property
    def mean(self) -> np.ndarray:
        """The predictive distribution, averaged over draws: (example, ..., class)."""
        return self.probs.mean(axis=(0, 1), dtype=np.float64)

    @functools.cached_property
    def entropy(self) -> np.ndarray:
        """Entropy of the averaged distribution, in nats: (example, ...)."""
        return evaluate.entropy(self.mean)

    @functools.cached_property
    def mutual_information(self) -> np.ndarray:
        """Entropy of the mean minus mean of the entropies, in nats: (example, ...)."""
        return evaluate.mutual_information(self.each)

    @property
    def uncertainty(self) -> np.ndarray:
        """Entropy of the averaged distribution, averaged over positions: (example,), in nats."""
        return _per_example(self.entropy)

    @property
    def doubt(self) -> np.ndarray:
        """One minus the largest mean probability, averaged over positions: (example,)."""
        return _per_example(1 - self.mean.max(axis=-1))

    @property
    def information(self) -> np.ndarray:
        """Mutual information of label and draw, averaged over positions: (example,), in nats."""
        return _per_example(self.mutual_information)

    @property
    def energy(self) -> np.ndarray | None:
        """Free energy of the outputs, averaged over draws and positions: (example,); None if not kept."""
        return (
            None if self.energies is None else _per_example(self.energies.mean(axis=(0, 1), dtype=np.float64))
        )

    @property
    def figures(self) -> tuple[str, ...]:
        shared = ("confidences", "reliability", "entropies", "risk coverage")
        return (*shared, "label maps") if self.positions else (*shared, "least sure")

    def losses(self, y: ArrayLike) -> np.ndarray:
        labels = np.asarray(y)
        require(
            labels.shape == self.mean.shape[:-1],
            f"y has shape {labels.shape}, but labels of these predictions have {self.mean.shape[:-1]}",
        )
        of_label = np.take_along_axis(self.mean, labels[..., None], axis=-1)[..., 0]
        return _per_example(-np.log(np.maximum(of_label, SMALLEST_PROBABILITY)))

    def quantile(self, q: float) -> np.ndarray:
        """The probability of each class that a share `q` of the draws stays below: (example, ..., class)."""
        require_probability(q=q)
        return np.quantile(self.each.astype(np.float64), q, axis=0)

    def described(self, level: float = 0.9) -> dict[str, np.ndarray]:
        """Label and entropy, each (example, ...), and for every class its probability and both ends of the
        interval in which the draws have it, each (example, ..., class)."""
        lower, upper = self.interval(level)
        return {
            "label": self.mean.argmax(axis=-1),
            "entropy": self.entropy,
            "probability": self.mean,
            "lower": lower,
            "upper": upper,
        }

    def sample(self, key: jax.Array | int, n: int) -> np.ndarray:
        """Labels (n, example, ...)."""
        pick, noise = jax.random.split(as_key(key))
        chosen = np.asarray(jax.random.randint(pick, (n,), 0, self.count))
        return _drawn(noise, self.each[chosen])

    def sample_each(self, key: jax.Array | int) -> np.ndarray:
        """Labels (chain, draw, example, ...)."""
        return _drawn(as_key(key), self.probs)

    def unscaled(self, scaling: Scaling) -> CategoricalPredictive:
        raise ValueError("labels have no units: a scaling of targets is for real ones")


def _drawn(key: jax.Array, probs: np.ndarray) -> np.ndarray:
    """A label of each distribution along the last axis."""
    with np.errstate(divide="ignore"):  # what has no probability has a logit of -inf, and is not drawn
        logits = np.log(probs)
    return np.asarray(jax.random.categorical(key, jnp.asarray(logits)))


def _per_example(each: np.ndarray) -> np.ndarray:
    """The mean over positions: (example, ...) to (example,)."""
    return each.reshape(len(each), -1).mean(axis=1)
