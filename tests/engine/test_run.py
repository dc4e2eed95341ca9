import dataclasses
import itertools
import json
import os
import re
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from draws.folders import contents, results
from symbayes import trees
from symbayes.draws import Run, RunError
from symbayes.engine import job, loop, method

from .play import Play
from .runs import ENSEMBLE, FORMS, HMC, Crash, SignalAt, crash_at, run


@pytest.fixture(scope="module")
def inputs(digits) -> np.ndarray:
    return digits.test.x[:16]


@pytest.fixture(scope="module")
def drawn(tiny, inputs) -> sb.Draws:
    """HMC in memory, with every draw kept and observed."""
    return run(HMC, tiny, observers=(sb.Moments(), sb.Predictions(inputs)))


def assert_same_draws(a: sb.Draws, b: sb.Draws) -> None:
    assert a.stats.keys() == b.stats.keys()
    for one, other in zip(
        [*trees.flatten(a.variables).values(), *a.stats.values()],
        [*trees.flatten(b.variables).values(), *b.stats.values()],
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)


def assert_same_observed(a: sb.Draws, b: sb.Draws) -> None:
    assert a.observed.keys() == b.observed.keys()
    for name, arrays in a.observed.items():
        for key, array in arrays.items():
            np.testing.assert_array_equal(array, b.observed[name][key])


def test_a_run_gives_the_draws_it_promises(tiny, drawn):
    assert (drawn.chains, len(drawn)) == (HMC.chains, HMC.draws)
    assert drawn.shapes == trees.shapes(tiny.init(jax.random.key(0)))
    weights = np.asarray(trees.ravel(drawn.variables["params"], batch_dims=2))
    assert np.isfinite(weights).all()
    moved = np.any(np.diff(weights, axis=1) != 0, axis=-1)
    np.testing.assert_array_equal(moved, drawn.stats["accepted"][:, 1:])


def test_the_size_of_a_block_changes_no_draw(tiny, drawn):
    pieces = run(HMC, tiny, block_steps=2)
    for name, array in trees.flatten(drawn.variables).items():
        np.testing.assert_allclose(trees.flatten(pieces.variables)[name], array, rtol=1e-4, atol=1e-5)


def test_the_seed_decides_the_draws(tiny, drawn):
    assert_same_draws(run(HMC, tiny, seed=0), drawn)
    other = run(HMC, tiny, seed=1)
    assert not np.isclose(other.stats["energy"], drawn.stats["energy"]).any()
    kernel = drawn.variables["params"]["hidden1"]["kernel"]
    assert not np.isclose(kernel[0], kernel[1]).all()


def test_on_disk_and_in_memory_are_the_same(tiny, drawn, inputs, tmp_path):
    stored = run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(), sb.Predictions(inputs)))
    assert stored.path == tmp_path / "run"
    assert_same_draws(stored, drawn)
    assert_same_observed(stored, drawn)
    assert_same_draws(Run(tmp_path / "run").draws, drawn)


def test_observers_give_what_all_draws_give(tiny, drawn, inputs):
    moments = drawn.observed["moments"]
    for name, array in trees.flatten(drawn.variables).items():
        np.testing.assert_allclose(moments[f"mean/{name}"], array.mean((0, 1), np.float64), atol=1e-12)
        variance = array.astype(np.float64).reshape(-1, *array.shape[2:]).var(axis=0, ddof=1)
        np.testing.assert_allclose(moments[f"variance/{name}"], variance, atol=1e-12)
    predictive, observed = tiny.predict(drawn, inputs), drawn.observed["predictions"]
    np.testing.assert_allclose(observed["probs"], predictive.mean, atol=1e-6)
    np.testing.assert_allclose(observed["entropy"], predictive.entropy, atol=1e-6)
    np.testing.assert_allclose(observed["mutual_information"], predictive.mutual_information, atol=1e-6)
    assert observed["count"] == moments["count"] == HMC.chains * HMC.draws


@pytest.mark.parametrize("keep", [2, 4, 5])
def test_thinning_counts_over_the_run(tiny, drawn, tmp_path, keep):
    kept = run(HMC, tiny, keep=keep, store=tmp_path / "run", observers=(sb.Moments(),))
    assert_same_draws(kept, drawn.thin(keep))
    np.testing.assert_array_equal(kept.observed["moments"]["count"], HMC.chains * HMC.draws)


