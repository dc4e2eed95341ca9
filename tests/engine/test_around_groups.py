"""What comes before and after a run in groups, where it is made, and what is told of it."""

import dataclasses
import types
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.draws import Run
from symbayes.engine import cost, placement
from symbayes.engine.displays import Display, Standing
from symbayes.engine.job import Job
from symbayes.engine.progress import Meter
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start

from .grouped import CHAINS, ENSEMBLE, HMC, assert_close
from .runs import Crash, crash_at


def test_a_run_in_groups_is_not_extended_but_others_begin_from_it(tiny: sb.Posterior, tmp_path: Path) -> None:
    drawn = sb.run(HMC, tiny, store=tmp_path / "run", together=2)
    more = dataclasses.replace(HMC, draws=7)
    with pytest.raises(sb.RunError, match=r"method.draws: 5 there, 7 now.* begin from this run with start"):
        sb.run(more, tiny, store=tmp_path / "run")
    onward = dataclasses.replace(ENSEMBLE, epochs=1, learning_rate=1e-9, chains=7)
    begun = sb.run(onward, tiny, start=tmp_path / "run", together=3)
    expected = trees.flatten(trees.index(drawn.variables, (np.arange(7) % CHAINS, -1)))
    for name, array in trees.flatten(begun.variables).items():
        np.testing.assert_allclose(array[:, 0], expected[name], atol=1e-5)
    assert begun.stats["mode"][:, 0].tolist() == [0, 1, 2, 3, 4, 0, 1]


def test_every_chain_begins_where_it_is_told(tiny: sb.Posterior) -> None:
    own = trees.stack([tiny.init(jax.random.key(seed)) for seed in range(CHAINS)])
    still = dataclasses.replace(ENSEMBLE, epochs=1, learning_rate=1e-9)
    for start, expected in ((own, own), (trees.index(own, 1), trees.index(own, np.ones(CHAINS, int)))):
        drawn = sb.run(still, tiny, start=start, together=2)
        for name, array in trees.flatten(expected).items():
            np.testing.assert_allclose(trees.flatten(drawn.variables)[name][:, 0], array, atol=1e-5)


def test_a_chain_that_diverges_is_named_by_its_number_in_the_run(tiny: sb.Posterior) -> None:
    own = trees.stack([tiny.init(jax.random.key(seed)) for seed in range(CHAINS)])
    broken = jax.tree.map(lambda leaf: leaf.at[3].set(np.nan), own)
    with pytest.raises(sb.engine.Diverged, match=r"the start is not finite .*, chain 3"):
        sb.run(ENSEMBLE, tiny, start=broken, together=2)
    wild = dataclasses.replace(ENSEMBLE, learning_rate=1e30)
    with pytest.raises(sb.engine.Diverged, match=r"diverged in block 0: .*, chain [01] is not finite"):
        sb.run(wild, tiny, together=2)


def test_weights_that_draws_share_are_stored_once_for_each_group(
    tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any
) -> None:
    """Three chains around one network, the last of which is a group of its own."""
    method = sb.Laplace(epochs=1, batch=32, draws=3, chains=3, structure="last-layer")
    start = tiny.init(jax.random.key(1))
    whole = sb.run(method, tiny, start=start)
    sb.run(method, tiny, start=start, store=tmp_path / "run", together=2, block_steps=1)
    run = Run(tmp_path / "run")
    assert_close(run.draws.variables, whole.variables)
    homes = [entry["once"]["variables/params/hidden1/kernel"] for entry in run.entries if entry["draws"]]
    assert homes == [1, 1, 1, 5, 5, 5]
    again: Any = {"start": start, "store": tmp_path / "again", "together": 2, "block_steps": 1}
    with crash_at(monkeypatch, 4, committed=True), pytest.raises(Crash):
        sb.run(method, tiny, **again)
    assert_close(sb.run(method, tiny, **again).variables, whole.variables)
    stored = [[entry["once"] for entry in Run(tmp_path / name).entries] for name in ("run", "again")]
    assert stored[0] == stored[1]


