"""What discovery refuses, what it drops, and modules of other libraries."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from symbayes.symmetry import discover
from symbayes.symmetry.program import laws, trace
from symbayes.symmetry.program.rules import elementwise

from ..symmetry_networks import draw, expect, inputs
from ..symmetry_networks import log10_factorial as lf

VARIABLES = draw({"a/kernel": (3, 4), "b/kernel": (4, 2)})
X = inputs(8, 3)


def plain(v, x):
    return jax.nn.relu(x @ v["a"]["kernel"]) @ v["b"]["kernel"]


def test_random_constants_are_not_pure():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not pure"):
        discover(lambda v, x: plain(v, x) * rng.normal(), VARIABLES, X)


def test_random_arrays_are_not_pure():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="not pure"):
        discover(lambda v, x: plain(v, x) + jnp.asarray(rng.normal(size=2)), VARIABLES, X)


def test_state_is_not_pure():
    kept = []

    def apply(v, x):
        kept.append(plain(v, x))
        return kept[0]

    with pytest.raises(ValueError, match="not pure"):
        discover(apply, VARIABLES, X)


def test_callbacks_with_state_are_not_pure():
    rng = np.random.default_rng(0)

    def apply(v, x):
        noise = jax.pure_callback(lambda: rng.normal(), jax.ShapeDtypeStruct((), x.dtype))
        return plain(v, x) + noise

    with pytest.raises(ValueError, match="not pure"):
        discover(apply, VARIABLES, X)


@pytest.mark.parametrize("apply", [lambda v, x: x[x > 0], lambda v, x: x if x.sum() > 0 else -x])
def test_shapes_and_branches_that_depend_on_values(apply):
    with pytest.raises(ValueError, match="depend on the values"):
        discover(apply, VARIABLES, X)


def test_not_a_number_is_named():
    broken = {"a": VARIABLES["a"], "b": {"kernel": VARIABLES["b"]["kernel"].at[0, 0].set(jnp.nan)}}
    with pytest.raises(ValueError, match=r"'b/kernel'.*not finite"):
        discover(plain, broken, X)


def test_leaves_must_be_arrays():
    with pytest.raises(TypeError, match="'b/kernel' is not an array"):
        discover(plain, {"a": VARIABLES["a"], "b": {"kernel": "weights"}}, X)


def test_outputs_must_be_finite():
    with pytest.raises(ValueError, match="outputs of apply are not finite"):
        discover(lambda v, x: plain(v, x) / 0, VARIABLES, X)


def test_outputs_must_be_numbers_that_can_change():
    with pytest.raises(ValueError, match="no floating-point outputs"):
        discover(lambda v, x: plain(v, x).argmax(-1), VARIABLES, X)


def test_what_fails_the_numerical_check_is_dropped_and_named(monkeypatch):
    """A wrong law (the exponential as an odd, homogeneous function) is found out."""
    monkeypatch.setitem(trace.RULES, "exp", elementwise.elementwise(laws.LINEAR))
    group = discover(lambda v, x: jnp.exp(x @ v["a"]["kernel"]) @ v["b"]["kernel"], VARIABLES, X)
    assert (group.sign_bits, group.scale_dimension) == (0, 0)
    assert group.log10_permutations == pytest.approx(lf(4))
    assert len(group.dropped) == 2
    assert all("a/kernel" in line for line in group.dropped)
    assert "dropped" in str(group)


def test_low_precision_in_the_program_is_allowed_for():
    def apply(v, x):
        h = jax.nn.relu(x.astype(jnp.bfloat16) @ v["a"]["kernel"].astype(jnp.bfloat16))
        return h.astype(jnp.float32) @ v["b"]["kernel"]

    group = discover(apply, VARIABLES, X)
    assert (group.log10_permutations, group.scale_dimension) == (pytest.approx(lf(4)), 4)


def test_dicts_without_leaves_reach_the_program():
    """Collections and layers without parameters are handed on as they are."""

    def apply(v, x):
        assert v["stats"] == {}
        assert v["params"]["activation"] == {}
        return plain(v["params"], x)

    variables = {"params": {**VARIABLES, "activation": {}}, "stats": {}}
    assert discover(apply, variables, X).scale_dimension == 4


def test_inputs_may_be_trees_and_outputs_too():
    def apply(v, batch):
        h = jax.nn.relu(batch["x"] @ v["a"]["kernel"])
        return {"mean": h @ v["b"]["kernel"], "number": jnp.argmax(h @ v["b"]["kernel"], -1)}

    group = discover(apply, VARIABLES, {"x": X, "id": jnp.arange(8)})
    assert group.scale_dimension == 4


def test_dropout_with_a_fixed_mask_pins_the_units_it_acts_on():
    """A mask drawn with a constant key is a constant that varies: 4 units stay in place; 4 scales."""

    def apply(v, x):
        h = jax.nn.relu(x @ v["a"]["kernel"])
        return jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, h.shape), h, 0) @ v["b"]["kernel"]

    expect(apply, VARIABLES, X, permutations=0, signs=0, scales=4)


class Module(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.stem = nnx.Conv(1, 4, (3, 3), rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.hidden = nnx.Linear(4, 5, rngs=rngs)
        self.head = nnx.Linear(5, 2, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.stem(x)))
        x = self.drop(x.mean((1, 2)))
        return self.head(nnx.gelu(self.hidden(x)))


def test_flax_module_in_evaluation():
    """4 channels with batch norm (4 signs, 4 + 4 scales), dropout that does nothing, 5 GELU units."""
    module = Module(nnx.Rngs(0))
    module.eval()
    graph, state = nnx.split(module)
    dropout = {"drop"}
    plain_state = nnx.to_pure_dict(state)
    kept = {name: leaf for name, leaf in plain_state.items() if name not in dropout}

    def apply(v, x):
        full = {name: v.get(name, leaf) for name, leaf in plain_state.items()}
        restored = nnx.state(module)
        nnx.replace_by_pure_dict(restored, full)
        return nnx.merge(graph, restored)(x)

    expect(apply, kept, inputs(8, 4, 4, 1), permutations=lf(4) + lf(5), signs=4, scales=8, brute_force=False)


def test_flax_attention():
    """2 heads of 3: as worked out for attention, 2! 3!^2 3!^2, 12 signs and 12 scales; kernels have three
    axes.
    """
    module = nnx.MultiHeadAttention(num_heads=2, in_features=6, decode=False, rngs=nnx.Rngs(0))
    graph, state = nnx.split(module)

    def apply(v, x):
        restored = nnx.state(module)
        nnx.replace_by_pure_dict(restored, v)
        return nnx.merge(graph, restored)(x)

    variables = nnx.to_pure_dict(state)
    total = lf(2) + 4 * lf(3)
    expect(apply, variables, inputs(2, 4, 6), permutations=total, signs=12, scales=12, brute_force=False)