@pytest.mark.parametrize("stored", [False, True])
def test_a_run_may_be_observed_only(tiny, drawn, inputs, tmp_path, stored):
    observers = (sb.Moments(), sb.Predictions(inputs))
    store = tmp_path / "run" if stored else None
    watched = run(HMC, tiny, keep=0, observers=observers, store=store)
    assert len(watched) == 0
    assert repr(watched).startswith("Draws(none")
    assert_same_observed(watched, drawn)
    with pytest.raises(ValueError, match="there are no draws here: the run kept none"):
        _ = watched.variables


def test_a_finished_run_is_read_back_without_computing(tiny, drawn, tmp_path, monkeypatch):
    run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(),))
    before = contents(tmp_path / "run")

    def advance(*arguments: object, **options: object) -> None:
        raise AssertionError("nothing is left to do")

    monkeypatch.setattr(loop, "advance", advance)
    again = run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(),))
    assert_same_draws(again, drawn)
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("stored", [False, True])
def test_traces_hold_one_number_of_each_chain_and_unit(tiny, tmp_path, name, stored):
    """Burn-in and all epochs included, and nothing for the slots of a block that it does not use."""
    method, block_steps = FORMS[name]
    drawn = sb.run(method, tiny, store=tmp_path / "run" if stored else None, block_steps=block_steps)
    assert drawn.origin is not None
    traces = drawn.origin.traces
    if stored:
        assert (tmp_path / "run/traces").is_dir()
        jax.tree.map(np.testing.assert_array_equal, Run(tmp_path / "run").traces, traces)
    if isinstance(method, sb.HMC):
        names = {"acceptance", "accepted", "divergent", "energy", "kinetic", "log_likelihood", "step_size"}
        assert traces.keys() == names == drawn.stats.keys() - {"mode"}
        for key, trace in traces.items():
            assert trace.shape == (method.chains, method.burn_in + method.draws)
            np.testing.assert_array_equal(trace[:, method.burn_in :], drawn.stats[key])
        assert np.unique(traces["step_size"][:, : method.burn_in]).size > 1, "it adapts"
        assert (traces["energy"] > 0).all()
    else:
        assert traces.keys() == {"loss"}
        assert traces["loss"].shape == (method.chains, method.epochs)
        np.testing.assert_array_equal(traces["loss"][:, -1:], drawn.stats["loss"])
        assert (np.diff(traces["loss"], axis=1) < 0).all(), "it learns"


@pytest.mark.parametrize("name", FORMS)
def test_metrics_are_means_over_the_units_of_a_block(tiny, tmp_path, name):
    method, block_steps = FORMS[name]
    sb.run(method, tiny, store=tmp_path / "run", block_steps=block_steps)
    stored = Run(tmp_path / "run")
    ends = [
        (entry["cursor"]["phase"] and method.burn_in) + entry["cursor"]["unit"] for entry in stored.entries
    ]
    for begin, end, metrics in zip([0, *ends], ends, stored.metrics, strict=False):
        shown = ("acceptance", "step_size") if isinstance(method, sb.HMC) else ("loss",)
        expected = {each: stored.traces[each][:, begin:end].mean() for each in shown if end > begin}
        assert metrics == pytest.approx(expected, rel=1e-6)


def test_another_configuration_is_refused_with_the_field(tiny, tmp_path):
    run(ENSEMBLE, tiny, store=tmp_path / "run")
    before = contents(tmp_path / "run")
    changed = dataclasses.replace(ENSEMBLE, learning_rate=0.02)
    for message, arguments, options in [
        ("method.learning_rate: 0.01 there, 0.02 now", (changed, tiny), {}),
        ("seed: 0 there, 1 now", (ENSEMBLE, tiny), {"seed": 1}),
        ("keep: 1 there, 2 now", (ENSEMBLE, tiny), {"keep": 2}),
        ("observers.moments: ", (ENSEMBLE, tiny), {"observers": [sb.Moments()]}),
        ("method.kind: 'DeepEnsemble' there, 'HMC' now", (HMC, tiny), {}),
        ("start", (ENSEMBLE, tiny), {"start": tiny.init(jax.random.key(1))}),
    ]:
        with pytest.raises(RunError, match=re.escape(message)):
            run(*arguments, store=tmp_path / "run", **options)
    assert contents(tmp_path / "run") == before


