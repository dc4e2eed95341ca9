"""The representative of smallest mass: scales that minimise the summed squares of the parameters.

In log-scales s the mass ``f(s) = sum_k m_k exp(2 <e_k, s>)`` is convex; for a unit between incoming and
outgoing weights its gradient is ``2 (|in|^2 - |out|^2)``, so at the minimum both sides weigh the same.  The
minimiser is unique where every scale has mass on both sides (Badrinarayanan, Mishra, Cipolla 2015 discuss the
symmetry; for matrices this is balancing, Osborne 1960).  Solved by Newton's method with conjugate gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.draws import Draws
from symbayes.symmetry.canonical.dead_units import fix_dead
from symbayes.symmetry.canonical.masses import Piece, pieces_of, unscaled
from symbayes.symmetry.group.element import Element, spread
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Stack

STEPS = 200
PRECISION = 1e-12
"""The gradient norm, relative to the mass, at which a solution is reached."""

FEW, MANY = 8, 64
"""Networks that are solved at once."""

Logs = dict[str, Any]


@dataclass(frozen=True)
class MinimalMass:
    """Draws of smallest mass, the elements that led there, and how well the minimum was found."""

    draws: Draws | trees.Tree
    elements: Element
    mass: np.ndarray
    """The sum of squares of all parameters on which scales act, but those of units without a minimum."""
    gradient_norm: np.ndarray
    without_minimum: dict[str, np.ndarray]
    """By scale, with the draws' leading axes: the units that have none.  They keep their scale."""


def minimal_mass(draws: Draws | trees.Tree, group: Symmetry) -> MinimalMass:
    """Bring every draw to the smallest sum of squares that scalings reach.

    A unit whose weights on one side are all zero has no minimum: the sum falls for ever as its other side
    goes to zero.  It is reported and left alone, and the others go to where they would be without it (which
    may leave a neighbour with one side only, and so on).
    """
    stack = Stack.of(draws, group)
    logs = unscaled(group, stack.count)
    dead = {name: np.zeros(log.shape, bool) for name, log in logs.items()}
    mass, norm = np.zeros(stack.count), np.zeros(stack.count)
    for ids, flat in stack.blocks():
        pieces, masses = _measured(group, flat)
        found, mass[ids], norm[ids], lost = smallest(group, pieces, masses)
        every = sides(group, pieces, masses)
        for name, log in found.items():
            logs[name][ids] = log
            # A unit without any weight is as small as it can be.
            dead[name][ids] = lost[name] & (sum(every[name]) > 0)
    elements = stack.elements(log_scales=logs)
    lead = stack.lead
    reported = {name: mask.reshape(*lead, -1) for name, mask in dead.items()}
    return MinimalMass(stack.moved(elements), elements, mass.reshape(lead), norm.reshape(lead), reported)


