"""Run a method on a posterior, block by block; a run that was stopped goes on where it was.

While the device works on one block, the one before it is checked, observed and saved by another thread: some
devices hold the calling thread until a block is done.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from symbayes import specs
from symbayes.draws import Draws, Origin, Run
from symbayes.draws.draws import MemorySegment, named_arrays
from symbayes.engine import placement, states
from symbayes.engine.observers import Memory, Observer
from symbayes.engine.progress import Bar, interrupt_after_block, wanted
from symbayes.engine.protocol import Block, Method, State
from symbayes.engine.record import configuration
from symbayes.networks import require_storable
from symbayes.posterior import Posterior
from symbayes.specs import require, require_kind

SAVER_NICENESS = 10
"""Of the thread that saves: on a CPU it would else hold up the threads that compute the next block."""


class Diverged(FloatingPointError):
    """Numbers stopped being finite; the message says where, and the remedy."""


class Stopped(KeyboardInterrupt):
    """Someone stopped the run; what was done is saved."""


def run(
    method: Method,
    posterior: Posterior,
    *,
    seed: int = 0,
    store: str | Path | None = None,
    start: Any = None,
    observers: Sequence[Observer] = (),
    keep: int = 1,
    mesh: Mesh | None = None,
    progress: bool | None = None,
    about: Mapping[str, str] | None = None,
) -> Draws:
    """Draw from the posterior.

    Args:
        method: how, for example ``HMC(step_size=1e-3)``.
        posterior: from what.
        seed: the same seed gives the same draws.
        store: a folder for the run.  If it already holds this run, the run goes on where it was, and a
            finished one is read back; a run of another configuration is refused.
        start: variables, or draws of another run, where the chains begin.
        observers: what follows the run; their results are in the draws' `observed`.
        keep: keep every `keep`-th draw; 0 keeps none, for runs that are only observed.
        mesh: devices with axes ``chain`` and ``data``, from `make_mesh`; one device if not given.
        progress: show a progress bar; by default where a person is looking.
        about: notes kept with the run, such as the name of the dataset.
    """
    require_kind("the method", method, "resolve", "advance", example="HMC(step_size=1e-3)")
    require_kind("the posterior", posterior, "init", "log_density", example="Posterior(network, ...)")
    require(
        isinstance(keep, int) and keep >= 0,
        f"keep is every how many draws one is kept, 0 for none, not {keep}",
    )
    # More bits would be dropped, and two seeds give the same draws.
    whole = isinstance(seed, int | np.integer)
    require(whole and 0 <= seed < 2**32, f"seed is a whole number from 0 to {2**32 - 1}, not {seed!r}")
    require(
        len({observer.name for observer in observers}) == len(observers), "observers need different names"
    )
    if mesh is not None:
        placement.require_fits(mesh, method.chains)
        posterior = placement.place_posterior(posterior, mesh)
    method = _resolved(method, posterior, store)
    job = _Job(method, posterior, tuple(observers), keep, mesh)
    if store is not None:
        require_storable(posterior.network)
    blocks = method.blocks(posterior)
    config = configuration(method, posterior, seed, start, observers, keep, mesh) | {
        "about": dict(about or {})
    }
    with _sink(store, config) as sink:
        state, memories = job.begin(seed, start, sink)
        with (
            interrupt_after_block() as interrupt,
            Bar(
                method.name,
                blocks,
                sink.blocks,
                method.gradients(posterior) * method.chains,
                wanted(progress) and sink.blocks < blocks,
            ) as bar,
        ):
            for latest in job.work(state, memories, sink, blocks):
                memories = latest
                bar.step(sink.metrics[-1])
                if interrupt.asked and sink.blocks < blocks:
                    raise Stopped(_stopped_message(sink, blocks, store))
        for observer in observers:
            sink.save_observed(observer.name, observer.finish(memories[observer.name]))
        for warning in method.review(sink.metrics):
            warnings.warn(warning, stacklevel=2)
        return dataclasses.replace(sink.draws, origin=Origin(config, posterior))


@dataclass(frozen=True)
class _Job:
    """A method on a posterior, with what follows it."""

    method: Method
    posterior: Posterior
    observers: tuple[Observer, ...]
    keep: int
    mesh: Mesh | None

    def begin(self, seed: int, start: Any, sink: Run | _MemorySink) -> tuple[State, dict[str, Memory]]:
        """The state and the observers' memories after the last committed block."""
        init = functools.partial(self.method.init, start=start)
        fresh = {observer.name: observer.init(self.posterior) for observer in self.observers}
        if sink.blocks == 0:
            state, memories = init(self.posterior, jax.random.key(seed)), fresh
            if (bad := states.first_nonfinite(state.chains)) is not None:
                raise Diverged(
                    f"the start is not finite ({bad}): "
                    "check the scale of the inputs and of the prior, or give another start"
                )
        else:
            like = (jax.eval_shape(init, self.posterior, jax.random.key(seed)), fresh)
            state, memories = states.from_arrays(sink.state(), like)
        return state if self.mesh is None else placement.place_state(state, self.mesh), memories

    def work(
        self, state: State, memories: dict[str, Memory], sink: Run | _MemorySink, blocks: int
    ) -> Iterator[dict[str, Memory]]:
        """Make and save every block that is missing; gives the observers' memories after each.

        A block is saved while the device is at the next one already.
        """
        with ThreadPoolExecutor(1, initializer=_give_way) as saver:
            saving: Future[dict[str, Memory]] | None = None
            for block in range(sink.blocks, blocks):
                state, made = self.method.advance(self.posterior, state, block)
                observers = self.observers if made.kept else ()
                seen = {o.name: o.look(self.posterior, made.variables) for o in observers}
                if saving is not None:
                    memories = saving.result()
                    yield memories
                saving = saver.submit(self.save, sink, block, state, made, seen, memories)
            if saving is not None:
                yield saving.result()

    def save(
        self,
        sink: Run | _MemorySink,
        block: int,
        state: State,
        made: Block,
        seen: dict[str, Any],
        memories: dict[str, Memory],
    ) -> dict[str, Memory]:
        """Check a block, let the observers remember it, and commit it."""
        metrics = {name: np.asarray(value) for name, value in made.metrics.items()}
        metrics |= {name: np.asarray(value)[:, : made.done] for name, value in made.traces.items()}
        kept = slice(made.kept.start, made.kept.stop)
        drawn, seen = jax.tree.map(
            lambda leaf: np.ascontiguousarray(np.asarray(leaf)[:, kept]), ((made.variables, made.stats), seen)
        )
        if (bad := states.first_nonfinite({**metrics, "draw": drawn[0], "statistics": drawn[1]})) is not None:
            raise Diverged(
                f"{self.method.name} diverged in block {block} of {self.method.blocks(self.posterior)}: "
                f"{bad} is not finite; {self.method.remedy}"
            )
        arrays: dict[str, np.ndarray] = {}
        stored = _thinned(made.first, len(made.kept), self.keep)
        if made.kept:
            memories = {o.name: o.update(memories[o.name], seen[o.name]) for o in self.observers}
        if stored:
            part = slice(stored.start, stored.stop, stored.step)
            arrays = {
                name: np.ascontiguousarray(array[:, part]) for name, array in named_arrays(*drawn).items()
            }
        saved = states.to_arrays((state, memories))
        plain = {name: value.tolist() for name, value in metrics.items()}
        sink.commit(arrays, len(stored), saved, plain)
        return memories


