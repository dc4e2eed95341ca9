"""Counts of operations, by hand for small programs and from the literature for a large one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from symbayes.engine.operations import count, gradient_operations

import symbayes as sb


def counted(function, *arguments) -> float:
    return count(jax.make_jaxpr(function)(*arguments).jaxpr)


def test_products_are_counted_by_hand():
    x, w = jnp.zeros((5, 7)), jnp.zeros((7, 3))
    assert counted(jnp.matmul, x, w) == 2 * 5 * 7 * 3
    assert counted(lambda x, w: jnp.tanh(x @ w), x, w) == 2 * 5 * 7 * 3 + 5 * 3
    image, kernel = jnp.zeros((1, 8, 8, 4)), jnp.zeros((3, 3, 4, 6))

    def convolution(x, k):
        return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    assert counted(convolution, image, kernel) == 2 * (8 * 8 * 6) * (3 * 3 * 4)


def test_a_loop_counts_as_often_as_it_runs():
    w = jnp.zeros((4, 4))

    def loop(x):
        return jax.lax.scan(lambda c, _: (c @ w, None), x, None, length=9)[0]

    assert counted(loop, jnp.zeros((1, 4))) == 9 * 2 * 4 * 4
    assert counted(jax.jit(loop), jnp.zeros((1, 4))) == 9 * 2 * 4 * 4


def test_an_mlp_takes_six_operations_per_weight():
    network = sb.networks.mlp(hidden=(512, 512), outputs=10)
    weights = 784 * 512 + 512 * 512 + 512 * 10
    found = gradient_operations(network, (28, 28, 1), np.dtype(np.float32))
    assert found == pytest.approx(6 * weights, rel=0.02)


def test_resnet18_takes_its_published_operations():
    """0.56 G multiplications and additions for one image of 32x32, forward."""
    network = sb.networks.make("resnet18", outputs=10)
    found = gradient_operations(network, (32, 32, 3), np.dtype(np.float32))
    assert found / 3 / 2 == pytest.approx(0.56e9, rel=0.02)
