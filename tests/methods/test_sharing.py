"""Ensembles whose members share weights, against plain formulas for one member at a time."""

import copy
import dataclasses
import functools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from normed import HiddenNorm

import symbayes as sb
from symbayes import trees
from symbayes.engine.phase import Left, Tick
from symbayes.methods.phases import Together
from symbayes.methods.phases import narrow as narrowing
from symbayes.methods.phases.masks import Masked
from symbayes.methods.phases.narrow import Narrow, masked
from symbayes.networks import NNXNetwork
from symbayes.networks.counting import operations
from symbayes.networks.network import Spec
from symbayes.networks.traced import kernel_axes

SHARING = (sb.BatchEnsemble, sb.Masksembles, sb.PackedEnsemble)


def begun(method: Any, posterior: sb.Posterior) -> tuple[Together, Any, Tick]:
    """The training of a method, where a chain of it begins, and its first step over all data."""
    phase: Together = method.resolve(posterior).phases(posterior)[0].arrays()
    tick = Tick(jax.random.key(2), jnp.int32(0), jnp.int32(0), jnp.arange(posterior.size))
    return phase, entered(phase, posterior, 1, tick), tick


def entered(phase: Together, posterior: sb.Posterior, seed: int, tick: Tick) -> Any:
    """A chain of it at the first step, from fresh variables."""

    @jax.jit
    def enter(tick: Tick) -> Any:
        return phase.enter(posterior, None, Left(posterior.init(jax.random.key(seed))), tick)

    return enter(tick)


def weights_of(phase: Together, chain: Any) -> Any:
    """The parameters of all members."""
    return jax.jit(phase.family.weights)(chain.variables["params"], chain.own, chain.fixed)


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


@pytest.mark.parametrize("batch", [1, 100_000], ids=["wide", "narrow"])
def test_packed_members_begin_as_networks_of_their_own_size(batch: int) -> None:
    """Four members of a convolutional network with 8 and 16 channels and 32 units."""
    rng = np.random.default_rng(3)
    data = sb.data.Examples(rng.random((8, 8, 8, 1), np.float32), rng.integers(0, 10, 8).astype(np.int32))
    make = functools.partial(sb.networks.cnn, outputs=10)
    posterior, own = (
        sb.Posterior(
            make(channels=(wide, 2 * wide), hidden=(4 * wide,)),
            sb.likelihoods.Categorical(),
            sb.priors.Normal(1.0),
            data,
        )
        for wide in (32, 8)
    )
    family = masked(posterior, "disjoint", 4, batch, None)
    phase = dataclasses.replace(
        sb.PackedEnsemble().resolve(posterior).phases(posterior)[0].arrays(), family=family
    )
    weights = weights_of(phase, entered(phase, posterior, 0, Tick(jax.random.key(2), jnp.int32(0))))
    expected = jax.jit(own.init)(jax.random.key(1))["params"]
    assert len(expected) == 4
    for layer in expected:
        kernel = np.asarray(weights[layer]["kernel"][2])
        spread = np.sqrt((kernel**2).sum() / (kernel != 0).sum())
        assert spread == pytest.approx(float(expected[layer]["kernel"].std()), rel=0.15), layer


def test_rank_one_factors_multiply_the_inputs_and_outputs_of_layers(tiny: sb.Posterior) -> None:
    phase, chain, _ = begun(sb.BatchEnsemble(members=2, spread=0.3), tiny)
    x = np.asarray(tiny.train.x[:5])
    weights = weights_of(phase, chain)
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
    masks = chain.fixed
    counts = {name: np.asarray(mask).sum(axis=1) for name, mask in masks.items()}
    sizes = {layer.name: layer.units for layer in phase.family.layers}
    assert sorted(sizes.values()) == [6, 8]
    for name, count in counts.items():
        np.testing.assert_array_equal(count, sizes[name] / 2)
    assert len({np.asarray(mask).tobytes() for mask in trees.index(masks, 0).values()}) == 2
    weights = weights_of(phase, chain)
    kernels = [leaf for leaf in jax.tree.leaves(weights) if leaf.ndim > 2]
    for m in range(3):
        # Of the convolution half the channels, of the dense layer half its inputs and half its units, and of
        # the head half its inputs.
        shares = [float(np.mean(np.asarray(kernel[m]) != 0)) for kernel in kernels]
        assert sorted(shares) == [0.25, 0.5, 0.5]


def test_packed_members_are_narrow_networks_that_share_nothing(tiny: sb.Posterior) -> None:
    phase, chain, _ = begun(sb.PackedEnsemble(members=3), tiny)
    weights = weights_of(phase, chain)
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


