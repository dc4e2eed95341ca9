"""What the progress bar says of a run."""

import numpy as np
import pytest

import symbayes as sb
from symbayes.engine.job import Block, Job
from symbayes.engine.loop import Record, State
from symbayes.engine.plan import Cursor, Plan
from symbayes.engine.progress import Bar, RateColumn, WordColumn
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start

from .runs import HMC

GRADIENTS = 2 * 9 * 5
"""Two chains, nine trajectories, five steps each."""


@pytest.fixture
def job(tiny: sb.Posterior) -> Job:
    return Job(HMC, tiny, Start(tiny, 0, HMC.chains))


def bar(job: Job, at: Cursor | None = None) -> Bar:
    into = MemorySink()
    if at is not None:
        into.entries.append({"block": 0, "cursor": at.record(), "metrics": {}})
    return Bar(job, into, visible=False)


def block(job: Job, after: Cursor, steps: int = 5, pieces: int = 1) -> Block:
    """What is known of a block that has made nothing."""
    plan, phase = Plan(steps, 2, pieces), job.phases[after.phase]
    return Block(phase, plan, Record({}, {}, {}), [], np.zeros(0), 0, after, State(None, None), {})


def test_a_resumed_run_begins_with_what_is_done(job):
    resumed = bar(job, at=Cursor(phase=1, unit=2, drawn=2))
    (task,) = resumed._progress.tasks
    assert (task.completed, task.total) == (2 * 5 * 5, GRADIENTS)
    assert resumed.share == pytest.approx(5 / 9)
    resumed.step(block(job, Cursor(phase=1, unit=4)), {"step_size": 0.0123, "acceptance": 0.8})
    assert (task.completed, task.total) == (2 * 7 * 5, GRADIENTS)
    assert task.fields["note"] == "step size 0.012  acceptance 0.8"


def test_pieces_of_a_unit_count(job):
    fresh = bar(job)
    assert fresh.share == 0
    fresh.step(block(job, Cursor(phase=0, unit=1, piece=1), pieces=2), {})
    assert fresh.share == pytest.approx(1.5 / 9)


def test_units_count_as_long_as_they_are_once_that_is_known(job):
    """Burn-in as expected; then adaptation has made trajectories of ten steps."""
    adapted = bar(job)
    adapted.step(block(job, Cursor(phase=1, unit=2), steps=10), {})
    (task,) = adapted._progress.tasks
    assert (task.completed, task.total) == (2 * (3 * 5 + 2 * 10), 2 * (3 * 5 + 6 * 10))


def test_the_rate_is_in_gradients_and_not_in_blocks(job):
    (task,) = bar(job)._progress.tasks
    assert RateColumn().render(task).plain == ""
    task.finished_speed = 1500.0
    assert RateColumn().render(task).plain == "1,500 grad/s"


def test_at_the_end_the_time_is_that_taken(job):
    whole = bar(job)
    (task,) = whole._progress.tasks
    assert WordColumn().render(task).plain == "left"
    whole.step(block(job, Cursor(phase=1, unit=6)), {})
    assert whole.share == 1
    assert WordColumn().render(task).plain == "took"


def test_an_ensemble_counts_whole_passes(tiny):
    """Five epochs of four batches of a quarter of the data are five gradients of each member."""
    method = sb.DeepEnsemble(0.01, epochs=5, batch=32, chains=2)
    epochs = Job(method, tiny, Start(tiny, 0, 2))
    shown = bar(epochs)
    (task,) = shown._progress.tasks
    assert task.total == 10
    shown.step(block(epochs, Cursor(unit=2), steps=4), {})
    assert task.completed == 4
