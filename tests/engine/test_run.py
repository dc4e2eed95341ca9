import dataclasses
import json
import os
import re
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest

import symbayes as sb
from draws.folders import contents, results
from symbayes import trees
from symbayes.draws import Run, RunError

from .runs import ENSEMBLE, HMC, METHODS, SignalAt


@pytest.fixture(scope="module")
def inputs(digits) -> np.ndarray:
    return digits.test.x[:16]


@pytest.fixture(scope="module")
def drawn(tiny, inputs) -> sb.Draws:
    """HMC in memory, with every draw kept and observed."""
    return sb.run(HMC, tiny, observers=(sb.Moments(), sb.Predictions(inputs)))


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
    pieces = sb.run(METHODS["hmc, blocks in a trajectory"], tiny)
    for name, array in trees.flatten(drawn.variables).items():
        np.testing.assert_allclose(trees.flatten(pieces.variables)[name], array, rtol=1e-4, atol=1e-5)


def test_the_seed_decides_the_draws(tiny, drawn):
    assert_same_draws(sb.run(HMC, tiny, seed=0), drawn)
    other = sb.run(HMC, tiny, seed=1)
    assert not np.isclose(other.stats["energy"], drawn.stats["energy"]).any()
    kernel = drawn.variables["params"]["hidden1"]["kernel"]
    assert not np.isclose(kernel[0], kernel[1]).all()


def test_on_disk_and_in_memory_are_the_same(tiny, drawn, inputs, tmp_path):
    stored = sb.run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(), sb.Predictions(inputs)))
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
    kept = sb.run(HMC, tiny, keep=keep, store=tmp_path / "run", observers=(sb.Moments(),))
    assert_same_draws(kept, drawn.thin(keep))
    np.testing.assert_array_equal(kept.observed["moments"]["count"], HMC.chains * HMC.draws)


@pytest.mark.parametrize("stored", [False, True])
def test_a_run_may_be_observed_only(tiny, drawn, inputs, tmp_path, stored):
    observers = (sb.Moments(), sb.Predictions(inputs))
    store = tmp_path / "run" if stored else None
    watched = sb.run(HMC, tiny, keep=0, observers=observers, store=store)
    assert len(watched) == 0
    assert repr(watched).startswith("Draws(none")
    assert_same_observed(watched, drawn)
    with pytest.raises(ValueError, match="there are no draws here: the run kept none"):
        _ = watched.variables


def test_a_finished_run_is_read_back_without_computing(tiny, drawn, tmp_path, monkeypatch):
    sb.run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(),))
    before = contents(tmp_path / "run")

    def advance(*arguments: object) -> None:
        raise AssertionError("nothing is left to do")

    monkeypatch.setattr(sb.HMC, "advance", advance)
    again = sb.run(HMC, tiny, store=tmp_path / "run", observers=(sb.Moments(),))
    assert_same_draws(again, drawn)
    assert contents(tmp_path / "run") == before


@pytest.mark.parametrize("name", METHODS)
def test_traces_hold_one_number_of_each_chain_and_unit(tiny, tmp_path, name):
    """Burn-in and all epochs included, and nothing for the slots of a block that it does not use."""
    method = METHODS[name]
    drawn = sb.run(method, tiny, store=tmp_path / "run")
    trace = "energy" if isinstance(method, sb.HMC) else "losses"
    metrics = Run(tmp_path / "run").metrics
    parts = [np.reshape(line[trace], (method.chains, -1)) for line in metrics]
    plan = method.resolve(tiny).plan(tiny)
    traced = np.concatenate(parts, axis=1)
    if trace == "energy":
        assert traced.shape == (method.chains, method.burn_in + method.draws)
        np.testing.assert_array_equal(traced[:, method.burn_in :].astype(np.float32), drawn.stats["energy"])
        of_last = drawn.stats["acceptance"][:, -1].mean()
        assert metrics[-1]["acceptance"] == pytest.approx(of_last, rel=1e-5), "a block of one draw"
    else:
        assert traced.shape == (method.chains, method.epochs * plan.pieces)
        means = [np.mean(part) for part in parts]
        np.testing.assert_allclose([line["loss"] for line in metrics], means, rtol=1e-5)
    assert (traced > 0).all()


def test_another_configuration_is_refused_with_the_field(tiny, tmp_path):
    sb.run(ENSEMBLE, tiny, store=tmp_path / "run")
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
            sb.run(*arguments, store=tmp_path / "run", **options)
    assert contents(tmp_path / "run") == before


