"""Groups of dense networks, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import pytest

from ..symmetry_networks import draw, expect, inputs, layer_norm, rms_norm
from ..symmetry_networks import log10_factorial as lf


def mlp(activation, biases=True):
    def apply(v, x):
        for name in ("l1", "l2"):
            x = x @ v["params"][name]["kernel"] + (v["params"][name]["bias"] if biases else 0)
            x = activation(x)
        return x @ v["params"]["l10"]["kernel"]

    shapes = {"params/l1/kernel": (3, 6), "params/l2/kernel": (6, 5), "params/l10/kernel": (5, 2)}
    if biases:
        shapes |= {"params/l1/bias": (6,), "params/l2/bias": (5,)}
    return apply, draw(shapes)


# 6 and 5 hidden units: 6! 5! permutations; one scale per unit where the activation is positively homogeneous,
# one sign per unit where it is odd (flips both sides) or even (flips the incoming side).
ACTIVATIONS = {
    "relu": (jax.nn.relu, 0, 11),
    "leaky_relu": (jax.nn.leaky_relu, 0, 11),
    "squared_relu": (lambda x: jnp.square(jax.nn.relu(x)), 0, 11),
    "abs": (jnp.abs, 11, 11),
    "where": (lambda x: jnp.where(x > 0, x, 0.2 * x), 0, 11),
    "linear": (lambda x: x, 11, 11),
    "tanh": (jnp.tanh, 11, 0),
    "erf": (jax.lax.erf, 11, 0),
    "sin": (jnp.sin, 11, 0),
    "cos": (jnp.cos, 11, 0),
    "softsign": (jax.nn.soft_sign, 11, 0),
    "hard_tanh": (jax.nn.hard_tanh, 11, 0),
    "clamp": (lambda x: jax.lax.clamp(-0.5, x, 0.5), 11, 0),
    "one_sided_clamp": (lambda x: jax.lax.clamp(-0.5, x, 0.7), 0, 0),
    "silu": (jax.nn.silu, 0, 0),
    "gelu": (jax.nn.gelu, 0, 0),
    "relu6": (jax.nn.relu6, 0, 0),
    "elu": (jax.nn.elu, 0, 0),
    "softplus": (jax.nn.softplus, 0, 0),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    activation, signs, scales = ACTIVATIONS[name]
    apply, variables = mlp(activation)
    expect(apply, variables, inputs(16, 3), permutations=lf(6) + lf(5), signs=signs, scales=scales)


@pytest.mark.parametrize(("activation", "signs", "scales"), [(jax.nn.relu, 0, 11), (jnp.tanh, 11, 0)])
def test_without_biases(activation, signs, scales):
    apply, variables = mlp(activation, biases=False)
    expect(apply, variables, inputs(16, 3), permutations=lf(6) + lf(5), signs=signs, scales=scales)


def test_one_hidden_unit_has_a_scale_and_no_permutation():
    def apply(v, x):
        return jax.nn.relu(x @ v["a"]) @ v["b"]

    expect(apply, draw({"a": (3, 1), "b": (1, 2)}), inputs(8, 3), permutations=0, signs=0, scales=1)


def test_max_pooling_of_units():
    """Maxout: 4 units of 3 pieces; pieces permute within each unit, units as blocks: 4! 3!^4; one scale per
    unit.
    """

    def apply(v, x):
        pieces = (x @ v["a"] + v["bias"]).reshape(-1, 4, 3)
        return pieces.max(-1) @ v["b"]

    variables = draw({"a": (3, 12), "bias": (12,), "b": (4, 2)})
    expect(apply, variables, inputs(16, 3), permutations=lf(4) + 4 * lf(3), signs=0, scales=4)


def test_linear_residual_stream():
    """A stream of 5 that nothing bends: 5 signs and 5 scales; 4 ReLU units in the branch: 4 scales."""

    def apply(v, x):
        h = x @ v["stem"]
        h = h + jax.nn.relu(h @ v["up"] + v["bias"]) @ v["down"]
        return h @ v["head"]

    variables = draw({"stem": (3, 5), "up": (5, 4), "bias": (4,), "down": (4, 5), "head": (5, 2)})
    expect(apply, variables, inputs(16, 3), permutations=lf(5) + lf(4), signs=5, scales=9)


def test_residual_stream_with_activation_and_projection():
    """ReLU after each addition: no signs; streams of 5 and 3, branches of 4 and 6 units, one scale each."""

    def apply(v, x):
        h = jax.nn.relu(x @ v["stem"])
        h = jax.nn.relu(h + jax.nn.relu(h @ v["up1"]) @ v["down1"])
        h = jax.nn.relu(h @ v["shortcut"] + jax.nn.relu(h @ v["up2"]) @ v["down2"])
        return h @ v["head"]

    shapes = {
        "stem": (3, 5),
        "up1": (5, 4),
        "down1": (4, 5),
        "shortcut": (5, 3),
        "up2": (5, 6),
        "down2": (6, 3),
    }
    total = lf(5) + lf(4) + lf(3) + lf(6)
    expect(apply, draw(shapes | {"head": (3, 2)}), inputs(32, 3), permutations=total, signs=0, scales=18)


def test_dense_skips():
    """Concatenating skips: 4, 3 and 2 ReLU units, one scale each; the input's part stays in place."""

    def apply(v, x):
        one = jax.nn.relu(x @ v["w1"])
        two = jax.nn.relu(jnp.concatenate([x, one], -1) @ v["w2"])
        three = jax.nn.relu(jnp.concatenate([x, one, two], -1) @ v["w3"])
        return jnp.concatenate([one, two, three], -1) @ v["w4"]

    variables = draw({"w1": (3, 4), "w2": (7, 3), "w3": (10, 2), "w4": (9, 2)})
    expect(apply, variables, inputs(32, 3), permutations=lf(4) + lf(3) + lf(2), signs=0, scales=9)


