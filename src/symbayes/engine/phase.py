"""What a method is made of: phases.

A run goes through its phases one after the other.  A phase is `units` of some steps each (trajectories of
leapfrog steps, epochs of optimiser steps), and a unit may end in a draw.  A phase says its equation for one
chain; keys, buffers, which units end in draws, long units cut in pieces, saving, resuming and placement are
the engine's.

A phase is a frozen dataclass and a pytree: its numbers are leaves, so that other values compile nothing; its
words and sizes (fields made with `static`) are structure.

    begin   shared <- what the phase before left              once, for all chains together
    enter   chain  <- the same, for one chain
    open    flight <- chain                                   a unit begins: fresh momentum
    step    flight <- flight                                  THE EQUATION
    close   chain, statistics, evidence <- chain, flight      a unit ends: accept
    learn   shared <- evidence of all chains                  step size, mass
    draw    variables, statistics <- chain                    where a unit ends in a draw
    fit     distribution <- chain                             when the phase ends
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, dataclass_transform

import jax
import numpy as np

from symbayes.distributions import Distribution
from symbayes.posterior import Posterior
from symbayes.pytrees import pytree
from symbayes.trees import Scalar, Tree

Shared = Any
"""What all chains have in common: a pytree of the phase's own."""
Chain = Any
"""What one chain carries from unit to unit: a pytree of the phase's own, with `variables` unless `draw` knows
better."""
Flight = Any
"""What one chain carries from step to step."""
Evidence = Any
"""What one chain tells the others at the end of a unit, a pytree; not stored."""
Statistics = dict[str, jax.Array]

P = TypeVar("P", bound=type)


@dataclass_transform(frozen_default=True)
def phase(cls: P) -> P:
    """Make a class a phase: a frozen dataclass and a pytree."""
    return pytree(dataclass(frozen=True)(cls))


def static(**options: Any) -> Any:
    """A field that is structure: another value is another program."""
    return dataclasses.field(metadata={"static": True}, **options)


@pytree
@dataclass(frozen=True)
class Tick:
    """Where in the phase a chain is.

    Attributes:
        key: of this chain and unit; in `step`, of this step.
        unit: number within the phase, from 0 on.
        step: number within the unit, from 0 on.
        rows: of the training data, the mini-batch of this step; None for a phase without `batch`.
    """

    key: Any
    unit: Any
    step: Any = 0
    rows: Any = None


@pytree
@dataclass(frozen=True)
class Left:
    """What a phase finds: all that the one before left, or the run's start.

    In `begin`, all but `shared` and `found` have a leading axis over chains.

    Attributes:
        variables: where the chain is.
        chain: the state of the chain; None at the start of a run.
        shared: what the chains had in common; None at the start of a run.
        distribution: what was fitted last, if anything.
        found: at the start of a run from draws of another of the same method, what the chains of that one
            had in common when it ended, by name.
    """

    variables: Tree
    chain: Chain = None
    shared: Shared = None
    distribution: Tree = None
    found: Tree = None


@pytree
@dataclass(frozen=True)
class Position:
    """A chain that remembers nothing but where it is."""

    variables: Tree


class Phase:
    """A stretch of a run; see the module for the order in which its parts are called.

    Fields are hyper-parameters.  `units` and, for mini-batches, `batch` are fields or properties.
    """

    open_ended: ClassVar[bool] = False
    """Whether its program does not depend on `units`: a run can then be extended."""
    shown: ClassVar[tuple[str, ...]] = ()
    """Statistics whose mean over the last block is shown with the progress."""

    units: int
    batch: int | None = None
    validation: Tree = None
    """Validation data, if it looks at them: leaves, whose checksum is recorded with the run."""

    def begin(self, posterior: Posterior, left: Left, tick: Tick) -> Shared:
        """What all chains have in common, when the phase begins; the key is the phase's own."""
        return None

    def enter(self, posterior: Posterior, shared: Shared, left: Left, tick: Tick) -> Chain:
        """Where one chain begins; the key is the phase's own.  By default a chain is where it is."""
        return Position(left.variables)

    def steps(self, posterior: Posterior, shared: Shared) -> Scalar:
        """Steps in a unit, which may be traced; by default one, or as many as fill an epoch."""
        return 1 if self.batch is None else posterior.size // self.batch

    def expected_steps(self, posterior: Posterior, begun: int | None = None) -> int:
        """Steps in a unit as far as they are known: `begun` is what `steps` gave when the phase began, None
        before the run."""
        return int(self.steps(posterior, None)) if begun is None else begun

    @property
    def joint(self) -> bool:
        """Whether a chain depends on the others, so that all of them are worked on together."""
        return self.overrides("begin") or self.overrides("learn")

    @property
    def adapts(self) -> bool:
        """Whether it may change how many steps a unit has."""
        return self.overrides("learn") and self.overrides("expected_steps")

    def gradients_per_step(self, posterior: Posterior) -> float:
        """What a step costs, in gradients over all data."""
        return 1.0 if self.batch is None else self.batch / posterior.size

    def open(self, posterior: Posterior, shared: Shared, chain: Chain, tick: Tick) -> Flight:
        """Begin a unit.  By default nothing happens, and a chain is its own flight."""
        return chain

    def step(self, posterior: Posterior, shared: Shared, flight: Flight, tick: Tick) -> Flight:
        """The equation."""
        return flight

    def close(
        self, posterior: Posterior, shared: Shared, chain: Chain, flight: Flight, tick: Tick
    ) -> tuple[Chain, Statistics, Evidence]:
        """End a unit: the chain, statistics that are kept with the run, and evidence for `learn`."""
        return flight, {}, None

    def learn(self, shared: Shared, evidence: Evidence, tick: Tick) -> Shared:
        """Learn from all chains; `evidence` has a leading chain axis.  The tick has no key."""
        return shared

    def going(self, flight: Flight) -> Any:
        """Whether a chain takes further steps.  One that does not is frozen until a unit opens it again."""
        return True

    def kept(self, unit: int) -> bool:
        """Whether this unit ends in a draw; asked on the host."""
        return False

    def draw(self, posterior: Posterior, shared: Shared, chain: Chain, tick: Tick) -> tuple[Tree, Statistics]:
        """The draw of a unit that ends in one, and statistics beside those of the unit."""
        return chain.variables, {}

    def fit(self, posterior: Posterior, shared: Shared, chain: Chain) -> Distribution | None:
        """The distribution that one chain has found when the phase ends, or None."""
        return None

    def leave(self, chain: Chain) -> Chain:
        """What the next phase finds of the chain; here it has a leading axis over chains.  By default all."""
        return chain

    def arrays(self) -> Phase:
        """The same phase with its numbers as arrays, as compiled programs take them."""
        return jax.tree.map(_array, self)

    def overrides(self, part: str) -> bool:
        """Whether this phase has its own form of `part`."""
        return getattr(type(self), part) is not getattr(Phase, part)


def _array(value: Any) -> Any:
    """A plain number as the array that it is in a compiled program, so that all of them have one type."""
    for kind, array in ((bool, np.bool_), (int, np.int32), (float, np.float32)):
        if isinstance(value, kind):
            return array(value)
    return value
