"""Other ways to be compact: Gaussians of informed weights, cluster centres with noise, chosen draws.

- *Informed weights* have a variance below half of the prior's, once aligned.  A Gaussian is restricted to
  them: the others stay at their mean, or are drawn from the prior, for which nothing is stored.
- *Cluster centres* are means of aligned draws that are near one another (k-means), each with independent
  noise.  In every array the noise is one share of the spread of the weights.  Of several shares, the one
  whose predictions at training inputs are closest to those of all fitted draws is taken.
- *Chosen draws* are those whose average is nearest to that of all fitted draws at training inputs
  (`distributions/few_bits/choosing.py`), equally weighted, or with the non-negative weights of least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Float64

from symbayes import evaluate, trees
from symbayes.analyse.predictions import predictive_of, sampled_predictive
from symbayes.distributions import Gaussian
from symbayes.distributions.few_bits.choosing import herded
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import Predictive

FLOAT = 32
INFORMED = 0.5
"""A weight is informed if its variance is below this share of the prior's."""
SHARES = (0.0, 0.1, 0.3)
"""The sizes of the noise that are tried, as shares of the spread of the weights."""
NOISY = 50
"""The largest number of noisy networks, over all centres."""
ROUNDS = 20
"""The largest number of iterations of k-means."""


@dataclass(frozen=True)
class Attempt:
    """A compact posterior: its family, its name, the bits that it stores, and its predictions at inputs."""

    family: str
    name: str
    bits: int
    predict: Callable[[Any], Predictive]
    weights: np.ndarray | None = None
    """The weights of its networks in the average, where they are not equal."""


