"""Networks with several inputs and outputs, against the wide network written out."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.engine.phase import Left, Tick
from symbayes.methods.phases import Mixing
from symbayes.methods.phases.mixing import ORDERS
from symbayes.posterior.numerics.mixing import ends_of, mixed

RATE = 0.1


def normals(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def test_several_inputs_side_by_side_are_those_of_a_network_with_more_channels() -> None:
    """A convolution of flattened pixels: inputs and kernels side by side along the channels."""

    def network(params: Any, x: Any) -> Any:
        x, numbers = x.reshape(len(x), 4, 4, -1), ("NHWC", "HWIO", "NHWC")
        h = jax.lax.conv_general_dilated(x, params["conv"], (1, 1), "SAME", dimension_numbers=numbers)
        return jnp.tanh(h).reshape(len(x), -1) @ params["dense"]

    xs, kernels, dense = normals(0, 3, 5, 16), normals(1, 3, 2, 2, 1, 2), normals(2, 32, 4)
    made = mixed(network, {"conv": kernels[0], "dense": dense}, "conv", kernels, xs)
    wide = jnp.stack(list(xs), axis=-1).reshape(5, -1)
    expected = network({"conv": jnp.concatenate(list(kernels), axis=2), "dense": dense}, wide)
    np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)


def ends(network: Any, *shape: int, dtype: Any = jnp.float32) -> tuple[str, tuple[str, ...]]:
    x = jnp.zeros((2, *shape), dtype)
    variables = jax.jit(network.init)(jax.random.key(0), x)

    def outputs(params: Any, x: Any) -> Any:
        return network.apply({**variables, "params": params}, x)

    return ends_of(outputs, variables["params"], x)


def test_ends_of_networks_are_found_and_others_refused() -> None:
    assert ends(sb.networks.lenet(), 28, 28, 1) == ("conv1/kernel", ("head/bias", "head/kernel"))
    dense = ends(sb.networks.mlp(hidden=(3,), outputs=2), 2, 4)
    assert dense == ("hidden1/kernel", ("output/bias", "output/kernel"))
    words = sb.networks.transformer(outputs=2, vocabulary=9, width=4, heads=1, layers=1, hidden=4)
    with pytest.raises(ValueError, match="begins with a matrix product or convolution of its input"):
        ends(words, 3, dtype=jnp.int32)

    def bounded(params: Any, x: Any) -> Any:
        return jnp.tanh(x @ params["kernel"])

    with pytest.raises(ValueError, match="ends with a linear layer"):
        ends_of(bounded, {"kernel": jnp.ones((3, 2))}, jnp.ones((2, 3)))


def begun(posterior: sb.Posterior, members: int) -> tuple[Mixing, Any, Tick]:
    method = sb.MIMO(RATE, 1, 128, optimizer="sgd", schedule="constant", members=members)
    phase: Any = method.resolve(posterior).phases(posterior)[0].arrays()
    tick = Tick(jax.random.key(2), jnp.int32(0), jnp.int32(0), jnp.arange(posterior.size))

    @jax.jit
    def enter(tick: Tick) -> Any:
        return phase.enter(posterior, None, Left(posterior.init(jax.random.key(1))), tick)

    return phase, enter(tick), tick


def test_a_step_goes_down_the_loss_of_the_wide_network(tiny: sb.Posterior) -> None:
    """Two members on 128 digits, their inputs and kernels side by side."""
    phase, chain, tick = begun(tiny, 2)
    x, y = tiny.train.x.reshape(128, -1), tiny.train.y
    keys = jax.random.split(jax.random.fold_in(tick.key, ORDERS), 2)
    orders = [jax.random.permutation(key, 128) for key in keys]

    @jax.jit
    def loss(moving: Any) -> jax.Array:
        shared, own = moving
        inputs = jnp.concatenate([x[order] for order in orders], axis=1)
        h = jax.nn.relu(inputs @ jnp.concatenate(own["hidden1/kernel"]) + shared["hidden1"]["bias"])
        total = jnp.zeros(())
        for j, order in enumerate(orders):
            logits = h @ own["output/kernel"][j] + own["output/bias"][j]
            likelihood = jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(128), y[order]])
            leaves = [shared["hidden1"]["bias"], jnp.sqrt(2) * own["hidden1/kernel"][j]]
            leaves += [own["output/kernel"][j], own["output/bias"][j]]
            total += (likelihood + sum(tiny.prior.log_density({"w": leaf}) for leaf in leaves) / 128) / 2
        return -total

    moving = chain.variables["params"], chain.own
    stepped = jax.jit(lambda chain: phase.step(tiny, None, chain, tick))(chain)
    assert stepped.loss == pytest.approx(float(loss(moving)), rel=1e-5)
    expected = jax.tree.map(lambda w, g: w - RATE * g, moving, jax.grad(loss)(moving))
    found = stepped.variables["params"], stepped.own
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_members_are_ordinary_networks_that_see_the_same_input_many_times(tiny: sb.Posterior) -> None:
    phase, chain, _ = begun(tiny, 3)
    x, shared = tiny.train.x[:5], chain.variables["params"]
    weights = phase.family.weights(shared, chain.own, chain.fixed)
    several = jnp.broadcast_to(x, (3, *x.shape))
    for j in range(3):
        ended = trees.like(shared, trees.flatten(shared) | trees.index(chain.own, j))
        wide = mixed(
            lambda params, x: tiny.network.apply({"params": params, "stats": {}}, x),
            ended,
            "hidden1/kernel",
            chain.own["hidden1/kernel"],
            several,
        )
        plain = tiny.network.apply({"params": trees.index(weights, j), "stats": {}}, x)
        np.testing.assert_allclose(plain, wide, rtol=1e-4, atol=1e-5)
    assert np.abs(np.diff(np.asarray(weights["output"]["kernel"]), axis=0)).min() > 0, "heads differ"
    np.testing.assert_array_equal(weights["hidden1"]["kernel"][0], weights["hidden1"]["kernel"][1])
