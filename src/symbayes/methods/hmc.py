"""Full-batch Hamiltonian Monte Carlo.

With U(w) = -log density, momentum p ~ N(0, I) and step size e, one trajectory of L leapfrog steps

    p <- p - e/2 grad U(w);   L times: w <- w + e p, p <- p - e grad U(w);   p <- p + e/2 grad U(w)

is accepted with probability min(1, exp(U(w0) + |p0|^2/2 - U(w) - |p|^2/2)), else the old draw is
repeated.  The energies' difference is summed from element-wise differences: totals of a large network
do not fit float32.

References: Neal (2011), MCMC using Hamiltonian dynamics; Izmailov et al. (2021), What are Bayesian
neural network posteriors really like?
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.engine.plan import Plan, draw_slots, steps_per_block
from symbayes.engine.protocol import Block, State
from symbayes.engine.start import start_variables
from symbayes.methods.adaptation import DualAveraging
from symbayes.methods.trajectories import ROUNDING, Flight, Settings, advance, locate
from symbayes.posterior import Posterior
from symbayes.posterior.posterior import quarter_period
from symbayes.specs import require, require_counts, require_positive


@dataclass(frozen=True)
class HMC:
    """Full-batch Hamiltonian Monte Carlo (Neal 2011): exact up to its Monte-Carlo error.

    Attributes:
        step_size: of the leapfrog integrator; with `adapt`, where adaptation begins.  In units of the prior's
            standard deviations where these differ between parameters.
        trajectory: length of a trajectory, step size times number of steps; by default a quarter of
            the prior's period, pi/2 alpha sqrt(T).
        burn_in: trajectories before the first draw is kept.
        draws: trajectories after that, one draw each.
        chains: independent chains.
        adapt: tune the step size during burn-in towards `target_accept`.
        target_accept: the mean acceptance probability that adaptation aims at.
        block_steps: leapfrog steps between two saves; by default about a second of work.
    """

    name: ClassVar[str] = "hmc"
    remedy: ClassVar[str] = "use a smaller step_size, and inputs of the order of one"

    step_size: float
    trajectory: float | None = None
    burn_in: int = 50
    draws: int = 240
    chains: int = 4
    adapt: bool = True
    target_accept: float = 0.9
    block_steps: int | None = None

    def __post_init__(self) -> None:
        require(self.step_size is not None, "HMC needs a step_size, where adaptation begins")
        require_positive(step_size=self.step_size, target_accept=self.target_accept)
        require_counts(draws=self.draws, chains=self.chains)
        require_counts(least=0, burn_in=self.burn_in)
        require_counts(trajectories=self.burn_in + self.draws)
        require(self.target_accept < 1, f"target_accept lies between 0 and 1, not {self.target_accept}")
        require(isinstance(self.adapt, bool), f"adapt is True or False, not {self.adapt!r}")
        if self.block_steps is not None:
            require_counts(block_steps=self.block_steps)
        require_positive(trajectory=self.step_size if self.trajectory is None else self.trajectory)
        require(
            self.trajectory is None or self.trajectory >= self.step_size,
            f"a trajectory of {self.trajectory} is shorter than one step of {self.step_size}",
        )
        steps = (self.trajectory or self.step_size) / self.step_size
        require(steps < 2**31, f"a trajectory has {steps:.3g} steps: use a larger step_size")

    def resolve(self, posterior: Posterior) -> HMC:
        trajectory = self.trajectory or quarter_period(posterior)
        if trajectory is None:
            raise ValueError("this prior has no variance: give a trajectory length")
        return dataclasses.replace(
            self,
            trajectory=max(trajectory, self.step_size),
            block_steps=self.block_steps or steps_per_block(posterior, self.chains, posterior.size),
        )

    @property
    def leapfrog_steps(self) -> int:
        """Steps in a trajectory at the step size given, ``ceil(trajectory / step_size)``."""
        assert self.trajectory is not None, "resolve the method first"
        return max(1, math.ceil(self.trajectory / self.step_size * (1 - ROUNDING)))

    def plan(self, posterior: Posterior) -> Plan:
        assert self.block_steps is not None, "resolve the method first"
        slots = draw_slots(posterior, self.chains)
        return Plan(self.burn_in + self.draws, self.leapfrog_steps, self.block_steps, slots)

    def blocks(self, posterior: Posterior) -> int:
        return self.plan(posterior).blocks

    def kept(self) -> int:
        return self.draws

    def gradients(self, posterior: Posterior) -> float:
        return float((self.burn_in + self.draws) * self.leapfrog_steps)

    def init(self, posterior: Posterior, key: jax.Array, start: Any = None) -> State:
        variables = start_variables(posterior, key, self.chains, start)
        chain = locate(posterior, variables)
        if self.plan(posterior).pieces > 1:
            zeros = jax.tree.map(jnp.zeros_like, chain.variables["params"])
            flight = Flight(chain.variables["params"], chain.gradient, zeros, chain.likelihood)
            chain = dataclasses.replace(chain, flight=flight)
        return State(jax.random.key_data(key), chain, DualAveraging.start(self.step_size))

    def advance(self, posterior: Posterior, state: State, block: int) -> tuple[State, Block]:
        plan = self.plan(posterior)
        work = plan.work(block)
        adapted = self.burn_in if self.adapt else 0
        settings = Settings(
            *(np.float32(value) for value in (self.step_size, self.trajectory, self.target_accept)),
            *(np.int32(value) for value in (self.burn_in, adapted, self.leapfrog_steps)),
        )
        state, record = advance(posterior, state, settings, work.arrays(), slots=plan.slots)
        made = work.count if work.ends else 0
        burn_in = min(max(self.burn_in - work.first, 0), made)
        metrics = {"step_size": state.shared.step_size}
        if made:
            metrics |= {"acceptance": record.acceptance, "divergences": record.divergences}
        return state, Block(
            variables=record.variables,
            stats=record.stats,
            kept=range(burn_in, made),
            first=max(work.first - self.burn_in, 0),
            metrics=metrics,
            traces={"energy": record.stats["energy"]},
            done=made,
        )

    def finish(self, posterior: Posterior, state: State) -> None:
        return None

    def review(self, metrics: Sequence[Mapping[str, Any]]) -> list[str]:
        accepted = [line["acceptance"] for line in metrics if "acceptance" in line]
        late = accepted[len(accepted) // 2 :]
        warnings = []
        if late and sum(late) / len(late) < 0.3:
            warnings.append(
                f"HMC accepted only {sum(late) / len(late):.0%} of its later trajectories: "
                "use a smaller step_size or a longer burn_in"
            )
        diverged = [line for line in metrics if line.get("divergences")]
        if diverged:
            warnings.append(
                f"{sum(line['divergences'] for line in diverged)} trajectories diverged after burn-in, "
                f"first in block {diverged[0]['block']}: use a smaller step_size"
            )
        return warnings