def test_another_version_goes_on(tiny, tmp_path):
    sb.run(ENSEMBLE, tiny, store=tmp_path / "run")
    path = tmp_path / "run/config.json"
    config = json.loads(path.read_text())
    config["versions"]["jax"] = "0.0.1"
    path.write_text(json.dumps(config))
    assert len(sb.run(ENSEMBLE, tiny, store=tmp_path / "run")) == 1
    assert json.loads(path.read_text())["versions"]["jax"] == "0.0.1"


def test_what_was_left_open_is_taken_from_the_stored_run(tiny, tmp_path, monkeypatch):
    """The default size of a block may change with the version: a stored run keeps its own."""
    first = sb.run(HMC, tiny, store=tmp_path / "run")
    left_open = dataclasses.replace(HMC, block_steps=None, trajectory=None)
    assert left_open.resolve(tiny) != HMC
    assert_same_draws(sb.run(left_open, tiny, store=tmp_path / "run"), first)


def test_nothing_is_taken_from_a_run_that_failed_at_its_start(tiny, tmp_path):
    start = jax.tree.map(lambda leaf: np.full_like(leaf, np.nan), tiny.init(jax.random.key(0)))
    with pytest.raises(sb.Diverged, match="the start is not finite"):
        sb.run(HMC, tiny, start=start, store=tmp_path / "run")
    left_open = dataclasses.replace(HMC, trajectory=None, burn_in=0, draws=1)
    sb.run(left_open, tiny, store=tmp_path / "run")
    assert Run(tmp_path / "run").config["method"]["trajectory"] == pytest.approx(np.pi / 2 * 0.5)


def test_options_that_make_no_sense_are_refused(tiny, tmp_path):
    with pytest.raises(ValueError, match="keep is every how many draws"):
        sb.run(HMC, tiny, keep=-1)
    with pytest.raises(ValueError, match="observers need different names"):
        sb.run(HMC, tiny, observers=[sb.Moments(), sb.Moments()])


def test_a_learning_rate_far_too_large_names_block_and_remedy(tiny, tmp_path):
    wild = dataclasses.replace(ENSEMBLE, learning_rate=1e30)
    message = r"ensemble diverged in block 0 of 3: .* is not finite; use a smaller learning_rate"
    with pytest.raises(sb.Diverged, match=message):
        sb.run(wild, tiny, store=tmp_path / "run")
    # Nothing was committed, so the corrected command may use the same folder.
    assert len(sb.run(ENSEMBLE, tiny, store=tmp_path / "run")) == 1


def test_divergence_keeps_the_blocks_before_it(tiny, tmp_path, monkeypatch):
    method = METHODS["hmc, trajectories in a block"]
    real = sb.HMC.advance

    def advance(self, posterior, state, block):
        state, made = real(self, posterior, state, block)
        if block == 3:
            made = dataclasses.replace(made, metrics={**made.metrics, "step_size": np.float32(np.nan)})
        return state, made

    monkeypatch.setattr(sb.HMC, "advance", advance)
    with pytest.raises(sb.Diverged, match=r"hmc diverged in block 3 of 5: .*step_size is not finite"):
        sb.run(method, tiny, store=tmp_path / "run")
    run = Run(tmp_path / "run")
    assert run.blocks == 3
    assert len(run.draws) == 3


@pytest.mark.parametrize("part", ["variables", "stats"])
def test_draws_that_are_not_finite_are_never_committed(tiny, tmp_path, monkeypatch, part):
    """The one bad number is in the last draw of the second chain; slots beyond the draws do not count."""
    real = sb.HMC.advance

    def advance(self, posterior, state, block):
        state, made = real(self, posterior, state, block)
        values = jax.tree.map(np.array, getattr(made, part))
        leaf = values["params"]["output"]["bias"] if part == "variables" else values["acceptance"]
        leaf[:, made.kept.stop :] = np.nan
        if block == 2:
            leaf[1, made.kept.stop - 1] = np.inf
        return state, dataclasses.replace(made, **{part: values})

    monkeypatch.setattr(sb.HMC, "advance", advance)
    named = {"variables": "draw/params/output/bias", "stats": "statistics/acceptance"}[part]
    with pytest.raises(sb.Diverged, match=f"hmc diverged in block 2 of 5: {named}, chain 1 is not finite"):
        sb.run(HMC, tiny, store=tmp_path / "run")
    assert Run(tmp_path / "run").blocks == 2


@pytest.mark.parametrize("method", [HMC, ENSEMBLE], ids=["hmc", "ensemble"])
def test_a_start_that_is_not_finite_is_refused(tiny, tmp_path, method):
    start = tiny.init(jax.random.key(0))
    start["params"]["output"]["bias"] = np.full(10, np.nan, np.float32)
    with pytest.raises(sb.Diverged, match=r"the start is not finite \(.*output/bias, chain 0\)"):
        sb.run(method, tiny, start=start, store=tmp_path / "run")


