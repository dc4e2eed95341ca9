"""What a run will take, told before it starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import jax

from symbayes import trees
from symbayes.engine import placement
from symbayes.engine.job import Job
from symbayes.engine.loop import State
from symbayes.engine.method import Method, kept_draws, phase_cost
from symbayes.engine.plan import Cursor, Plan
from symbayes.engine.start import Start
from symbayes.engine.words import duration, size
from symbayes.posterior import Posterior


@dataclass(frozen=True)
class Cost:
    """Gradients over all data (of all chains), seconds for them, and bytes of draws.

    `adapts` is true where the run itself may change the length of its units: the numbers are those for the
    given settings.  `groups` is in how many groups of chains, one after another, the run is made.
    """

    gradients: float
    seconds: float
    disk: int
    adapts: bool = False
    groups: int = 1

    def __str__(self) -> str:
        about, until = ("about ", " unless adaptation changes it") if self.adapts else ("", "")
        return (
            f"{about}{self.gradients:,.0f} full-data gradients, about {duration(self.seconds)}{until}, "
            f"{size(self.disk)} of draws{'' if self.groups == 1 else f', in {self.groups} groups of chains'}"
        )


def estimate(
    method: Method, posterior: Posterior, block_steps: int | None = None, together: int | None = None
) -> Cost:
    """The cost of a run, summed over its phases, from timing one block of each.

    Programs compiled for this are used by the run too.  Where chains go in groups (`together` is as in
    `run`), those of the first group are timed.
    """
    mesh = placement.over_cores(posterior, method.chains, together)
    posterior = posterior if mesh is None else placement.place_posterior(posterior, mesh)
    method = method.resolve(posterior)
    start = Start(posterior, 0, method.chains)
    job = Job(method, posterior, start, mesh=mesh, block_steps=block_steps).in_groups(together)
    left, seconds, gradients, known = None, 0.0, 0.0, {}
    for number, phase in enumerate(job.phases):
        if phase.units:
            state, plan = job.begin(number, left)
            # Phases of one kind run the same program: burn-in is timed for the draws after it too.
            program = jax.tree.structure(phase)
            if program not in known:
                known[program] = _seconds_per_step(job, number, state, plan)
            seconds += known[program] * phase.units * phase.expected_steps(posterior, plan.steps)
            gradients += phase.units * phase_cost(phase, posterior, plan.steps)
            left = job.leave(number, state, left)
    draws = kept_draws(job.phases) * trees.nbytes(jax.eval_shape(posterior.init, jax.random.key(0)))
    return Cost(
        gradients=gradients * method.chains,
        seconds=seconds * method.chains / job.at_once,
        disk=draws * method.chains,
        adapts=any(phase.units and phase.adapts for phase in job.phases),
        groups=len(job.groups),
    )


def _seconds_per_step(job: Job, number: int, state: State, plan: Plan) -> float:
    """Of the first block of a phase, once it is compiled."""

    def block() -> tuple[float, float]:
        begin = time.perf_counter()
        made = job.advance(number, Cursor(number), state, plan)
        jax.block_until_ready((made.state, made.record))
        steps = max(1, len(made.units)) * plan.steps / plan.pieces
        return time.perf_counter() - begin, steps

    _, (seconds, steps) = block(), block()
    return seconds / steps
