"""Run a method on a posterior; a run that was stopped continues where it was, and a finished one can be
extended."""

from __future__ import annotations

import dataclasses
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from jax.sharding import Mesh

from symbayes import specs
from symbayes.distributions import from_arrays
from symbayes.draws import Draws, Origin, Run
from symbayes.draws.forward import Forward
from symbayes.engine import placement
from symbayes.engine.course import Diverged
from symbayes.engine.crew import joined, require_agreement
from symbayes.engine.groups import recorded
from symbayes.engine.job import Job
from symbayes.engine.method import Method
from symbayes.engine.observers import Observer
from symbayes.engine.opened import Source
from symbayes.engine.progress import Meter, interrupt_after_block
from symbayes.engine.record import agreed, configuration
from symbayes.engine.sinks import MemorySink, Sink, require_shared, sink
from symbayes.engine.start import Start, begun
from symbayes.networks import require_storable
from symbayes.networks.session import session_code
from symbayes.posterior import Posterior
from symbayes.specs import Recorded, require, require_counts, require_kind
from symbayes.trees import Tree

__all__ = ["Diverged", "Stopped", "run"]


class Stopped(KeyboardInterrupt):
    """Someone stopped the run; what was done is saved."""


def run(
    method: Method,
    posterior: Posterior,
    *,
    seed: int = 0,
    store: str | Path | None = None,
    start: Source | Tree | None = None,
    observers: Sequence[Observer] = (),
    keep: int = 1,
    mesh: Mesh | None = None,
    progress: bool | None = None,
    about: Recorded | None = None,
    block_steps: int | None = None,
    together: int | None = None,
) -> Draws:
    """Draw from the posterior.

    Args:
        method: the method, for example ``HMC(step_size=1e-3)``.
        posterior: the posterior.
        seed: the same seed gives the same draws.
        store: a folder for the run.  If it already holds this run, the run continues where it was, and a
            finished one is read back; one that is asked for more draws than it has is extended, and its draws
            equal those of a run that asked for all of them; a run of another configuration is refused.
        start: variables, or another run (its folder, its draws or what `open` gave), at whose last draws the
            chains begin.  By default a network made of a trained module begins there (with a warning where
            several members are to be trained), and any other with fresh variables.
        observers: objects that see every draw; their results are in the draws' `observed`.
        keep: keep every `keep`-th draw; 0 keeps none, for runs that are only observed.
        mesh: devices with axes ``chain`` and ``data``, from `make_mesh`.  By default one device; after
            `use_cores`, the CPU's cores among which the chains divide.
        progress: by default, show progress as a bar in a terminal or notebook, and elsewhere as a line every
            half minute to the logger ``symbayes``.  True prints these lines if the logger has no handler;
            False is silent.
        about: notes kept with the run: ``dataset.about`` has the name by which its data are found again, and
            how tables become inputs.
        block_steps: steps between two saves; by default about a second of work.  It changes no draw.
        together: chains worked on at once; the others follow in groups of about the same size.  By default as
            many as fit in memory.  It changes no draw beyond rounding.  Methods whose chains learn from one
            another work on all at once, and a run in groups cannot be extended.
    """
    require_kind("the method", method, "resolve", "phases", example="HMC(step_size=1e-3)")
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
    require_counts(
        block_steps=1 if block_steps is None else block_steps, together=1 if together is None else together
    )
    earlier = recorded(store)
    if mesh is None:
        mesh = placement.over_cores(posterior, method.chains, earlier if together is None else together)
    else:
        placement.require_fits(mesh, method.chains)
    if store is not None:
        require_storable(posterior.network)
        if (code := session_code(posterior.network)) is not None:
            warnings.warn(
                f"{code} has no import path, so {store} is opened with the network at hand: "
                "symbayes.open(folder, network=network)",
                stacklevel=2,
            )
    beginning = begun(start, posterior, method)
    posterior = method.prepared(posterior)
    with joined(mesh) as crew:
        if store is not None and not crew.alone:
            require_shared(crew, store)
        given = posterior
        if mesh is not None:
            posterior = placement.place_posterior(posterior, mesh)
        method = _resolved(method if beginning is None else method.started(), posterior, store)
        begins = Start(posterior, int(seed), method.chains, beginning, type(method).__name__)
        method.require_found(begins.found)
        seen = tuple(observers)
        job = Job(method, posterior, begins, mesh, block_steps, crew=crew, observers=seen, keep=keep)
        config = configuration(method, job.phases, posterior, seed, beginning, observers, keep, mesh)
        require_agreement(crew, agreed(config, mesh, store, block_steps, together))
        job = job.in_groups(together, earlier)
        groups = {"together": job.at_once} if len(job.groups) > 1 else {}
        config |= {"about": dict(about or {}), **groups}
        with sink(store, config, _grows(job), crew) as into:
            _work(job, into, store, progress)
        for warning in method.review(into.traces) if crew.leads else ():
            warnings.warn(warning, stacklevel=2)
        fitted = None if into.distribution is None else from_arrays(into.distribution)
        found = into.found if isinstance(into, MemorySink) else {}
        forward = Forward.of(method.forward, into.distribution)
        origin = Origin(config, given, into.traces, fitted, found)
        return dataclasses.replace(into.draws, origin=origin, forward=forward)


def _work(job: Job, into: Sink, store: str | Path | None, progress: bool | None) -> None:
    """All blocks that are missing, and what the observers made of them."""
    shown = progress if job.crew.leads else False
    with interrupt_after_block() as interrupt, Meter(job, into, shown) as meter:
        job.stopping = lambda: interrupt.asked
        for made, _ in job.work(into):
            meter.step(made, into.entries[-1])
            stops = interrupt.asked if job.crew.alone else made.stops
            if stops and not made.last and into.entries[-1]["state"]:
                raise Stopped(_stopped_message(meter.share, store))
            del made  # its arrays would take memory until the next one is saved
    # Also of a run that had ended already: it may have been killed before it came to this.
    for observer in job.observers:
        into.save_observed(observer.name, observer.finish(job.observed, job.memories[observer.name]))
    if interrupt.asked and job.crew.alone and store is not None:
        # Asked too late for this run, but not for what the program has still to do.
        raise Stopped(_stopped_message(1.0, store))


def _grows(job: Job) -> list[str]:
    """What may be larger than in an earlier run of the same folder; of several groups of chains only the last
    could go on."""
    if job.method.extends is None or not job.phases[-1].open_ended or len(job.groups) > 1:
        return []
    return [f"method.{job.method.extends}", "units"]


def _resolved(method: Method, posterior: Posterior, store: str | Path | None) -> Method:
    """The method with everything filled in; what the user left open is taken from the stored run."""
    resolved = method.resolve(posterior)
    if store is None or not (Path(store) / "config.json").is_file():
        return resolved
    earlier = Run(store)
    stored = earlier.config.get("method", {})
    if not earlier.blocks or stored.get("kind") != type(method).__name__:
        return resolved
    kinds = {type(value).__name__: type(value) for value in vars(resolved).values()}
    left_open = {
        name: specs.decode(value, kinds)
        for name, value in stored.items()
        if getattr(method, name, 0) is None and value is not None
    }
    return dataclasses.replace(resolved, **left_open)  # type: ignore[type-var]


def _stopped_message(share: float, store: str | Path | None) -> str:
    done = f"stopped after {share:.0%} of the run"
    if store is None:
        return f"{done}; the draws were in memory only"
    return f"{done}; run the same again to go on ({os.fspath(store)})"
