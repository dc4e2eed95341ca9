"""A posterior in few bits: some draws, rounded with compensation, chosen to predict as all of them do.

The candidates are evenly spaced among the draws.  Second moments of every layer's inputs are computed with
them; these determine how other weights compensate the rounding error of a weight, and how much each row of a
kernel matters (`distributions/few_bits/rounding.py`).  The step of each parameter is inversely proportional
to the root of the mean squared slope of the likelihood; one common factor c is found such that a weight takes
the requested number of bits.  All candidates are rounded.  Those whose average is nearest to the predictive
of all draws, at inputs without labels, are kept (`distributions/few_bits/choosing.py`).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from symbayes import trees
from symbayes.analyse.bounds import evenly
from symbayes.analyse.predictions import predictive_of
from symbayes.analyse.progress import Tell, silent
from symbayes.distributions.few_bits.choosing import herded
from symbayes.distributions.few_bits.networks import FewBits, Layout, Rows, rounded
from symbayes.distributions.few_bits.rounding import freedom
from symbayes.draws import Draws
from symbayes.engine import Opened, Source, open_run
from symbayes.posterior.curvature.products import Product, products, tapped
from symbayes.posterior.curvature.slopes import slopes, summed
from symbayes.posterior.numerics.chunks import Chunks
from symbayes.specs import require, require_counts, require_positive

CANDIDATES = 100
"""The number of draws of which some are chosen."""

LARGEST = 2048
"""The most inputs of a layer whose weights compensate one another."""

MOMENTS, SLOPES = 512, 64
"""The numbers of examples for second moments of inputs, and for slopes."""

CHOOSING = 10_000
"""The most inputs at which networks are chosen."""

MOST = 8.0
"""The bits per weight above which choosing networks gains nothing."""

LOOKED = 4
"""The number of networks at which slopes are computed."""


def few_bits(
    source: Source,
    draws: Draws,
    x: ArrayLike,
    bits: float,
    networks: int,
    candidates: int = CANDIDATES,
    tell: Tell = silent,
) -> FewBits:
    """Make `networks` networks of about `bits` bits a weight from draws of a run.

    `x` are inputs at which the networks are to predict as all draws do; labels are not needed.
    """
    run = open_run(source)
    require_positive(bits=bits)
    require(bits <= MOST, f"{bits:g} bits a weight are not few: give at most {MOST:g}, or store the draws")
    require_counts(networks=networks)
    total = draws.chains * len(draws)
    require(networks <= total, f"{networks} networks cannot be chosen from {total} draws: ask for fewer")
    picks = evenly(total, max(candidates, networks))
    flat = _candidates(draws, picks)
    exact = {name: flat.pop(name) for name in [*flat] if not name.startswith("params/")}
    x = jnp.asarray(x)
    kernels = products(run.network, x.shape[1:], x.dtype)
    layout = {
        name: Layout(array.shape[1:], kernels[name].rows if name in kernels else ())
        for name, array in flat.items()
    }
    matrices = {name: layout[name].matrices(array) for name, array in flat.items()}
    tell("inputs of every layer")
    variables = trees.unflatten(flat | exact)
    freedoms = _freedoms(run, kernels, variables, x[:: max(1, len(x) // MOMENTS)])
    roots = _roots(run, kernels, variables, x[:: max(1, len(x) // SLOPES)])
    units = {name: _unit(matrices[name].shape[1], freedoms.get(name), roots[name]) for name in layout}
    spreads = {name: np.std(matrix, axis=(0, 2)) for name, matrix in matrices.items()}
    rows = _rows(units, spreads, {name: one.width for name, one in layout.items()}, bits)
    tell("rounding")
    numbers = np.arange(len(picks))
    integers = rounded(matrices, rows, freedoms, numbers)
    all_of_them = FewBits.of(layout, rows, numbers, integers, exact)
    tell("choosing networks")
    x = x[evenly(len(x), CHOOSING)]
    target = _features(run, draws, x).mean(axis=0)
    chosen = herded(_features(run, all_of_them.draws, x), target, networks)
    return FewBits.of(
        layout,
        rows,
        numbers[chosen],
        {name: array[chosen] for name, array in integers.items()},
        {name: array[chosen] for name, array in exact.items()},
    )


def _candidates(draws: Draws, picks: np.ndarray) -> dict[str, np.ndarray]:
    """Some of all draws of all chains, laid end to end, by the names of their leaves."""
    parts = [trees.flatten(draws.select([i // len(draws)], [i % len(draws)]).variables) for i in picks]
    return {name: np.concatenate([part[name][0] for part in parts]) for name in parts[0]}


def _freedoms(
    run: Opened, kernels: Mapping[str, Product], variables: Any, x: jax.Array
) -> dict[str, np.ndarray]:
    """U of every network, for every kernel that is not too large."""
    some = {name: one for name, one in kernels.items() if one.inputs <= LARGEST}

    def seen(network: Any, example: jax.Array) -> dict[str, jax.Array]:
        taps = {name: jnp.zeros((product.positions, product.outputs)) for name, product in some.items()}
        return tapped(run.network, some, network, taps, example[None])[1]

    def moments(x: jax.Array, network: Any) -> dict[str, jax.Array]:
        def gathered(x: jax.Array, weight: jax.Array) -> dict[str, jax.Array]:
            each = jax.vmap(functools.partial(seen, network))(x)
            return {name: jnp.einsum("n,nti,ntj->ij", weight, a, a) for name, a in each.items()}

        numbers = sum(product.positions * product.inputs for product in some.values())
        sums = summed(gathered, Chunks(x, None, jnp.ones(len(x))), numbers)
        return {name: total / (len(x) * some[name].positions) for name, total in sums.items()}

    # The inputs are no constants of the program: a compiler would compute with them.
    every = jax.jit(lambda networks, x: jax.lax.map(functools.partial(moments, x), networks))
    found = every(variables, x)
    return {name: freedom(np.asarray(moment)) for name, moment in found.items()}


def _roots(run: Opened, kernels: Mapping[str, Product], variables: Any, x: jax.Array) -> dict[str, float]:
    """For every kernel, the root of the mean squared slope of the likelihood in its outputs; for every other
    parameter, that in the parameter itself."""
    names = trees.flatten(variables)
    others = tuple(name for name in names if name.startswith("params/") and name not in kernels)

    def squares(x: jax.Array, network: Any) -> dict[str, jax.Array]:
        def one(example: jax.Array) -> dict[str, jax.Array]:
            each = slopes(run.network, run.likelihood, network, dict(kernels), others, example)
            outputs = {name: jnp.sum(g**2) / g.shape[-1] for name, g in each.outputs.items()}
            return outputs | {name: jnp.sum(r**2) / r[0].size for name, r in each.others.items()}

        return jax.tree.map(jnp.mean, jax.lax.map(one, x, batch_size=8))

    looked = jax.tree.map(lambda leaf: leaf[:: max(1, len(leaf) // LOOKED)], variables)
    every = jax.jit(lambda networks, x: jax.lax.map(functools.partial(squares, x), networks))
    found = every(looked, x)
    return {name: float(np.sqrt(np.mean(each))) for name, each in found.items()}


def _unit(rows: int, free: np.ndarray | None, root: float) -> np.ndarray:
    """The steps of a parameter's rows, but for the number that all have in common."""
    diagonal = np.ones(rows)
    if free is not None:
        diagonal = np.exp(np.log(np.diagonal(free, axis1=1, axis2=2)).mean(axis=0))
    return diagonal / max(root, np.finfo(np.float32).tiny)


