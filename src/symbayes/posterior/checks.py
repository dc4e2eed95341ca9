"""What is asked of examples before they are conditioned on."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.data import Examples
from symbayes.networks import Network
from symbayes.posterior.forwards import outputs_for
from symbayes.posterior.likelihoods import Likelihood
from symbayes.specs import require, require_kind

ROWS = 2**14
"""Examples that are looked at at once: those of an array on disk may not fit into memory."""


def require_examples(network: Network, likelihood: Likelihood, examples: Examples, what: str) -> None:
    """Refuse examples that cannot be computed with, or that the network or the likelihood does not take."""
    require_kind(f"the {what}", examples, "x", "y", example="data.Examples(x, y) or dataset.train")
    x, y = np.asarray(examples.x), np.asarray(examples.y)
    real = x.dtype.kind in "iub" or jnp.issubdtype(x.dtype, jnp.floating)
    require(real, f"inputs are real numbers, not {x.dtype}")
    require(len(x) == len(y), f"the {what} have {len(x)} inputs but {len(y)} targets")
    require(len(x) > 0, f"the {what} are empty")
    require(x.ndim >= 2, f"inputs have an axis over examples and at least one more, not shape {x.shape}")
    if np.issubdtype(x.dtype, np.floating):
        bad = np.concatenate([~_finite(x[begin : begin + ROWS]) for begin in range(0, len(x), ROWS)])
        require(
            not bad.any(),
            f"the {what} hold NaN or infinity in {bad.sum()} of {len(x)} inputs, "
            f"first in number {int(bad.argmax())}: remove or repair them",
        )
    outputs = outputs_for(lambda key, x: network.apply(network.init(key, x), x), jax.random.key(0), x)
    require(
        outputs.ndim >= 2 and outputs.shape[0] == 1,
        "a network's outputs have shape (examples, outputs), with positions between if there are any, "
        f"but this one gives {outputs.shape} for inputs of shape {(1, *x.shape[1:])}",
    )
    likelihood.check(outputs.shape, y)


def _finite(x: np.ndarray) -> np.ndarray:
    """Which of these examples are."""
    return np.asarray(np.isfinite(x).reshape(len(x), -1).all(axis=1))
