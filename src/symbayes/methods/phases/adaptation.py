"""Step-size adaptation by dual averaging.

After trial ``t`` with acceptance ``a_t``, for the target acceptance ``delta``,

    h_t = (1 - 1/(t + t0)) h_{t-1} + (delta - a_t)/(t + t0)
    log e_t = log e_0 - sqrt(t)/gamma h_t
    log e'_t = t^-kappa log e_t + (1 - t^-kappa) log e'_{t-1}

Trials use the step size ``e_t``; when adaptation ends, ``e'_t`` is the step size.  Step sizes are pulled
towards the given step size, which is better than no guess, not towards ten times it as in the paper.

Reference: Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from symbayes.pytrees import pytree

T0, GAMMA, KAPPA = 10.0, 0.05, 0.75

D = TypeVar("D", bound="DualAveraging")


@pytree
@dataclass(frozen=True)
class DualAveraging:
    """The current step size, its running average, and the state of their adaptation.

    `lost` is the acceptance that reduced-precision gradients cost, where they are reduced.
    """

    step_size: Any
    average: Any
    error: Any
    trials: Any
    lost: Any = None

    @classmethod
    def start(cls: type[D], step_size: Any) -> D:
        step_size = jnp.float32(step_size)
        return cls(step_size, step_size, jnp.float32(0), jnp.float32(0))

    def update(self: D, acceptance: jax.Array, target: jax.Array, initial: Any) -> D:
        """Update from one trial; `initial` is the step size at the beginning of adaptation."""
        trials = self.trials + 1
        weight = 1 / (trials + T0)
        error = (1 - weight) * self.error + weight * (target - acceptance)
        log_step = jnp.log(initial) - jnp.sqrt(trials) / GAMMA * error
        forget = trials**-KAPPA
        average = jnp.exp(forget * log_step + (1 - forget) * jnp.log(self.average))
        return dataclasses.replace(
            self, step_size=jnp.exp(log_step), average=average, error=error, trials=trials
        )

    def settled(self: D, at_most: Any) -> D:
        """When adaptation ends: the average is the step size."""
        return dataclasses.replace(self, step_size=jnp.minimum(self.average, at_most))


@pytree
@dataclass(frozen=True)
class Tuning(DualAveraging):
    """Dual averaging where more is tuned, or the initial step size is not a hyper-parameter.

    Attributes:
        initial: the step size at the beginning of adaptation.
        scales: scales of the parameters; None for the prior's.
        spread: spread of the chains, from which scales are estimated; None for the prior's scales.
        length: length of trajectories, where it is tuned.
        share: number between 0 and 1 that determines the length of the next trajectory, where it varies.
    """

    initial: Any = None
    scales: Any = None
    spread: Any = None
    length: Any = None
    share: Any = None

    @classmethod
    def start(cls, step_size: Any) -> Tuning:
        first = jnp.float32(step_size)
        return cls(first, first, jnp.float32(0), jnp.float32(0), initial=first)

    def learned(self, acceptance: jax.Array, target: jax.Array) -> Tuning:
        """After one more trial."""
        return self.update(acceptance, target, self.initial)
