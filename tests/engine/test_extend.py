"""A run that is asked for more draws goes on, and ends with those of the run that was asked at once."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import symbayes as sb
from draws.folders import contents, results
from symbayes import trees
from symbayes.draws import Run

from .runs import ENSEMBLE, HMC, Crash, crash_at, run

MORE = dataclasses.replace(HMC, draws=9)


@pytest.fixture(scope="module")
def observers(digits) -> tuple[sb.Moments, sb.Predictions]:
    return sb.Moments(), sb.Predictions(digits.test.x[:16])


@pytest.fixture(scope="module", params=[10, 2], ids=["trajectories in a block", "blocks in a trajectory"])
def at_once(request, tiny, observers, tmp_path_factory) -> tuple[Path, dict[str, Any]]:
    """Nine draws asked at once, and how."""
    folder = tmp_path_factory.mktemp("once") / "run"
    options = {"block_steps": request.param, "observers": observers}
    run(MORE, tiny, store=folder, **options)
    return folder, options


def assert_same_run(folder: Path, expected: Path, moments: float = 0.0) -> None:
    """Draws, traces and observed; moments are summed in another order where blocks are cut otherwise."""
    one, other = Run(folder), Run(expected)
    assert one.finished
    assert other.finished
    for a, b in ((one.draws.variables, other.draws.variables), (one.draws.stats, other.draws.stats)):
        assert_same(a, b)
    assert_same(one.traces, other.traces)
    assert one.draws.observed.keys() == other.draws.observed.keys()
    for name, arrays in other.draws.observed.items():
        assert arrays.keys() == one.draws.observed[name].keys()
        for key, array in arrays.items():
            np.testing.assert_allclose(one.draws.observed[name][key], array, rtol=moments, atol=moments)
    configs = [{k: v for k, v in each.config.items() if k != "created"} for each in (one, other)]
    assert configs[0] == configs[1]


def assert_same(one: Any, other: Any) -> None:
    flat, expected = trees.flatten(one), trees.flatten(other)
    assert flat.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(flat[name], array, err_msg=name)


def test_a_finished_run_goes_on_to_the_same_bytes(at_once, tiny, tmp_path):
    folder, options = at_once
    before = run(HMC, tiny, store=tmp_path / "run", **options)
    grown = run(MORE, tiny, store=tmp_path / "run", **options)
    assert (len(before), len(grown)) == (6, 9)
    assert_same_run(tmp_path / "run", folder)
    assert results(tmp_path / "run") == results(folder), "six draws fill whole blocks"


def test_a_run_grows_as_often_as_it_is_asked(at_once, tiny, tmp_path):
    """Five and eight draws end within a block of the run that was asked at once."""
    folder, options = at_once
    for draws in (1, 5, 8, 9):
        grown = run(dataclasses.replace(HMC, draws=draws), tiny, store=tmp_path / "run", **options)
        assert len(grown) == draws
        assert grown.observed["moments"]["count"] == 2 * draws
    assert_same_run(tmp_path / "run", folder, moments=1e-12)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_an_unfinished_run_may_be_asked_for_more(at_once, tiny, tmp_path, monkeypatch, share):
    """In burn-in, and on the way to its draws."""
    folder, options = at_once
    short = Run(folder).blocks * 6 // 9
    with crash_at(monkeypatch, int(share * short), committed=True), pytest.raises(Crash):
        run(HMC, tiny, store=tmp_path / "run", **options)
    run(MORE, tiny, store=tmp_path / "run", **options)
    assert_same_run(tmp_path / "run", folder)


@pytest.mark.usefixtures("forms_once")
@pytest.mark.parametrize("committed", [False, True], ids=["before its line", "after its line"])
def test_crashes_while_it_grows(at_once, tiny, tmp_path, monkeypatch, committed):
    folder, options = at_once
    run(HMC, tiny, store=tmp_path / "run", **options)
    for block in range(Run(tmp_path / "run").blocks, Run(folder).blocks):
        with crash_at(monkeypatch, block, committed), pytest.raises(Crash):
            run(MORE, tiny, store=tmp_path / "run", **options)
        assert Run(tmp_path / "run").finished == (committed and block == Run(folder).blocks - 1)
    run(MORE, tiny, store=tmp_path / "run", **options)
    assert_same_run(tmp_path / "run", folder)
    assert results(tmp_path / "run") == results(folder)


def test_thinning_goes_on_where_it_was(at_once, tiny, tmp_path):
    """Draws 0, 3 and 6 of nine; the first seven end within a block."""
    folder, options = at_once
    for draws in (5, 7, 9):
        run(dataclasses.replace(HMC, draws=draws), tiny, store=tmp_path / "run", keep=3, **options)
    thinned, whole = Run(tmp_path / "run").draws, Run(folder).draws
    assert_same(thinned.variables, whole.thin(3).variables)
    assert_same(thinned.stats, whole.thin(3).stats)
    assert thinned.observed["moments"]["count"] == 18


def test_fewer_draws_or_another_method_are_refused_with_a_way_on(tiny, tmp_path):
    run(MORE, tiny, store=tmp_path / "run")
    before = contents(tmp_path / "run")
    offered = "choose another folder, where it can begin from this run with start"
    for method, field in [
        (HMC, "method.draws: 9 there, 6 now"),
        (dataclasses.replace(MORE, burn_in=4), "method.burn_in: 3 there, 4 now"),
        (dataclasses.replace(MORE, burn_in=4, draws=12), "method.burn_in: 3 there, 4 now"),
        (dataclasses.replace(MORE, chains=3, draws=12), "method.chains: 2 there, 3 now"),
        (dataclasses.replace(MORE, step_size=0.02, draws=12), "method.step_size: 0.01 there, 0.02 now"),
    ]:
        with pytest.raises(sb.RunError, match=f"{field}.*{offered}"):
            run(method, tiny, store=tmp_path / "run")
    assert contents(tmp_path / "run") == before


def test_an_ensemble_is_not_extended(tiny, tmp_path):
    """Its learning rate falls along all epochs that it was asked for."""
    run(ENSEMBLE, tiny, store=tmp_path / "run")
    before = contents(tmp_path / "run")
    with pytest.raises(sb.RunError, match=r"method.epochs: 5 there, 6 now.* begin from this run with start"):
        run(dataclasses.replace(ENSEMBLE, epochs=6), tiny, store=tmp_path / "run")
    assert contents(tmp_path / "run") == before
