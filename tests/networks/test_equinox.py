"""Networks of Equinox modules against the modules themselves."""

import sys
import warnings
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import own_networks
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.networks import Network, from_equinox
from symbayes.networks.equinox import is_equinox_class


@pytest.fixture(scope="module")
def x() -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(6, 4)), jnp.float32)


def test_outputs_are_those_of_the_module(x: jax.Array) -> None:
    network = from_equinox(eqx.nn.MLP, in_size=4, out_size=3, width_size=5, depth=1)
    assert isinstance(network, Network)
    module = eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(1))
    variables = network.init(jax.random.key(1), x)
    assert trees.shapes(variables) == {
        "params/layers/0/bias": (5,),
        "params/layers/0/weight": (5, 4),
        "params/layers/1/bias": (3,),
        "params/layers/1/weight": (3, 5),
    }
    assert variables["stats"] == {}
    np.testing.assert_array_equal(variables["params"]["layers"]["0"]["weight"], module.layers[0].weight)
    expected = jax.vmap(module)(x)
    np.testing.assert_allclose(jax.jit(network.apply)(variables, x), expected, rtol=1e-5)
    # The variables decide, not the module's own numbers.
    moved = jax.tree.map(lambda leaf: 2 * leaf, variables)
    hidden = jnp.maximum(2 * x @ module.layers[0].weight.T + 2 * module.layers[0].bias, 0)
    expected = 2 * hidden @ module.layers[1].weight.T + 2 * module.layers[1].bias
    np.testing.assert_allclose(network.apply(moved, x), expected, rtol=1e-4, atol=1e-5)


def test_a_key_switches_dropout_on_per_example(x: jax.Array) -> None:
    network = from_equinox(own_networks.SmallEquinox, inputs=4, widths=[40])
    same = jnp.tile(x[:1], (6, 1))
    variables = network.init(jax.random.key(0), same)
    apply = jax.jit(network.apply)
    plain = np.asarray(apply(variables, same))
    np.testing.assert_allclose(plain, np.tile(plain[:1], (6, 1)), rtol=1e-6)
    dropped = np.asarray(apply(variables, same, jax.random.key(1)))
    assert len(np.unique(dropped[:, 0])) == 6
    np.testing.assert_array_equal(dropped, apply(variables, same, jax.random.key(1)))
    assert not np.array_equal(dropped, apply(variables, same, jax.random.key(2)))
    trained, stats = jax.jit(network.apply_train)(variables, same, jax.random.key(1))
    np.testing.assert_allclose(trained, dropped, rtol=1e-5)
    assert stats == {}


class Unrandom(eqx.Module):
    weight: jax.Array

    def __init__(self, key: jax.Array) -> None:
        self.weight = jax.random.normal(key, (4, 2))

    def __call__(self, x: jax.Array) -> jax.Array:
        return x @ self.weight


def test_a_module_whose_call_takes_no_key_gets_none(x: jax.Array) -> None:
    network = from_equinox(Unrandom)
    variables = network.init(jax.random.key(0), x)
    expected = x @ variables["params"]["weight"]
    np.testing.assert_allclose(network.apply(variables, x, jax.random.key(1)), expected, rtol=1e-5)


def test_what_is_no_stateless_equinox_module_is_refused(x: jax.Array) -> None:
    with pytest.raises(TypeError, match="make_wrong_equinox gave a int, not an Equinox module"):
        from_equinox(own_networks.make_wrong_equinox).init(jax.random.key(0), x)
    with pytest.raises(TypeError, match="make_batch_normed holds Equinox state"):
        from_equinox(own_networks.make_batch_normed).init(jax.random.key(0), x)
    with pytest.raises(TypeError, match=r"SmallEquinox cannot be called with \(width, key\)"):
        from_equinox(own_networks.SmallEquinox, width=3).init(jax.random.key(0), x)


def test_integer_arrays_are_refused_by_name(x: jax.Array) -> None:
    class Counting(eqx.Module):
        counts: jax.Array

        def __init__(self, key: jax.Array) -> None:
            self.counts = jnp.arange(3)

    with pytest.raises(TypeError, match="floating-point arrays, but counts is int32"):
        from_equinox(Counting).init(jax.random.key(0), x)