@pytest.fixture(scope="module")
def normalised(tiny: sb.Posterior) -> sb.Posterior:
    """Batch statistics of three units, which two members cannot share evenly."""
    x = np.asarray(tiny.train.x).reshape(tiny.size, -1)
    train = sb.data.Examples(x, np.asarray(tiny.train.y))
    return sb.Posterior(NNXNetwork(HiddenNorm(10)), tiny.likelihood, tiny.prior, train)


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are computed at their own width however little that saves."""
    monkeypatch.setattr(narrowing, "MOVED", 0)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("kind", [sb.Masksembles, sb.PackedEnsemble])
@pytest.mark.parametrize("name", ["images", "normalised"])
def test_members_of_their_own_width_step_as_those_of_full_width(
    kind: Any, name: str, request: pytest.FixtureRequest
) -> None:
    """Behind flattening, with statistics, and where not all members keep equally many units."""
    posterior = request.getfixturevalue(name)
    method = kind(0.1, 1, 16, optimizer="sgd", schedule="constant", members=2)
    narrow, chain, tick = begun(method, posterior)
    assert isinstance(narrow.family, Narrow)
    plain = Masked(narrow.family.layers, narrow.family.places, narrow.family.masks, narrow.family.gains)
    wide = dataclasses.replace(narrow, family=plain)
    expected, found = (
        jax.jit(functools.partial(phase.step, posterior, None))(start, tick)
        for phase, start in (
            (wide, dataclasses.replace(chain, fixed=chain.fixed["masks"])),
            (narrow, chain),
        )
    )
    assert found.loss == pytest.approx(float(expected.loss), rel=1e-5)
    moved = [(one.variables["params"], one.own) for one in (found, expected)]
    for a, b in zip(*map(jax.tree.leaves, moved), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
    before = trees.flatten(chain.stats)
    for path, made in trees.flatten(found.stats).items():
        (vector,) = jax.vmap(narrow.family.vectors)(chain.fixed["masks"])[f"stats/{path}"]
        rest = np.where(vector > 0, trees.flatten(expected.stats)[path], before[path])
        np.testing.assert_allclose(made, rest, rtol=1e-5, err_msg=path)
        assert (np.asarray(vector > 0) & (np.asarray(made) != before[path])).any(), "statistics are learnt"


@pytest.mark.usefixtures("always")
def test_a_member_of_half_the_units_costs_what_it_should(tiny: sb.Posterior) -> None:
    """Products of 64 pixels with 3 units, and of these with 10 outputs; one operation for all else."""
    phase: Any = sb.PackedEnsemble(members=2).resolve(tiny).phases(tiny)[0]
    small, large = (
        operations(sb.networks.mlp(hidden=(width,), outputs=10), (8, 8), jnp.float32) for width in (3, 6)
    )
    assert phase.family.cost == pytest.approx(small / large, rel=1e-6)
    family = phase.family
    wide = dataclasses.replace(phase, family=Masked(family.layers, family.places, family.masks, family.gains))
    steps = [one.gradients_per_step(tiny) for one in (phase, wide)]
    assert steps[0] == pytest.approx(small / large * steps[1])


@dataclasses.dataclass(frozen=True)
class Layered(Spec):
    """A mean and variance of all units."""

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return nnx.Sequential(
            nnx.Linear(example_shape[0], 4, rngs=rngs),
            nnx.LayerNorm(4, rngs=rngs),
            nnx.Linear(4, 10, rngs=rngs),
        )


@pytest.mark.usefixtures("always")
def test_networks_that_are_others_with_fewer_units_are_computed_whole(normalised: sb.Posterior) -> None:
    posterior = copy.copy(normalised)
    posterior.network = NNXNetwork(Layered())
    assert type(masked(normalised, "disjoint", 2, 1, None)) is Narrow
    assert type(masked(posterior, "disjoint", 2, 1, None)) is Masked


@pytest.mark.usefixtures("always")
def test_blocks_of_members_of_their_own_width_change_nothing(images: sb.Posterior, tmp_path: Path) -> None:
    method = sb.PackedEnsemble(epochs=2, batch=8, members=3, optimizer="adamw")
    one, other = (sb.run(method, images, progress=False, block_steps=size) for size in (None, 1))
    for name, value in trees.flatten(one.variables).items():
        np.testing.assert_allclose(trees.flatten(other.variables)[name], value, rtol=1e-4, atol=1e-6)
    stored = sb.run(method, images, store=tmp_path / "run", progress=False)
    np.testing.assert_array_equal(stored.stats["energy"], one.stats["energy"])


def test_own_width_is_taken_where_it_saves_time(images: sb.Posterior, tiny: sb.Posterior) -> None:
    """A dense network takes two operations for each weight and example, a convolution many more."""
    assert type(masked(tiny, "disjoint", 2, 100, None)) is Masked
    assert type(masked(tiny, "disjoint", 2, 1000, None)) is Narrow
    assert type(masked(images, "disjoint", 2, 200, None)) is Narrow


def test_networks_without_units_to_divide_are_refused(tiny: sb.Posterior, linear: Any) -> None:
    with pytest.raises(ValueError, match="the 6 units of hidden1 cannot be divided among 7 members"):
        masked(tiny, "disjoint", 7, 100, None)
    with pytest.raises(ValueError, match="no hidden layer whose units could be masked"):
        masked(linear[0], "random", 2, 24, 0.5)
