"""Limits on how much of a run is analysed, so that the page about a large run is made in minutes."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np

from symbayes.data import Examples
from symbayes.draws import Draws
from symbayes.networks import Network
from symbayes.networks.counting import operations
from symbayes.specs import require_positive

OPERATIONS = 4e12
"""The most floating-point operations for all predictions together; about a minute on two CPU cores."""


@dataclass(frozen=True)
class Bounds:
    """The most that is analysed; the page says what was left out.

    Attributes:
        draws: the most draws, over all chains.
        numbers: the most numbers in these draws together; for large networks this leaves fewer draws.
        weights: the number of weights whose R-hat and effective sample size are computed.
        examples: the most examples of the training and of the test part on which networks are evaluated.
        samples: the number of networks drawn from a Gaussian to predict with it.
        pairs: the number of pairs of networks from independent chains between which the loss is followed.
        steps: the number of places on the line between two networks.
    """

    draws: int = 800
    numbers: int = 2**25
    weights: int = 5000
    examples: int = 2000
    samples: int = 50
    pairs: int = 3
    steps: int = 21

    def __post_init__(self) -> None:
        require_positive(**vars(self))

    def some_draws(self, draws: Draws) -> Draws:
        """Evenly spaced draws of every chain (or of as many chains as fit), in memory."""
        size = sum(int(np.prod(shape)) for shape in draws.shapes.values())
        most = max(2, min(self.draws, self.numbers // size))
        chains = evenly(draws.chains, most)
        return draws.select(chains, evenly(len(draws), max(1, most // len(chains))))

    def some_examples(self, examples: Examples, network: Network) -> Examples:
        """A random part, the same every time.

        The first examples would not do: data in files are often sorted by difficulty.
        """
        most = self.examples
        if jax.default_backend() == "cpu":
            networks = self.samples * 14 + self.pairs * self.steps * 6 + 100
            x = np.asarray(examples.x)
            each = operations(network, x.shape[1:], x.dtype)
            most = min(most, max(200, int(OPERATIONS / networks / each)))
        if len(examples) <= most:
            return examples
        return examples[np.sort(np.random.default_rng(0).permutation(len(examples))[:most])]


def evenly(count: int, most: int) -> np.ndarray:
    """At most `most` of the numbers below `count`, evenly spaced, with the last among them."""
    if count <= most:
        return np.arange(count)
    return (np.arange(1, most + 1) * count) // most - 1
