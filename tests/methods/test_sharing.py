"""Ensembles whose members share weights, against plain formulas for one member at a time."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.engine.phase import Left, Tick
from symbayes.methods.phases import Together
from symbayes.methods.phases.masks import masked
from symbayes.networks.traced import kernel_axes

SHARING = (sb.BatchEnsemble, sb.Masksembles, sb.PackedEnsemble)


def begun(method: Any, posterior: sb.Posterior) -> tuple[Together, Any, Tick]:
    """The training of a method, where a chain of it begins, and its first step over all data."""
    phase: Together = method.resolve(posterior).phases(posterior)[0].arrays()
    start = Left(posterior.init(jax.random.key(1)))
    tick = Tick(jax.random.key(2), jnp.int32(0), jnp.int32(0), jnp.arange(posterior.size))
    return phase, phase.enter(posterior, None, start, tick), tick


@pytest.mark.parametrize("kind", SHARING)
def test_a_step_goes_down_the_mean_of_the_members_losses(tiny: sb.Posterior, kind: Any) -> None:
    """Plain descent over all data, by the gradient of minus the members' mean log density per example."""
    method = kind(0.1, 1, 128, optimizer="sgd", schedule="constant", members=3)
    phase, chain, tick = begun(method, tiny)

    @jax.jit
    def loss(moving: Any) -> jax.Array:
        losses = []
        for m in range(3):
            own, fixed = trees.index(moving[1], m), trees.index(chain.fixed, m)
            weights = phase.family.member(moving[0], own, fixed)
            losses.append(-tiny.log_density({"params": weights, "stats": {}}) / tiny.size)
        return sum(losses) / 3

    moving = chain.variables["params"], chain.own
    stepped = jax.jit(lambda chain: phase.step(tiny, None, chain, tick))(chain)
    assert stepped.loss == pytest.approx(float(loss(moving)), rel=1e-5)
    expected = jax.tree.map(lambda w, g: w - 0.1 * g, moving, jax.grad(loss)(moving))
    found = stepped.variables["params"], stepped.own
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_rank_one_factors_multiply_the_inputs_and_outputs_of_layers(tiny: sb.Posterior) -> None:
    phase, chain, _ = begun(sb.BatchEnsemble(members=2, spread=0.3), tiny)
    x = np.asarray(tiny.train.x[:5])
    weights = phase.family.weights(chain.variables["params"], chain.own, chain.fixed)
    shared = chain.variables["params"]
    for m in range(2):
        h, factors = x.reshape(5, -1), trees.index(chain.own["factors"], m)
        for layer in ("hidden1", "output"):
            inputs, outputs = factors[f"{layer}/kernel"]
            h = ((h * inputs) @ shared[layer]["kernel"]) * outputs + chain.own["rest"][f"{layer}/bias"][m]
            h = np.maximum(h, 0) if layer == "hidden1" else h
        made = tiny.network.apply({"params": trees.index(weights, m), "stats": {}}, jnp.asarray(x))
        np.testing.assert_allclose(made, h, rtol=1e-4, atol=1e-5)
    spread = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(chain.own["factors"])])
    assert abs(spread.mean() - 1) < 0.15
    assert 0.2 < spread.std() < 0.4


def turned(params: Any, x: Any) -> Any:
    """Kernels with their outputs first."""
    numbers = ("NHWC", "OIHW", "NHWC")
    x = jax.lax.conv_general_dilated(x, params["conv"], (1, 1), "VALID", dimension_numbers=numbers)
    return jnp.einsum("oi,ni->no", params["dense"], x.reshape(len(x), -1)) + params["bias"]


def test_axes_of_kernels_are_read_off_the_program() -> None:
    def init(key: Any, x: Any) -> Any:
        return {"conv": jnp.ones((2, 1, 3, 3)), "dense": jnp.ones((4, 8)), "bias": jnp.ones(4)}

    network = sb.networks.from_functions(init, turned)
    assert dict(kernel_axes(network, (4, 4, 1), jnp.float32)) == {"conv": (1, 0), "dense": (1, 0)}
    usual = dict(kernel_axes(sb.networks.lenet(), (28, 28, 1), jnp.float32))
    assert usual["conv2/kernel"] == (2, 3)
    assert usual["head/kernel"] == (0, 1)


@pytest.fixture(scope="module")
def images(digits: sb.data.Dataset) -> sb.Posterior:
    """A convolution of 6 channels, flattened into a dense layer of 8 units."""
    network = sb.networks.cnn(channels=(6,), hidden=(8,), outputs=10)
    part = digits.train[:16]
    train = sb.data.Examples(np.asarray(part.x).reshape(16, 8, 8, 1), np.asarray(part.y))
    return sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(1.0), train)


def test_masked_units_neither_get_nor_give_anything(images: sb.Posterior) -> None:
    """Behind flattening too: whatever weights such units have, the member's function stays."""
    phase, chain, _ = begun(sb.Masksembles(members=3, share=0.5), images)
    counts = {name: np.asarray(mask).sum(axis=1) for name, mask in chain.fixed.items()}
    sizes = dict(phase.family.layers)
    assert sorted(sizes.values()) == [6, 8]
    for name, count in counts.items():
        np.testing.assert_array_equal(count, sizes[name] / 2)
    assert len({np.asarray(mask).tobytes() for mask in trees.index(chain.fixed, 0).values()}) == 2
    weights = phase.family.weights(chain.variables["params"], chain.own, chain.fixed)
    kernels = [leaf for leaf in jax.tree.leaves(weights) if leaf.ndim > 2]
    for m in range(3):
        # Of the convolution half the channels, of the dense layer half its inputs and half its units, and of
        # the head half its inputs.
        shares = [float(np.mean(np.asarray(kernel[m]) != 0)) for kernel in kernels]
        assert sorted(shares) == [0.25, 0.5, 0.5]


def test_packed_members_are_narrow_networks_that_share_nothing(tiny: sb.Posterior) -> None:
    phase, chain, _ = begun(sb.PackedEnsemble(members=3), tiny)
    weights = phase.family.weights(chain.variables["params"], chain.own, chain.fixed)
    kernels = {layer: np.asarray(weights[layer]["kernel"]) for layer in ("hidden1", "output")}
    for kernel in kernels.values():
        assert (kernel != 0).sum(axis=0).max() == 1, "an entry belongs to one member"
    assert chain.own.keys() == {"output/bias"}
    x = np.asarray(tiny.train.x[:5])
    for m in range(3):
        units = slice(2 * m, 2 * m + 2)
        first, last = (np.asarray(weights[layer]["bias"])[m] for layer in ("hidden1", "output"))
        h = np.maximum(x.reshape(5, -1) @ kernels["hidden1"][m][:, units] + first[units], 0)
        h = h @ kernels["output"][m][units] + last
        made = tiny.network.apply({"params": trees.index(weights, m), "stats": {}}, jnp.asarray(x))
        np.testing.assert_allclose(made, h, rtol=1e-4, atol=1e-5)


def test_networks_without_units_to_divide_are_refused(tiny: sb.Posterior, linear: Any) -> None:
    with pytest.raises(ValueError, match="the 6 units of hidden1 cannot be divided among 7 members"):
        masked(tiny, "disjoint", 7)
    with pytest.raises(ValueError, match="no hidden layer whose units could be masked"):
        masked(linear[0], "random", 2)
