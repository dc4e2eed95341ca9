"""A run whose chains go in groups, one after another, is the run in which all go at once."""

import dataclasses
import signal
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from draws.folders import results
from symbayes.draws import Run
from symbayes.engine import job

from .grouped import CHAINS, HMC, METHODS, SWAG, TOGETHER, assert_close, groups_of, made
from .runs import Crash, crash_at


@pytest.fixture(scope="module")
def observers(digits: sb.data.Dataset) -> tuple[sb.Moments, sb.Predictions]:
    return sb.Moments(), sb.Predictions(digits.test.x[:16])


@dataclasses.dataclass(frozen=True)
class Pair:
    """A method's draws with all chains at once, and in groups in a folder."""

    method: Any
    whole: sb.Draws
    grouped: sb.Draws
    folder: Path


@pytest.fixture(scope="module", params=METHODS)
def pair(request: Any, tiny: sb.Posterior, observers: Any, tmp_path_factory: Any) -> Pair:
    folder = tmp_path_factory.mktemp("groups") / "run"
    method = METHODS[request.param]
    options = {"observers": observers, "block_steps": 6, "about": {"data": "digits:examples=128"}}
    whole = sb.run(method, tiny, **options)
    return Pair(method, whole, sb.run(method, tiny, store=folder, together=TOGETHER, **options), folder)


def test_draws_statistics_and_modes_are_those_of_all_chains_at_once(pair: Pair) -> None:
    assert (pair.grouped.chains, len(pair.grouped)) == (CHAINS, len(pair.whole))
    for draws in (pair.grouped, Run(pair.folder).draws):
        assert_close(draws.variables, pair.whole.variables)
        assert_close(draws.stats, pair.whole.stats)
    np.testing.assert_array_equal(pair.grouped.stats["mode"][:, 0], range(CHAINS))


def test_traces_and_the_distribution_are_those_of_all_chains_at_once(pair: Pair) -> None:
    for traces in (made(pair.grouped).traces, Run(pair.folder).traces):
        assert_close(traces, made(pair.whole).traces)
    one, other = (made(draws).distribution for draws in (pair.grouped, pair.whole))
    assert (one is None) == (other is None) == (pair.method not in (SWAG, METHODS["laplace"]))
    if other is not None:
        assert len(one) == CHAINS
        assert_close(one.arrays(), other.arrays())
    assert_close(pair.grouped.forward.law, pair.whole.forward.law)


def test_observers_see_the_draws_of_all_groups(pair: Pair) -> None:
    assert pair.grouped.observed["moments"]["count"] == CHAINS * len(pair.grouped)
    assert_close(pair.grouped.observed, pair.whole.observed)


def test_every_group_has_the_same_blocks(pair: Pair) -> None:
    run = Run(pair.folder)
    assert run.finished
    assert run.config["together"] == TOGETHER
    groups = groups_of(run)
    assert groups == sorted(groups)
    each = [
        [{**entry["cursor"], "group": 0} for entry in run.entries if entry["cursor"]["group"] == number]
        for number in range(3)
    ]
    assert each[0] == each[1] == each[2]
    assert len(run.draws.segments) == sum(entry["draws"] > 0 for entry in run.entries) // 3
    taken = [
        sum(e["gradients"] for e in run.entries if e["cursor"]["group"] == number) for number in range(3)
    ]
    assert taken == pytest.approx([2 * taken[2], 2 * taken[2], taken[2]])
    assert run.draws.segments[0].shapes()["statistics/mode"][0] == CHAINS


def test_memory_has_the_bytes_of_the_folder(pair: Pair, tiny: sb.Posterior) -> None:
    in_memory = sb.run(pair.method, tiny, together=TOGETHER, block_steps=6)
    for one, other in (
        (in_memory.variables, pair.grouped.variables),
        (in_memory.stats, pair.grouped.stats),
        (made(in_memory).traces, made(pair.grouped).traces),
    ):
        jax.tree.map(np.testing.assert_array_equal, dict(one), dict(other))
    for draws in (in_memory, pair.grouped):
        fitted = made(draws).distribution
        assert fitted is None or len(fitted) == CHAINS