def test_another_version_goes_on(tiny, tmp_path):
    run(ENSEMBLE, tiny, store=tmp_path / "run")
    path = tmp_path / "run/config.json"
    config = json.loads(path.read_text())
    config["versions"]["jax"] = "0.0.1"
    path.write_text(json.dumps(config))
    assert len(run(ENSEMBLE, tiny, store=tmp_path / "run")) == 1
    assert json.loads(path.read_text())["versions"]["jax"] == "0.0.1"


def test_what_was_left_open_is_taken_from_the_stored_run(tiny, tmp_path):
    first = run(HMC, tiny, store=tmp_path / "run")
    left_open = dataclasses.replace(HMC, trajectory=None)
    assert left_open.resolve(tiny) != HMC
    assert_same_draws(run(left_open, tiny, store=tmp_path / "run"), first)


@dataclass(frozen=True)
class Settings:
    rate: float = 0.5


@method
class Settled(Play):
    """A method with settings of their own kind, given or left open."""

    given: Settings = Settings(0.1)
    settings: Settings | None = None

    def resolve(self, posterior):
        return dataclasses.replace(self, settings=self.settings or Settings())


def test_methods_may_have_dataclasses_in_them(linear, tmp_path):
    first = Settled("walk", settings=Settings(0.25))
    sb.run(first, linear[0], store=tmp_path / "run")
    sb.run(dataclasses.replace(first, settings=None), linear[0], store=tmp_path / "run")
    assert Run(tmp_path / "run").config["method"]["settings"]["rate"] == 0.25
    with pytest.raises(RunError, match=r"method.settings.rate: 0.25 there, 0.75 now"):
        sb.run(dataclasses.replace(first, settings=Settings(0.75)), linear[0], store=tmp_path / "run")


def test_a_last_phase_without_units_is_finished(linear, tmp_path):
    sb.run(Play("fit and sample", units=0), linear[0], store=tmp_path / "run")
    assert Run(tmp_path / "run").config["units"] == [3, 0]
    assert Run(tmp_path / "run").finished


def test_a_run_goes_on_in_blocks_of_another_size(tiny, drawn, tmp_path, monkeypatch):
    """The phase that it is in goes on as it began; the draws are the same."""
    with crash_at(monkeypatch, 0, committed=True), pytest.raises(Crash):
        run(HMC, tiny, store=tmp_path / "run")
    assert_same_draws(run(HMC, tiny, store=tmp_path / "run", block_steps=5), drawn)
    plans = [entry["plan"] for entry in Run(tmp_path / "run").entries]
    assert [plan["units"] for plan in plans] == [2, 2, 1, 1, 1, 1, 1, 1]


def test_nothing_is_taken_from_a_run_that_failed_at_its_start(tiny, tmp_path):
    start = jax.tree.map(lambda leaf: np.full_like(leaf, np.nan), tiny.init(jax.random.key(0)))
    with pytest.raises(sb.Diverged, match="the start is not finite"):
        run(HMC, tiny, start=start, store=tmp_path / "run")
    left_open = dataclasses.replace(HMC, trajectory=None, burn_in=0, draws=1)
    run(left_open, tiny, store=tmp_path / "run")
    assert Run(tmp_path / "run").config["method"]["trajectory"] == pytest.approx(np.pi / 2 * 0.5)


def test_options_that_make_no_sense_are_refused(tiny, tmp_path):
    with pytest.raises(ValueError, match="keep is every how many draws"):
        run(HMC, tiny, keep=-1)
    with pytest.raises(ValueError, match="observers need different names"):
        run(HMC, tiny, observers=[sb.Moments(), sb.Moments()])
    for bad in (0, -1):
        with pytest.raises(ValueError, match=f"block_steps must be a whole number of at least 1, not {bad}"):
            run(HMC, tiny, block_steps=bad)


