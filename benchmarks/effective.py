"""Effective draws within a time: our samplers, numpyro's NUTS and blackjax's MCLMC on one posterior.

All begin where the same warm-up ended, with their chains on the same cores of a CPU.  Time counts from the
end of the first block of draws, so that compiling and tuning are left out.  It ends with the block that
exceeds the seconds given or, for a sampler with fewer than `FEWEST` draws of each chain by then, with the one
that exceeds `LONGER` times as many.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import symbayes as sb
from benchmarks.peers import log_density_of
from symbayes.engine import Method
from symbayes.engine.job import Job
from symbayes.engine.placement import over_cores, place_posterior
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start

FEWEST, LONGER = 16, 3
COUNTED = 4
"""Draws of each chain without which there is no effective sample size."""
TOLD = ("acceptance", "step_size", "trajectory", "leaves", "energy_variance", "length", "loss")
"""Statistics whose mean over the draws is given beside the numbers."""


@dataclass(frozen=True)
class Drawn:
    """What a sampler drew after burn-in.

    Attributes:
        predicted: (chain, draw, quantity).
        seconds: that it took.
        gradients: over all data, of all chains.
        told: means of its statistics.
    """

    predicted: np.ndarray
    seconds: float
    gradients: float
    told: Mapping[str, float] = field(default_factory=dict)

    def numbers(self) -> dict[str, float]:
        """The effective sample size in the space of functions is that of `symbayes.diagnose`."""
        mixing = sb.analyse.Mixing(self.predicted)
        worth = float(np.nanmedian(mixing.ess_bulk))
        return {
            "effective draws": round(worth, 1),
            "draws": int(np.prod(self.predicted.shape[:2])),
            "per second": _short(worth / self.seconds),
            "per 1,000 gradients": _short(1000 * worth / self.gradients),
            "gradients a second": round(self.gradients / self.seconds, 1),
            "R-hat": round(float(np.nanmedian(mixing.rhat)), 3),
            "seconds": round(self.seconds, 2),
            **{name: _short(value) for name, value in self.told.items()},
        }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


@dataclass
class Clock:
    """How long a sampler has drawn, and whether that is enough."""

    seconds: float
    begun: float | None = None
    taken: float = 0.0

    def enough(self, draws: int) -> bool:
        """After a block with which each chain has so many draws; the first only starts the clock."""
        now = time.perf_counter()
        self.begun = now if self.begun is None else self.begun
        self.taken = now - self.begun
        if draws < COUNTED:
            return False
        return self.taken > self.seconds * (1 if draws >= FEWEST else LONGER)


def ours(method: Method, posterior: sb.Posterior, start: Any, x: np.ndarray, seconds: float) -> Drawn:
    """Of a method that is asked for more draws than there is time for."""
    method = method.started().resolve(posterior)
    begins = Start(posterior, 1, method.chains, start, type(method).__name__)
    mesh = over_cores(posterior, method.chains)
    posterior = posterior if mesh is None else place_posterior(posterior, mesh)
    job, into, clock = Job(method, posterior, begins, mesh=mesh), MemorySink(), Clock(seconds)
    last = max(n for n, phase in enumerate(job.phases) if phase.units)
    first, drawn, gradients, told = 0, 0, 0.0, []
    work = job.work(into)
    for made, _ in work:
        if made.after.phase != last:
            continue
        begins = clock.begun is None
        enough = clock.enough(made.after.drawn - first)
        if begins:
            first = made.after.drawn
            continue
        gradients += job.gradients(made)
        drawn = made.after.drawn
        told.append({name: np.asarray(v)[:, : len(made.units)] for name, v in made.record.traces.items()})
        if enough:
            break
    work.close()
    params = into.draws.select(draws=slice(first, drawn)).variables["params"]
    means = {
        name: float(np.mean(np.concatenate([part[name] for part in told], axis=1)))
        for name in TOLD
        if told and name in told[0]
    }
    return Drawn(predicted(posterior, params, x), clock.taken, gradients, means)


def predicted(posterior: sb.Posterior, params: Any, x: np.ndarray) -> np.ndarray:
    """Probabilities from parameters with leading axes (chain, draw)."""

    def one(p: Any) -> jax.Array:
        return jax.nn.softmax(posterior.network.apply({"params": p, "stats": {}}, jnp.asarray(x))).ravel()

    return np.asarray(jax.jit(lambda p: jax.lax.map(lambda chain: jax.lax.map(one, chain), p))(params))


def _looped(unit: Callable[[Any], Any], state: Any, clock: Clock, kept: Callable[[Any], Any]) -> Any:
    """One unit of all chains after another, until it is enough: what is kept of each, along a second axis."""
    state = jax.block_until_ready(unit(state))
    clock.enough(0)
    made: list[Any] = []
    while not made or not clock.enough(len(made)):
        state = jax.block_until_ready(unit(state))
        made.append(kept(state))
    return jax.tree.map(lambda *each: jnp.stack(each, axis=1), *made)


def spread(posterior: sb.Posterior, tree: Any) -> Any:
    """Arrays with a leading axis of chains, on the cores where ours are too."""
    mesh = over_cores(posterior, jax.tree.leaves(tree)[0].shape[0])
    return tree if mesh is None else jax.device_put(tree, jax.NamedSharding(mesh, jax.P("chain")))


def numpyro_nuts(
    posterior: sb.Posterior,
    start: Any,
    x: np.ndarray,
    seconds: float,
    *,
    depth: int,
    step_size: float,
    warm: int = 0,
) -> Drawn:
    """With a warm-up of its own, in which it adapts step size and mass as by default; or with the step
    size given and the prior's mass, as ours, so that it need not look for any."""
    from numpyro.infer import NUTS

    log_density = log_density_of(posterior)
    kernel = NUTS(
        potential_fn=lambda params: -log_density(params),
        step_size=step_size,
        adapt_step_size=warm > 0,
        adapt_mass_matrix=warm > 0,
        max_tree_depth=depth,
    )
    chains = jax.tree.leaves(start)[0].shape[0]
    keys = spread(posterior, jax.random.split(jax.random.key(1), chains))
    state = kernel.init(keys, warm, init_params=spread(posterior, start["params"]))
    unit, clock = jax.jit(lambda state: kernel.sample(state, (), {})), Clock(seconds)
    for _ in range(warm):
        state = unit(state)
    positions, leaves, acceptance, step = _looped(
        unit,
        state,
        clock,
        lambda state: (state.z, state.num_steps, state.accept_prob, state.adapt_state.step_size),
    )
    means = {"leaves": leaves, "acceptance": acceptance, "step_size": step}
    told = {name: float(jnp.mean(each)) for name, each in means.items()}
    return Drawn(predicted(posterior, positions, x), clock.taken, float(jnp.sum(leaves)), told)


