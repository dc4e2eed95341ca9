"""Schedules of the learning rate.

``t`` is the share of the training that is done, from 0 to 1.  The learning rate is multiplied by a factor
that falls from 1 to a floor ``f``:

    constant   1
    linear     1 - (1 - f) t
    cosine     f + (1 - f) (1 + cos(pi t)) / 2
    step       1, from t = 1/2 on 0.1, and from t = 3/4 on 0.01, at least f

A warm-up is a first part of the training in which the rate rises linearly from zero; ``t`` then counts from
its end.  With cycles, all of this begins again in every cycle.

References: Loshchilov & Hutter (2017), SGDR: stochastic gradient descent with warm restarts; He et al.
(2016), Deep residual learning for image recognition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from symbayes.pytrees import pytree

Schedule = Literal["constant", "linear", "cosine", "step"]

DROPS, FACTOR = (0.5, 0.75), 0.1
"""The times at which a rate with the schedule step falls, and the factor of each fall."""


@pytree
@dataclass(frozen=True)
class Rate:
    """The learning rate of every step.  All fields are numbers, so another schedule needs no compilation.

    Attributes:
        peak: the learning rate itself.
        kind: number of the schedule.
        span: epochs after which the schedule begins again; those of the training, if it does not.
        warmup: share of the span in which the rate rises.
        floor: final rate, relative to the peak.
    """

    peak: Any
    kind: Any
    span: Any
    warmup: Any = 0.0
    floor: Any = 0.0

    @classmethod
    def of(cls, peak: float, schedule: Schedule, span: int, warmup: float = 0.0, floor: float = 0.0) -> Rate:
        """A schedule by its name."""
        return cls(peak, get_args(Schedule).index(schedule), span, warmup, floor)

    def at(self, unit: Any, step: Any, steps: Any) -> jax.Array:
        """The rate of a step of an epoch with `steps` steps."""
        done = (unit % self.span * steps + step) / (self.span * steps)
        return self.peak * self.left(done)

    def left(self, done: Any) -> jax.Array:
        """The factor of the rate when a share `done` of the training is done."""
        rising = done < self.warmup
        t = (done - self.warmup) / (1 - self.warmup)
        fallen = 1.0 * FACTOR ** sum((t >= drop).astype(jnp.float32) for drop in DROPS)
        kinds = [
            jnp.ones_like(t),
            1 - (1 - self.floor) * t,
            self.floor + (1 - self.floor) * ((1 + jnp.cos(jnp.pi * t)) / 2),
            jnp.maximum(fallen, self.floor),
        ]
        falling = jnp.select([self.kind == number for number in range(len(kinds))], kinds)
        return jnp.where(rising, done / jnp.where(rising, self.warmup, 1.0), falling)
