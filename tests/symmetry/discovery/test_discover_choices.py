"""Programs that choose: by the place of an extremum, by the largest entries, by comparison."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes.symmetry import discover
from symbayes.symmetry.program.laws import FIXED, FORGET, Law
from symbayes.symmetry.program.rules import reduce

from ..symmetry_networks import draw, inputs, largest_change
from ..symmetry_networks import log10_factorial as lf

EXPERTS, HIDDEN = 4, 3


def chosen(v, x, expert):
    """The network of one expert (or several, summed) for each example."""
    h = jax.nn.relu(jnp.einsum("bi,b...ih->b...h", x, v["a"][expert]))
    return jnp.einsum("b...h,b...ho->bo", h, v["b"][expert])


def largest(v, x):
    return chosen(v, x, jnp.argmax(x @ v["gate"], -1))


def smallest(v, x):
    return chosen(v, x, jnp.argmin(x @ v["gate"], -1))


def two_largest(v, x):
    return chosen(v, x, jax.lax.top_k(x @ v["gate"], 2)[1])


def masked(v, x):
    """Every expert, and a mask of one."""
    mask = jax.nn.one_hot(jnp.argmax(x @ v["gate"], -1), EXPERTS)
    h = jax.nn.relu(jnp.einsum("bi,eih->beh", x, v["a"]))
    return jnp.einsum("beh,eho,be->bo", h, v["b"], mask)


def experts(seed):
    return draw({"gate": (3, EXPERTS), "a": (EXPERTS, 3, HIDDEN), "b": (EXPERTS, HIDDEN, 2)}, seed)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("apply", [largest, smallest, two_largest, masked])
def test_a_hard_mixture_of_experts(apply, seed):
    """The gate has one scale, for all experts, and no sign; experts stay in place; their units are free.

    Looked up by number, the experts share the order and the scales of their 3 units; behind a mask each has
    its own.
    """
    group = discover(apply, experts(seed), inputs(6, 3))
    copies = EXPERTS if apply is masked else 1
    assert group.log10_permutations == pytest.approx(copies * lf(HIDDEN))
    assert (group.sign_bits, group.scale_dimension) == (0, 1 + copies * HIDDEN)
    assert not group.dropped
    assert largest_change(group, apply, experts(seed), inputs(50, 3), seed) < 1e-9


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("apply", [largest, masked])
def test_the_numerical_check_finds_out_a_law_that_forgets_the_gate(apply, seed, monkeypatch):
    """Were every expert's gate free to scale, many a small element would change no choice."""
    monkeypatch.setattr(reduce, "COMPARE", Law(FORGET, FIXED))
    group = discover(apply, experts(seed), inputs(6, 3))
    assert any(line.startswith("log_scales of gate") for line in group.dropped)
    assert largest_change(group, apply, experts(seed), inputs(50, 3), seed) < 1e-9


def test_an_extremum_over_joined_units_ties_them():
    """3 and 4 units, joined: one scale for all 7, none for the 3 and the 4 by themselves."""

    def apply(v, x):
        return v["t"][jnp.argmax(jnp.concatenate([x @ v["a"], x @ v["b"]], -1), -1)]

    variables = draw({"a": (3, 3), "b": (3, 4), "t": (7, 2)})
    group = discover(apply, variables, inputs(6, 3))
    assert (group.sign_bits, group.scale_dimension) == (0, 1)
    assert largest_change(group, apply, variables, inputs(50, 3)) < 1e-9


def test_examples_may_choose_each_at_its_own_scale():
    """The scale of an example is divided out; what is compared is one number for each of 4 units."""

    def apply(v, x):
        h = x @ v["w"]
        return v["t"][jnp.argmax(h / jnp.linalg.norm(h, axis=-1, keepdims=True), -1)]

    variables = draw({"w": (3, 4), "t": (4, 2)})
    group = discover(apply, variables, inputs(6, 3))
    assert (group.sign_bits, group.scale_dimension) == (0, 1)
    assert largest_change(group, apply, variables, inputs(50, 3)) < 1e-9


@pytest.mark.parametrize(("fill", "free"), [(0.0, 1), (3.0, 0), (np.nan, 1)])
def test_what_stands_for_missing_rows_has_its_own_scale(fill, free):
    """Units looked up, one beyond the end: a number in its place fixes their scale and sign."""

    def apply(v, x):
        rows = jnp.take(x @ v["a"], jnp.array([0, 9, 1, 2]), axis=-1, mode="fill", fill_value=fill)
        return jnp.where(jnp.isnan(rows), 0, rows) @ v["b"]

    variables = draw({"a": (3, 4), "b": (4, 2)})
    group = discover(apply, variables, inputs(6, 3))
    assert (group.sign_bits, group.scale_dimension, group.dropped) == (free, free, ())


def read_at(h, start):
    return jax.lax.dynamic_slice(h, (0, start), (len(h), 2))


def written_at(h, start):
    return jax.lax.dynamic_update_slice(h, h[:, :2], (0, start))


@pytest.mark.parametrize("at", [read_at, written_at])
def test_a_place_that_is_computed_ties_what_it_is_computed_from(at):
    """The place is that of the largest of 4 gates: these stay in order, with one scale; and 4 ReLU units in a
    place that matters, with one.
    """

    def apply(v, x):
        h = jax.nn.relu(x @ v["a"])
        return at(h, jnp.argmax((x @ v["gate"]).sum(0))).sum(1, keepdims=True) * v["out"]

    variables = draw({"a": (3, 4), "gate": (3, 4), "out": (2,)})
    group = discover(apply, variables, inputs(6, 3))
    assert (group.log10_permutations, group.sign_bits, group.dropped) == (0, 0, ())
    assert group.scale_dimension == 2
    assert largest_change(group, apply, variables, inputs(6, 3)) < 1e-9


def test_choices_are_tried_at_many_points():
    seen = []

    def apply(v, x):
        def look(h):
            seen.append(np.asarray(h))
            return h

        h = jax.pure_callback(look, jax.ShapeDtypeStruct((6, 4), x.dtype), x @ v["w"])
        return v["t"][jnp.argmax(h, -1)]

    discover(apply, draw({"w": (3, 4), "t": (4, 2)}), inputs(6, 3))
    assert len({row.tobytes() for row in seen}) >= 10