def test_its_aligned_twin_is_finished_and_joins_others(tiny: sb.Posterior, tmp_path: Path) -> None:
    drawn = sb.run(HMC, tiny, store=tmp_path / "run", together=2)
    twin = sb.analyse.align_run(tmp_path / "run", tmp_path / "twin")
    assert Run(tmp_path / "twin").finished
    assert (twin.draws.chains, len(twin.draws)) == (CHAINS, HMC.draws)
    other = sb.run(HMC, tiny, seed=1)
    both = sb.join(tmp_path / "run", other)
    assert both.draws.stats["mode"][:, 0].tolist() == list(range(2 * CHAINS))
    assert_close(both.draws.select(range(CHAINS)).variables, drawn.variables)
    assert both.traces["energy"].shape == (2 * CHAINS, HMC.burn_in + HMC.draws)


def test_chains_of_a_group_spread_over_a_mesh(tiny: sb.Posterior) -> None:
    method, mesh = dataclasses.replace(ENSEMBLE, chains=8), sb.make_mesh(4, jax.devices()[:4])
    spread = sb.run(method, tiny, mesh=mesh, together=4)
    assert_close(spread.variables, sb.run(method, tiny).variables)


def test_cores_divide_every_group(tiny: sb.Posterior, monkeypatch: Any) -> None:
    monkeypatch.setattr(placement, "_several_asked_for", lambda: True)
    for chains, together, cores in (
        (12, None, 6),
        (12, 12, 6),
        (12, 4, 4),
        (12, 5, 4),
        (10, 4, 2),
        (7, 3, 1),
    ):
        mesh = placement.over_cores(tiny, chains, together)
        assert (1 if mesh is None else mesh.size) == cores


class Remembers(Display):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Standing] = []

    def begin(self, now: Standing) -> None:
        self.told.append(now)

    def step(self, now: Standing) -> None:
        self.told.append(now)


def test_progress_goes_from_nothing_to_the_end_over_all_groups(
    tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any
) -> None:
    """Four epochs of five chains are twenty gradients over all data, also after a stop."""
    shown = Remembers()
    monkeypatch.setattr("symbayes.engine.progress.display", lambda *_: shown)
    options: Any = {"store": tmp_path / "run", "together": 2, "block_steps": 4}
    with crash_at(monkeypatch, 6, committed=True), pytest.raises(Crash):
        sb.run(ENSEMBLE, tiny, **options)
    sb.run(ENSEMBLE, tiny, **options)
    assert {now.total for now in shown.told} == {20.0}
    done = [now.done for now in shown.told]
    assert (done[0], done[-1]) == (0.0, 20.0)
    assert done == sorted(done)
    assert np.diff(done).max() == 2.0
    assert sb.Run(tmp_path / "run").gradients == 20.0


def test_the_cost_is_that_of_all_groups(tiny: sb.Posterior, monkeypatch: Any) -> None:
    """Blocks of four steps that take three seconds, of sixteen steps and two of five chains."""
    clock = iter([0.0, 100.0, 100.0, 103.0] * 2)
    monkeypatch.setattr(cost, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    whole, grouped = (sb.estimate(ENSEMBLE, tiny, 4, together) for together in (None, 2))
    assert (grouped.gradients, grouped.disk) == (whole.gradients, whole.disk) == (20.0, whole.disk)
    assert whole.seconds == pytest.approx(3.0 / 4 * 16)
    assert grouped.seconds == pytest.approx(5 / 2 * whole.seconds)
    assert str(grouped).endswith(" of draws, in 3 groups of chains")
    assert str(whole).endswith(" of draws")


def test_a_meter_expects_later_groups_to_cost_what_this_one_did(tiny: sb.Posterior, tmp_path: Path) -> None:
    working = Job(ENSEMBLE, tiny, Start(tiny, 0, CHAINS), block_steps=4).in_groups(2)
    into = MemorySink()
    with Meter(working, into, shown=Remembers()) as meter:
        assert meter.share == 0
        for number, (block, _) in enumerate(working.work(into), start=1):
            meter.step(block, {**into.entries[-1], "gradients": 3 * into.entries[-1]["gradients"]})
            if number == 1:
                assert meter.standing().total == pytest.approx(60.0)
        assert meter.share == 1