def test_a_learning_rate_far_too_large_names_block_and_remedy(tiny, tmp_path):
    wild = dataclasses.replace(ENSEMBLE, learning_rate=1e30)
    message = r"ensemble diverged in block 0: .* is not finite; use a smaller learning_rate"
    with pytest.raises(sb.Diverged, match=message):
        run(wild, tiny, store=tmp_path / "run")
    # Nothing was committed, so the corrected command may use the same folder.
    assert len(run(ENSEMBLE, tiny, store=tmp_path / "run")) == 1


def spoilt_at(monkeypatch: pytest.MonkeyPatch, block: int, spoil: Any) -> None:
    """Change what this block recorded, given it as numpy arrays."""
    real, blocks = loop.advance, itertools.count()

    def advance(*arguments: Any, **options: Any) -> Any:
        state, record = real(*arguments, **options)
        record = jax.tree.map(np.array, record)
        if next(blocks) == block:
            spoil(record)
        return state, record

    monkeypatch.setattr(loop, "advance", advance)


@pytest.mark.parametrize(("block", "part", "draws"), [(1, "trace", 0), (3, "statistics", 2)])
def test_divergence_keeps_the_blocks_before_it(tiny, tmp_path, monkeypatch, block, part, draws):
    """In burn-in, and in a block with draws."""

    def spoil(record: loop.Record) -> None:
        record.traces["step_size"][1, 0] = np.nan

    spoilt_at(monkeypatch, block, spoil)
    message = f"hmc diverged in block {block}: {part}/step_size, chain 1 is not finite; use a smaller step"
    with pytest.raises(sb.Diverged, match=message):
        run(HMC, tiny, store=tmp_path / "run")
    stored = Run(tmp_path / "run")
    assert stored.blocks == block
    assert len(stored.draws) == draws


@pytest.mark.parametrize("part", ["draw", "statistics"])
def test_draws_that_are_not_finite_are_never_committed(tiny, tmp_path, monkeypatch, part):
    """The one bad number is in the last draw of the second chain; slots beyond the draws do not count."""
    method = HMC if part == "draw" else ENSEMBLE
    block, count = (2, 2) if part == "draw" else (2, 1)

    def spoil(record: loop.Record) -> None:
        drawn = {"draw": record.variables["params"]["output"]["bias"], "statistics": record.drawn}
        leaf = drawn["draw"] if part == "draw" else drawn["statistics"]["energy"]
        leaf[:, count:] = np.nan
        record.traces["acceptance" if part == "draw" else "loss"][:, count:] = np.nan
        if wrong:
            leaf[1, count - 1] = np.inf

    wrong = False
    spoilt_at(monkeypatch, block, spoil)
    assert np.isfinite(run(method, tiny).stats["energy"]).all()
    wrong = True
    monkeypatch.undo()
    spoilt_at(monkeypatch, block, spoil)
    named = {"draw": "draw/params/output/bias", "statistics": "statistics/energy"}[part]
    with pytest.raises(sb.Diverged, match=f"diverged in block {block}: {named}, chain 1 is not finite"):
        run(method, tiny, store=tmp_path / "run")
    assert Run(tmp_path / "run").blocks == block


@pytest.mark.parametrize("method", [HMC, ENSEMBLE], ids=["hmc", "ensemble"])
def test_a_start_that_is_not_finite_is_refused(tiny, tmp_path, method):
    start = tiny.init(jax.random.key(0))
    start["params"]["output"]["bias"] = np.full(10, np.nan, np.float32)
    with pytest.raises(sb.Diverged, match=r"the start is not finite \(.*output/bias, chain 0\)"):
        run(method, tiny, start=start, store=tmp_path / "run")