def _give_way() -> None:
    """Let the calling thread work where cores are idle, not where a block is being computed."""
    if sys.platform == "linux":  # elsewhere a priority is that of the whole process
        with contextlib.suppress(OSError):  # a courtesy, not a need
            os.setpriority(os.PRIO_PROCESS, 0, SAVER_NICENESS)


class _MemorySink:
    """Takes blocks as a `Run` does, and keeps them in memory."""

    def __init__(self) -> None:
        self.segments: list[MemorySegment] = []
        self.metrics: list[dict[str, Any]] = []
        self.observed: dict[str, Any] = {}

    @property
    def blocks(self) -> int:
        return len(self.metrics)

    @property
    def draws(self) -> Draws:
        return Draws(tuple(self.segments), self.observed)

    def state(self) -> dict[str, np.ndarray]:
        raise AssertionError("a run in memory is never resumed")

    def commit(
        self, arrays: Mapping[str, Any], draws: int, state: Mapping[str, Any], metrics: Mapping[str, Any]
    ) -> None:
        if draws:
            self.segments.append(MemorySegment(arrays, draws))
        self.metrics.append({"block": self.blocks, **metrics})

    def save_observed(self, name: str, arrays: Mapping[str, Any]) -> None:
        self.observed[name] = dict(arrays)


def _sink(store: str | Path | None, config: Mapping[str, Any]) -> Any:
    return contextlib.nullcontext(_MemorySink()) if store is None else Run.write(store, config)


def _resolved(method: Method, posterior: Posterior, store: str | Path | None) -> Method:
    """The method with everything filled in; what the user left open is taken from the stored run."""
    resolved = method.resolve(posterior)
    if store is None or not (Path(store) / "config.json").is_file():
        return resolved
    earlier = Run(store)
    stored = earlier.config.get("method", {})
    if not earlier.blocks or stored.get("kind") != type(method).__name__:
        return resolved
    fields = specs.decode({key: value for key, value in stored.items() if key != "kind"}, {})
    left_open = {
        name: fields[name] for name in fields if getattr(method, name, 0) is None and fields[name] is not None
    }
    return dataclasses.replace(resolved, **left_open)  # type: ignore[type-var]


def _thinned(first: int, count: int, keep: int) -> range:
    """Every `keep`-th of a block's draws, counted over the whole run and not within the block."""
    return range(-first % keep, count, keep) if keep else range(0)


def _stopped_message(sink: Run | _MemorySink, blocks: int, store: str | Path | None) -> str:
    done = f"stopped after block {sink.blocks} of {blocks}"
    if store is None:
        return f"{done}; the draws were in memory only"
    return f"{done}; run the same again to go on ({os.fspath(store)})"
