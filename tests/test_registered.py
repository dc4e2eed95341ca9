"""Dataclasses as pytrees: the class and static fields decide the structure."""

from dataclasses import dataclass, field
from typing import Any

import jax
import pytest

from symbayes.pytrees import pytree


@pytree
@dataclass(frozen=True)
class Plus:
    value: Any
    times: int = field(default=1, metadata={"static": True})
    derived: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        assert isinstance(self.value, float), "validated when made"

    def apply(self, x: Any) -> Any:
        return x + self.times * self.value


@pytree
@dataclass(frozen=True)
class Minus:
    value: Any
    times: int = field(default=1, metadata={"static": True})
    derived: Any = field(default=None, init=False)

    def apply(self, x: Any) -> Any:
        return x - self.times * self.value


def test_class_and_static_fields_are_structure() -> None:
    structure = jax.tree.structure
    assert structure(Plus(1.0)) == structure(Plus(2.0))
    assert structure(Plus(1.0)) != structure(Minus(1.0))
    assert structure(Plus(1.0)) != structure(Plus(1.0, times=2))


def test_rebuilt_as_it_was_and_not_validated_again() -> None:
    doubled = jax.tree.map(lambda leaf: 2 * leaf, Plus(1.5, times=3))
    assert doubled == Plus(3.0, times=3)
    assert jax.tree.map(lambda _: "anything", Plus(1.5)).value == "anything"
    made = Plus(1.0)
    object.__setattr__(made, "derived", 7.0)
    assert jax.tree.leaves(made) == [1.0, 7.0]
    assert jax.tree.map(lambda leaf: leaf, made).derived == 7.0
    assert [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(made)] == [
        ".value",
        ".derived",
    ]


def test_as_an_argument_of_a_program() -> None:
    apply: Any = jax.jit(lambda change, x: change.apply(x))
    results = [
        float(apply(change, 10.0)) for change in (Plus(1.0), Plus(2.0), Minus(1.0), Plus(1.0, times=3))
    ]
    assert results == pytest.approx([11, 12, 9, 13])
    assert apply._cache_size() == 3