def blackjax_mclmc(
    posterior: sb.Posterior, start: Any, x: np.ndarray, seconds: float, *, steps: int, thin: int
) -> Drawn:
    """Tuned by blackjax in three tenths of `steps`."""
    import blackjax

    log_density = log_density_of(posterior)
    kernel = blackjax.mcmc.mclmc.build_kernel()
    chains = jax.tree.leaves(start)[0].shape[0]
    keys = [spread(posterior, jax.random.split(key, chains)) for key in jax.random.split(jax.random.key(6))]

    @jax.jit
    @jax.vmap
    def tuned(params: Any, first: jax.Array, second: jax.Array) -> Any:
        return blackjax.mclmc_find_L_and_step_size(
            mclmc_kernel=kernel,
            num_steps=steps,
            state=blackjax.mcmc.mclmc.init(params, log_density, first),
            rng_key=second,
            logdensity_fn=log_density,
            diagonal_preconditioning=False,
            desired_energy_var=1e-4,
        )[:2]

    states, given = tuned(spread(posterior, start["params"]), *keys)

    @jax.jit
    @jax.vmap
    def unit(carry: Any) -> Any:
        state, given, key = carry
        key, own = jax.random.split(key)

        def step(state: Any, key: jax.Array) -> Any:
            mass = given.inverse_mass_matrix
            state, info = kernel(key, state, log_density, mass, given.L, given.step_size)
            return state, info.energy_change

        state, change = jax.lax.scan(step, state, jax.random.split(own, thin))
        return (state, given, key), jnp.var(change)

    clock, carry = Clock(seconds), ((states, given, keys[0]), None)
    positions, variances = _looped(
        lambda carry: unit(carry[0]), carry, clock, lambda carry: (carry[0][0].position, carry[1])
    )
    size = sum(leaf[0].size for leaf in jax.tree.leaves(start["params"]))
    told = {
        "energy_variance": float(jnp.mean(variances)) / size,
        "step_size": float(jnp.mean(given.step_size)),
        "length": float(jnp.mean(given.L)),
    }
    # McLachlan's integrator takes two gradients a step.
    gradients = 2.0 * thin * variances.size
    return Drawn(predicted(posterior, positions, x), clock.taken, gradients, told)
