import json
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from symbayes import specs


@dataclass(frozen=True)
class Leaf:
    number: float | None = 1.0
    label: str = "a"


@dataclass(frozen=True)
class Tree:
    widths: tuple[int, ...] = ()
    leaf: Leaf = field(default_factory=Leaf)
    more: tuple[Any, ...] = ()
    flag: bool = False


KINDS = {"Leaf": Leaf, "Tree": Tree}
numbers = st.floats(allow_nan=False)
leaves = st.builds(Leaf, number=st.none() | numbers, label=st.text())
configurations = st.builds(
    Tree,
    widths=st.lists(st.integers()).map(tuple),
    leaf=leaves,
    more=st.lists(leaves | st.integers() | st.text()).map(tuple),
    flag=st.booleans(),
)
finite32 = st.floats(width=32, allow_nan=False)


@given(configurations)
def test_decode_is_the_inverse_of_encode_through_json(value):
    encoded = specs.encode(value)
    assert encoded["kind"] == "Tree"
    assert specs.decode(json.loads(json.dumps(encoded)), KINDS) == value


@given(finite32)
def test_float32_is_written_as_its_shortest_decimal_and_reads_back_exactly(value):
    single = np.float32(value)
    encoded = specs.encode(single)
    assert type(encoded) is float
    assert encoded == float(str(single))
    assert np.float32(json.loads(json.dumps(encoded))) == single


@given(hnp.arrays(np.float32, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0), elements=finite32))
def test_arrays_of_float32_read_back_exactly(array):
    encoded = json.loads(json.dumps(specs.encode(array)))
    np.testing.assert_array_equal(np.array(encoded, np.float32).reshape(array.shape), array)


@pytest.mark.parametrize("value", [0.1, 1e-3, 0.3, 5e-45, 3.4e38])
def test_a_person_reads_the_number_that_was_given(value):
    assert specs.encode(jnp.float32(value)) == pytest.approx(value, rel=0.2)
    assert len(repr(specs.encode(np.float32(value)))) <= 7


def test_other_arrays_and_mappings_are_plain_json():
    value = {"a": np.arange(3), "b": np.bool_(True), "c": np.float64(0.1), "d": [np.int64(2), None]}
    assert json.dumps(specs.encode(value)) == '{"a": [0, 1, 2], "b": true, "c": 0.1, "d": [2, null]}'


def test_unknown_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match=r"unknown kind 'Tree': known here are Leaf"):
        specs.decode(specs.encode(Tree()), {"Leaf": Leaf})


@given(configurations, configurations)
def test_differences_are_empty_exactly_for_equal_values(a, b):
    one, other = specs.encode(a), specs.encode(b)
    assert specs.differences(one, one) == []
    assert bool(specs.differences(one, other)) == (one != other)


def test_differences_name_the_field():
    lines = specs.differences(specs.encode(Tree(leaf=Leaf(1.0))), specs.encode(Tree(leaf=Leaf(2.0))))
    assert lines == ["leaf.number: 1.0 there, 2.0 now"]
    assert specs.differences({"a": 1}, {"b": 1}) == ["a: 1 there, None now", "b: None there, 1 now"]


def test_different_kinds_differ_in_their_name_alone():
    assert specs.differences(specs.encode(Tree()), specs.encode(Leaf())) == ["kind: 'Tree' there, 'Leaf' now"]


@pytest.mark.parametrize("bad", [0, -1, -0.5, float("inf"), float("nan")])
def test_numbers_that_are_not_positive_are_refused_by_name(bad):
    with pytest.raises(ValueError, match="step_size must be a positive number, not"):
        specs.require_positive(draws=1, step_size=bad)


def test_positive_numbers_and_arrays_pass():
    specs.require_positive(a=1, b=2e-37, c=jnp.float32(-1), d=None)
    specs.require(np.True_, "never")


@pytest.mark.parametrize("bad", [1e-39, 1e-300, 3.5e38, 10**40])
def test_numbers_that_float32_does_not_hold_are_refused_by_name(bad):
    with pytest.raises(
        ValueError, match=r"scale must lie between 1e-37 and 3e\+38, the range of float32, not"
    ):
        specs.require_positive(scale=bad)


@pytest.mark.parametrize("bad", [0, -1, 2.0, True, np.float32(3), None, "3"])
def test_counts_are_whole_numbers(bad: Any) -> None:
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1, not"):
        specs.require_counts(chains=4, draws=bad)
    specs.require_counts(draws=np.int64(1))
    specs.require_counts(least=0, burn_in=0)


def test_counts_end_where_programs_stop_counting() -> None:
    specs.require_counts(draws=2**31 - 1)
    with pytest.raises(ValueError, match=r"draws must be at most 2,147,483,647, not 2,147,483,648"):
        specs.require_counts(draws=2**31)


def test_the_closest_name_is_hinted_at():
    assert specs.did_you_mean("minst", ["digits", "mnist"]) == " (did you mean 'mnist'?)"
    assert specs.did_you_mean("MNIST", ["digits", "mnist"]) == " (did you mean 'mnist'?)"
    assert specs.did_you_mean("minst", ["digits"]) == ""


def test_values_of_another_kind_are_refused_with_an_example():
    example = {"example": "Leaf(1.0)"}
    specs.require_kind("the leaf", Leaf(), "number", **example)
    with pytest.raises(TypeError, match=r"^give the leaf as in Leaf\(1.0\), not a value of type str$"):
        specs.require_kind("the leaf", "leaf", "number", **example)
    with pytest.raises(TypeError, match=r"^give the leaf as in Leaf\(1.0\), not the class Leaf itself$"):
        specs.require_kind("the leaf", Leaf, "number", **example)


@pytest.mark.parametrize("bad", ["0.1", [0.1], (1,), True])
def test_words_and_lists_are_no_positive_numbers(bad):
    with pytest.raises(ValueError, match="step_size must be a positive number, not"):
        specs.require_positive(step_size=bad)
