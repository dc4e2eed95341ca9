"""The posteriors that are timed."""

from __future__ import annotations

import numpy as np

import symbayes as sb
from symbayes.posterior.posterior import Precision


def mnist_sized(
    examples: int,
    hidden: tuple[int, ...] = (512,),
    chunk: int | None = None,
    scale: float = 1.0,
    precision: Precision = "float32",
) -> sb.Posterior:
    """A 784-512-10 network on 28x28 images: MNIST where it is installed, else noise of its shape."""
    try:
        train = sb.data.load("mnist", validation=0).train[:examples]
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        x = rng.random((examples, 28, 28, 1), dtype=np.float32)
        train = sb.data.Examples(x, rng.integers(0, 10, examples).astype(np.int32))
    return sb.Posterior(
        sb.networks.mlp(hidden, 10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(scale),
        train,
        chunk=chunk,
        precision=precision,
    )


def digits() -> sb.Posterior:
    """The demonstration's posterior: 64-32-10 on 1,257 digits."""
    train = sb.data.load("digits").train
    return sb.Posterior(
        sb.networks.mlp((32,), 10), sb.likelihoods.Categorical(), sb.priors.Normal(0.5), train
    )
