"""How many chains are worked on at once: what is asked for, what fits, and what is refused."""

import dataclasses
from pathlib import Path
from typing import Any

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from draws.folders import contents, results
from symbayes import trees
from symbayes.draws import Run
from symbayes.engine import course, placement
from symbayes.engine.groups import cut
from symbayes.engine.job import Job
from symbayes.engine.plan import Plan, draw_slots
from symbayes.engine.start import Start
from symbayes.posterior.numerics import memory

from .grouped import CHAINS, ENSEMBLE, HMC, groups_of
from .runs import Crash, crash_at


@given(chains=st.integers(1, 200), together=st.integers(1, 220), devices=st.sampled_from([1, 2, 3, 8]))
def test_groups_hold_every_chain_once_and_are_as_equal_as_can_be(
    chains: int, together: int, devices: int
) -> None:
    chains, together = chains * devices, together * devices
    groups = cut(chains, together, devices)
    assert [chain for group in groups for chain in group] == list(range(chains))
    sizes = [len(group) for group in groups]
    assert max(sizes) <= together
    assert set(sizes[:-1]) <= {sizes[0]}
    assert sizes[-1] <= sizes[0]
    assert all(size % devices == 0 for size in sizes)
    assert len(groups) == -(-chains // together)
    assert cut(chains, sizes[0], devices) == groups, "what is recorded gives the same groups"


def room_for(monkeypatch: Any, posterior: sb.Posterior, chains: float) -> None:
    """A machine with the memory for so many members that are trained by Adam: each takes thrice its state,
    of three networks, and six networks."""
    each = (3 * 3 + 6) * trees.nbytes(posterior.init(jax.random.key(0)))
    data = trees.nbytes(posterior.chunks)
    monkeypatch.setattr(memory, "room", lambda devices: data + devices * chains * each)


def groups(method: Any, posterior: sb.Posterior, mesh: Any = None, together: int | None = None) -> list[int]:
    """Sizes of the groups of a run."""
    start = Start(posterior, 0, method.chains)
    return [len(group) for group in Job(method, posterior, start, mesh=mesh).in_groups(together).groups]


def test_there_are_as_many_groups_as_memory_needs(tiny: sb.Posterior, monkeypatch: Any) -> None:
    ten = dataclasses.replace(ENSEMBLE, chains=10)
    assert groups(ten, tiny) == [10], "of this machine"
    for room, sizes in ((10.5, [10]), (9.5, [5, 5]), (4.5, [4, 4, 2]), (1.5, [1] * 10), (0.5, [1] * 10)):
        room_for(monkeypatch, tiny, room)
        assert groups(ten, tiny) == sizes, room
        assert groups(ten, tiny, together=10) == [10], "asked for"
        assert groups(dataclasses.replace(ten, chains=1), tiny) == [1]


def test_blocks_are_cut_for_a_group_and_alike_for_all(tiny: sb.Posterior, monkeypatch: Any) -> None:
    """As long as for two chains, also where only one is left."""
    asked: list[int] = []
    monkeypatch.setattr(
        course, "steps_per_block", lambda _, chains, batch: asked.append(chains) or 24 // chains
    )
    working = Job(ENSEMBLE, tiny, Start(tiny, 0, CHAINS)).in_groups(2)
    plans = [working.begin(0, group=number)[1] for number in range(3)]
    assert plans == [Plan.of(4, 12)] * 3
    assert asked == [2, 2, 2]
    assert working.slots == draw_slots(tiny, 2)


def test_the_chains_of_a_mesh_have_the_memory_of_all_its_devices(
    tiny: sb.Posterior, monkeypatch: Any
) -> None:
    eight, mesh = dataclasses.replace(ENSEMBLE, chains=8), sb.make_mesh(2)
    assert dict(mesh.shape) == {"chain": 2, "data": 4}
    placed = placement.place_posterior(tiny, mesh)
    for room, sizes in ((4.5, [8]), (3.5, [4, 4]), (2.5, [4, 4]), (0.5, [2] * 4)):
        room_for(monkeypatch, tiny, room)
        assert groups(eight, placed, mesh) == sizes, room


def test_chains_that_learn_from_one_another_are_one_group(tiny: sb.Posterior, monkeypatch: Any) -> None:
    monkeypatch.setattr(memory, "room", lambda devices: 0.0)
    learning = [
        dataclasses.replace(HMC, adapt=True),
        dataclasses.replace(HMC, step_size=None, jitter=0.1),
        dataclasses.replace(HMC, mass="diagonal", burn_in=20),
        sb.MCLMC(chains=CHAINS),
        sb.NUTS(chains=CHAINS),
        sb.MALA(chains=CHAINS),
    ]
    for method in learning:
        resolved = method.resolve(tiny)
        assert groups(resolved, tiny) == [CHAINS]
        with pytest.raises(
            ValueError, match=r"learn from one another, .*: leave out together=2, or give what"
        ):
            sb.run(method, tiny, together=2)
        assert groups(resolved, tiny, together=CHAINS) == [CHAINS]
    for method in (
        HMC,
        dataclasses.replace(HMC, adapt=True, burn_in=0),
        sb.MALA(0.01, chains=2, adapt=False),
    ):
        assert set(groups(method.resolve(tiny), tiny)) == {1}


def test_numbers_that_make_no_groups_are_refused_before_anything_is_written(
    tiny: sb.Posterior, tmp_path: Path
) -> None:
    for together in (0, -1, False):
        with pytest.raises(ValueError, match="together must be a whole number of at least 1"):
            sb.run(ENSEMBLE, tiny, store=tmp_path / "run", together=together)
    mesh = sb.make_mesh(8, data=2)
    with pytest.raises(ValueError, match="2 chains at once do not divide among the 4 devices of the mesh's"):
        sb.run(dataclasses.replace(ENSEMBLE, chains=8), tiny, store=tmp_path / "run", mesh=mesh, together=2)
    assert not (tmp_path / "run").exists()


def test_a_run_in_one_group_is_what_it_was(tiny: sb.Posterior, tmp_path: Path) -> None:
    for name, together in (("default", None), ("asked", 9)):
        sb.run(ENSEMBLE, tiny, store=tmp_path / name, together=together)
    assert results(tmp_path / "default") == results(tmp_path / "asked")
    assert "together" not in Run(tmp_path / "default").config
    assert set(groups_of(Run(tmp_path / "default"))) == {0}


def test_a_run_keeps_its_groups_where_there_is_other_memory(
    tiny: sb.Posterior, tmp_path: Path, monkeypatch: Any
) -> None:
    for name, before, after in (("few", 2.5, 100.0), ("many", 100.0, 2.5)):
        with monkeypatch.context() as patch:
            room_for(patch, tiny, before)
            sb.run(ENSEMBLE, tiny, store=tmp_path / name, block_steps=4)
            with crash_at(patch, 3, committed=True), pytest.raises(Crash):  # where the first of the few ends
                sb.run(ENSEMBLE, tiny, store=tmp_path / f"{name}-again", block_steps=4)
            room_for(patch, tiny, after)
            sb.run(ENSEMBLE, tiny, store=tmp_path / f"{name}-again", block_steps=4)
        assert results(tmp_path / f"{name}-again") == results(tmp_path / name)
    assert Run(tmp_path / "few").config["together"] == 2
    assert "together" not in Run(tmp_path / "many").config


def test_other_groups_are_another_configuration(tiny: sb.Posterior, tmp_path: Path) -> None:
    sb.run(ENSEMBLE, tiny, store=tmp_path / "run", together=2)
    before = contents(tmp_path / "run")
    with pytest.raises(sb.RunError, match="together: 2 there, 3 now"):
        sb.run(ENSEMBLE, tiny, store=tmp_path / "run", together=4)
    with pytest.raises(sb.RunError, match="together: 2 there, None now"):
        sb.run(ENSEMBLE, tiny, store=tmp_path / "run", together=CHAINS)
    again = sb.run(ENSEMBLE, tiny, store=tmp_path / "run")
    assert again.chains == CHAINS
    assert contents(tmp_path / "run") == before
