"""Isokinetic dynamics: a velocity of length one that the gradient rotates, but does not accelerate.

With the gradient ``g`` of the log density of ``d`` parameters, its direction ``n = g/|g|`` and
``c = e |g| / (d - 1)``, a velocity ``u`` is turned for a time ``e`` by

    u <- 2 exp(-c) u + (1 - exp(-c)) (1 + exp(-c) + <u, n> (1 - exp(-c))) n,   scaled to length one

which changes the kinetic energy by

    (d - 1) (c - log 2 + log(1 + <u, n> + (1 - <u, n>) exp(-2 c)))

A step of size ``e`` is the one of McLachlan: turn for ``a e``, move by ``(e/2) u``, turn for ``(1 - 2 a) e``,
move by ``(e/2) u``, turn for ``a e``, with ``a = 0.1931833``.  It takes two gradients, and its energy error
is the change of the kinetic energy minus that of the log density.  Where parameters have scales ``s``, the
dynamics is that of ``w / s``.

References: Robnik, De Luca, Silverstein & Seljak (2023), Microcanonical Hamiltonian Monte Carlo; Robnik &
Seljak (2024), Fluctuation without dissipation: microcanonical Langevin Monte Carlo; McLachlan (1995), On the
numerical integration of ordinary differential equations by symmetric composition methods.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.methods.phases.resting import Resting
from symbayes.posterior import Posterior

TURN = 0.1931833275037836
GRADIENTS = 2.0
"""Gradients per step."""


def normalised(velocity: Any) -> Any:
    """The same direction with length one."""
    length = trees.norm(velocity)
    return jax.tree.map(lambda u: u / length, velocity)


def any_direction(key: jax.Array, params: Any) -> Any:
    """A velocity in a uniformly random direction."""
    return normalised(trees.random_normal(key, params))


def partly_refreshed(key: jax.Array, velocity: Any, step_size: Any, length: Any) -> Any:
    """A velocity with noise such that its direction decorrelates over a path of about `length`."""
    amount = jnp.sqrt(jnp.expm1(2 * step_size / length) / trees.size(velocity))
    noise = trees.random_normal(key, velocity)
    return normalised(jax.tree.map(lambda u, z: u + amount * z, velocity, noise))


def turned(velocity: Any, gradient: Any, time: Any) -> tuple[Any, jax.Array]:
    """The velocity after the gradient has turned it, and the change of the kinetic energy."""
    less = trees.size(velocity) - 1
    strength = jnp.maximum(trees.norm(gradient), jnp.finfo(jnp.float32).tiny)
    along = trees.dot(velocity, gradient) / strength
    c = time * strength / less
    decay = jnp.exp(-c)
    push = (1 - decay) * (1 + decay + along * (1 - decay)) / strength
    after = normalised(jax.tree.map(lambda u, g: 2 * decay * u + push * g, velocity, gradient))
    change = c - jnp.log(2.0) + jnp.log(1 + along + (1 - along) * decay**2)
    return after, less * change


def isokinetic_step(
    posterior: Posterior, here: Resting, velocity: Any, step_size: Any, scales: Any
) -> tuple[Resting, Any, jax.Array]:
    """The end of a step, its velocity, and the change of the kinetic energy.

    `scales` are those of the parameters, and each leaf broadcasts to that of the parameters.  The likelihood
    at the end has the precision of the gradient.
    """

    def moved(variables: Any, velocity: Any) -> Any:
        params = jax.tree.map(
            lambda w, s, u: w + step_size / 2 * s * u, variables["params"], scales, velocity
        )
        return {**variables, "params": params}

    def whitened(gradient: Any) -> Any:
        return jax.tree.map(lambda s, g: s * g, scales, gradient)

    # Each part is settled, so that rounding is the same in every program that uses it.
    settled = jax.lax.optimization_barrier
    velocity, first = settled(turned(velocity, whitened(here.gradient), TURN * step_size))
    middle = settled(moved(here.variables, velocity))
    force = settled(whitened(posterior.gradient(middle)))
    velocity, second = settled(turned(velocity, force, (1 - 2 * TURN) * step_size))
    end = settled(moved(middle, velocity))
    gradient, terms = settled(posterior.gradient_and_terms(end))
    velocity, third = settled(turned(velocity, whitened(gradient), TURN * step_size))
    return Resting(end, gradient, terms), velocity, first + second + third
