"""Random small programs: whatever group is found, random elements of it keep the function."""

from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.symmetry import discover

from ..symmetry_networks import inputs, largest_change
from .random_programs import BATCH, FEATURES, RandomProgram

X = inputs(BATCH, FEATURES)


@settings(max_examples=8)
@given(st.integers(0, 2**31))
def test_the_group_keeps_a_random_program(seed):
    program = RandomProgram(seed)
    variables = program.variables(seed)
    group = discover(program.apply, variables, X)
    assert not group.dropped, (program.words, group.dropped)
    assert largest_change(group, program.apply, variables, X, seed) < 1e-7, (program.words, str(group))


def test_the_groups_of_random_programs_are_seldom_trivial():
    """Of 12 programs most have a permutation, and some signs and scales: the check above is not empty."""
    groups = [discover(p.apply, p.variables(0), X) for p in map(RandomProgram, range(12))]
    assert sum(bool(group.permutations) for group in groups) >= 5
    assert sum(bool(group.signs) for group in groups) >= 4
    assert sum(bool(group.scales) for group in groups) >= 5