@pytest.mark.parametrize("fused", [True, False])
def test_gated_units(fused):
    """SwiGLU with 5 units: the ungated half is linear, so 5 signs and 5 scales go from it to the way out."""

    def apply(v, x):
        if fused:
            gate, up = jnp.split(x @ v["in"] + v["bias"], 2, -1)
        else:
            gate, up = x @ v["gate"], x @ v["up"]
        return (jax.nn.silu(gate) * up) @ v["out"]

    shapes = {"in": (3, 10), "bias": (10,)} if fused else {"gate": (3, 5), "up": (3, 5)}
    expect(apply, draw(shapes | {"out": (5, 2)}), inputs(16, 3), permutations=lf(5), signs=5, scales=5)


@pytest.mark.parametrize(("activation", "signs"), [(jax.nn.relu, 0), (jnp.tanh, 6), (lambda x: x, 6)])
def test_tied_weights_have_an_order_but_no_scale(activation, signs):
    def apply(v, x):
        return activation(x @ v["w"] + v["b"]) @ v["w"].T

    expect(apply, draw({"w": (4, 6), "b": (6,)}), inputs(16, 4), permutations=lf(6), signs=signs, scales=0)


def test_batch_norm_with_running_statistics():
    """8 units.  Signs: kernel, running mean and gain.  Scales: the same three (gain inversely), and gain,
    shift, way out.
    """

    def apply(v, x):
        p, s = v["params"], v["stats"]
        h = x @ p["in"]["kernel"] + p["in"]["bias"]
        h = (h - s["bn"]["mean"]) * jax.lax.rsqrt(s["bn"]["var"] + 1e-3) * p["bn"]["scale"] + p["bn"]["bias"]
        return jax.nn.relu(h) @ p["out"]["kernel"]

    shapes = {
        "params/in/kernel": (3, 8),
        "params/in/bias": (8,),
        "params/bn/scale": (8,),
        "params/bn/bias": (8,),
    }
    shapes |= {"stats/bn/mean": (8,), "stats/bn/var": (8,), "params/out/kernel": (8, 2)}
    group = expect(apply, draw(shapes), inputs(16, 3), permutations=lf(8), signs=8, scales=16)
    moved = {move.path for p in group.permutations for move in p.moves}
    assert {"stats/bn/mean", "stats/bn/var"} <= moved
    # But for epsilon, the running variance may grow with the square of the scale, too.
    exponents = {move.path: move.exponent for factor in group.invariances for move in factor.moves}
    assert abs(exponents["stats/bn/var"]) == 2
    assert 0 < group.invariances[0].error < 0.1


