"""Options of Langevin dynamics with mini-batches."""

from __future__ import annotations

import dataclasses
from typing import ClassVar, TypeVar

from symbayes.engine.method import Method, method
from symbayes.methods.phases.diffusion import Schedule
from symbayes.posterior import Posterior
from symbayes.specs import Count, Natural, Positive, Share

S = TypeVar("S", bound="Stochastic")


@method
class Stochastic(Method):
    """Base of samplers that use mini-batches.

    Attributes:
        batch: examples in a mini-batch; examples that do not fill the last one are left out, different ones
            in each epoch.
        burn_in: epochs before the first draw is kept.
        thin: epochs from one draw to the next.
        draws: draws of each chain.
        chains: independent chains.
        schedule: the learning rate is constant, decaying, or cyclical.
        decay: epochs after which a decaying rate begins to fall.
        cycle: epochs in a cycle.
        exploration: share of a cycle, at its beginning, without noise and without draws.
        precondition: scale the steps of every weight as RMSprop does, adapted during burn-in.
    """

    remedy: ClassVar[str] = "use a smaller learning_rate, and inputs of the order of one"
    extends: ClassVar[str | None] = "draws"

    learning_rate: Positive = 0.03
    batch: Count = 100
    burn_in: Natural = 100
    thin: Count = 10
    draws: Count = 100
    chains: Count = 4
    schedule: Schedule = "constant"
    decay: Count = 100
    cycle: Count = 50
    exploration: Share = 0.8
    precondition: bool = False

    def resolve(self: S, posterior: Posterior) -> S:
        return dataclasses.replace(self, batch=min(self.batch, posterior.size))
