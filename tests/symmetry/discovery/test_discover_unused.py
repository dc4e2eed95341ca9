"""Parts of parameters that the program does not use at this input."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes.symmetry import discover

from ..symmetry_networks import draw, inputs
from ..symmetry_networks import log10_factorial as lf

WIDTH = 4


def plain(v, tokens):
    return (v["embed"][tokens] + v["pos"][: tokens.shape[1]]).mean(1) @ v["out"]


def computed_first(v, tokens):
    """The rows are cut only after they were scaled, transposed and given an axis."""
    pos = jnp.swapaxes(v["pos"] * v["gain"], 0, 1)[None]
    h = v["embed"][tokens] + jnp.swapaxes(pos[:, :, : tokens.shape[1]], 1, 2)
    return h.mean(1) @ v["out"]


def in_a_loop(v, tokens):
    def step(h, row):
        token, pos = row
        return h + v["embed"][token] + pos, None

    first = jnp.zeros((len(tokens), WIDTH), jnp.float32)
    h, _ = jax.lax.scan(step, first, (tokens.T, v["pos"][: tokens.shape[1]]))
    return h @ v["out"]


@pytest.mark.parametrize("rows", [7, 8])
@pytest.mark.parametrize("apply", [plain, computed_first, in_a_loop])
def test_positions_beyond_the_text(apply, rows):
    """Of 7 or 8 rows 6 are used: the others move with the stream of 4, and not by themselves.

    A stream of 4 has 4!, 4 signs and 4 scales; a gain on the positions has 4 of each more.
    """
    shapes = {"embed": (5, WIDTH), "pos": (rows, WIDTH), "out": (WIDTH, 3)}
    shapes |= {"gain": (WIDTH,)} if apply is computed_first else {}
    variables = draw(shapes)
    rng = np.random.default_rng(0)
    group = discover(apply, variables, jnp.asarray(rng.integers(0, 5, (3, 6))))
    free = WIDTH * (2 if apply is computed_first else 1)
    assert group.log10_permutations == pytest.approx(lf(WIDTH))
    assert (group.sign_bits, group.scale_dimension) == (free, free)
    assert not group.dropped
    unused = [p for p in group.pinned if "does not use this part" in p.reason]
    assert [(p.path, p.axis, p.size) for p in unused] == [("pos", 0, 2)] * (rows == 8)
    moved = group.act(group.random_element(jax.random.key(1)), variables)
    for length in range(1, rows + 1):
        tokens = jnp.asarray(rng.integers(0, 5, (3, length)))
        np.testing.assert_allclose(apply(moved, tokens), apply(variables, tokens), atol=1e-5)


def test_an_unused_gate_of_a_fused_kernel_stays():
    """A kernel of three gates of 4 units, of which the last is not used: it does not move at all."""

    def apply(v, x):
        a, b, _ = jnp.split(x @ v["kernel"] + v["bias"], 3, -1)
        return (jax.nn.relu(a) + jnp.tanh(b)) @ v["out"]

    variables = draw({"kernel": (3, 12), "bias": (12,), "out": (4, 2)})
    group = discover(apply, variables, inputs(6, 3))
    assert group.log10_permutations == pytest.approx(lf(4))
    assert (group.sign_bits, group.scale_dimension) == (0, 0)
    moved = group.act(group.random_element(jax.random.key(1)), variables)
    assert not np.array_equal(moved["bias"][:4], variables["bias"][:4])
    np.testing.assert_array_equal(moved["bias"][8:], variables["bias"][8:])
    np.testing.assert_array_equal(moved["kernel"][:, 8:], variables["kernel"][:, 8:])


def test_what_meets_an_unused_part_is_not_tied_by_it():
    """A bias added to 8 rows of which 6 are used keeps its freedom, as if the 2 were not there."""

    def apply(v, x):
        return jax.nn.relu((x @ v["in"] + v["pos"])[:6].sum(0) @ v["w"]) @ v["out"]

    variables = draw({"in": (3, 4), "pos": (8, 4), "w": (4, 5), "out": (5, 2)})
    group = discover(apply, variables, inputs(8, 3))
    assert group.log10_permutations == pytest.approx(lf(4) + lf(5))
    assert (group.sign_bits, group.scale_dimension) == (4, 9)
    assert group.check(apply, variables, inputs(8, 3)) < 1e-9
