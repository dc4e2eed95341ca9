"""Groups of convolutional networks, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import pytest

from ..symmetry_networks import convolve, draw, expect, inputs
from ..symmetry_networks import log10_factorial as lf

relu = jax.nn.relu


@pytest.mark.parametrize("stride", [1, 2])
def test_flatten(stride):
    """Channels of 4 and 3 with ReLU, flattened with their positions: 4! 3!, one scale per channel."""
    side = 4 if stride == 1 else 2

    def apply(v, x):
        h = relu(convolve(x, v["c1"], stride) + v["b1"])
        h = relu(convolve(h, v["c2"], stride))
        return h.reshape(len(x), -1) @ v["dense"]

    variables = draw({"c1": (3, 3, 1, 4), "b1": (4,), "c2": (3, 3, 4, 3), "dense": (side * side * 3, 2)})
    x = inputs(24, side * stride**2, side * stride**2, 1)
    expect(apply, variables, x, permutations=lf(4) + lf(3), signs=0, scales=7)


def test_pooling():
    """Max-pooling between ReLU layers and an average at the end: 4! 3!, one scale per channel."""

    def apply(v, x):
        h = relu(convolve(x, v["c1"]))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        h = relu(convolve(h, v["c2"]))
        h = jax.lax.reduce_window(h, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 1, 1, 1), "SAME")
        return h.mean((1, 2)) @ v["dense"]

    variables = draw({"c1": (3, 3, 1, 4), "c2": (3, 3, 4, 3), "dense": (3, 2)})
    expect(apply, variables, inputs(24, 4, 4, 1), permutations=lf(4) + lf(3), signs=0, scales=7)


def test_grouped():
    """6 channels in 3 groups of 2 to 12 in 3 groups of 4: groups permute as blocks, channels within each
    group.
    """

    def apply(v, x):
        h = relu(convolve(x, v["c1"]) + v["b1"])
        h = relu(convolve(h, v["c2"], groups=3) + v["b2"])
        return h.mean((1, 2)) @ v["dense"]

    variables = draw({"c1": (1, 1, 2, 6), "b1": (6,), "c2": (1, 1, 2, 12), "b2": (12,), "dense": (12, 2)})
    total = lf(3) + 3 * lf(2) + 3 * lf(4)
    expect(apply, variables, inputs(48, 2, 2, 2), permutations=total, signs=0, scales=18)


def test_depthwise():
    """A depthwise kernel ties the order of its two sides, not their scales: 4! 3!, scales 4 + 4 + 3."""

    def apply(v, x):
        h = relu(convolve(x, v["c1"]))
        h = relu(convolve(h, v["depthwise"], groups=4) + v["b"])
        h = relu(convolve(h, v["pointwise"]))
        return h.mean((1, 2)) @ v["dense"]

    shapes = {
        "c1": (1, 1, 2, 4),
        "depthwise": (2, 2, 1, 4),
        "b": (4,),
        "pointwise": (1, 1, 4, 3),
        "dense": (3, 2),
    }
    expect(apply, draw(shapes), inputs(24, 3, 3, 2), permutations=lf(4) + lf(3), signs=0, scales=11)


def test_depthwise_with_multiplier():
    """3 channels with 2 filters each: the filters of a channel permute among themselves, 3! 2!^3; scales 3 +
    6.
    """

    def apply(v, x):
        h = relu(convolve(x, v["c1"]))
        h = relu(convolve(h, v["depthwise"], groups=3))
        return h.mean((1, 2)) @ v["dense"]

    variables = draw({"c1": (1, 1, 2, 3), "depthwise": (2, 2, 1, 6), "dense": (6, 2)})
    expect(apply, variables, inputs(24, 3, 3, 2), permutations=lf(3) + 3 * lf(2), signs=0, scales=9)


def test_residual_batch_norm():
    """One block with running statistics, stream of 4 and branch of 3, ReLU after each addition.

    Every normaliser has signs (kernel, mean, gain) and the same as scales: 4 (stem) + 3 + 4 (branch).  After
    the gains come one scale per channel of the stream (4) and of the branch (3).
    """

    def norm(v, name, x):
        p, s = v["params"][name], v["stats"][name]
        return (x - s["mean"]) * jax.lax.rsqrt(s["var"] + 1e-3) * p["scale"] + p["bias"]

    def apply(v, x):
        p = v["params"]
        h = relu(norm(v, "bn0", convolve(x, p["stem"]["kernel"])))
        y = relu(norm(v, "bn1", convolve(h, p["c1"]["kernel"])))
        h = relu(h + norm(v, "bn2", convolve(y, p["c2"]["kernel"])))
        return h.mean((1, 2)) @ p["head"]["kernel"]

    shapes = {
        "params/stem/kernel": (2, 2, 1, 4),
        "params/c1/kernel": (2, 2, 4, 3),
        "params/c2/kernel": (2, 2, 3, 4),
    }
    for name, n in (("bn0", 4), ("bn1", 3), ("bn2", 4)):
        shapes |= {f"params/{name}/{leaf}": (n,) for leaf in ("scale", "bias")}
        shapes |= {f"stats/{name}/{leaf}": (n,) for leaf in ("mean", "var")}
    variables = draw(shapes | {"params/head/kernel": (4, 2)})
    expect(apply, variables, inputs(40, 3, 3, 1), permutations=lf(4) + lf(3), signs=11, scales=18)


@pytest.mark.parametrize(("learned", "extra"), [(False, 0), (True, 4)])
def test_filter_response_norm(learned, extra):
    """4 channels: signs (kernel, gain); scales (gain, shift, threshold, way out); a learned epsilon makes the
    scale of the kernel exact, with exponent 2 on epsilon."""

    def apply(v, x):
        h = convolve(x, v["kernel"])
        square = jnp.mean(jnp.square(h), (1, 2), keepdims=True)
        h = h * jax.lax.rsqrt(square + (jnp.abs(v["epsilon"]) if learned else 1e-3)) * v["scale"] + v["bias"]
        return jnp.maximum(h, v["threshold"]).mean((1, 2)) @ v["dense"]

    shapes = {"kernel": (2, 2, 1, 4), "scale": (4,), "bias": (4,), "threshold": (4,), "dense": (4, 2)}
    variables = draw(shapes | ({"epsilon": (4,)} if learned else {}))
    # The sign of a learned epsilon is forgotten by the absolute value: 4 more bits.
    group = expect(
        apply, variables, inputs(24, 3, 3, 1), permutations=lf(4), signs=4 + extra, scales=4 + extra
    )
    if learned:
        exponents = {abs(m.exponent) for f in group.scales for m in f.moves if m.path == "epsilon"}
        assert exponents == {2}


def test_group_norm():
    """4 channels in 2 groups over positions: 2! 2!^2, one sign per group, one scale per channel after the
    gain.
    """

    def apply(v, x):
        h = convolve(x, v["kernel"])
        g = h.reshape(*h.shape[:3], 2, 2)
        mean = g.mean((1, 2, 4), keepdims=True)
        g = (g - mean) * jax.lax.rsqrt(jnp.mean(jnp.square(g - mean), (1, 2, 4), keepdims=True) + 1e-3)
        return relu(g.reshape(h.shape) * v["scale"] + v["bias"]).mean((1, 2)) @ v["dense"]

    variables = draw({"kernel": (2, 2, 1, 4), "scale": (4,), "bias": (4,), "dense": (4, 2)})
    expect(apply, variables, inputs(24, 3, 3, 1), permutations=lf(2) + 2 * lf(2), signs=2, scales=4)


def test_squeeze_and_excite():
    """4 channels gated through 2 units: 4! 2!, and one scale for each of the 6 (the gate's input takes the
    inverse).
    """

    def apply(v, x):
        h = relu(convolve(x, v["kernel"]))
        gate = relu(h.mean((1, 2)) @ v["squeeze"] + v["b1"]) @ v["excite"] + v["b2"]
        h = h * jax.nn.sigmoid(gate)[:, None, None, :]
        return h.mean((1, 2)) @ v["dense"]

    shapes = {
        "kernel": (2, 2, 1, 4),
        "squeeze": (4, 2),
        "b1": (2,),
        "excite": (2, 4),
        "b2": (4,),
        "dense": (4, 2),
    }
    expect(apply, draw(shapes), inputs(40, 3, 3, 1), permutations=lf(4) + lf(2), signs=0, scales=6)


def test_unet_skip():
    """Down 3, middle 4, up 2 after a concatenating skip: 3! 4! 2!, one scale per channel."""

    def apply(v, x):
        down = relu(convolve(x, v["down"]))
        small = jax.lax.reduce_window(down, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        middle = relu(convolve(small, v["middle"]))
        large = jnp.repeat(jnp.repeat(middle, 2, 1), 2, 2)
        up = relu(convolve(jnp.concatenate([down, large], -1), v["up"]))
        return convolve(up, v["head"])

    shapes = {"down": (2, 2, 1, 3), "middle": (2, 2, 3, 4), "up": (2, 2, 7, 2), "head": (1, 1, 2, 1)}
    expect(apply, draw(shapes), inputs(4, 4, 4, 1), permutations=lf(3) + lf(4) + lf(2), signs=0, scales=9)


def test_zero_padded_shortcut():
    """A stream of 2 padded with zeros to 5: the 2 and the 3 new channels permute apart; ReLU scales 2 + 3."""

    def apply(v, x):
        h = relu(x @ v["stem"])
        h = relu(jnp.pad(h, ((0, 0), (0, 3))) + h @ v["wide"])
        return h @ v["head"]

    variables = draw({"stem": (3, 2), "wide": (2, 5), "head": (5, 2)})
    expect(apply, variables, inputs(24, 3), permutations=lf(2) + lf(3), signs=0, scales=5)
