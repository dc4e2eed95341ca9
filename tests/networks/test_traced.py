"""Networks looked at without computing anything."""

import jax
import jax.numpy as jnp

from symbayes import networks, trees
from symbayes.networks.traced import traced


def test_shapes_and_program_are_those_of_one_example():
    x = jnp.zeros((3, 4, 4, 1))
    network = networks.mlp(hidden=(5,), outputs=2)
    variables, program = traced(network, x.shape[1:], x.dtype)
    real = network.init(jax.random.key(0), x)
    assert trees.shapes(variables) == trees.shapes(real)
    assert [aval.shape for aval in program.out_avals] == [(1, 2)]
    assert traced(networks.mlp(hidden=(5,), outputs=2), x.shape[1:], x.dtype)[1] is program