def test_batch_norm_with_batch_statistics():
    """Per unit a sign (kernel and gain) and a scale (gain, shift, way out); the kernel's own scale only up to
    epsilon.
    """

    def apply(v, x):
        h = x @ v["in"]
        h = (h - h.mean(0)) * jax.lax.rsqrt(h.var(0) + 1e-3) * v["scale"] + v["bias"]
        return jax.nn.relu(h) @ v["out"]

    variables = draw({"in": (3, 8), "scale": (8,), "bias": (8,), "out": (8, 2)})
    group = expect(apply, variables, inputs(16, 3), permutations=lf(8), signs=8, scales=8)
    assert [(f.size, [m.path for m in f.moves]) for f in group.invariances] == [(8, ["in"])]


def test_normaliser_without_epsilon_is_scale_invariant():
    """Without epsilon the kernel's scale is exact: 8 for the kernel, 8 for gain, shift and way out."""

    def apply(v, x):
        h = x @ v["in"]
        h = (h - h.mean(0)) * jax.lax.rsqrt(h.var(0)) * v["scale"] + v["bias"]
        return jax.nn.relu(h) @ v["out"]

    variables = draw({"in": (3, 8), "scale": (8,), "bias": (8,), "out": (8, 2)})
    group = expect(apply, variables, inputs(16, 3), permutations=lf(8), signs=8, scales=16)
    assert group.invariances == ()


def test_layer_norm():
    """The mean ties all signs: one bit flips kernel and gain; 8 scales from gain and shift to the way out."""

    def apply(v, x):
        return jax.nn.relu(layer_norm(x @ v["in"], v["scale"], v["bias"])) @ v["out"]

    variables = draw({"in": (3, 8), "scale": (8,), "bias": (8,), "out": (8, 2)})
    expect(apply, variables, inputs(32, 3), permutations=lf(8), signs=1, scales=8)


def test_rms_norm():
    """Squares forget signs: 8 bits flip kernel and gain; 8 scales from gain to the way out."""

    def apply(v, x):
        return jax.nn.relu(rms_norm(x @ v["in"], v["scale"])) @ v["out"]

    variables = draw({"in": (3, 8), "scale": (8,), "out": (8, 2)})
    expect(apply, variables, inputs(32, 3), permutations=lf(8), signs=8, scales=8)


def test_group_norm():
    """2 groups of 4: 2! 4!^2 permutations, one sign per group, one scale per unit after the gain."""

    def apply(v, x):
        h = (x @ v["in"] + v["b"]).reshape(-1, 2, 4)
        h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-3)
        return jax.nn.relu(h.reshape(-1, 8) * v["scale"] + v["bias"]) @ v["out"]

    variables = draw({"in": (3, 8), "b": (8,), "scale": (8,), "bias": (8,), "out": (8, 2)})
    expect(apply, variables, inputs(32, 3), permutations=lf(2) + 2 * lf(4), signs=2, scales=8)


def test_unused_parameters_stay_in_place():
    apply, variables = mlp(jax.nn.relu)
    variables["params"]["spare"] = jnp.ones((4, 4))
    group = expect(
        apply, variables, inputs(4, 3), permutations=lf(6) + lf(5), signs=0, scales=11, brute_force=False
    )
    assert ("params/spare", "the program does not use this parameter") in {
        (p.path, p.reason) for p in group.pinned
    }


@pytest.mark.parametrize(("exponent", "scales"), [(0.7, 5), (1 / 3, 5), (jnp.inf, 0)])
def test_powers_that_are_no_simple_fractions(exponent, scales):
    """The power 0.7 of float32 has a denominator of 2^24; an infinite power leaves no scale."""

    def apply(v, x):
        return jnp.minimum(jnp.abs(x @ v["a"]) ** exponent, jnp.inf) @ v["b"]

    variables = draw({"a": (3, 5), "b": (5, 2)})
    x = inputs(8, 3) * (0.01 if scales == 0 else 1)
    expect(apply, variables, x, permutations=lf(5), signs=5, scales=scales, brute_force=False)
