"""Where ascents begin, and how far a bounded one goes."""

import jax
import numpy as np
import pytest

from symbayes import trees
from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.align.starts import at_random, best_start, in_sequence
from symbayes.symmetry.group.frame import Frame, Plan

from ..network_kinds import kind


def cut(plan, tree):
    return plan.cut({path: np.asarray(leaf) for path, leaf in trees.flatten(tree).items()})


def ascent_of(name, planted=False, seed=0):
    """A network on its way to another, or to itself from elsewhere in its orbit."""
    network = kind(name)
    plan = Plan(network.group)
    reference = cut(plan, network.draw(seed))
    if not planted:
        frame = Frame.start(plan, cut(plan, network.draw(seed + 1)), plan.group.unmoved())
        return Ascent(plan, reference, frame)
    element = network.group.random_element(jax.random.key(seed), spread=0.0)
    return Ascent(plan, reference, Frame.start(plan, reference, element))


@pytest.mark.parametrize("name", ["gelu", "tanh", "relu"])
def test_a_sequence_finds_what_was_planted(name):
    """From the fixed axes inwards every index is known exactly, so no climbing is needed."""
    ascent = ascent_of(name, planted=True)
    in_sequence(ascent)
    for ours, theirs in zip(ascent.frame.arrays, ascent.reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_a_sequence_in_random_order_follows_its_seed():
    ends = []
    for seed in (1, 1, 2, 3, 4):
        ascent = ascent_of("gelu")
        in_sequence(ascent, np.random.default_rng(seed))
        ends.append(ascent.objective())
    assert ends[0] == ends[1]
    assert len(set(ends)) > 1


def test_kept_gram_matrices_are_those_of_the_network():
    """A sequence keeps Gram matrices where it can: each is what a fresh ascent would compute."""
    ascent = ascent_of("gelu")
    in_sequence(ascent)
    assert ascent.grams
    fresh = Ascent(ascent.plan, ascent.reference, ascent.frame)
    for name, places in ascent.plan.places.items():
        for place in places:
            if (place.term, place.axis) in ascent.grams:
                np.testing.assert_allclose(
                    ascent.gram(name, place), fresh.gram(name, place), rtol=1e-4, atol=1e-4
                )


def test_the_better_start_is_taken():
    aligned = ascent_of("gelu")
    in_sequence(aligned)
    aligned.run()
    assert best_start(aligned) is aligned
    lost = ascent_of("gelu")
    at_random(lost, np.random.default_rng(0))
    begun = best_start(lost)
    assert begun is not lost
    assert begun.objective() > lost.objective()


def test_a_bounded_climb_stops_and_can_go_on():
    ascent = ascent_of("gelu")
    before = ascent.objective()
    ascent.run(rounds=0)
    assert (ascent.steps, ascent.objective()) == (0, before)
    ascent.run(rounds=1)
    assert 0 < ascent.steps <= len(ascent.plan.touched)
    assert ascent.objective() > before
    whole = ascent_of("gelu")
    whole.run()
    ascent.run()
    assert ascent.objective() == whole.objective()
