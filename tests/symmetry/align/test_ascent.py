"""Steps of an alignment against brute force: signed and nested assignments, exchanges, flips."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes import trees
from symbayes.symmetry import discover
from symbayes.symmetry.align.ascent import Ascent
from symbayes.symmetry.align.assignment import assign, best_signs, stays
from symbayes.symmetry.align.starts import match
from symbayes.symmetry.align.swaps import exchange_gains
from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.frame import Frame, Plan

from ..network_kinds import KINDS, kind
from ..symmetry_networks import draw, inputs

seeds = st.integers(0, 2**31 - 1)


def flat(tree):
    return {path: np.asarray(leaf) for path, leaf in trees.flatten(tree).items()}


def start(plan, network, seed):
    return Frame.start(plan, plan.cut(flat(network.draw(seed))), plan.group.unmoved())


def objective(reference, frame):
    return sum(float(np.sum(r.astype(np.float64) * v)) for r, v in zip(reference, frame.arrays, strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_a_frame_moves_as_the_group_acts(name):
    """Terms moved by NumPy are the terms of what the group moved, and give the element back."""
    network = kind(name)
    plan, group = Plan(network.group), network.group
    element = group.random_element(jax.random.key(5))
    frame = Frame.start(plan, plan.cut(flat(network.draw(1))), element)
    moved = plan.cut(flat(jax.jit(group.act)(element, network.draw(1))))
    for ours, theirs in zip(frame.arrays, moved, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), frame.element(), element)


@pytest.mark.parametrize("name", KINDS)
def test_no_step_lowers_the_objective_and_promises_are_kept(name):
    """Every step taken gains; where it is linear, exactly what its Gram matrices (kept or new) promised."""
    network = kind(name)
    plan = Plan(network.group)
    reference = plan.cut(flat(network.draw(0)))
    ascent = Ascent(plan, reference, start(plan, network, 1))
    seen = [objective(reference, ascent.frame)]
    for _ in range(3):
        for step_name in [*plan.over, *(f"sign/{sign}" for sign in plan.sign_over)]:
            sign = step_name.removeprefix("sign/")
            step = ascent.propose(step_name) if step_name in plan.over else ascent.propose_signs(sign)
            taken = ascent.take(step)
            seen.append(objective(reference, ascent.frame))
            gained = seen[-1] - seen[-2]
            assert gained > 0 if taken else gained == 0
            if taken and step_name in plan.exact:
                assert gained == pytest.approx(step.gain, rel=1e-3, abs=1e-4)
    assert seen[-1] > seen[0]


@given(seeds, st.integers(2, 5), st.sampled_from([(), ("a",), ("a", "b")]))
@settings(max_examples=20)
def test_signed_assignment_is_the_best_of_all(seed, n, names):
    """Against all permutations and all signs; each sign has a Gram matrix of its own and all share one."""
    rng = np.random.default_rng(seed)
    patterns = [frozenset(), *(frozenset({name}) for name in names), frozenset(names)]
    grams = {pattern: rng.normal(size=(1, n, n)) for pattern in patterns}
    values, _ = best_signs(grams, names)
    rows = assign(values)[0]

    def pair(i, j, signs):
        chosen = dict(zip(names, signs, strict=True))
        return sum(gram[0, i, j] * np.prod([chosen[name] for name in p]) for p, gram in grams.items())

    def value(permutation):
        every = list(itertools.product((1, -1), repeat=len(names)))
        return sum(max(pair(i, j, signs) for signs in every) for i, j in enumerate(permutation))

    best = max(value(permutation) for permutation in itertools.permutations(range(n)))
    assert value(rows) == pytest.approx(best)


@given(seeds, st.integers(2, 6), st.floats(0, 3))
@settings(max_examples=40)
def test_the_identity_stays_only_where_it_is_best(seed, n, lift):
    values = np.random.default_rng(seed).normal(size=(n, n)) + lift * np.eye(n)
    every = [values[np.arange(n), list(p)].sum() for p in itertools.permutations(range(n))]
    assert stays(values) == (np.trace(values) >= max(every) - 1e-9)


def tiny(name):
    """Networks with one index of few units, so that every signed permutation can be tried."""
    if name == "recurrent":

        def apply(v, x):
            h = jnp.tanh(x @ v["w"])
            return jnp.tanh(h @ v["u"] + jnp.tanh(h @ v["u"]) @ v["u"]) @ v["out"]

        shapes = {"w": (2, 4), "u": (4, 4), "out": (4, 2)}
    else:

        def apply(v, x):
            return {"tanh": jnp.tanh, "gelu": jax.nn.gelu}[name](x @ v["w"] + v["b"]) @ v["out"]

        shapes = {"w": (2, 5), "b": (5,), "out": (5, 2)}
    return discover(apply, draw(shapes), inputs(6, 2)), shapes


@pytest.mark.parametrize("name", ["gelu", "tanh"])
def test_one_layer_reaches_the_best_of_all(name):
    group, shapes = tiny(name)
    plan = Plan(group)
    (size,) = {p.size for p in group.permutations}
    for seed in range(4):
        reference = plan.cut(flat(draw(shapes, seed)))
        arrays = plan.cut(flat(draw(shapes, seed + 50)))
        ascent = Ascent(plan, reference, Frame.start(plan, arrays, plan.group.unmoved()))
        ascent.run()
        best = -np.inf
        signs = list(itertools.product((1, -1), repeat=size)) if plan.sign_over else [(1,) * size]
        for p, s in itertools.product(itertools.permutations(range(size)), signs):
            rows = {name: np.array([p]) for name in plan.over}
            element = Element(rows, {name: np.array(s) for name in plan.sign_over}, {})
            best = max(best, objective(reference, Frame.start(plan, arrays, element)))
        assert ascent.objective() == pytest.approx(best, rel=1e-5)


def test_the_quadratic_case_ends_where_no_exchange_and_no_flip_gains():
    """Units on both axes of a kernel: checked against every exchange and every flip, done one by one."""
    group, shapes = tiny("recurrent")
    plan = Plan(group)
    assert plan.quadratic == set(plan.over)
    (name,), (sign,) = plan.over, plan.sign_over
    for seed in range(6):
        reference = plan.cut(flat(draw(shapes, seed)))
        arrays = plan.cut(flat(draw(shapes, seed + 50)))
        ascent = Ascent(plan, reference, Frame.start(plan, arrays, plan.group.unmoved()))
        ascent.run()
        top = ascent.objective()
        for i, j in itertools.combinations(range(4), 2):
            rows = np.arange(4)
            rows[[i, j]] = [j, i]
            frame = ascent.frame.copy()
            frame.move(name, rows[None])
            assert objective(reference, frame) <= top + 1e-4
        for i in range(4):
            frame = ascent.frame.copy()
            frame.flip(sign, np.where(np.arange(4) == i, -1, 1))
            assert objective(reference, frame) <= top + 1e-4
        best = max(
            objective(
                reference,
                Frame.start(plan, arrays, Element({name: np.array([p])}, {sign: np.array(s)}, {})),
            )
            for p in itertools.permutations(range(4))
            for s in itertools.product((1, -1), repeat=4)
        )
        tops = [top]
        for number in range(1, 8):
            frame = Frame.start(plan, arrays, plan.group.unmoved())
            found = match(plan, reference, frame, number, np.random.default_rng(number))
            tops.append(found.objective())
        assert max(tops) == pytest.approx(best, rel=1e-5)


@given(seeds)
@settings(max_examples=15)
def test_gains_of_exchanges_are_exact(seed):
    rng = np.random.default_rng(seed)
    n = 5
    r, v, linear = rng.normal(size=(n, n, 2)), rng.normal(size=(n, n, 2)), rng.normal(size=(n, n))

    def value(p):
        return linear[np.arange(n), p].sum() + np.sum(r * v[np.ix_(p, p)])

    gradient = linear + np.einsum("ikc,jkc->ij", r, v) + np.einsum("kic,kjc->ij", r, v)
    gains = exchange_gains(gradient, [(r, v)])
    for i, j in itertools.combinations(range(n), 2):
        p = np.arange(n)
        p[[i, j]] = [j, i]
        assert gains[i, j] == pytest.approx(value(p) - value(np.arange(n)), abs=1e-9)


def test_heads_are_matched_with_their_dimensions_at_once():
    """Heads exchanged and their dimensions reordered: one step of the heads undoes both."""
    network = kind("experts")
    plan, group = Plan(network.group), network.group
    reference = plan.cut(flat(network.draw(0)))
    element = group.random_element(jax.random.key(1), spread=0.0)
    ascent = Ascent(plan, reference, Frame.start(plan, reference, element))
    (heads,) = [name for name in plan.over if plan.dependants[name]]
    assert ascent.take(ascent.propose(heads))
    for ours, theirs in zip(ascent.frame.arrays, reference, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)
