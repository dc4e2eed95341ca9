"""Bare blocks of a run: what the engine dispatches, without saving, progress or observers."""

from __future__ import annotations

from typing import Any

import jax

import symbayes as sb
from symbayes.engine.job import Job
from symbayes.engine.plan import Cursor
from symbayes.engine.start import Start


class Bare:
    """The first phase of a method that has any units, about to begin."""

    def __init__(self, method: sb.HMC, posterior: sb.Posterior, block_steps: int) -> None:
        method = method.resolve(posterior)
        start = Start(posterior, 0, method.chains)
        self.job = Job(method, posterior, start, block_steps=block_steps)
        self.number = next(n for n, phase in enumerate(self.job.phases) if phase.units)
        self.state, self.plan = self.job.begin(self.number)

    @property
    def params(self) -> Any:
        """Where the first chain begins."""
        return jax.tree.map(lambda leaf: leaf[0], self.state.chain.variables["params"])

    def block(self) -> Any:
        """The first block, dispatched; gives where the chains end."""
        made = self.job.advance(self.number, Cursor(self.number), self.state, self.plan)
        return made.state.chain.variables

    def all(self) -> None:
        """Every block of the phase, one after the other."""
        cursor, state = Cursor(self.number), self.state
        while cursor.unit < self.job.phases[self.number].units:
            made = self.job.advance(self.number, cursor, state, self.plan)
            cursor, state = made.after, made.state
            jax.block_until_ready((state, made.record.variables))
