"""Dropout against enumeration of all masks, and draws that are keys."""

import itertools
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

import symbayes as sb
from symbayes import trees
from symbayes.posterior.dropout import DroppedNetwork, WithDropout, drops, hidden_layers

RATE = 0.3
FLOAT = jnp.dtype("float32")


def dropped(network: Any, mask: Any) -> DroppedNetwork:
    return WithDropout(network.spec, RATE, mask).network()


@pytest.mark.parametrize("mask", ["element", "functional"])
def test_mean_over_keys_is_that_over_all_masks(mask: Any) -> None:
    """Of three hidden units, eight masks with their probabilities."""
    plain = sb.networks.mlp(hidden=(3,), outputs=2, activation="tanh")
    network = dropped(plain, mask)
    x = jax.random.normal(jax.random.key(0), (2, 4))
    x = jnp.concatenate([x, x[:1]])
    variables = jax.tree.map(lambda leaf: 2 * leaf, plain.init(jax.random.key(1), x))
    w = {name: np.asarray(leaf, np.float64) for name, leaf in trees.flatten(variables["params"]).items()}
    hidden = np.tanh(np.asarray(x) @ w["hidden1/kernel"] + w["hidden1/bias"])
    expected = np.zeros((3, 2))
    for kept in itertools.product([0, 1], repeat=3):
        chance = np.prod(np.where(kept, 1 - RATE, RATE))
        logits = hidden * kept / (1 - RATE) @ w["output/kernel"] + w["output/bias"]
        expected += chance * scipy.special.softmax(logits, axis=-1)
    keys = jax.random.split(jax.random.key(2), 4000)
    probs = np.asarray(
        jax.jit(jax.vmap(lambda key: jax.nn.softmax(network.apply(variables, x, key))))(keys), np.float64
    )
    errors = probs.std(axis=0) / np.sqrt(len(probs))
    assert np.abs((probs.mean(axis=0) - expected) / errors).max() < 4.5
    same = np.all(probs[:, 0] == probs[:, 2], axis=1)
    assert same.all() if mask == "functional" else 0.1 < same.mean() < 0.9, "equal inputs, one mask or two"
    np.testing.assert_allclose(network.apply(variables, x), plain.apply(variables, x), rtol=1e-6)
    trained, _ = network.apply_train(variables, x, keys[0])
    np.testing.assert_allclose(trained, network.apply(variables, x, keys[0]), rtol=1e-6)


def two_convolutions(key: jax.Array, x: jax.Array) -> Any:
    return {"first": jnp.ones((1, 1, 1, 4)), "second": jnp.eye(4)[None, None]}


def apply_convolutions(params: Any, x: jax.Array) -> jax.Array:
    for kernel in (params["first"], params["second"]):
        x = jax.lax.conv_general_dilated(
            x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    return x


def test_channels_are_dropped_as_a_whole() -> None:
    plain = sb.networks.from_functions(two_convolutions, apply_convolutions)
    x = jnp.ones((50, 2, 3, 1))
    variables = plain.init(jax.random.key(0), x)
    assert list(hidden_layers(plain, (2, 3, 1), FLOAT)) == ["params/second"]
    made = {}
    for mask in ("element", "channel", "functional"):
        made[mask] = np.asarray(dropped(plain, mask).apply(variables, x, jax.random.key(1))) * (1 - RATE)
        assert set(np.unique(made[mask].round(5))) == {0.0, 1.0}
    whole = made["channel"].reshape(50, 6, 4)
    assert (whole == whole[:, :1]).all()
    assert np.unique(whole[:, 0], axis=0).shape[0] > 4, "another one for every example"
    assert (made["functional"] == made["functional"][:1]).all()
    assert not (made["functional"][0] == made["functional"][0, :1, :1]).all()
    assert not (made["element"].reshape(50, 6, 4) == made["element"].reshape(50, 6, 4)[:, :1]).all()
    assert made["element"].mean() == pytest.approx(1 - RATE, abs=0.06)


def test_dropout_of_the_networks_own_counts(digits: Any) -> None:
    """A layer, or a function of the key; then nothing is added."""

    def init(key: jax.Array, x: jax.Array) -> Any:
        return {"w": jnp.ones((x.shape[-1], 10))}

    def apply(params: Any, x: jax.Array, key: Any = None) -> jax.Array:
        flat = x.reshape(len(x), -1)[:, :1]
        kept = 1.0 if key is None else jax.random.bernoulli(key, 0.5, flat.shape)
        return (flat * kept) @ params["w"]

    own = sb.networks.from_functions(init, apply)
    layered = sb.networks.mlp(hidden=(4,), outputs=10, dropout=0.2)
    plain = sb.networks.mlp(hidden=(4,), outputs=10)
    for network, expected in ((own, True), (layered, True), (plain, False)):
        assert drops(network, (8, 8, 1), FLOAT) is expected
        posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:8])
        method = sb.MCDropout()
        prepared = method.prepared(posterior)
        assert isinstance(prepared.network, DroppedNetwork) is not expected
        assert bool(method.notes(posterior)) is expected
        assert method.prepared(prepared).network == prepared.network
    linear = sb.networks.mlp(hidden=(), outputs=10)
    posterior = sb.Posterior(linear, sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:8])
    with pytest.raises(ValueError, match="no hidden layer whose inputs could be dropped"):
        sb.MCDropout().prepared(posterior)


def test_a_draw_is_made_again_from_its_key(tiny: sb.Posterior, tmp_path: Path) -> None:
    x = np.asarray(tiny.train.x[:6])
    method = sb.MCDropout(epochs=1, chains=2, draws=4, dropout=RATE)
    drawn = sb.run(method, tiny, store=tmp_path / "run", observers=[sb.Predictions(x)], progress=False)
    opened = sb.open(tmp_path / "run")
    assert isinstance(opened.network, DroppedNetwork)
    assert "MLP with dropout" in str(opened.summary())
    predictive = opened.predict(x)
    np.testing.assert_allclose(drawn.observed["predictions"]["probs"], predictive.mean, atol=1e-6)
    key = jax.random.wrap_key_data(jnp.asarray(drawn.stats["key"][1, 2]))
    one = trees.index(drawn.variables, (1, 2))
    alone = jax.nn.softmax(opened.network.apply(one, jnp.asarray(x), key))
    np.testing.assert_allclose(predictive.every[1, 2], alone, atol=1e-6)
    assert np.unique(predictive.every[0, :, 0], axis=0).shape[0] > 1
    leaf = drawn.variables["params"]["output"]["kernel"]
    assert np.array_equal(leaf, np.broadcast_to(leaf[:, :1], leaf.shape)), "the weights stay"
    with pytest.raises(ValueError, match="with its own key cannot be aligned"):
        sb.symmetry.align(drawn, opened.group)
