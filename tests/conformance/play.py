"""Running a method block by block, as the engine does, with every step in the open."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import symbayes as sb
from symbayes.draws.draws import read_segment
from symbayes.engine import Method
from symbayes.engine.course import Course
from symbayes.engine.job import Job
from symbayes.engine.loop import State
from symbayes.engine.phase import Left
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start


@dataclass(frozen=True)
class Played:
    """What a run gave: its draws by name, (chain, draw) first, its traces, and the blocks."""

    draws: dict[str, np.ndarray]
    traces: dict[str, np.ndarray]
    blocks: int


class Resumable(MemorySink):
    """A sink in memory that also keeps what is needed to go on, as named arrays."""

    def commit(self, draws: Any, count: int, **parts: Any) -> None:
        super().commit(draws, count, **parts)
        self.entries[-1] |= {"cursor": parts["cursor"], "plan": parts["plan"]}
        self.kept = {name: array.copy() for name, array in parts["state"].items()}

    def state(self) -> dict[str, np.ndarray]:
        return self.kept


def job(method: Method, posterior: sb.Posterior, seed: int = 0, **options: Any) -> Job:
    """What does the work of a run."""
    start, method = options.pop("start", None), method.resolve(posterior)
    return Job(method, posterior, Start(posterior, seed, method.chains, start), **options)


def play(
    method: Method,
    posterior: sb.Posterior,
    seed: int = 0,
    start: Any = None,
    block_steps: int | None = None,
    through_arrays: bool = False,
    together: int | None = None,
    like_the_first: bool = False,
) -> Played:
    """All blocks of a run; `through_arrays` makes each in a job of its own, as a run that is stopped after
    every block and resumed, and `together` chains are worked on at once.  With `like_the_first` all chains
    begin every phase in the state of the first."""

    def new() -> Job:
        made = job(method, posterior, seed, start=start, block_steps=block_steps)
        if like_the_first:
            made.begin = functools.partial(_begun_like_the_first, made.begin)
        return made if together is None else made.in_groups(together)

    sink = Resumable() if through_arrays else MemorySink()
    if through_arrays:
        again = new()
        while made := next(again.blocks(sink, {}), None):
            again.save(sink, made, {})
            again = new()
            again.forms = functools.partial(forms_once, again)
    else:
        for _ in new().work(sink):
            pass
    segments = [read_segment(segment) for segment in sink.draws.segments]
    draws = {name: np.concatenate([part[name] for part in segments], axis=1) for name in segments[0]}
    return Played(draws, sink.traces, sink.blocks)


def _begun_like_the_first(begin: Any, *args: Any) -> Any:
    state, plan = begin(*args)
    chain = jax.tree.map(lambda leaf: np.asarray(leaf)[np.zeros(len(leaf), int)], state.chain)
    return dataclasses.replace(state, chain=chain), plan


_forms: dict[Any, tuple[sb.Posterior, list[State]]] = {}


def forms_once(made: Course, upto: int, left: Left) -> list[State]:
    """What `Course.forms` gives, whose tracing takes longest of all that is done anew whenever a run goes on:
    traced once, and for all phases, for a method, a posterior and what is left to the phases."""
    leaves, structure = jax.tree.flatten(left)
    key = (made.method, id(made.posterior), structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves))
    if key not in _forms:
        _forms[key] = made.posterior, _traced(made, len(made.phases) - 1, left)
    return _forms[key][1][: sum(phase.units > 0 for phase in made.phases[: upto + 1])]


_traced = Course.forms
