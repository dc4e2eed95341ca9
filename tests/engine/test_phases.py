"""The one loop, followed by hand: units and steps, draws, chains that stop, and what phases hand on."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from draws.folders import results
from symbayes.distributions import Mixture, to_arrays
from symbayes.draws import Run
from symbayes.engine import course, job, states

from .play import KEPT, LENGTH, Play, bias, trail_of, unit_keys
from .runs import Crash, crash_at

WHOLE, PIECES = 3 * LENGTH, 3
"""Steps of a block: three units, and a piece of one."""
cuts = pytest.mark.parametrize("block_steps", [WHOLE, PIECES], ids=["units in a block", "blocks in a unit"])


@pytest.fixture(scope="module")
def posterior(linear: Any) -> sb.Posterior:
    return linear[0]


def steps_until(unit: int) -> list[tuple[int, int]]:
    """All steps up to the end of this unit."""
    return [(each, step) for each in range(unit + 1) for step in range(LENGTH)]


def traces_of(draws: sb.Draws) -> dict[str, np.ndarray]:
    assert draws.origin is not None
    return dict(draws.origin.traces)


@cuts
@pytest.mark.parametrize("slots", [64, 2])
def test_scattered_units_end_in_draws(posterior, monkeypatch, block_steps, slots):
    """Draws of several stretches in one block, and more units than there are slots."""
    monkeypatch.setattr(course, "draw_slots", lambda *_: slots)
    drawn = sb.run(Play("walk"), posterior, block_steps=block_steps)
    assert len(drawn) == len(KEPT)
    expected = [LENGTH * (unit + 1) for unit in KEPT]
    np.testing.assert_array_equal(bias(drawn), [expected] * 3)
    np.testing.assert_array_equal(drawn.stats["count"], [expected] * 3)
    traces = traces_of(drawn)
    trails = [trail_of(steps_until(unit)) for unit in range(12)]
    np.testing.assert_array_equal(traces["trail"], [trails] * 3)
    assert np.unique(traces["limit"], axis=1).shape == (3, 1)
    assert np.unique(traces["limit"]).size == 3, "every chain enters with a key of its own"


def test_several_stretches_share_a_block(posterior, tmp_path):
    sb.run(Play("walk"), posterior, store=tmp_path / "run", block_steps=100)
    entries = Run(tmp_path / "run").entries
    assert [entry["draws"] for entry in entries] == [5]
    assert entries[0]["cursor"] == {"phase": 0, "unit": 12, "piece": 0, "drawn": 5, "group": 0}


@cuts
def test_a_draw_may_be_another_thing_than_the_chain(posterior, block_steps):
    """Its key is that of its unit, and its statistics stand beside those of the unit."""
    drawn = sb.run(Play("measured"), posterior, seed=4, block_steps=block_steps)
    np.testing.assert_array_equal(bias(drawn), [[1000 + LENGTH * (unit + 1) for unit in KEPT]] * 3)
    np.testing.assert_array_equal(drawn.stats["unit"], [KEPT] * 3)
    assert drawn.stats.keys() == {"unit", "sign", "count", "trail", "limit", "mode"}
    assert traces_of(drawn).keys() == {"count", "trail", "limit"}
    signs = [[jax.random.bits(key) for key in unit_keys(4, 3, unit)] for unit in KEPT]
    np.testing.assert_array_equal(drawn.stats["sign"], np.transpose(signs))


@cuts
def test_a_chain_that_stopped_is_frozen(posterior, block_steps):
    """Exactly as it was when it had taken its steps, through all units after that."""
    drawn = sb.run(Play("stopping"), posterior, block_steps=block_steps)
    traces = traces_of(drawn)
    limits = traces["limit"][:, 0]
    print(f"limits {limits}")
    assert np.unique(limits).size == 3
    assert (limits % LENGTH != 0).any(), "some stop within a unit"
    for chain, limit in enumerate(limits):
        taken = [min(LENGTH * (unit + 1), limit) for unit in range(12)]
        np.testing.assert_array_equal(traces["count"][chain], taken)
        trails = [trail_of(steps_until(12)[:count]) for count in taken]
        np.testing.assert_array_equal(traces["trail"][chain], trails)
        np.testing.assert_array_equal(bias(drawn)[chain], [taken[unit] for unit in KEPT])


@cuts
def test_a_unit_may_end_early_in_every_chain_at_its_own_step(posterior, block_steps):
    drawn = sb.run(Play("turning"), posterior, seed=2, block_steps=block_steps)
    traces = traces_of(drawn)
    limits = np.transpose(
        [[jax.random.randint(k, (), 0, LENGTH + 3) for k in unit_keys(2, 3, unit)] for unit in range(12)]
    )
    np.testing.assert_array_equal(traces["limit"], limits)
    assert {0, LENGTH} < set(np.clip(limits, 0, LENGTH).ravel().tolist()), "none, all and some of the steps"
    taken = np.minimum(limits, LENGTH)
    np.testing.assert_array_equal(traces["count"], taken)
    for chain in range(3):
        trails = [trail_of([(unit, step) for step in range(taken[chain, unit])]) for unit in range(12)]
        np.testing.assert_array_equal(traces["trail"][chain], trails)
    np.testing.assert_array_equal(bias(drawn), np.cumsum(taken, axis=1)[:, KEPT])


PLAYED = ("stopping", "turning", "fit and sample", "fit, walk and sample")


@pytest.fixture(
    scope="module", params=[(which, steps) for which in PLAYED for steps in (WHOLE, PIECES)], ids=str
)
def played(request, posterior, tmp_path_factory) -> tuple[Play, int, Path]:
    """A method, the steps of a block, and the folder of its undisturbed run."""
    which, block_steps = request.param
    folder = tmp_path_factory.mktemp("played") / "run"
    method = Play(which, units=5)
    sb.run(method, posterior, store=folder, block_steps=block_steps, observers=[sb.Moments()])
    return method, block_steps, folder


@pytest.mark.usefixtures("forms_once")
@pytest.mark.parametrize("rate", [1e-9, np.inf], ids=["state seldom", "state always"])
def test_crashes_at_every_block_end_in_the_same_bytes(played, posterior, tmp_path, monkeypatch, rate):
    """At the boundaries of phases too."""
    method, block_steps, folder = played
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", rate)
    options = {"store": tmp_path / "run", "block_steps": block_steps, "observers": [sb.Moments()]}
    for block in range(Run(folder).blocks):
        with crash_at(monkeypatch, block, committed=block % 3 > 0), pytest.raises(Crash):
            sb.run(method, posterior, **options)
    sb.run(method, posterior, **options)
    assert results(tmp_path / "run") == results(folder)


@pytest.mark.usefixtures("forms_once")
def test_one_crash_anywhere_is_no_different(played, posterior, tmp_path, monkeypatch):
    method, block_steps, folder = played
    monkeypatch.setattr(job, "STATE_BYTES_PER_SECOND", np.inf)
    options = {"block_steps": block_steps, "observers": [sb.Moments()]}
    for block in range(Run(folder).blocks):
        with crash_at(monkeypatch, block, committed=True), pytest.raises(Crash):
            sb.run(method, posterior, store=tmp_path / str(block), **options)
        sb.run(method, posterior, store=tmp_path / str(block), **options)
        assert results(tmp_path / str(block)) == results(folder), f"crashed after block {block}"


def expected_samples(fitted: Mixture, before: int, draws: int) -> np.ndarray:
    """Biases of draws from each chain's distribution, the first of them in the unit after `before`."""
    keys = [unit_keys(0, 3, before + draw) for draw in range(draws)]
    samples = [[fitted[chain].sample(key) for chain, key in enumerate(each)] for each in keys]
    return np.transpose([[sample["params"]["output"]["bias"][0] for sample in each] for each in samples])


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize(("which", "before"), [("fit and sample", 3), ("fit, walk and sample", 5)])
def test_each_chain_samples_the_distribution_that_it_fitted(posterior, tmp_path, which, before, stored):
    store = tmp_path / "run" if stored else None
    drawn = sb.run(Play(which, units=5), posterior, store=store, block_steps=WHOLE)
    assert drawn.origin is not None
    fitted = drawn.origin.distribution
    assert isinstance(fitted, Mixture)
    centres = 3 * LENGTH + 100 * drawn.origin.traces["limit"][:, 0]
    assert np.diff(np.sort(centres)).min() >= 100, "no chain is near another"
    np.testing.assert_array_equal(fitted.components.mean["params"]["output"]["bias"][:, 0], centres)
    np.testing.assert_allclose(bias(drawn), expected_samples(fitted, before, 5), rtol=1e-6)
    assert np.unique(bias(drawn) - centres[:, None]).size == 15, "every draw is another one"
    density = jax.jit(jax.vmap(jax.vmap(posterior.log_density)))({"stats": {}, **drawn.variables})
    np.testing.assert_allclose(drawn.stats["energy"], -density, rtol=1e-5)


