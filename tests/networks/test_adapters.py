"""Networks of one's own: NNX modules, plain functions, import paths; what can be stored and what cannot."""

import inspect
import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import own_networks
import pytest
from flax import nnx

from symbayes import specs, trees
from symbayes.data import Examples
from symbayes.networks import (
    Network,
    from_equinox,
    from_functions,
    from_name,
    from_nnx,
    from_spec,
    mlp,
    require_storable,
    session,
)
from symbayes.networks.session import session_code
from symbayes.posterior import Posterior
from symbayes.posterior.likelihoods import Categorical
from symbayes.posterior.priors import Normal


@pytest.fixture(scope="module")
def x() -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(6, 4)), jnp.float32)


def through_json(network: Network) -> Network:
    return from_spec(json.loads(json.dumps(specs.encode(network.spec))))


def test_an_nnx_module_gives_its_own_outputs(x: jax.Array) -> None:
    network = from_nnx(own_networks.Small, inputs=4, width=5)
    variables = network.init(jax.random.key(3), x)
    assert list(trees.shapes(variables["params"])) == [
        *(f"layers/{i}/{name}" for i in range(3) for name in ("bias", "kernel")),
        "norm/bias",
        "norm/scale",
    ]
    assert trees.names(variables["stats"]) == ["norm/mean", "norm/var"]
    module = own_networks.Small(4, 5, rngs=nnx.Rngs(jax.random.key(3)))
    module.eval()
    np.testing.assert_allclose(jax.jit(network.apply)(variables, x), module(x), rtol=1e-5, atol=1e-6)


def test_what_makes_no_nnx_module_is_refused(x: jax.Array) -> None:
    with pytest.raises(TypeError, match="own_networks:make_wrong_nnx gave a int, not an NNX module"):
        from_name("own_networks:make_wrong_nnx").init(jax.random.key(0), x)


def test_functions_give_their_own_outputs(x: jax.Array) -> None:
    network = from_functions(own_networks.init, own_networks.apply, width=5)
    assert isinstance(network, Network)
    variables = network.init(jax.random.key(0), x)
    assert trees.shapes(variables) == {"params/0/0": (4, 5), "params/0/1": (5,), "params/1/head": (5, 2)}
    params = own_networks.init(jax.random.key(0), x, width=5)
    expected = own_networks.apply(params, x, width=5)
    np.testing.assert_allclose(jax.jit(network.apply)(variables, x), expected, rtol=1e-5)
    # A function that takes no key is the same in training.
    outputs, stats = network.apply_train(variables, x, jax.random.key(1))
    np.testing.assert_allclose(outputs, expected, rtol=1e-5)
    assert stats == {}


def test_a_function_that_takes_a_key_gets_it(x: jax.Array) -> None:
    network = from_functions(own_networks.init, own_networks.apply_noisy)
    variables = network.init(jax.random.key(0), x)
    quiet = network.apply(variables, x)
    np.testing.assert_array_equal(quiet, network.apply(variables, x))
    noise = network.apply(variables, x, jax.random.key(1)) - quiet
    np.testing.assert_allclose(noise, jax.random.normal(jax.random.key(1), (6, 2)), atol=1e-5)


def test_variables_of_another_network_are_refused(x: jax.Array) -> None:
    network = from_functions(own_networks.init, own_networks.apply)
    variables = network.init(jax.random.key(0), x)
    with pytest.raises(ValueError, match=r"0/0 has shape \(4, 3\), but this network's has \(2, 3\)"):
        network.apply(variables, x[:, :2])