@dataclass(frozen=True)
class Attempts:
    """Makes all of them from some draws and the same draws aligned; `x` are training inputs."""

    run: Opened
    draws: Draws
    aligned: Draws
    x: np.ndarray
    prior: float
    samples: int

    @property
    def size(self) -> int:
        return sum(int(np.prod(shape)) for shape in self.draws.shapes.values())

    def possible(self, counts: Sequence[int]) -> list[int]:
        """Those of some numbers of networks that there are draws for."""
        return [k for k in counts if k <= self.draws.chains * len(self.draws)]

    def informed(self) -> Iterator[Attempt]:
        whole = Gaussian.fit(self.aligned)
        known = jax.tree.map(lambda d: np.asarray(d) < INFORMED * self.prior**2, whole.diagonal)
        count = sum(int(leaf.sum()) for leaf in jax.tree.leaves(known))
        if count == 0:  # this would be the prior itself, and the mean network
            return
        noise = jax.tree.map(lambda d, k: np.where(k, d, 0).astype(np.float32), whole.diagonal, known)
        wide = np.float32(self.prior**2)
        open_ = jax.tree.map(lambda d, k: np.where(k, d, wide).astype(np.float32), whole.diagonal, known)
        location = {**whole.location, "params": _only(whole.location["params"], known["params"])}
        for name, gaussian, floats in (
            ("others at their mean", Gaussian(whole.location, noise, whole.factors), self.size + count),
            ("others from the prior", Gaussian(location, open_, whole.factors), 2 * count),
        ):
            yield Attempt(
                f"Gaussian of informed weights, {name}",
                f"Gaussian of {count / self.size:.1%} informed weights, {name}",
                FLOAT * floats + self.size,
                _sampled(self.run, gaussian, self.samples),
            )

    def centred(self, counts: Sequence[int]) -> Iterator[Attempt]:
        flat = _matrix(self.aligned)
        spread = {name: _spread(leaf) for name, leaf in trees.flatten(self.aligned.variables).items()}
        target = predictive_of(self.run, self.draws, self.x).mean
        for k in counts:
            middle = means(flat, k)
            tries = {share: self._noisy(middle, share, spread) for share in SHARES}
            apart = {
                share: evaluate.total_variation(predictive_of(self.run, some, self.x).mean, target)
                for share, some in tries.items()
            }
            best = min(apart, key=lambda share: apart[share])
            yield Attempt(
                "cluster centres with noise",
                f"{k} cluster centre{'' if k == 1 else 's'} with {best:.0%} noise",
                FLOAT * (k * self.size + len(spread) + 1),
                _by(self.run, tries[best]),
            )

    def _noisy(self, centres: np.ndarray, share: float, spread: dict[str, float]) -> Draws:
        """Several noisy copies of each centre; without noise, one."""
        times = max(1, min(self.samples, NOISY) // len(centres)) if share else 1
        rng, place, found = np.random.default_rng(0), 0, {}
        for name, shape in self.aligned.shapes.items():
            width = int(np.prod(shape))
            leaf = np.repeat(centres[:, place : place + width], times, axis=0)
            if share:
                leaf = leaf + share * spread[name] * rng.standard_normal(leaf.shape, np.float32)
            found[name] = leaf.reshape(1, -1, *shape).astype(np.float32)
            place += width
        return Draws.from_variables(trees.unflatten(found))

    def chosen(self, counts: Sequence[int]) -> Iterator[Attempt]:
        predicted = predictive_of(self.run, self.draws, self.x).each
        features = np.asarray(predicted, np.float64).reshape(len(predicted), -1)
        target = features.mean(axis=0)
        order = herded(features, target, max(counts))
        for k in counts:
            some = _picked(self.draws, order[:k])
            bits, own = FLOAT * k * self.size, f"{k} chosen draw{'' if k == 1 else 's'}"
            yield Attempt("chosen draws", own, bits, _by(self.run, some))
            if k > 1:
                weights = shares(features[order[:k]], target)
                yield Attempt(
                    "chosen draws, weighted",
                    f"{own}, weighted",
                    bits + FLOAT * k,
                    _by(self.run, some),
                    weights,
                )


def means(points: Float[np.ndarray, "n d"], count: int) -> Float[np.ndarray, "k d"]:
    """The centres of `count` clusters, by k-means that begins with stretches of equal length.

    Only inner products of points are needed.
    """
    gram = (points @ points.T).astype(np.float64)
    label = np.arange(len(points)) * count // len(points)
    shares_ = np.zeros((count, len(points)))
    for _ in range(ROUNDS):
        for k in range(count):
            # A cluster that lost all its points stays where it was.
            if np.any(label == k):
                shares_[k] = (label == k) / np.sum(label == k)
        across = shares_ @ gram
        apart = np.einsum("kn,kn->k", across, shares_)[:, None] - 2 * across
        nearest = apart.argmin(axis=0)
        if np.array_equal(nearest, label):
            break
        label = nearest
    return (shares_ @ points).astype(points.dtype)


def shares(
    features: Float64[np.ndarray, "k f"], target: Float64[np.ndarray, " f"]
) -> Float64[np.ndarray, " k"]:
    """The non-negative weights with sum one whose average of the features is nearest to a target."""
    from scipy.optimize import nnls  # slow to import

    heavy = 1e3 * np.sqrt(np.mean(features**2) * features.shape[1])
    system = np.concatenate([features, np.full((len(features), 1), heavy)], axis=1).T
    found = nnls(system, np.append(target, heavy))[0]
    return found / found.sum()


def _by(run: Opened, draws: Draws) -> Callable[[Any], Predictive]:
    return lambda x: predictive_of(run, draws, x)


def _sampled(run: Opened, gaussian: Gaussian, samples: int) -> Callable[[Any], Predictive]:
    return lambda x: sampled_predictive(run, gaussian, x, samples)


def _only(tree: Any, known: Any) -> Any:
    return jax.tree.map(lambda leaf, k: np.where(k, leaf, 0).astype(np.float32), tree, known)


def _spread(leaf: Any) -> float:
    """The root mean square deviation of the draws of an array from their mean."""
    flat = np.asarray(leaf).reshape(-1, *np.shape(leaf)[2:])
    return float(np.sqrt(np.mean(np.var(flat, axis=0))))


def _matrix(draws: Draws) -> np.ndarray:
    leaves = trees.flatten(draws.variables)
    count = draws.chains * len(draws)
    return np.concatenate([np.asarray(leaves[name]).reshape(count, -1) for name in draws.shapes], axis=1)


def _picked(draws: Draws, numbers: np.ndarray) -> Draws:
    """Some of all draws of all chains, laid end to end, as one chain."""
    flat = {
        name: np.asarray(leaf).reshape(1, -1, *np.shape(leaf)[2:])[:, numbers]
        for name, leaf in trees.flatten(draws.variables).items()
    }
    return Draws.from_variables(trees.unflatten(flat))
