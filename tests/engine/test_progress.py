"""What is counted of a run, and what is told of it."""

import math
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from symbayes.engine.displays import Display, Standing
from symbayes.engine.job import Block, Job
from symbayes.engine.loop import Record, State
from symbayes.engine.plan import Cursor, Plan
from symbayes.engine.progress import WINDOW, Meter
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start

from .runs import ENSEMBLE, HMC, run

GRADIENTS = 2 * 9 * 5
"""Two chains, nine trajectories, five steps each."""


class Remembers(Display):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Standing] = []

    def step(self, now: Standing) -> None:
        self.told.append(now)


@pytest.fixture
def job(tiny: sb.Posterior) -> Job:
    return Job(HMC, tiny, Start(tiny, 0, HMC.chains))


@pytest.fixture
def clock(monkeypatch: Any) -> list[float]:
    return [0.0]


def meter(job: Job, clock: list[float], at: Cursor | None = None, done: float = 0.0) -> Meter:
    into = MemorySink()
    if at is not None:
        into.entries.append({"block": 0, "cursor": at.record(), "metrics": {}, "gradients": done})
    return Meter(job, into, clock=lambda: clock[0], shown=Remembers())


def block(job: Job, after: Cursor, units: int, pieces: int = 1) -> Block:
    """What is known of a block that has made nothing."""
    plan, phase = Plan(5, 2, pieces), job.phases[after.phase]
    made = range(after.unit - units, after.unit)
    return Block(phase, plan, Record({}, {}, {}), made, np.zeros(0), 0, after, State(None, None), {})


def entry(gradients: float, **metrics: float) -> dict[str, Any]:
    return {"gradients": gradients, "metrics": metrics}


def test_a_resumed_run_begins_with_what_is_done(job, clock):
    resumed = meter(job, clock, at=Cursor(phase=1, unit=2, drawn=2), done=50.0)
    assert resumed.share == pytest.approx(5 / 9)
    resumed.step(block(job, Cursor(phase=1, unit=4), units=2), entry(20.0, step_size=0.0123, acceptance=0.8))
    now = resumed.standing()
    assert (now.done, now.total) == (70, GRADIENTS)
    assert resumed._shown.told[-1].note == "step size 0.012  acceptance 0.8"


def test_pieces_of_a_unit_count(job, clock):
    fresh = meter(job, clock)
    assert fresh.share == 0
    fresh.step(block(job, Cursor(phase=0, unit=0, piece=1), units=0, pieces=2), entry(5.0))
    assert fresh.standing().total == GRADIENTS
    assert fresh.share == pytest.approx(0.5 / 9)


def test_what_adaptation_does_is_counted_and_expected_of_what_is_to_come(job, clock):
    """Two trajectories of 25 steps where 5 were expected: the rest of burn-in and the draws cost as much."""
    adapting = meter(job, clock)
    assert adapting.standing().total == GRADIENTS
    adapting.step(block(job, Cursor(phase=0, unit=2), units=2), entry(100.0))
    assert (adapting.standing().done, adapting.standing().total) == (100, 100 + 7 * 50)
    adapting.step(block(job, Cursor(phase=1, unit=2), units=2), entry(40.0))
    assert (adapting.standing().done, adapting.standing().total) == (140, 140 + 4 * 20)


def test_the_rate_and_the_time_left_are_of_gradients_that_were_done(job, clock):
    timed = meter(job, clock)
    assert timed.rate is None
    clock[0] = 10.0  # compiled meanwhile
    timed.step(block(job, Cursor(phase=0, unit=2), units=2), entry(100.0))
    assert timed.rate == pytest.approx(10)
    clock[0] = 12.0
    timed.step(block(job, Cursor(phase=1, unit=1), units=1), entry(50.0))
    assert timed.rate == pytest.approx(25)
    assert timed.standing().left == pytest.approx(5 * 50 / 25)
    clock[0] = 12.0 + 3 * WINDOW
    timed.step(block(job, Cursor(phase=1, unit=2), units=1), entry(50.0))
    assert timed.rate == pytest.approx(50 / (3 * WINDOW))


@pytest.mark.parametrize("block_steps", [100, 3])
def test_gradients_are_those_that_the_step_sizes_of_the_trace_took(tiny, tmp_path, block_steps):
    """A given step ten times too large: adaptation makes trajectories many times as long."""
    method = sb.HMC(0.2, trajectory=0.2, burn_in=4, draws=3, chains=2)
    run(method, tiny, store=tmp_path / "run", block_steps=block_steps)
    stored = sb.Run(tmp_path / "run")
    steps = np.round(0.2 / stored.traces["step_size"][0]).astype(int)
    assert steps.sum() > 2 * 7
    assert stored.gradients == 2 * steps.sum()


def test_a_run_that_stops_early_counts_what_it_did(tiny, tmp_path):
    run(ENSEMBLE, tiny, store=tmp_path / "run")
    assert sb.Run(tmp_path / "run").gradients == pytest.approx(5 * 2)


def test_an_ensemble_counts_whole_passes(tiny, clock):
    """Five epochs of four batches of a quarter of the data are five gradients of each member."""
    epochs = Job(ENSEMBLE, tiny, Start(tiny, 0, 2))
    shown = meter(epochs, clock)
    assert shown.standing().total == 10
    shown.step(block(epochs, Cursor(unit=2), units=2), entry(4.0))
    assert (shown.standing().done, shown.standing().total) == (4, 10)


def test_at_the_end_the_rate_is_over_all_that_was_done_since_the_run_went_on(job, clock):
    last = meter(job, clock, at=Cursor(phase=1, unit=2, drawn=2), done=50.0)
    for seconds, unit in ((10.0, 4), (10.1, 6)):
        clock[0] = seconds
        last.step(block(job, Cursor(phase=1, unit=unit), units=2), entry(50.5))
    assert last.standing().finished
    assert last.standing().speed == "10 grad/s"


def test_nothing_is_left_at_the_end(job, clock):
    whole = meter(job, clock, at=Cursor(phase=1, unit=6, drawn=6), done=123.0)
    assert whole.share == 1
    assert whole.standing().finished
    assert not math.isnan(whole.standing().done)