def minimal_mass_of_all(group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Log-scales of smallest mass for a batch, with a scale for units that have none too: norm one."""
    pieces, masses = _measured(group, flat)
    logs, _, _, lost = smallest(group, pieces, masses)
    return fix_dead(group, flat, logs, {name: ~mask for name, mask in lost.items()})


def _measured(group: Symmetry, flat: Mapping[str, np.ndarray]) -> tuple[tuple[Piece, ...], list[np.ndarray]]:
    pieces = pieces_of(group)
    refuse_one_sided(group, pieces)
    return pieces, [piece.measure(flat) for piece in pieces]


def smallest(
    group: Symmetry, pieces: tuple[Piece, ...], masses: list[np.ndarray]
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Log-scales of smallest mass for a batch, that mass (of what scales), its gradient norm, and the units
    without one.
    """
    count = len(masses[0]) if masses else 1
    start = unscaled(group, count)
    lost = {name: np.zeros(log.shape, bool) for name, log in start.items()}
    while True:
        both = sides(group, pieces, masses)
        found = {name: mask | (both[name][0] == 0) | (both[name][1] == 0) for name, mask in lost.items()}
        if all(np.array_equal(found[name], mask) for name, mask in lost.items()):
            break
        lost = found
        masses = [_without(piece, mass, lost) for piece, mass in zip(pieces, masses, strict=True)]
    free = {name: ~mask for name, mask in lost.items()}
    return (*solve(pieces, masses, start, free), lost)


def _without(piece: Piece, mass: np.ndarray, lost: Mapping[str, np.ndarray]) -> np.ndarray:
    """The masses of a piece but those of lost units."""
    for acting in piece.acting:
        kept = ~lost[acting.name].reshape(-1, *(mass.shape[place + 1] for place in acting.places))
        mass = mass * spread(kept, (0, *(place + 1 for place in acting.places)), mass.ndim)
    return mass


def solve(
    pieces: tuple[Piece, ...],
    masses: list[np.ndarray],
    start: Mapping[str, np.ndarray],
    free: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Log-scales of a batch of networks, their mass and its gradient norm; what is not `free` stays."""
    free = {name: np.ones(np.shape(log), bool) for name, log in start.items()} if free is None else free
    if not pieces:
        return dict(start), np.zeros(()), np.zeros(())
    double = {name: np.asarray(log, np.float64) for name, log in start.items()}
    found, mass, norm = _solved(pieces, (list(masses), double, dict(free)), len(masses[0]))
    if np.any(norm > 1e-6 * mass):
        raise ValueError(
            "the smallest mass was not reached: some scales have almost no weight on one side; "
            "use scale='unit-norm'"
        )
    return found, mass, norm


def _solved(pieces: tuple[Piece, ...], batch: Any, count: int) -> Any:
    """All of a batch, some at a time and always as many, so that two programs serve batches of any size.

    On the host's processor: the problem is small, and accelerators take long to compile it.
    """
    some = FEW if count <= FEW else MANY
    found = []
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        for first in range(0, count, some):
            rows = np.minimum(np.arange(first, first + some), count - 1)
            part = _solve(pieces, *trees.index(batch, rows))
            found.append(jax.tree.map(lambda leaf, n=count - first: np.asarray(leaf)[:n], part))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *found)


def balanced(group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Log-scales of smallest mass for a batch; scales without mass on both sides stay as they are."""
    pieces = pieces_of(group)
    masses = [piece.measure(flat) for piece in pieces]
    start = unscaled(group, len(next(iter(flat.values()))))
    free = {name: (up > 0) & (down > 0) for name, (up, down) in sides(group, pieces, masses).items()}
    return solve(pieces, masses, start, free)[0]


def sides(
    group: Symmetry, pieces: tuple[Piece, ...], masses: list[np.ndarray]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The mass that grows and the mass that shrinks with each scale."""
    count = len(masses[0]) if masses else 1
    found = {
        scale.name: (np.zeros((count, scale.size)), np.zeros((count, scale.size))) for scale in group.scales
    }
    for piece, mass in zip(pieces, masses, strict=True):
        for acting in piece.acting:
            along = piece.along(mass, acting.places).reshape(count, -1)
            found[acting.name][acting.exponent < 0][...] += along
    return found


def refuse_one_sided(group: Symmetry, pieces: tuple[Piece, ...]) -> None:
    """Refuse scales that act on one side only: the mass then falls for ever."""
    for scale in group.scales:
        signs = {np.sign(a.exponent) for piece in pieces for a in piece.acting if a.name == scale.name}
        if len(signs) < 2:
            raise ValueError(
                f"the scale {scale.name!r} has no smallest mass: a normaliser makes the function independent "
                f"of the size of {', '.join(move.path for move in scale.moves)}; use scale='unit-norm'"
            )


# ---------------------------------------------------------------------- the solver


def _scaled(pieces: tuple[Piece, ...], masses: list[jax.Array], logs: Logs) -> list[jax.Array]:
    """The masses after scaling."""
    found = []
    for piece, mass in zip(pieces, masses, strict=True):
        for acting in piece.acting:
            factor = jnp.exp(2 * acting.exponent * logs[acting.name])
            sizes = [mass.shape[place] for place in acting.places]
            mass = mass * spread(factor.reshape(sizes), acting.places, mass.ndim)
        found.append(mass)
    return found


def _along(pieces: tuple[Piece, ...], masses: list[jax.Array], power: int, like: Logs) -> Logs:
    """By scale, the scaled masses on which it acts, times twice its exponent to this power.

    With power one this is the gradient, with two the diagonal of the Hessian where no scale acts twice on a
    term.
    """
    found = {name: jnp.zeros_like(log) for name, log in like.items()}
    for piece, mass in zip(pieces, masses, strict=True):
        for acting in piece.acting:
            found[acting.name] += (2 * acting.exponent) ** power * piece.along(mass, acting.places).ravel()
    return found


def _bent(pieces: tuple[Piece, ...], masses: list[jax.Array], way: Logs) -> Logs:
    """The Hessian at scaled masses times a direction: each mass grows by twice ``<e_k, way>``."""
    changed = []
    for piece, mass in zip(pieces, masses, strict=True):
        growth = jnp.zeros(())
        for acting in piece.acting:
            sizes = [mass.shape[place] for place in acting.places]
            part = (2 * acting.exponent * way[acting.name]).reshape(sizes)
            growth = growth + spread(part, acting.places, mass.ndim)
        changed.append(mass * growth)
    return _along(pieces, changed, 1, way)


def _dot(a: Logs, b: Logs) -> jax.Array:
    return sum((jnp.sum(a[name] * b[name]) for name in a), jnp.zeros(()))


@functools.partial(jax.jit, static_argnums=0)
def _solve(pieces: tuple[Piece, ...], masses: list[Any], start: Logs, free: Logs) -> Any:
    return jax.vmap(functools.partial(_solve_one, pieces))(masses, start, free)


def _solve_one(pieces: tuple[Piece, ...], masses: list[jax.Array], start: Logs, free: Logs) -> Any:
    def total(scaled: list[jax.Array]) -> jax.Array:
        return sum((jnp.sum(mass) for mass in scaled), jnp.zeros(()))

    def only_free(logs: Logs) -> Logs:
        return {name: jnp.where(free[name], log, 0.0) for name, log in logs.items()}

    def looked(logs: Logs) -> tuple[jax.Array, Logs, jax.Array]:
        """The mass, its gradient and the norm of that."""
        scaled = _scaled(pieces, masses, logs)
        slope = only_free(_along(pieces, scaled, 1, logs))
        return total(scaled), slope, jnp.sqrt(_dot(slope, slope))

    def direction(logs: Logs, slope: Logs) -> Logs:
        scaled = _scaled(pieces, masses, logs)
        scale = _along(pieces, scaled, 2, logs)
        inverse = {name: jnp.where(free[name] & (c > 0), 1 / c, 0.0) for name, c in scale.items()}

        def hessian(v: Logs) -> Logs:
            return only_free(_bent(pieces, scaled, only_free(v)))

        def precondition(v: Logs) -> Logs:
            return {name: inverse[name] * value for name, value in v.items()}

        down = {name: -value for name, value in slope.items()}
        found = jax.scipy.sparse.linalg.cg(hessian, down, M=precondition, tol=1e-3, maxiter=100)[0]
        # Where rounding spoilt the conjugate gradients, the preconditioned gradient still leads down.
        good = _dot(found, slope) < 0
        return {name: jnp.where(good, value, inverse[name] * down[name]) for name, value in found.items()}

    def step(state):
        logs, (mass, slope, norm), number, _ = state
        way = direction(logs, slope)
        fall = _dot(way, slope)
        rounding = 1e-14 * mass

        def at(t):
            return {name: log + t * way[name] for name, log in logs.items()}

        def too_far(t):
            return ~(total(_scaled(pieces, masses, at(t))) <= mass + 1e-4 * t * fall + rounding) & (t > 1e-10)

        t = jax.lax.while_loop(too_far, lambda t: t / 2, jnp.ones(()))
        there = at(t), looked(at(t))
        # At the very end the mass no longer tells one step from the next, but the gradient does.
        better = (there[1][0] < mass - rounding) | (there[1][2] < norm)
        here = jax.tree.map(lambda new, old: jnp.where(better, new, old), there, (logs, (mass, slope, norm)))
        return (*here, number + 1, ~better)

    def unfinished(state):
        _, (mass, _, norm), number, stuck = state
        return (norm > PRECISION * mass) & (number < STEPS) & ~stuck

    state = (start, looked(start), jnp.zeros((), int), jnp.zeros((), bool))
    logs, (mass, _, norm), _, _ = jax.lax.while_loop(unfinished, step, state)
    return logs, mass, norm