@pytest.mark.parametrize("stored", [False, True])
def test_a_step_far_too_large_is_warned_of(tiny, tmp_path, stored):
    wild = sb.HMC(step_size=4.0, trajectory=20.0, burn_in=3, draws=6, chains=2, adapt=False)
    with pytest.warns(UserWarning, match="use a smaller step_size") as caught:
        draws = run(wild, tiny, store=tmp_path / "run" if stored else None)
    messages = " ".join(str(warning.message) for warning in caught)
    assert "HMC accepted only 0% of its later trajectories" in messages
    assert re.search(r"\d+ trajectories diverged after burn-in, first at draw 0", messages)
    assert not draws.stats["accepted"].any()
    kernel = draws.variables["params"]["hidden1"]["kernel"]
    np.testing.assert_array_equal(kernel, np.broadcast_to(kernel[:, :1], kernel.shape))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_after_the_block_and_the_run_goes_on(tiny, drawn, tmp_path, monkeypatch, number):
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", np.inf)
    before = signal.getsignal(number)
    message = r"stopped after \d+% of the run; run the same again to go on"
    with pytest.raises(sb.Stopped, match=message) as caught:
        run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(2, number=number)])
    assert isinstance(caught.value, KeyboardInterrupt)
    assert str(tmp_path / "run") in str(caught.value)
    assert signal.getsignal(number) is before
    assert Run(tmp_path / "run").blocks == 3
    assert_same_draws(run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(-1)]), drawn)


def test_ctrl_c_in_the_last_block_stops_what_comes_after_the_run(tiny, drawn, tmp_path):
    with pytest.raises(sb.Stopped, match="stopped after 100% of the run"):
        run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(HMC.draws)])
    assert Run(tmp_path / "run").finished
    assert_same_draws(run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(-1)]), drawn)


def test_ctrl_c_in_memory_says_that_draws_are_lost(tiny):
    with pytest.raises(sb.Stopped, match=r"stopped after \d+% of the run; the draws were in memory only"):
        run(HMC, tiny, observers=[SignalAt(2)])


class SignalTwice(SignalAt):
    """Two signals while some block of draws is under way, from the thread that handles them."""

    def __init__(self, look: int) -> None:
        super().__init__(draws=-1)
        self._left = look

    def look(self, posterior, variables, passes):
        self._left -= 1
        if self._left == 0:
            signal.raise_signal(self._number)
            signal.raise_signal(self._number)
        return variables


def test_a_second_ctrl_c_stops_at_once(tiny, drawn, tmp_path):
    with pytest.raises(KeyboardInterrupt) as caught:
        run(HMC, tiny, store=tmp_path / "run", observers=[SignalTwice(look=2)])
    assert not isinstance(caught.value, sb.Stopped)
    assert Run(tmp_path / "run").blocks == 3, "what was being saved is whole"
    assert_same_draws(run(HMC, tiny, store=tmp_path / "run", observers=[SignalTwice(look=-1)]), drawn)


def test_ctrl_c_in_the_last_block_lets_it_finish(tiny, drawn):
    assert_same_draws(run(HMC, tiny, observers=[SignalAt(HMC.draws)]), drawn)


def test_a_run_in_another_thread_leaves_signals_alone(tiny, drawn):
    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        draws = pool.submit(lambda: (threading.current_thread().name, run(HMC, tiny))).result()[1]
    assert_same_draws(draws, drawn)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has its own priority on Linux only")
def test_saving_gives_way_to_computing(tiny, monkeypatch):
    seen = []
    update = sb.Moments.update

    def noted(observer, posterior, memory, block):
        seen.append(os.getpriority(os.PRIO_PROCESS, 0))
        return update(observer, posterior, memory, block)

    monkeypatch.setattr(sb.Moments, "update", noted)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    run(HMC, tiny, observers=(sb.Moments(),))
    assert len(seen) > 0
    assert min(seen) > before
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_progress_needs_no_terminal(tiny, drawn, capfd):
    assert_same_draws(run(HMC, tiny, progress=True), drawn)
    assert "hmc" in capfd.readouterr().err
    run(HMC, tiny, progress=False)
    run(HMC, tiny)
    assert capfd.readouterr() == ("", "")


def test_notes_are_kept_with_the_run_and_may_change(tiny, tmp_path):
    run(ENSEMBLE, tiny, store=tmp_path / "run", about={"dataset": "digits"})
    assert Run(tmp_path / "run").config["about"] == {"dataset": "digits"}
    assert len(run(ENSEMBLE, tiny, store=tmp_path / "run", about={"dataset": "other"})) == 1


def test_every_folder_belongs_to_one_run(tiny, tmp_path):
    a = run(HMC, tiny, store=tmp_path / "a")
    b = run(HMC, tiny, store=tmp_path / "b")
    assert_same_draws(a, b)
    assert results(tmp_path / "a") == results(tmp_path / "b")