def test_it_is_opened_predicted_kept_and_compared(pair: Pair, digits: sb.data.Dataset) -> None:
    x = digits.test.x[:9]
    opened = sb.open(pair.folder)
    assert_close(opened.predict(x).every, sb.open(pair.whole).predict(x).every)
    assert len(list((pair.folder / "predictions").glob("*"))) == 1
    np.testing.assert_array_equal(sb.open(pair.folder).predict(x).every, opened.predict(x).every)
    assert opened.summary().finished
    assert opened.summary().chains == CHAINS
    rows = sb.compare({"one": opened, "other": pair.whole}, on=digits, intervals=False).rows
    assert rows["one"]["NLL"] == pytest.approx(rows["other"]["NLL"], rel=1e-3)


@pytest.fixture(scope="module", params=["swag", "hmc"])
def undisturbed(request: Any, tiny: sb.Posterior, observers: Any, tmp_path_factory: Any) -> Any:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    options = {"observers": observers, "block_steps": 6, "together": TOGETHER}
    sb.run(METHODS[request.param], tiny, store=folder, **options)
    return METHODS[request.param], folder, options


@pytest.mark.usefixtures("forms_once")
@pytest.mark.level
@pytest.mark.parametrize("rate", [1e-9, np.inf], ids=["state seldom", "state always"])
@pytest.mark.parametrize("committed", [False, True], ids=["before its line", "after its line"])
def test_a_run_that_crashes_in_every_block_ends_in_the_same_bytes(
    undisturbed: Any, tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any, committed: bool, rate: float
) -> None:
    method, folder, options = undisturbed
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", rate)
    for block in range(Run(folder).blocks):
        with crash_at(monkeypatch, block, committed), pytest.raises(Crash):
            sb.run(method, tiny, store=tmp_path / "run", **options)
    sb.run(method, tiny, store=tmp_path / "run", **options)
    assert results(tmp_path / "run") == results(folder)


@pytest.mark.usefixtures("forms_once")
@pytest.mark.level
def test_an_unfinished_run_shows_the_groups_that_are_complete(
    undisturbed: Any, tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any
) -> None:
    method, folder, options = undisturbed
    whole, at = Run(folder), {"first": [], "second": []}
    first = groups_of(whole).index(1)
    for block in range(1, whole.blocks - 1):
        with crash_at(monkeypatch, block, committed=True), pytest.raises(Crash):
            sb.run(method, tiny, store=tmp_path / "run", **options)
        run = Run(tmp_path / "run")
        assert not run.finished
        chains = TOGETHER * max(1, groups_of(run)[-1])
        if run.draws.segments:
            assert run.draws.chains == chains
            assert_close(run.draws.stats["mode"], whole.draws.stats["mode"][:chains, : len(run.draws)])
        assert {len(trace) for trace in run.traces.values()} <= {chains}
        if run.distribution is not None:
            assert {len(array) for array in run.distribution.values()} == {chains}
        at["first" if block < first else "second"].append(len(run.draws))
    assert at["first"] == sorted(at["first"])
    assert set(at["second"]) == {len(whole.draws)}


class Asks:
    """An observer that asks the process to stop when it has seen a draw of the second group."""

    name = "asks"

    def init(self, posterior: Any) -> dict[str, Any]:
        return {"seen": np.asarray(0)}

    def look(self, posterior: Any, variables: Any, passes: Any) -> Any:
        return variables

    def update(self, posterior: Any, memory: dict[str, Any], seen: Any) -> dict[str, Any]:
        before = int(memory["seen"])
        chains, draws = jax.tree.leaves(seen)[0].shape[:2]
        if before == TOGETHER * HMC.draws:
            signal.raise_signal(signal.SIGINT)
        return {"seen": np.asarray(before + chains * draws)}

    def finish(self, posterior: Any, memory: dict[str, Any]) -> dict[str, Any]:
        return memory


@pytest.mark.level
def test_a_run_that_is_stopped_in_the_second_group_goes_on(tiny: sb.Posterior, tmp_path: Path) -> None:
    options: Any = {"block_steps": 6, "observers": [Asks()], "together": TOGETHER}
    with pytest.raises(sb.Stopped, match=r"stopped after [4-7]\d%"):
        sb.run(HMC, tiny, store=tmp_path / "run", **options)
    assert groups_of(Run(tmp_path / "run"))[-1] == 1
    drawn = sb.run(HMC, tiny, store=tmp_path / "run", **options)
    assert drawn.observed["asks"]["seen"] == CHAINS * HMC.draws
    assert drawn.chains == CHAINS