@pytest.mark.parametrize(
    ("path", "options", "kind"),
    [
        ("own_networks:Small", {"inputs": 4}, "FromNNX"),
        ("own_networks:make_small", {}, "FromNNX"),
        ("own_networks:SmallEquinox", {"inputs": 4, "widths": [3, 5]}, "FromEquinox"),
        ("own_networks:make_small_equinox", {}, "FromEquinox"),
        ("own_networks:make_network", {"hidden": [7]}, "Imported"),
        ("own_networks:ready", {}, "Imported"),
    ],
)
def test_a_path_names_a_network_of_any_kind(
    path: str, options: dict[str, Any], kind: str, x: jax.Array
) -> None:
    network = from_name(path, **options)
    assert isinstance(network, Network)
    assert type(network.spec).__name__ == kind
    again = through_json(network)
    assert again == network == from_name(path, **options)
    assert hash(again) == hash(network)
    require_storable(network)
    shape = jax.eval_shape(lambda key: again.apply(again.init(key, x), x), jax.random.key(0)).shape
    assert shape == (6, 2)


def test_an_imported_network_is_the_one_that_the_path_names(x: jax.Array) -> None:
    network = from_name("own_networks:make_network", hidden=[3])
    plain = mlp(hidden=(3,), outputs=2, activation="tanh")
    variables = network.init(jax.random.key(0), x)
    jax.tree.map(np.testing.assert_array_equal, variables, plain.init(jax.random.key(0), x))
    np.testing.assert_array_equal(network.apply(variables, x), plain.apply(variables, x))
    outputs, stats = network.apply_train(variables, x, jax.random.key(1))
    np.testing.assert_array_equal(outputs, plain.apply(variables, x))
    assert stats == {}


