"""Chains in groups: the numbers of one at a time, and no more at once than asked."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.posterior.numerics import memory
from symbayes.posterior.numerics.groups import chains_at_once, in_groups


def pair(a: Any, b: Any) -> Any:
    return {"product": a["x"] @ b, "sum": a["x"].sum() + a["y"]}


@pytest.mark.parametrize("at_once", [1, 2, 3, 5, 9])
def test_groups_give_what_each_gives_alone(at_once: int) -> None:
    rng = np.random.default_rng(at_once)
    a = {"x": rng.normal(size=(5, 3, 3)).astype(np.float32), "y": rng.normal(size=3).astype(np.float32)}
    b = rng.normal(size=(5, 3)).astype(np.float32)
    axes = ({"x": 0, "y": None}, 0)
    together = jax.jit(jax.vmap(in_groups(pair, at_once), axes))(a, b)
    expected = [pair({"x": a["x"][i], "y": a["y"]}, b[i]) for i in range(5)]
    for i, one in enumerate(expected):
        jax.tree.map(
            lambda made, alone, i=i: np.testing.assert_allclose(made[i], alone, rtol=1e-5), together, one
        )


@pytest.mark.parametrize(("at_once", "shapes"), [(9, [(5, 3)]), (3, [(3, 3), (2, 3)]), (1, [(3,)])])
def test_no_more_than_asked_are_computed_together(at_once: int, shapes: list[tuple[int, ...]]) -> None:
    function = in_groups(jnp.sin, at_once)
    text = str(jax.make_jaxpr(jax.vmap(function))(jnp.ones((5, 3))))
    for shape in shapes:
        assert f"f32[{','.join(map(str, shape))}] = sin" in text


def test_networks_with_convolutions_of_many_channels_go_one_by_one() -> None:
    def at_once(network: sb.networks.Network, shape: tuple[int, ...]) -> int:
        return chains_at_once(network, shape, np.dtype(np.float32), 10)

    assert at_once(sb.networks.cnn(channels=(4, 16)), (8, 8, 1)) > 100, "the second one sees 4 channels"
    assert at_once(sb.networks.cnn(channels=(9, 2)), (8, 8, 1)) == 1
    assert at_once(sb.networks.mlp(), (64,)) > 100


@pytest.mark.parametrize("channels", [(3, 2), (9, 2)])
def test_gradients_of_chains_are_those_of_each(
    digits: sb.data.Dataset, channels: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where memory is short and a group is smaller than the chains."""
    network = sb.networks.cnn(channels=channels, hidden=(5,), outputs=10)
    posterior = sb.Posterior(
        network, sb.likelihoods.Categorical(), sb.priors.Normal(0.5), digits.train[:40], chunk=25
    )
    chains = jax.jit(jax.vmap(posterior.init))(jax.random.split(jax.random.key(3), 3))
    alone = jax.jit(lambda v: (jax.grad(posterior.log_density)(v)["params"], posterior.likelihood_terms(v)))
    each, terms = zip(*(alone(trees.index(chains, i)) for i in range(3)), strict=True)
    monkeypatch.setattr(memory, "CPU_BUDGET", 25 * memory.working_bytes(network, (8, 8, 1), np.float32) / 2)
    chains_at_once.cache_clear()
    assert chains_at_once(network, (8, 8, 1), np.dtype(np.float32), 25) == (2 if channels[0] < 9 else 1)
    together = jax.jit(lambda p, v: (jax.vmap(p.gradient)(v), jax.vmap(p.measured_terms)(v)))
    gradient, measured = together(posterior, chains)
    chains_at_once.cache_clear()
    for i in range(3):
        made, expected = (trees.ravel(tree) for tree in (trees.index(gradient, i), each[i]))
        np.testing.assert_allclose(made, expected, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(measured[i], terms[i], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("data", "at_once"), [(1, 1), (1, 2), (1, 9), (2, 1)])
def test_every_device_of_a_mesh_has_groups_of_its_own(data: int, at_once: int) -> None:
    """Three chains on each of two devices: no chain is sent to the other one."""
    mesh = sb.make_mesh(6, jax.devices()[: 2 * data], data=data)
    a, b = (jax.random.normal(jax.random.key(n), (6, 4, 4)) for n in range(2))
    spread = jax.device_put(b, jax.NamedSharding(mesh, jax.P("chain")))
    # The matrix that all chains share is no argument of their own.
    program = jax.jit(jax.vmap(in_groups(lambda a, b: jnp.sin(a @ b), at_once, mesh), (None, 0)))
    compiled = program.lower(a[0], spread).compile().as_text()
    assert compiled
    for word in ("all-gather", "all-to-all", "collective-permute", "all-reduce"):
        assert word not in compiled
    np.testing.assert_allclose(program(a[0], spread), np.sin(a[0] @ b), rtol=1e-5)
