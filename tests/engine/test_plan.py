import dataclasses
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.engine import Phase
from symbayes.engine.plan import UNITS, Cursor, Plan, Work, draw_slots, steps_per_block


@dataclass(frozen=True)
class Scattered(Phase):
    """Units of which some end in draws."""

    units: int
    ends: frozenset[int]

    def kept(self, unit: int) -> bool:
        return unit in self.ends


@dataclass(frozen=True)
class Case:
    """A phase, how it is cut, and the room for draws."""

    phase: Scattered
    steps: int
    block_steps: int
    slots: int
    before: int

    @property
    def plan(self) -> Plan:
        return Plan.of(self.steps, self.block_steps)

    def blocks(self) -> list[tuple[Cursor, list[int], Work, Cursor]]:
        """Every block: where it begins, its units, its work, and where it ends."""
        cursor, made = Cursor(3, drawn=7), []
        while cursor.unit < self.phase.units:
            units, after = self.plan.next(cursor, self.phase, self.slots)
            made.append(
                (cursor, units, self.plan.work(cursor, units, self.phase, self.before, self.slots), after)
            )
            assert len(made) <= self.phase.units * self.steps, "it does not get on"
            cursor = after
        return made


@st.composite
def cases(draw: st.DrawFn) -> Case:
    units = draw(st.integers(1, 150))
    kept = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    chosen = np.random.default_rng(draw(st.integers(0, 99))).random(units) < kept
    phase = Scattered(units, frozenset(np.flatnonzero(chosen).tolist()))
    steps, block_steps = draw(st.integers(1, 20)), draw(st.integers(1, 20) | st.integers(1, 300))
    return Case(phase, steps, block_steps, draw(st.integers(1, 9)), draw(st.integers(0, 99)))


def steps_of(case: Case, work: Work) -> list[tuple[int, int]]:
    """The (unit, step) pairs of a block."""
    begin, end = map(int, work.span(case.steps))
    assert bool(work.begins) == (begin == 0)
    assert bool(work.ends) == (end == case.steps)
    return [(int(work.first) + i, step) for i in range(work.count) for step in range(begin, end)]


@given(cases())
def test_every_step_of_every_unit_is_done_once_and_in_order(case):
    done = [pair for _, _, work, _ in case.blocks() for pair in steps_of(case, work)]
    assert done == [(unit, step) for unit in range(case.phase.units) for step in range(case.steps)]


@given(cases())
def test_no_block_is_empty_or_longer_than_asked(case):
    for cursor, units, work, _ in case.blocks():
        assert 1 <= len(steps_of(case, work)) <= case.block_steps
        assert 1 <= len(units) == work.count <= UNITS
        assert units[0] == work.first == cursor.unit
        assert work.before == case.before


@given(cases())
def test_blocks_hold_whole_units_or_pieces_of_one(case):
    plan = case.plan
    assert plan.steps == case.steps
    assert plan.pieces == 1 or plan.units == 1
    assert plan.whole == (plan.pieces == 1) == (case.steps <= case.block_steps)


@given(cases())
def test_every_draw_has_a_slot_of_its_own_and_all_else_the_one_beyond(case):
    """Draws fill the slots from the first on; each is made once, where its unit is complete."""
    drawn = []
    for _, units, work, after in case.blocks():
        kept = np.flatnonzero(work.kept)
        assert len(kept) <= case.slots
        np.testing.assert_array_equal(work.places[kept], np.arange(len(kept)))
        assert (work.places[~work.kept] == case.slots).all()
        assert work.kept.shape == work.places.shape == (UNITS,)
        drawn += [units[i] for i in kept]
        assert after.drawn == 7 + len(drawn)
    assert drawn == sorted(case.phase.ends)


@given(cases())
def test_blocks_are_as_long_as_there_is_room(case):
    """A block ends before its time only where the next unit's draw has no slot."""
    for cursor, units, work, after in case.blocks():
        last = after.unit == case.phase.units
        full = work.kept.sum() == case.slots and after.unit in case.phase.ends
        assert not case.plan.whole or last or full or len(units) == case.plan.units
        assert after.phase == cursor.phase == 3


@given(cases())
def test_a_cursor_that_was_recorded_goes_on_alike(case):
    for cursor, units, _, after in case.blocks():
        assert Cursor.read(cursor.record()) == cursor
        assert case.plan.next(Cursor.read(cursor.record()), case.phase, case.slots) == (units, after)


def test_a_cursor_without_a_group_is_of_the_first():
    """Of a run that was stored when there were none."""
    assert Cursor.read({"phase": 1, "unit": 2, "piece": 3, "drawn": 4}) == Cursor(1, 2, 3, 4, group=0)


def test_longer_phases_are_cut_in_the_same_way():
    """The units of an extended run are those of the run that asked for more at once, but for one block."""
    short = Case(Scattered(7, frozenset(range(7))), 5, 15, 64, 0)
    long = dataclasses.replace(short, phase=Scattered(9, frozenset(range(9))))
    assert [units for _, units, _, _ in short.blocks()] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [units for _, units, _, _ in long.blocks()] == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]


@pytest.mark.parametrize(
    ("units", "steps", "block_steps", "slots", "blocks"),
    [(9, 5, 10, 64, 5), (9, 5, 2, 64, 27), (1, 1, 1, 1, 1), (9, 5, 100, 3, 3), (200, 1, 1000, 64, 4)],
)
def test_known_plans(units, steps, block_steps, slots, blocks):
    phase = Scattered(units, frozenset(range(units)))
    assert len(Case(phase, steps, block_steps, slots, 0).blocks()) == blocks


def test_draws_of_several_cycles_fit_one_block():
    """Every tenth unit ends in a draw: three slots take thirty units, and the nine after them."""
    case = Case(Scattered(50, frozenset(range(9, 50, 10))), 1, 1000, 3, 0)
    assert [len(units) for _, units, _, _ in case.blocks()] == [39, 11]


@given(chains=st.integers(1, 64), examples=st.integers(1, 10**7))
def test_blocks_are_bounded_in_time_and_memory(tiny, chains, examples):
    steps, slots = steps_per_block(tiny, chains, examples), draw_slots(tiny, chains)
    numbers = 64 * 6 + 6 + 6 * 10 + 10
    assert steps >= 1
    assert steps == 1 or steps * 6 * numbers * examples * chains <= 3e10
    assert steps_per_block(tiny, chains, examples + 1) <= steps
    assert steps_per_block(tiny, chains + 1, examples) <= steps
    assert 1 <= slots <= 64
    assert slots == 1 or slots * 4 * numbers * chains <= 16e6


def test_a_step_of_a_tiny_network_costs_what_the_smallest_does(tiny):
    """One example of 460 weights is 2,760 operations; starting a step costs as much as 15 million."""
    assert steps_per_block(tiny, 1, 1) == steps_per_block(tiny, 2, 1) == 2000


@pytest.mark.parametrize("chains", [1, 2, 5, 600])
def test_draws_of_a_large_network_fill_sixteen_megabytes(digits, chains):
    network = sb.networks.mlp(hidden=(1000,), outputs=10)
    large = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:2])
    numbers = 64 * 1000 + 1000 + 1000 * 10 + 10
    assert draw_slots(large, chains) == max(1, 16_000_000 // (4 * numbers * chains))
