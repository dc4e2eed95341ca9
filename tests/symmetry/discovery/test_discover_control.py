"""Groups of programs with loops, calls and branches, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import pytest

from ..symmetry_networks import draw, expect, inputs
from ..symmetry_networks import log10_factorial as lf

H = 5


def run(step, v, x, *carry):
    """Scan over the tokens of (batch, token, feature); the last hidden state, read out."""
    carry, _ = jax.lax.scan(lambda c, row: (step(v, c, row), None), carry, jnp.swapaxes(x, 0, 1))
    return carry[0] @ v["out"]


def test_lstm():
    """5 units: one order for hidden state, cell and all four gates; a sign flips state, cell and candidate
    together.
    """

    def step(v, carry, row):
        h, c = carry
        i, f, g, o = jnp.split(row @ v["wx"] + h @ v["wh"] + v["b"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return jax.nn.sigmoid(o) * jnp.tanh(c), c

    def apply(v, x):
        zeros = jnp.zeros((len(x), H))
        return run(step, v, x, zeros, zeros)

    variables = draw({"wx": (3, 4 * H), "wh": (H, 4 * H), "b": (4 * H,), "out": (H, 2)})
    expect(apply, variables, inputs(20, 4, 3), permutations=lf(H), signs=H, scales=0)


def test_gru():
    """The same for a GRU: the sign of a unit's state goes with that of its candidate."""

    def step(v, carry, row):
        (h,) = carry
        z = jax.nn.sigmoid(row @ v["wz"] + h @ v["uz"])
        r = jax.nn.sigmoid(row @ v["wr"] + h @ v["ur"])
        n = jnp.tanh(row @ v["wn"] + r * (h @ v["un"] + v["bn"]))
        return ((1 - z) * n + z * h,)

    def apply(v, x):
        return run(step, v, x, jnp.zeros((len(x), H)))

    shapes = {f"w{gate}": (3, H) for gate in "zrn"} | {f"u{gate}": (H, H) for gate in "zrn"}
    expect(
        apply,
        draw(shapes | {"bn": (H,), "out": (H, 2)}),
        inputs(30, 4, 3),
        permutations=lf(H),
        signs=H,
        scales=0,
    )


@pytest.mark.parametrize(("activation", "signs", "scales"), [(jax.nn.relu, 0, H), (jnp.tanh, H, 0)])
def test_recurrent_network(activation, signs, scales):
    """A recurrent kernel has its units on both axes; its scales cancel."""

    def step(v, carry, row):
        return (activation(row @ v["w"] + carry[0] @ v["u"] + v["b"]),)

    def apply(v, x):
        return run(step, v, x, jnp.zeros((len(x), H)))

    variables = draw({"w": (3, H), "u": (H, H), "b": (H,), "out": (H, 2)})
    group = expect(apply, variables, inputs(20, 4, 3), permutations=lf(H), signs=signs, scales=scales)
    assert [move.axes for move in group.permutations[0].moves if move.path == "u"] == [(0,), (1,)]


def test_scanned_layers_have_their_own_symmetries():
    """3 layers stacked and scanned: a linear stream of 4 (signs, scales), and 5 ReLU units in each layer: 4!
    5!^3.
    """

    def apply(v, x):
        def layer(h, w):
            return h + jax.nn.relu(h @ w["up"] + w["b"]) @ w["down"], None

        return jax.lax.scan(layer, x @ v["stem"], v["layers"])[0] @ v["head"]

    shapes = {
        "stem": (3, 4),
        "layers/up": (3, 4, 5),
        "layers/b": (3, 5),
        "layers/down": (3, 5, 4),
        "head": (4, 2),
    }
    expect(apply, draw(shapes), inputs(30, 3), permutations=lf(4) + 3 * lf(5), signs=4, scales=4 + 15)


@pytest.mark.parametrize("average", [False, True])
def test_vmapped_ensemble(average):
    """3 members with 5 ReLU units: 5!^3 and 15 scales; averaged, the members permute as well."""

    def apply(v, x):
        outs = jax.vmap(lambda w: jax.nn.relu(x @ w["a"] + w["b"]) @ w["c"])(v)
        return outs.mean(0) if average else outs

    variables = draw({"a": (3, 2, 5), "b": (3, 5), "c": (3, 5, 2)})
    total = 3 * lf(5) + (lf(3) if average else 0)
    expect(apply, variables, inputs(30, 2), permutations=total, signs=0, scales=15)


def call_jit(f):
    return jax.jit(f)


def call_remat(f):
    return jax.checkpoint(f)


def call_vmap(f):
    return lambda v, x: jax.vmap(lambda row: f(v, row))(x)


def call_custom_vjp(f):
    g = jax.custom_vjp(f)
    g.defvjp(lambda v, x: (f(v, x), (v, x)), lambda res, t: jax.vjp(f, *res)[1](t))
    return g


def call_map(f):
    return lambda v, x: jax.lax.map(lambda row: f(v, row), x)


def call_cond(f):
    return lambda v, x: jax.lax.cond(jnp.sum(x) > 0, f, lambda v, x: 2 * f(v, x), v, x)


