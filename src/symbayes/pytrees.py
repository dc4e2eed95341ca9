"""Frozen dataclasses as pytrees whose class is part of their structure.

`jax.tree_util.register_dataclass` would do, but for one thing: in JAX 0.10 to 0.12 the structures of two
such classes with as many fields compare equal.  Where their hashes meet by chance, a program compiled for
one prior is run for another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, TypeVar

import jax

T = TypeVar("T")


def pytree(cls: type[T]) -> type[T]:
    """Register a frozen dataclass: fields are children, but those with ``metadata={"static": True}``.

    Rebuilding one does not validate it again, since JAX rebuilds with anything in the place of numbers.
    """
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    children = [field.name for field in fields if not field.metadata.get("static")]
    static = [field.name for field in fields if field.metadata.get("static")]

    def flatten_with_keys(self: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        keyed = [(jax.tree_util.GetAttrKey(name), getattr(self, name)) for name in children]
        return keyed, tuple(getattr(self, name) for name in static)

    def flatten(self: Any) -> tuple[list[Any], tuple[Any, ...]]:
        return [getattr(self, name) for name in children], tuple(getattr(self, name) for name in static)

    def unflatten(fixed: tuple[Any, ...], values: Iterable[Any]) -> Any:
        self = object.__new__(cls)
        for name, value in (*zip(children, values, strict=True), *zip(static, fixed, strict=True)):
            object.__setattr__(self, name, value)
        return self

    jax.tree_util.register_pytree_with_keys(cls, flatten_with_keys, unflatten, flatten)
    return cls