def _rows(units: Mapping[str, np.ndarray], spreads: Any, widths: Mapping[str, int], bits: float) -> Any:
    """The steps with which a weight takes about `bits` bits, by bisection."""
    low, high = -40.0, 40.0
    for _ in range(30):
        middle = (low + high) / 2
        rows = {name: Rows.of(2.0**middle * units[name], spreads[name]) for name in units}
        low, high = (middle, high) if _bits(rows, spreads, widths) > bits else (low, middle)
    return {name: Rows.of(2.0**high * units[name], spreads[name]) for name in units}


def _bits(rows: Mapping[str, Rows], spreads: Any, widths: Mapping[str, int]) -> float:
    """The bits that a weight takes, where the weights of a row are normally distributed."""
    each = {
        name: normal_entropy(spreads[name][own.stored] / own.sizes[own.stored]) for name, own in rows.items()
    }
    total = sum(widths[name] * float(entropies.sum()) for name, entropies in each.items())
    return total / sum(widths[name] * len(own.steps) for name, own in rows.items())


def normal_entropy(spreads: np.ndarray) -> np.ndarray:
    """The entropy in bits of a normal number rounded to an integer, for each of these standard deviations."""
    from scipy.special import ndtr

    spreads = np.maximum(spreads, 1e-3)
    edges = np.arange(-60, 61) - 0.5
    shares = np.diff(ndtr(edges / np.minimum(spreads, 8.0)[:, None]), axis=1)
    exact = -np.sum(shares * np.log2(np.maximum(shares, np.finfo(float).tiny)), axis=1)
    return np.where(spreads < 8, exact, np.log2(spreads * np.sqrt(2 * np.pi * np.e)))


def _features(run: Opened, networks: Draws, x: jax.Array) -> np.ndarray:
    """The features of every network that are averaged, (network, feature): probabilities of classes; for
    real targets, standardised means and their squares."""
    predictive = predictive_of(run, networks, np.asarray(x))
    each = predictive.each.reshape(predictive.count, -1)
    if predictive.kind == "classes":
        return each
    centred = (each - each.mean(axis=0)) / max(float(each.std()), np.finfo(np.float32).tiny)
    return np.concatenate([centred, centred**2], axis=1)