@pytest.mark.parametrize("call", [call_jit, call_remat, call_vmap, call_custom_vjp, call_map, call_cond])
def test_calls(call):
    """6 ReLU units, however the function is wrapped."""
    f = call(lambda v, x: jax.nn.relu(x @ v["a"] + v["b"]) @ v["c"])
    expect(
        f, draw({"a": (3, 6), "b": (6,), "c": (6, 2)}), inputs(16, 3), permutations=lf(6), signs=0, scales=6
    )


def test_while_loop():
    """A weight applied until a norm is reached: 4 units on both axes; how long it runs depends on them.

    Running on the hidden state h -> h U with h and U free: order 4!, signs 4, and no scales, since the sum of
    squares that ends the loop would change.
    """

    def apply(v, x):
        def enough(state):
            return (jnp.sum(jnp.square(state[1])) < 1e3) & (state[0] < 5)

        h = jax.lax.while_loop(enough, lambda s: (s[0] + 1, s[1] + s[1] @ v["u"]), (0, x @ v["w"]))[1]
        return h @ v["out"]

    variables = draw({"w": (3, 4), "u": (4, 4), "out": (4, 2)})
    expect(apply, variables, inputs(8, 3), permutations=lf(4), signs=4, scales=0, brute_force=False)


def test_order_matters_along_a_cumulative_sum():
    """8 ReLU units accumulated in order: all in place; their scale is common, one for all."""

    def apply(v, x):
        return jnp.cumsum(jax.nn.relu(x @ v["a"]), -1) @ v["b"]

    group = expect(apply, draw({"a": (3, 8), "b": (8, 2)}), inputs(30, 3), permutations=0, signs=0, scales=1)
    assert {p.reason for p in group.pinned if (p.path, p.axis) == ("a", 1)} == {"accumulated in order"}


def test_sorting_forgets_the_order():
    """Sorted units may come in any order, but what reads them is fixed; the scale is common."""

    def apply(v, x):
        return jnp.sort(x @ v["a"], -1) @ v["b"]

    expect(apply, draw({"a": (3, 6), "b": (6, 2)}), inputs(30, 3), permutations=lf(6), signs=0, scales=1)


def test_stacking_ties_what_is_stacked():
    """Two layers of 5 ReLU units stacked and averaged: one order for both, scales of their own."""

    def apply(v, x):
        both = jnp.stack([jax.nn.relu(x @ v["a"]) * v["c"], jax.nn.relu(x @ v["b"]) * v["d"]], 1)
        return both.mean(1) @ v["out"]

    shapes = {"a": (3, 5), "b": (3, 5), "c": (5,), "d": (5,), "out": (5, 2)}
    expect(apply, draw(shapes), inputs(30, 3), permutations=lf(5), signs=5, scales=15)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 8, 16])
def test_associative_scan(length):
    """A gated linear recurrence of 4 units, at lengths whose recursion meets empty arrays."""

    def apply(v, x):
        def join(left, right):
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, h = jax.lax.associative_scan(join, (jax.nn.sigmoid(x @ v["gate"]), x @ v["w"]), axis=1)
        return h @ v["out"]

    variables = draw({"gate": (3, 4), "w": (3, 4), "out": (4, 2)})
    expect(apply, variables, inputs(2, length, 3), permutations=lf(4), signs=4, scales=4, brute_force=False)


def test_unknown_primitives_pin_what_they_touch():
    """A Fourier transform over 6 of 11 units: the other 5 stay free."""

    def apply(v, x):
        h = jax.nn.relu(x @ v["a"])
        return jnp.abs(jnp.fft.fft(h[:, :6])) @ v["b"] + h[:, 6:] @ v["c"]

    variables = draw({"a": (3, 11), "b": (6, 2), "c": (5, 2)})
    group = expect(apply, variables, inputs(30, 3), permutations=lf(5), signs=0, scales=5, brute_force=False)
    assert any("'fft'" in p.reason for p in group.pinned)


def test_a_constant_pins_where_it_varies():
    """6 units weighted by their number: in place, and one scale each; a constant that does not vary pins
    nothing.
    """

    def apply(v, x):
        h = jax.nn.relu(x @ v["a"] + jnp.zeros(6)) * jnp.arange(1.0, 7)
        return (h * jnp.full(6, 2.0)) @ v["b"]

    expect(apply, draw({"a": (3, 6), "b": (6, 2)}), inputs(30, 3), permutations=0, signs=0, scales=6)


def test_reversed_units_stay_in_place():
    """6 units as a 2 x 3 table, transposed, and reversed along 3: the 2 permute; what is reversed is left
    alone.
    """

    def apply(v, x):
        h = jax.nn.relu(x @ v["a"]).reshape(-1, 2, 3)
        return h.transpose(0, 2, 1)[:, ::-1].reshape(-1, 6) @ v["b"]

    variables = draw({"a": (3, 6), "b": (6, 2)})
    group = expect(apply, variables, inputs(30, 3), permutations=lf(2), signs=0, scales=2, brute_force=False)
    assert "reversed" in {p.reason for p in group.pinned}
