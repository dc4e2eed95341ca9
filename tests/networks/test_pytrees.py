"""Pytrees of arrays as named trees and back."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes import trees
from symbayes.networks import pytrees


class Layer(NamedTuple):
    kernel: Any
    bias: Any


arrays = st.lists(st.integers(1, 3), max_size=2).map(lambda shape: np.ones(shape, np.float32))
names = st.text("abc01", min_size=1, max_size=3)
nested = st.recursive(
    arrays,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.tuples(inner, inner)
        | st.builds(Layer, inner, inner)
        | st.dictionaries(names, inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
).filter(lambda tree: not isinstance(tree, np.ndarray))


@given(nested)
def test_there_and_back(tree: Any) -> None:
    leaves, structure = jax.tree.flatten(tree)
    tree = structure.unflatten([leaf + i for i, leaf in enumerate(leaves)])
    template = jax.eval_shape(lambda: jax.tree.map(jnp.asarray, tree))
    named = pytrees.to_named(tree)
    assert len(trees.flatten(named)) == len(leaves)
    again = pytrees.fill(template, named)
    assert jax.tree.structure(again) == structure
    jax.tree.map(np.testing.assert_array_equal, again, tree)


def test_names_are_attributes_keys_and_positions() -> None:
    tree = {"layers": [Layer(np.zeros(2), np.zeros(3)), (np.zeros(4),)]}
    assert trees.shapes(pytrees.to_named(tree)) == {
        "layers/0/bias": (3,),
        "layers/0/kernel": (2,),
        "layers/1/0": (4,),
    }


def test_arrays_that_are_no_parameters_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="parameters are floating-point arrays, but a/0 is int32"):
        pytrees.to_named({"a": [np.zeros(3, np.int32)]})
    for tree in (np.zeros(3), {"a/b": np.zeros(3)}, {"": np.zeros(3)}):
        with pytest.raises(ValueError, match="parameters need names without '/'"):
            pytrees.to_named(tree)


def test_variables_of_another_network_are_refused_by_name() -> None:
    template = {"a": jax.ShapeDtypeStruct((2,), jnp.float32), "static": 3}
    assert pytrees.fill(template, {"a": np.ones(2)})["static"] == 3
    with pytest.raises(ValueError, match=r"another network: missing \['a'\], surplus \['b/c'\]"):
        pytrees.fill(template, {"b": {"c": np.ones(2)}})
    with pytest.raises(ValueError, match=r"a has shape \(3,\), but this network's has \(2,\)"):
        pytrees.fill(template, {"a": np.ones(3)})
    with pytest.raises(ValueError, match=r"missing \['a'\], surplus \[\]"):
        pytrees.fill(template, {})