@cuts
def test_what_was_fitted_is_committed_with_the_block_that_ends_its_phase(posterior, tmp_path, block_steps):
    store = tmp_path / "run"
    drawn = sb.run(Play("fit and sample", units=5), posterior, store=store, block_steps=block_steps)
    run = Run(store)
    fitted = [entry for entry in run.entries if entry["distribution"]]
    assert len(fitted) == 1
    assert fitted[0]["cursor"] == {"phase": 0, "unit": 3, "piece": 0, "drawn": 0, "group": 0}
    assert fitted[0]["distribution"]["file"] == f"distribution/{fitted[0]['block']:06d}.safetensors"
    assert len(list((store / "distribution").iterdir())) == 1
    assert run.distribution is not None
    names = {name.partition("/params")[0] for name in run.distribution}
    assert names == {f"mixture/components/gaussian/{part}" for part in ("location", "diagonal", "factors")}
    assert drawn.origin is not None
    assert isinstance(drawn.origin.distribution, Mixture)
    in_memory = to_arrays(drawn.origin.distribution)
    jax.tree.map(np.testing.assert_array_equal, run.distribution, in_memory)


def test_samples_are_extended(posterior, tmp_path):
    """The sampling phase goes on with the distributions that are stored with its state."""
    at_once = sb.run(Play("fit and sample", units=9), posterior, store=tmp_path / "once", block_steps=WHOLE)
    for units in (2, 5, 9):
        grown = sb.run(
            Play("fit and sample", units=units), posterior, store=tmp_path / "run", block_steps=WHOLE
        )
    np.testing.assert_array_equal(bias(grown), bias(at_once))
    assert grown.stats["energy"].shape == (3, 9)


def test_a_phase_that_is_not_open_ended_does_not_grow(posterior, tmp_path):
    sb.run(Play("walk"), posterior, store=tmp_path / "run", block_steps=WHOLE)
    with pytest.raises(sb.RunError, match=r"method.units: 12 there, 13 now"):
        sb.run(Play("walk", units=13), posterior, store=tmp_path / "run", block_steps=WHOLE)


def test_a_stored_state_belongs_to_its_phase(posterior, tmp_path):
    """The last state of a run holds what its last phase needs to go on: here the distributions."""
    sb.run(Play("fit and sample", units=5), posterior, store=tmp_path / "run", block_steps=WHOLE)
    names = Run(tmp_path / "run").state().keys()
    assert any("distribution/location" in name for name in names), sorted(names)
    assert states.first_nonfinite(Run(tmp_path / "run").state()) is None
