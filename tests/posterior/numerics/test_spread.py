"""Examples over devices: the same sums and rows, and what devices send one another for them."""

import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import symbayes as sb
from symbayes import trees
from symbayes.posterior.numerics import Chunks, spread

CHAINS, EXAMPLES, BATCH = 2, 120, 12


@pytest.fixture(scope="module")
def examples(digits: sb.data.Dataset) -> sb.data.Examples:
    return digits.train[:EXAMPLES]


def posterior(examples: sb.data.Examples, **options: Any) -> sb.Posterior:
    network = sb.networks.mlp(hidden=(5,), outputs=10)
    return sb.Posterior(
        network, sb.likelihoods.Categorical(), sb.priors.Normal(0.5), examples, chunk=40, **options
    )


@given(st.integers(1, 60), st.integers(1, 70), st.sampled_from([1, 2, 4, 8]))
@settings(max_examples=15)
def test_spread_chunks_are_the_chunks_of_one_device(n: int, size: int, devices: int) -> None:
    x, y = np.arange(2 * n, dtype=np.float32).reshape(n, 2), np.arange(n, dtype=np.int32)
    mesh = sb.make_mesh(1, jax.devices()[:devices])
    apart, together = Chunks.spread(x, y, size, mesh), Chunks.cut(x, y, size, devices)
    for one, other in zip(jax.tree.leaves(apart), jax.tree.leaves(together), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
        assert one.sharding.spec == P(None, "data")


class Watched(np.ndarray):
    """An array that knows which rows were taken."""

    taken: set[int]

    def __getitem__(self, where: Any) -> Any:
        if isinstance(where, slice):
            self.taken.update(range(*where.indices(len(self))))
        return np.asarray(super().__getitem__(where))


def test_of_an_array_on_disk_only_the_rows_of_ones_own_devices_are_read() -> None:
    """A device is given its columns of every chunk; padding is the first row."""
    from symbayes.posterior.numerics.chunks import _columns

    watched = np.arange(50).view(Watched)
    watched.taken = set()
    part = _columns(watched, 5, 10, 4, 6)
    np.testing.assert_array_equal(part, [[10 * chunk + 4, 10 * chunk + 5] for chunk in range(5)])
    assert watched.taken == {10 * chunk + column for chunk in range(5) for column in (4, 5)}
    np.testing.assert_array_equal(_columns(np.arange(47), 5, 10, 6, 8)[4], [46, 0])


@pytest.mark.parametrize("count", [BATCH, 7, 1])
def test_rows_of_a_mini_batch_are_those_asked_for(examples: sb.data.Examples, count: int) -> None:
    rows = np.random.default_rng(count).integers(0, EXAMPLES, count)
    mesh = sb.make_mesh(CHAINS, data=4)
    placed = posterior(examples, mesh=mesh)
    x, y = jax.jit(lambda p, rows: spread.taken(p.mesh, p.chunks, rows))(placed, rows)
    np.testing.assert_array_equal(x, np.asarray(examples.x)[rows])
    np.testing.assert_array_equal(y, np.asarray(examples.y)[rows])
    over_devices = x.sharding.spec == P("data")
    assert over_devices == (count % 4 == 0)


def programs(examples: sb.data.Examples, mesh: Any) -> dict[str, str]:
    """Compiled: gradients of two chains over all data, and over a mini-batch each."""
    placed = posterior(examples, mesh=mesh)
    over_chains = NamedSharding(mesh, P("chain"))
    variables = jax.vmap(posterior(examples).init)(jax.random.split(jax.random.key(0), CHAINS))
    variables, rows = jax.device_put((variables, jnp.ones((CHAINS, BATCH), jnp.int32)), over_chains)

    def on_batch(posterior: Any, variables: Any, rows: Any) -> Any:
        def loss(params: Any) -> Any:
            return posterior.minibatch_log_density({**variables, "params": params}, rows, jax.random.key(0))[
                0
            ]

        return jax.grad(loss)(variables["params"])

    full = jax.jit(lambda p, v: jax.vmap(lambda one: p.gradient_and_terms(one))(v))
    batch = jax.jit(lambda p, v, r: jax.vmap(lambda one, rows: on_batch(p, one, rows))(v, r))
    made = {"full": full.lower(placed, variables), "batch": batch.lower(placed, variables, rows)}
    return {name: lowered.compile().as_text() for name, lowered in made.items()}


def sent(program: str) -> list[tuple[str, int]]:
    """What devices send one another: operations, and how many numbers each has."""
    kinds = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
    found = re.findall(rf"= (.*?) ({kinds})(?:-start)?\(", program)
    sizes = [
        [math.prod(map(int, s.split(","))) for s in re.findall(r"\[([\d,]+)\]", form)] for form, _ in found
    ]
    return [(kind, sum(size)) for (_, kind), size in zip(found, sizes, strict=True)]


@pytest.fixture(scope="module")
def messages(examples: sb.data.Examples) -> dict[str, list[tuple[str, int]]]:
    """Where four devices share the examples of a chain."""
    made = programs(examples, sb.make_mesh(CHAINS, data=4))
    return {name: sent(program) for name, program in made.items()}


def test_a_gradient_is_one_sum_over_devices_whatever_the_chunks(examples, messages) -> None:
    weights = trees.size(posterior(examples).init(jax.random.key(0))["params"])
    assert {kind for kind, _ in messages["full"]} == {"all-reduce"}
    # Of one chain on each device, with the likelihood's terms of three chunks.
    assert sum(numbers for _, numbers in messages["full"]) == weights + 3 * 64


def test_a_mini_batch_brings_its_rows_together_and_no_others(messages) -> None:
    assert {kind for kind, _ in messages["batch"]} == {"all-reduce"}
    # Of one chain on each device, and less than a device's share of all examples.
    assert max(numbers for _, numbers in messages["batch"]) == BATCH * 64 < EXAMPLES * 64 / 4


def test_chains_on_devices_of_their_own_send_nothing(examples: sb.data.Examples) -> None:
    mesh = sb.make_mesh(CHAINS, jax.devices()[:CHAINS])
    assert dict(mesh.shape) == {"chain": CHAINS, "data": 1}
    assert {name: sent(program) for name, program in programs(examples, mesh).items()} == {
        "full": [],
        "batch": [],
    }


def test_a_posterior_made_on_a_mesh_is_recorded_as_any_other(examples: sb.data.Examples) -> None:
    mesh, other = sb.make_mesh(1), sb.make_mesh(CHAINS)
    placed = posterior(examples, mesh=mesh)
    assert placed.describe() == posterior(examples).describe() == posterior(examples).spread(mesh).describe()
    assert placed.spread(mesh) is placed
    with pytest.raises(ValueError, match="made for another mesh"):
        placed.spread(other)