@pytest.mark.parametrize(
    ("path", "options", "error", "message"),
    [
        ("nowhere:Net", {}, ValueError, "there is no module 'nowhere' to import"),
        ("own_networks:Nothing", {}, ValueError, "own_networks has no attribute 'Nothing'"),
        ("own_networks", {}, ValueError, "an import path is written 'module:attribute'"),
        ("own_networks:number", {}, TypeError, "own_networks:number is a int: name a network"),
        ("own_networks:make_number", {}, TypeError, "gave a int, not a network: .* takes `rngs`"),
        ("own_networks:make_network", {"wide": 3}, TypeError, r"cannot be called with \(wide\)"),
        ("own_networks:ready", {"wide": 3}, ValueError, "is a network already and takes no options"),
        ("own_networks:Small", {"inputs": object()}, TypeError, "the option inputs must be a number"),
    ],
)
def test_what_names_no_network_is_refused(
    path: str, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        from_name(path, **options)


def test_a_stored_network_whose_code_is_gone_is_refused() -> None:
    encoded = specs.encode(from_nnx(own_networks.Small, inputs=4).spec)
    encoded["constructor"] = "gone_since_then:Small"
    with pytest.raises(ValueError, match="there is no module 'gone_since_then'"):
        from_spec(encoded)


def local_networks() -> list[Network]:
    return [
        from_nnx(lambda width, rngs: nnx.Linear(4, width, rngs=rngs), width=2),
        from_functions(own_networks.init, lambda params, x: own_networks.apply(params, x)),
        from_equinox(lambda key: own_networks.SmallEquinox(4, key=key)),
    ]


@pytest.mark.parametrize("network", local_networks())
def test_code_without_a_path_works_and_is_stored_by_its_program(network: Network, x: jax.Array) -> None:
    assert jax.jit(network.apply)(network.init(jax.random.key(0), x), x).shape == (6, 2)
    assert network == network.spec.network()
    assert len({hash(network), *map(hash, local_networks())}) == 4
    require_storable(network)
    stored = json.loads(json.dumps(session.recorded(network, x.shape[1:], x.dtype)))
    assert session.is_session(stored)
    assert stored["name"].startswith("local_networks.<locals>")
    with pytest.raises(ValueError, match="unknown kind 'Session'"):
        from_spec(stored)


def test_networks_with_a_stored_form_are_storable() -> None:
    for network in (mlp(), from_functions(own_networks.init, own_networks.apply, width=4)):
        require_storable(network)
        assert through_json(network) == network


def test_equality_sees_code_and_options() -> None:
    base = from_functions(own_networks.init, own_networks.apply, width=4)
    assert base == from_functions(own_networks.init, own_networks.apply, width=4)
    others = {
        from_functions(own_networks.init, own_networks.apply, width=5),
        from_functions(own_networks.init, own_networks.apply_noisy, width=4),
    }
    assert base not in others
    assert len(others) == 2


def test_a_foreign_network_whose_spec_has_no_json_is_refused() -> None:
    class Foreign:
        spec = object()
        init = apply = apply_train = staticmethod(lambda *_: None)

    with pytest.raises(ValueError, match="cannot be rebuilt from its JSON"):
        require_storable(Foreign())


def test_a_trained_nnx_module_is_a_network_and_a_start(x: jax.Array) -> None:
    module = own_networks.Small(4, width=5, rngs=nnx.Rngs(7))
    module.eval()
    network, expected = from_nnx(module), module(x)
    np.testing.assert_allclose(jax.jit(network.apply)(network.start, x), expected, rtol=1e-5)
    assert trees.shapes(network.start) == trees.shapes(network.init(jax.random.key(1), x))
    _, stats = network.apply_train(network.start, x, jax.random.key(0))
    assert trees.shapes(stats) == trees.shapes(network.start["stats"])
    # What becomes of the module later is no matter of the network.
    for leaf in jax.tree.leaves(nnx.state(module, nnx.Param), is_leaf=lambda v: isinstance(v, nnx.Variable)):
        leaf.set_value(leaf.get_value() + 1)
    np.testing.assert_allclose(network.apply(network.start, x), expected, rtol=1e-5)
    assert repr(session_code(network)) == "an instance of Small"


def test_a_trained_module_may_be_named_by_its_path(x: jax.Array, monkeypatch: pytest.MonkeyPatch) -> None:
    module = own_networks.Small(4, width=5, rngs=nnx.Rngs(7))
    monkeypatch.setattr(own_networks, "TRAINED", module, raising=False)
    network = from_name("own_networks:TRAINED")
    require_storable(network)
    for name, leaf in trees.flatten(network.start).items():
        np.testing.assert_array_equal(leaf, trees.flatten(from_nnx(module).start)[name])


def test_the_first_trace_of_a_network_is_as_any_other(x: jax.Array) -> None:
    """What is looked up once leaves nothing in the program that is being traced."""

    def init(key: jax.Array, x: jax.Array) -> Any:
        return {"w": jax.random.normal(key, (4, 2))}

    network = from_functions(init, lambda params, x: x @ params["w"])
    variables = network.init(jax.random.key(0), x)
    first, second = (str(jax.make_jaxpr(network.apply)(variables, x)) for _ in range(2))
    assert first == second
    twin = from_equinox(own_networks.SmallEquinox, inputs=4, outputs=7)
    variables = twin.init(jax.random.key(0), x)
    first, second = (str(jax.make_jaxpr(twin.apply)(variables, x)) for _ in range(2))
    assert first == second


def test_modules_in_the_place_of_networks_are_told_what_makes_them_one() -> None:
    equinox, module = own_networks.SmallEquinox, own_networks.Small(4, rngs=nnx.Rngs(0))
    told = r"{0} is a module and no network yet: give networks\.{1}\({0}, \.\.\.\) or networks\.{1}\(module\)"
    make = inspect.unwrap(Posterior.__init__)  # which tests check the types of
    for found, maker in (
        (equinox, "from_equinox"),
        (equinox(4, key=jax.random.key(0)), "from_equinox"),
        (own_networks.Small, "from_nnx"),
        (module, "from_nnx"),
    ):
        name = found.__name__ if isinstance(found, type) else type(found).__name__
        with pytest.raises(TypeError, match=told.format(name, maker)):
            make(object.__new__(Posterior), found, Categorical(), Normal(), Examples([[1.0]], [0]))
    with pytest.raises(TypeError, match=r"give the network as in networks\.mlp\(\)"):
        make(object.__new__(Posterior), 3, Categorical(), Normal(), Examples([[1.0]], [0]))