def test_the_class_of_a_module_is_known_from_its_ancestors() -> None:
    assert is_equinox_class(own_networks.SmallEquinox)
    assert not any(map(is_equinox_class, (own_networks.Small, own_networks.init, own_networks.ready, int)))


def test_without_equinox_the_error_says_what_to_install(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "equinox", None)
    with pytest.raises(ValueError, match=r"need Equinox: install it with `pip install symbayes\[equinox\]`"):
        from_equinox(own_networks.SmallEquinox, inputs=4)


def test_a_trained_module_is_a_network_and_a_start(x: jax.Array) -> None:
    module = eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(3))
    network = from_equinox(module)
    assert network == from_equinox(module)
    assert hash(network) == hash(from_equinox(module))
    assert network != from_equinox(eqx.nn.MLP(4, 3, 5, 1, key=jax.random.key(3)))
    start = network.start
    np.testing.assert_array_equal(start["params"]["layers"]["0"]["weight"], module.layers[0].weight)
    np.testing.assert_allclose(jax.jit(network.apply)(start, x), jax.vmap(module)(x), rtol=1e-5)
    moved = jax.tree.map(lambda leaf: leaf + 0.5, start)
    rebuilt = network.module(moved)
    np.testing.assert_allclose(jax.vmap(rebuilt)(x), network.apply(moved, x), rtol=1e-5)
    with pytest.raises(ValueError, match="is a module already and takes no options"):
        from_equinox(module, depth=2)


def test_a_run_of_a_trained_module_begins_there(x: jax.Array) -> None:
    network = from_equinox(eqx.nn.MLP(4, 1, 3, 1, key=jax.random.key(3)))
    examples = sb.data.Examples(np.asarray(x), np.zeros((6, 1), np.float32))
    posterior = sb.Posterior(network, sb.likelihoods.Gaussian(0.1), sb.priors.Normal(1.0), examples)
    method = sb.DeepEnsemble(learning_rate=1e-9, epochs=1, chains=2)
    with pytest.warns(UserWarning, match=r"all 2 members .* give start=network.start"):
        draws = sb.run(method, posterior)
    for name, leaf in trees.flatten(network.start).items():
        found = trees.flatten(draws.variables)[name]
        np.testing.assert_allclose(found, np.broadcast_to(leaf, found.shape), atol=1e-6)
    assert draws.stats["mode"].tolist() == [[0], [0]]


ONE = {"learning_rate": 1e-3, "epochs": 1}


@pytest.mark.parametrize(
    ("method", "told"),
    [
        (sb.DeepEnsemble(**ONE, chains=2), True),
        (sb.SWAG(**ONE, collect=2, chains=2), True),
        (sb.IVON(epochs=1, draws=2, chains=2), True),
        (sb.DeepEnsemble(**ONE, chains=1), False),
        (sb.SWAG(**ONE, collect=2), False),
        (sb.Laplace(draws=2), False),
        (sb.HMC(0.01, trajectory=0.02, burn_in=1, draws=2, chains=2), False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_members_that_all_begin_at_one_trained_module_are_told(
    x: jax.Array, method: Any, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But where the user asks for it with a start, where there is one member, and for samplers.

    Runs go no further than to where they begin, which is what the message is about.
    """
    trained = from_equinox(eqx.nn.MLP(4, 1, 3, 1, key=jax.random.key(3)))
    fresh = from_equinox(eqx.nn.MLP, in_size=4, out_size=1, width_size=3, depth=1)
    examples = sb.data.Examples(np.asarray(x), np.zeros((6, 1), np.float32))

    class Begun(Exception):
        pass

    def ends(*_: Any) -> Any:
        raise Begun

    def warned(network: Network, **start: Any) -> bool:
        posterior = sb.Posterior(network, sb.likelihoods.Gaussian(0.5), sb.priors.Normal(1.0), examples)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            with pytest.raises(Begun):
                sb.run(method, posterior, **start)
        return any("begin at the weights of one trained module" in str(one.message) for one in found)

    monkeypatch.setattr(type(method), "prepared", ends)
    assert warned(trained) == told
    assert not warned(trained, start=trained.start)
    assert not warned(fresh)
