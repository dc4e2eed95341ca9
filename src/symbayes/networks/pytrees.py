"""Any pytree of arrays as a nested dict with names, and back."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.networks.sizes import require_shape
from symbayes.specs import require


def to_named(pytree: Any) -> dict[str, Any]:
    """The arrays of a pytree, named by the attributes, keys and positions that lead to them."""
    flat = {}
    for path, leaf in jax.tree_util.tree_leaves_with_path(pytree):
        name = _name(path)
        if not jnp.issubdtype(leaf.dtype, jnp.inexact):
            raise TypeError(f"parameters are floating-point arrays, but {name} is {leaf.dtype}")
        flat[name] = leaf
    return trees.unflatten(flat)


def fill(template: Any, named: dict[str, Any]) -> Any:
    """The pytree like `template` with the named arrays in the place of its abstract ones."""
    given = trees.flatten(named) if named else {}
    abstract = {
        _name(path): leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(template)
        if isinstance(leaf, jax.ShapeDtypeStruct)
    }
    missing, surplus = sorted(abstract.keys() - given.keys()), sorted(given.keys() - abstract.keys())
    require(
        not missing and not surplus,
        f"these are the variables of another network: missing {missing}, surplus {surplus}",
    )
    for name, leaf in abstract.items():
        require_shape(name, given[name].shape, leaf.shape, "this network's")
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: given[_name(path)] if isinstance(leaf, jax.ShapeDtypeStruct) else leaf, template
    )


def _name(path: tuple[Any, ...]) -> str:
    parts = [jax.tree_util.keystr((key,), simple=True) for key in path]
    require(
        bool(parts) and all(part and "/" not in part for part in parts),
        f"parameters need names without '/', as in a dict of arrays, not {parts}",
    )
    return "/".join(parts)
