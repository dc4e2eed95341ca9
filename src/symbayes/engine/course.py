"""The phases of a run, each entered and left for one group of chains at a time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, TypeVar

import jax
import numpy as np
from jax.sharding import Mesh

from symbayes.engine import groups, loop, placement, states
from symbayes.engine.crew import Crew
from symbayes.engine.loop import State, initialised
from symbayes.engine.method import Method
from symbayes.engine.phase import Left, Phase
from symbayes.engine.plan import Plan, draw_slots, steps_per_block
from symbayes.engine.start import Start
from symbayes.posterior import Posterior

C = TypeVar("C", bound="Course")


class Diverged(FloatingPointError):
    """Numbers stopped being finite; the message says where, and the remedy."""


@dataclass
class Course:
    """A method on a posterior.

    `together` chains are worked on at once, by default all.  Blocks are cut for a group of this size, so that
    those of all groups have the same units.
    """

    method: Method
    posterior: Posterior
    start: Start
    mesh: Mesh | None = None
    block_steps: int | None = None
    together: int | None = None
    crew: Crew = field(default_factory=Crew)
    phases: tuple[Phase, ...] = field(init=False)
    groups: tuple[range, ...] = field(init=False)
    slots: int = field(init=False)

    def __post_init__(self) -> None:
        self.posterior = self.method.prepared(self.posterior)
        self.phases = self.method.phases(self.posterior)
        chains = self.method.chains
        width = 1 if self.mesh is None else self.mesh.shape["chain"]
        self.groups = groups.cut(chains, min(self.together or chains, chains), width)
        self.slots = draw_slots(self.posterior, self.at_once)

    @property
    def at_once(self) -> int:
        """Chains in a group, but for the last, which may be smaller."""
        return len(self.groups[0])

    def in_groups(self: C, together: int | None, earlier: int | None = None) -> C:
        """The same with so many chains at once, by default as many as a stored run has (`earlier`), or as fit
        in memory.

        Of several processes, the first decides.
        """
        chains, asked = self.method.chains, together is not None
        together = together if asked else earlier
        if together is None and chains > 1 and not groups.joint(self.phases):
            one = jax.eval_shape(lambda: initialised(self.posterior, jax.random.key(0), 1))
            forms = self.forms(len(self.phases) - 1, Left(one))
            together = groups.fitting(self.posterior, forms, self.mesh)
        together = self.crew.said(together)
        if together is None or together >= chains:
            return self
        if asked:
            groups.require_possible(together, self.phases, self.mesh)
        return dataclasses.replace(self, together=together)

    def begin(self, number: int, left: Left | None = None, group: int = 0) -> tuple[State, Plan]:
        """The state with which a phase begins, and how it is cut into blocks; the first has no `left`."""
        chains = self.groups[group]
        found = self.start.left(chains) if left is None else left
        phase = self.phases[number].arrays()
        numbers = np.uint32(number), np.uint32(chains.start)
        state = self._placed(loop.enter(self.posterior, phase, found, self.start.key, *numbers))
        if left is None:
            bad = states.first_nonfinite(self._readable(state.chain), chains.start)
            if bad is not None:
                raise Diverged(
                    f"the start is not finite ({bad}): "
                    "check the scale of the inputs and of the prior, or give another start"
                )
        plan = self.plan(number, state)
        return self._placed(state if plan.whole else loop.with_flight(self.posterior, phase, state)), plan

    def plan(self, number: int, state: State) -> Plan:
        """How a phase is cut, from the length that its units have when it begins."""
        phase = self.phases[number].arrays()
        steps = int(phase.steps(self.posterior, state.shared))
        batch = self.posterior.size if phase.batch is None else phase.batch
        return Plan.of(steps, self.block_steps or steps_per_block(self.posterior, self.at_once, batch))

    def leave(self, number: int, state: State, left: Left | None) -> Left:
        """What a phase that ended hands to the next; `left` is what the one before handed to it."""
        fitted = None if left is None else left.distribution
        return loop.leave(self.posterior, self.phases[number].arrays(), state, fitted)

    def forms(self, upto: int, left: Left) -> list[State]:
        """Shapes and types of the state within each phase that has units, up to and with this one, and with
        room for its flight; nothing is computed."""

        def entered(left: Left, phases: list[Phase]) -> list[State]:
            made: list[State] = []
            for number, phase in enumerate(phases):
                if self.phases[number].units:
                    state = loop.entered(self.posterior, phase, left, self.start.key, np.uint32(number))
                    made.append(loop.with_flight(self.posterior, phase, state))
                    if number < upto:
                        left = loop.leave(self.posterior, phase, state, left.distribution)
            return made

        return jax.eval_shape(entered, left, [phase.arrays() for phase in self.phases[: upto + 1]])

    def form(self, number: int, plan: Plan, group: int = 0) -> State:
        """Shapes and types of the state within a phase."""
        state = self.forms(number, self.start.form(self.groups[group]))[-1]
        return dataclasses.replace(state, flight=None) if plan.whole else state

    def _placed(self, state: State) -> State:
        return state if self.mesh is None else placement.place_state(state, self.mesh)

    def _readable(self, tree: Any) -> Any:
        """What this process can read; of several processes all take part."""
        return tree if self.crew.alone else placement.gathered(tree, self.mesh)
