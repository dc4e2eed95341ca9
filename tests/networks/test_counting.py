"""Operations and bytes, counted by hand for small programs and from the literature for a large one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.networks.counting import count, gradient_operations, operations, product_bytes


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
    assert found == 3 * operations(network, (32, 32, 3), np.dtype(np.float32))


def made_bytes(network: sb.networks.Network) -> int:
    return product_bytes(network, (28, 28, 1), np.dtype(np.float32))


def test_bytes_are_those_of_what_products_give():
    assert made_bytes(sb.networks.mlp(hidden=(512, 32), outputs=10)) == 4 * (512 + 32 + 10)
    assert made_bytes(sb.networks.lenet()) == 4 * (28 * 28 * 6 + 10 * 10 * 16 + 120 + 84 + 10)


def test_what_is_made_within_a_compiled_part_and_in_every_turn_of_a_loop_counts():
    def init(key, x):
        return {"params": {"w": jnp.zeros((784, 512))}, "stats": {}}

    def network(turns, wrapped=lambda function: function):
        def apply(variables, x):
            first = x.reshape(len(x), -1) @ variables["params"]["w"]
            turned = variables["params"]["w"][:512]
            return jax.lax.scan(lambda h, _: (jnp.sin(h @ turned), None), first, length=turns)[0]

        return sb.networks.from_functions(init, wrapped(apply))

    ten, twenty, compiled = (made_bytes(made) for made in (network(10), network(20), network(10, jax.jit)))
    assert twenty - ten == 4 * 10 * 512
    assert compiled == ten
