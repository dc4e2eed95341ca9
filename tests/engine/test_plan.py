import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.engine.plan import Plan, draw_slots, steps_per_block

plans = st.builds(
    Plan,
    units=st.integers(1, 40),
    steps=st.integers(1, 40),
    block_steps=st.integers(1, 100),
    slots=st.integers(1, 50),
)


def steps_of(plan: Plan, block: int) -> list[tuple[int, int]]:
    """The (unit, step) pairs of a block."""
    work = plan.work(block)
    begin, end = work.span(plan.steps)
    assert work.ends == (end == plan.steps)
    return [(work.first + i, step) for i in range(work.count) for step in range(begin, end)]


@given(plans)
def test_every_step_of_every_unit_is_done_once_and_in_order(plan):
    done = [step for block in range(plan.blocks) for step in steps_of(plan, block)]
    assert done == [(unit, step) for unit in range(plan.units) for step in range(plan.steps)]


@given(plans)
def test_no_block_is_empty_or_longer_than_asked(plan):
    for block in range(plan.blocks):
        assert 1 <= len(steps_of(plan, block)) <= plan.block_steps
        assert plan.work(block).count <= plan.slots


@given(plans)
def test_blocks_hold_whole_units_or_pieces_of_one(plan):
    assert plan.pieces == 1 or plan.units_per_block == 1
    assert (plan.pieces == 1) == (plan.steps <= plan.block_steps)


@pytest.mark.parametrize(
    ("units", "steps", "block_steps", "slots", "blocks"),
    [(9, 5, 10, 64, 5), (9, 5, 2, 64, 27), (1, 1, 1, 1, 1), (9, 5, 100, 3, 3)],
)
def test_known_plans(units, steps, block_steps, slots, blocks):
    assert Plan(units, steps, block_steps, slots).blocks == blocks


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


def test_methods_fill_in_a_block_of_about_a_second(tiny):
    for method in (sb.HMC(0.01), sb.DeepEnsemble()):
        resolved = method.resolve(tiny)
        assert resolved.block_steps is not None
        assert resolved.block_steps >= 1
        assert resolved.resolve(tiny) == resolved
