"""Recurrent layers of Flax, which write their own types into the program."""

import functools

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from symbayes.symmetry import discover

from ..symmetry_networks import draw, expect, inputs
from ..symmetry_networks import log10_factorial as lf

UNITS = 4
X = inputs(5, 3, 2)


def linen(cell):
    """(variables, apply) of a linen layer and a readout."""

    class Module(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.Dense(2)(nn.RNN(cell(UNITS))(x)[:, -1])

    module = Module()
    return module.init(jax.random.key(0), X), module.apply


def with_nnx(cell):
    class Module(nnx.Module):
        def __init__(self, rngs: nnx.Rngs):
            self.layer = nnx.RNN(cell(2, UNITS, rngs=rngs))
            self.head = nnx.Linear(UNITS, 2, rngs=rngs)

        def __call__(self, x):
            return self.head(self.layer(x, rngs=nnx.Rngs(0))[:, -1])

    graph, params, rest = nnx.split(Module(nnx.Rngs(0)), nnx.Param, ...)

    def apply(v, x):
        state = jax.tree.map(lambda leaf: leaf, params)
        nnx.replace_by_pure_dict(state, v)
        return nnx.merge(graph, state, rest)(x)

    return nnx.to_pure_dict(params), apply


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(functools.partial(make, cell), id=f"{make.__name__}-{cell.__name__}")
        for make, cell in [
            (linen, nn.LSTMCell),
            (linen, nn.OptimizedLSTMCell),
            (linen, nn.GRUCell),
            (with_nnx, nnx.OptimizedLSTMCell),
            (with_nnx, nnx.GRUCell),
        ]
    ],
)
def test_recurrent_layers_of_flax(made):
    """4 units: one order for the state and all gates, and a sign for each; no scales."""
    variables, apply = made()
    group = discover(apply, variables, X)
    assert group.log10_permutations == pytest.approx(lf(UNITS))
    assert (group.sign_bits, group.scale_dimension) == (UNITS, 0)
    assert not group.dropped
    rng = np.random.default_rng(5)
    drawn = jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype), variables)
    run = jax.jit(lambda g, w, x: (apply(w, x), apply(group.act(g, w), x)))
    for seed in range(3):
        element = group.random_element(jax.random.key(seed))
        before, after = run(element, drawn, jax.random.normal(jax.random.key(seed), X.shape))
        np.testing.assert_allclose(after, before, atol=3e-5)


def test_a_carry_of_a_written_type():
    """5 tanh units from a state of float32 zeros; the check is as sharp as in float64."""

    def apply(v, x):
        def step(h, row):
            return jnp.tanh(row @ v["w"] + h @ v["u"]), None

        first = jnp.zeros((len(x), 5), jnp.float32)
        return jax.lax.scan(step, first, jnp.swapaxes(x, 0, 1))[0] @ v["out"]

    variables = draw({"w": (2, 5), "u": (5, 5), "out": (5, 2)})
    expect(apply, variables, X, permutations=lf(5), signs=5, scales=0, brute_force=False)
