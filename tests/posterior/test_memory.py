"""How large a chunk is: by hand for a small network, and within the budget for any."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.posterior import memory

NETWORK = sb.networks.mlp(hidden=(512,), outputs=10)
X = np.zeros((300, 28, 28, 1), np.float32)


def test_a_larger_layer_takes_as_much_more_as_it_has_numbers():
    """Of each number of a layer the forward pass makes a product, a sum and an activation, and the flattened
    input has 784 more."""
    wider = sb.networks.mlp(hidden=(1024,), outputs=10)
    small, large = (memory.activation_bytes(network, X) for network in (NETWORK, wider))
    per_number = (large - small) / 512
    assert per_number % 4 == 0
    assert 3 * 4 <= per_number <= 6 * 4
    assert small >= 4 * (784 + 3 * 512 + 2 * 10)
    assert memory.activation_bytes(NETWORK, X[:7]) == small, "it is counted for one example"


@given(st.floats(1, 1e9))
def test_a_chunk_is_the_largest_within_the_budget(budget):
    each = memory.activation_bytes(NETWORK, X)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "CPU_BUDGET", budget)
        chunk = memory.fitting_chunk(NETWORK, X)
    assert chunk == min(300, max(1, math.floor(budget / each)))


def test_what_is_made_within_a_compiled_part_and_in_every_turn_of_a_loop_counts():
    def init(key, x):
        return {"params": {"w": jnp.zeros((784, 512))}, "stats": {}}

    def network(turns, wrapped=lambda function: function):
        def apply(variables, x):
            first = x.reshape(len(x), -1) @ variables["params"]["w"]
            return jax.lax.scan(lambda h, _: (jnp.sin(jnp.cos(h)), None), first, length=turns)[0]

        return sb.networks.from_functions(init, wrapped(apply))

    ten, twenty, compiled = (
        memory.activation_bytes(made, X) for made in (network(10), network(20), network(10, jax.jit))
    )
    assert twenty - ten == 4 * 10 * (512 + 512)
    assert compiled == ten