@pytest.mark.parametrize("stored", [False, True])
def test_a_step_far_too_large_is_warned_of(tiny, tmp_path, stored):
    wild = sb.HMC(step_size=4.0, trajectory=20.0, burn_in=3, draws=6, chains=2, adapt=False, block_steps=10)
    with pytest.warns(UserWarning, match="use a smaller step_size") as caught:
        draws = sb.run(wild, tiny, store=tmp_path / "run" if stored else None)
    messages = " ".join(str(warning.message) for warning in caught)
    assert "HMC accepted only 0% of its later trajectories" in messages
    assert re.search(r"\d+ trajectories diverged after burn-in, first in block 1", messages)
    assert not draws.stats["accepted"].any()
    kernel = draws.variables["params"]["hidden1"]["kernel"]
    np.testing.assert_array_equal(kernel, np.broadcast_to(kernel[:, :1], kernel.shape))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_stops_after_the_block_and_the_run_goes_on(tiny, drawn, tmp_path, number):
    before = signal.getsignal(number)
    message = "stopped after block 3 of 5; run the same again to go on"
    with pytest.raises(sb.Stopped, match=message) as caught:
        sb.run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(3, number=number)])
    assert isinstance(caught.value, KeyboardInterrupt)
    assert str(tmp_path / "run") in str(caught.value)
    assert signal.getsignal(number) is before
    assert Run(tmp_path / "run").blocks == 3
    assert_same_draws(sb.run(HMC, tiny, store=tmp_path / "run", observers=[SignalAt(-1)]), drawn)


def test_ctrl_c_in_memory_says_that_draws_are_lost(tiny):
    with pytest.raises(sb.Stopped, match="stopped after block 3 of 5; the draws were in memory only"):
        sb.run(HMC, tiny, observers=[SignalAt(3)])


class SignalTwice(SignalAt):
    """Two signals while the third block of draws is under way, from the thread that handles them."""

    _looks = 0

    def look(self, posterior, variables):
        self._looks += 1
        if self._looks == 3:
            signal.raise_signal(self._number)
            signal.raise_signal(self._number)
        return variables


def test_a_second_ctrl_c_stops_at_once(tiny, drawn, tmp_path):
    with pytest.raises(KeyboardInterrupt) as caught:
        sb.run(HMC, tiny, store=tmp_path / "run", observers=[SignalTwice(-1)])
    assert not isinstance(caught.value, sb.Stopped)
    assert Run(tmp_path / "run").blocks == 3, "what was being saved is whole"
    assert_same_draws(sb.run(HMC, tiny, store=tmp_path / "run", observers=[SignalTwice(-1)]), drawn)


def test_ctrl_c_in_the_last_block_lets_it_finish(tiny, drawn):
    assert_same_draws(sb.run(HMC, tiny, observers=[SignalAt(HMC.draws)]), drawn)


def test_a_run_in_another_thread_leaves_signals_alone(tiny, drawn):
    before = signal.getsignal(signal.SIGINT)
    with ThreadPoolExecutor(1) as pool:
        draws = pool.submit(lambda: (threading.current_thread().name, sb.run(HMC, tiny))).result()[1]
    assert_same_draws(draws, drawn)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has its own priority on Linux only")
def test_saving_gives_way_to_computing(tiny, monkeypatch):
    seen = []
    update = sb.Moments.update

    def noted(observer, memory, block):
        seen.append(os.getpriority(os.PRIO_PROCESS, 0))
        return update(observer, memory, block)

    monkeypatch.setattr(sb.Moments, "update", noted)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    sb.run(HMC, tiny, observers=(sb.Moments(),))
    assert len(seen) > 0
    assert min(seen) > before
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_progress_needs_no_terminal(tiny, drawn, capfd):
    assert_same_draws(sb.run(HMC, tiny, progress=True), drawn)
    assert "hmc" in capfd.readouterr().err
    sb.run(HMC, tiny, progress=False)
    sb.run(HMC, tiny)
    assert capfd.readouterr() == ("", "")


def test_notes_are_kept_with_the_run_and_may_change(tiny, tmp_path):
    sb.run(ENSEMBLE, tiny, store=tmp_path / "run", about={"dataset": "digits"})
    assert Run(tmp_path / "run").config["about"] == {"dataset": "digits"}
    assert len(sb.run(ENSEMBLE, tiny, store=tmp_path / "run", about={"dataset": "other"})) == 1


def test_every_folder_belongs_to_one_run(tiny, tmp_path):
    a = sb.run(HMC, tiny, store=tmp_path / "a")
    b = sb.run(HMC, tiny, store=tmp_path / "b")
    assert_same_draws(a, b)
    assert results(tmp_path / "a") == results(tmp_path / "b")
