"""Named parameters: nested dictionaries of arrays, addressed by path.

A tree is a nested dict with string keys; a leaf's name is its path, as in
``"params/block1/conv/kernel"``.  Names come in natural order (``l2`` before ``l10``),
which is not the order in which JAX flattens a dict: always go through `flatten` where
the order is seen by a person or a file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Tree = Any
"""A nested dict of arrays (or any JAX pytree, where a function says so)."""
Variables = dict[str, Any]
"""The variables of a network, ``{"params": ..., "stats": ...}``, or a tree that stands in their place."""
Array = jax.Array | np.ndarray
"""An array in memory or on a device; within a compiled program, what stands for one."""
Scalar = int | float | jax.Array
"""A number, or an array with one: hyper-parameters are arguments of compiled programs."""


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key under which ``l2`` comes before ``l10``."""
    parts = re.split(r"(\d+)", name)
    return [(0, int(part), part) if part.isdecimal() else (1, 0, part) for part in parts if part]


def path_key(name: str) -> list[list[tuple[int, int, str]]]:
    """Sort key that puts whole paths into the order of `flatten`."""
    return [natural_key(part) for part in name.split("/")]


def flatten(tree: Tree, prefix: str = "") -> dict[str, Any]:
    """The leaves by name, in natural order."""
    if not isinstance(tree, Mapping):
        return {prefix: tree}
    flat: dict[str, Any] = {}
    for key in sorted(tree, key=_checked_key):
        flat.update(flatten(tree[key], f"{prefix}/{key}" if prefix else key))
    return flat


def _checked_key(key: object) -> list[tuple[int, int, str]]:
    if not isinstance(key, str) or not key or "/" in key:
        raise TypeError(f"the keys of a tree are non-empty strings without '/', not {key!r}")
    return natural_key(key)


def unflatten(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The nested dict with these leaves; the inverse of `flatten`."""
    tree: dict[str, Any] = {}
    for name, leaf in flat.items():
        *parents, last = name.split("/")
        node = tree
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = leaf
    return tree


def like(tree: Tree, flat: Mapping[str, Any], prefix: str = "") -> Any:
    """A tree with other leaves, by name; branches without leaves stay."""
    if not isinstance(tree, Mapping):
        return flat[prefix]
    return {key: like(branch, flat, f"{prefix}/{key}" if prefix else key) for key, branch in tree.items()}


def variables(flat: Mapping[str, Any]) -> dict[str, Any]:
    """The variables with these leaves: those of a network without statistics have the key ``stats`` too."""
    tree = unflatten(flat)
    return {**tree, "stats": tree.get("stats", {})} if "params" in tree else tree


def names(tree: Tree) -> list[str]:
    """The names of the leaves, in natural order."""
    return list(flatten(tree))


def jax_names(tree: Tree) -> list[str]:
    """The names of the leaves, in the order in which JAX flattens the tree."""
    return jax.tree.leaves(map_named(lambda name, _: name, tree))


def map_named(function: Callable[[str, Any], Any], tree: Tree) -> dict[str, Any]:
    """Apply ``function(name, leaf)`` to every leaf."""
    return unflatten({name: function(name, leaf) for name, leaf in flatten(tree).items()})


def stack(trees: Sequence[Tree], axis: int = 0) -> Tree:
    """One tree whose leaves have a new axis over the given trees."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves, axis), *trees)


def index(tree: Tree, where: Any) -> Tree:
    """Index every leaf, as in ``leaf[where]``."""
    return jax.tree.map(lambda leaf: leaf[where], tree)


def size(tree: Tree) -> int:
    """How many numbers the tree holds."""
    return sum(math.prod(leaf.shape) for leaf in jax.tree.leaves(tree))


def nbytes(tree: Tree) -> int:
    """How many bytes the tree's numbers take."""
    return sum(math.prod(leaf.shape) * np.dtype(leaf.dtype).itemsize for leaf in jax.tree.leaves(tree))


def dot(a: Tree, b: Tree) -> jax.Array:
    """The inner product over all leaves."""
    products = jax.tree.map(lambda x, y: jnp.sum(x * y), a, b)
    return jax.tree.reduce(jnp.add, products, jnp.zeros(()))


def norm(tree: Tree) -> jax.Array:
    """The Euclidean norm over all leaves."""
    return jnp.sqrt(dot(tree, tree))


def ravel(tree: Tree, batch_dims: int = 0) -> jax.Array:
    """All leaves as one vector in natural order, keeping the first `batch_dims` axes."""
    leaves = list(flatten(tree).values())
    return jnp.concatenate([jnp.reshape(x, (*x.shape[:batch_dims], -1)) for x in leaves], axis=-1)


def random_normal(key: jax.Array, like: Tree) -> Tree:
    """Standard normal numbers shaped like the tree, from one stream over all leaves."""
    return cut_stream(lambda count: jax.random.normal(key, (count,)), like)


def cut_stream(draw: Callable[[int], jax.Array], like: Tree) -> Tree:
    """The numbers that ``draw(count)`` gives, shaped like the tree.

    One stream, since a generator per leaf would be compiled as many times as there are leaves.
    """
    leaves, structure = jax.tree.flatten(like)
    ends = np.cumsum([math.prod(leaf.shape) for leaf in leaves])
    parts = jnp.split(draw(int(ends[-1])), ends[:-1])
    return jax.tree.unflatten(
        structure, [part.reshape(leaf.shape) for part, leaf in zip(parts, leaves, strict=True)]
    )


def shapes(tree: Tree) -> dict[str, tuple[int, ...]]:
    """The shape of every leaf, by name."""
    return {name: tuple(leaf.shape) for name, leaf in flatten(tree).items()}
