"""Predictions of many draws at once, in blocks of draws and pieces of inputs."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from symbayes import trees
from symbayes.data import Examples
from symbayes.draws import Draws
from symbayes.networks import Network
from symbayes.posterior import forwards
from symbayes.posterior.forwards import Passes, predicting
from symbayes.posterior.likelihoods import Likelihood, Predictive
from symbayes.posterior.numerics import COMPILED_SOON
from symbayes.specs import require

INPUTS_AT_ONCE = 4096
DRAWS_AT_ONCE = 16


def predict(network: Network, likelihood: Likelihood, draws: Any, x: Any) -> Predictive:
    """The predictive of `draws` (or of one tree of variables) at `x`."""
    kind = draws.forward.kind if isinstance(draws, Draws) else "plain"
    return predicting(likelihood, kind).predictive(predictions(network, likelihood, draws, x))


def predictions(network: Network, likelihood: Likelihood, draws: Any, x: Any) -> np.ndarray:
    """What the likelihood predicts for every draw, (chain, draw, example, ...), in blocks of draws."""
    x = np.asarray(x)
    require(x.ndim >= 2 and len(x) > 0, f"inputs have an axis over examples, not shape {x.shape}")
    if not isinstance(draws, Draws):
        draws = Draws.from_variables(jax.tree.map(lambda leaf: np.asarray(leaf)[None, None], draws))
    require(bool(draws.segments), "there are no draws to predict with: the run kept none")
    blocks = draws.blocks(DRAWS_AT_ONCE)
    try:
        return np.concatenate([_of_block(network, likelihood, block, x) for block in blocks], axis=1)
    except (TypeError, ValueError):
        one = trees.index(next(iter(draws.blocks(1))).variables, (0, 0))
        forwards.outputs_for(network.apply, one, x)  # if it is the inputs, this says so
        raise


def _of_block(network: Network, likelihood: Likelihood, block: Draws, x: np.ndarray) -> np.ndarray:
    """The predictions of draws in memory: `DRAWS_AT_ONCE` networks in one program, what is left one by one
    in another, so that two programs serve any number of draws.
    """
    chains, count, passes = block.chains, len(block), Passes.of(block)
    total = chains * count
    each = _flat(block.variables, passes, chains, count)
    passes = Passes(passes.kind, passes.law)
    whole = total - total % DRAWS_AT_ONCE
    starts = [*range(0, whole, DRAWS_AT_ONCE), *range(whole, total)]
    found: list[list[jax.Array]] = []
    for start, stop in itertools.pairwise([*starts, total]):
        some = trees.index(each, slice(start, stop))
        found.append([_one_by_one(network, likelihood, passes, some, piece) for piece in _pieces(x)])
    values = np.concatenate([np.concatenate(pieces, axis=1)[:, : len(x)] for pieces in found])
    return values.reshape(chains, count, *values.shape[1:])


def _flat(variables: Any, passes: Passes, chains: int, count: int) -> tuple[Any, Any, Any]:
    """Variables, key and number of the chain of every draw, with one leading axis over draws."""
    flat = jax.tree.map(lambda leaf: leaf.reshape(chains * count, *leaf.shape[2:]), variables)
    return (flat, *passes.flat(chains, count))


@functools.partial(jax.jit, static_argnames="network", compiler_options=COMPILED_SOON)
def _one_by_one(
    network: Network, likelihood: Likelihood, passes: Passes, each: Any, x: jax.Array
) -> jax.Array:
    law = predicting(likelihood, passes.kind)
    with jax.default_matmul_precision("float32"):
        return jax.lax.map(
            lambda one: law.predict(forwards.outputs(network, likelihood, passes, one, x)), each
        )


def log_likelihoods(network: Network, likelihood: Likelihood, draws: Draws, examples: Examples) -> np.ndarray:
    """The log probability of every example's targets under every draw: (chain, draw, example)."""
    x, y = np.asarray(examples.x), np.asarray(examples.y)
    parts = []
    for block in draws.blocks(DRAWS_AT_ONCE):
        pieces, passes = zip(_pieces(x), _pieces(y), strict=True), Passes.of(block)
        each = [_log_probs(network, likelihood, passes, block.variables, *piece) for piece in pieces]
        parts.append(joined(each, len(x)))
    return np.concatenate(parts, axis=1)


def outputs(
    network: Network, likelihood: Likelihood, variables: Any, x: Any, passes: Passes | None = None
) -> list[jax.Array]:
    """What the likelihood predicts for stacked variables with leading axes (chain, draw), in pieces of `x`.

    Each piece is (chain, draw, examples, outputs), the last one padded; they are computed while the
    caller goes on.
    """
    passes = passes or Passes()
    return [_outputs(network, likelihood, passes, variables, piece) for piece in _pieces(x)]


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
def _outputs(
    network: Network, likelihood: Likelihood, passes: Passes, variables: Any, x: jax.Array
) -> jax.Array:
    law = predicting(likelihood, passes.kind)
    return _of_each(
        lambda one: law.predict(forwards.outputs(network, likelihood, passes, one, x)), variables, passes
    )


@functools.partial(jax.jit, static_argnames="network")
def _log_probs(
    network: Network, likelihood: Likelihood, passes: Passes, variables: Any, x: Any, y: Any
) -> jax.Array:
    law = predicting(likelihood, passes.kind)
    return _of_each(
        lambda one: law.log_prob(forwards.outputs(network, likelihood, passes, one, x), y),
        variables,
        passes,
    )


def _of_each(function: Callable[..., jax.Array], variables: Any, passes: Passes) -> jax.Array:
    """A function of every draw of stacked variables, with leading axes (chain, draw)."""
    chains, count = jax.tree.leaves(variables)[0].shape[:2]
    each = _flat(variables, passes, chains, count)
    with jax.default_matmul_precision("float32"):
        values = jax.lax.map(function, each, batch_size=min(DRAWS_AT_ONCE, chains * count))
    return values.reshape(chains, count, *values.shape[1:])
