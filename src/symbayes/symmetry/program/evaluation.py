"""A program in float64, and whether it is one that can be analysed: pure, of fixed shapes, with finite
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from symbayes import trees
from symbayes.symmetry.program.double import BITS, narrow, wide
from symbayes.symmetry.program.trace import jaxpr_of


def double(tree: Any) -> Any:
    """Every floating-point leaf in float64, as numpy arrays."""

    def convert(leaf: Any) -> np.ndarray:
        array = np.asarray(leaf)
        return array.astype(np.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree.map(convert, tree)


@dataclass(frozen=True)
class Evaluation:
    """A program in float64; `precision` is the rounding of its coarsest operation."""

    jaxpr: Any
    paths: tuple[str, ...]
    inputs: tuple[Any, ...]
    precision: float

    @classmethod
    def of(cls, apply: Callable[..., Any], variables: trees.Tree, x: Any) -> Evaluation:
        flat = trees.flatten(variables)
        require_finite(flat)

        def function(leaves: Sequence[Any], inputs: Any) -> Any:
            return apply(_rebuilt(variables, dict(zip(flat, leaves, strict=True))), inputs)

        traced = _trace_twice(function, list(flat.values()), x)
        precision = max((float(jnp.finfo(dtype).eps) for dtype in _narrow_types(traced)), default=2.3e-16)
        return cls(wide(traced), tuple(flat), tuple(map(double, jax.tree.leaves(x))), precision)

    def __call__(
        self, flat: Mapping[str, jax.Array | np.ndarray], inputs: tuple[Any, ...]
    ) -> list[jax.Array]:
        """The floating-point outputs at these parameters."""
        leaves = [*(flat[path] for path in self.paths), *inputs]
        typed = [
            jnp.asarray(leaf, aval.dtype) for leaf, aval in zip(leaves, self.jaxpr.in_avals, strict=True)
        ]
        outs = jaxpr_as_fun(self.jaxpr)(*typed)
        return [out for out in outs if jnp.issubdtype(out.dtype, jnp.inexact)]

    @property
    def calls_back(self) -> bool:
        """Whether the program leaves JAX, so that two runs of it may differ."""
        return any("call" in eqn.primitive.name for eqn in _equations(self.jaxpr))


def _rebuilt(tree: trees.Tree, flat: Mapping[str, Any], prefix: str = "") -> trees.Tree:
    """The tree with these leaves; a dict without leaves stays."""
    if not isinstance(tree, Mapping):
        return flat[prefix]
    return {key: _rebuilt(tree[key], flat, f"{prefix}/{key}" if prefix else key) for key in tree}


def require_finite(flat: dict[str, Any]) -> None:
    for path, leaf in flat.items():
        if not hasattr(leaf, "shape"):
            raise TypeError(f"the parameter {path!r} is not an array but {type(leaf).__name__}")
        if jnp.issubdtype(leaf.dtype, jnp.floating) and not np.all(np.isfinite(np.asarray(leaf))):
            raise ValueError(f"the parameter {path!r} holds values that are not finite")


def _trace_twice(function: Callable[..., Any], leaves: list, inputs: Any) -> Any:
    """The program, after a second look that it is a pure function."""
    try:
        first, second = (jaxpr_of(function, leaves, inputs) for _ in range(2))
    except jax.errors.UnexpectedTracerError as error:
        raise ValueError("apply is not pure: it keeps values from one call to the next") from error
    except (jax.errors.JAXTypeError, jax.errors.NonConcreteBooleanIndexError) as error:
        raise ValueError(
            "apply cannot be traced: its shapes or branches depend on the values of its inputs; "
            "write it with fixed shapes (jax.numpy.where, jax.lax.cond)"
        ) from error
    same = _text(first) == _text(second) and all(
        np.array_equal(a, b, equal_nan=jnp.issubdtype(a.dtype, jnp.inexact))
        for a, b in zip(first.consts, second.consts, strict=True)
    )
    if not same:
        raise ValueError("apply is not pure: two calls with the same arguments ran different programs")
    return first


def _text(jaxpr: Any) -> str:
    """The program in words, without the addresses of Python objects."""
    return re.sub(r"0x[0-9a-f]+", "", str(jaxpr.jaxpr))


def _equations(jaxpr: Any) -> Iterator[Any]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        yield eqn
        for sub in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
            if hasattr(sub, "eqns"):
                yield from _equations(sub)


def _narrow_types(jaxpr: Any) -> Iterator[Any]:
    """The floating-point types of the operations that are not widened."""
    for eqn in filter(narrow, _equations(jaxpr)):
        # What is made of bits is not rounded; what is made into bits is.
        found = eqn.invars if eqn.primitive.name == BITS else (*eqn.invars, *eqn.outvars)
        types = [getattr(var.aval, "dtype", None) for var in found]
        yield from (dtype for dtype in types if dtype is not None and jnp.issubdtype(dtype, jnp.inexact))


def difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """The largest absolute difference between two lists of outputs; infinite where one is not finite."""
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        with np.errstate(invalid="ignore"):
            gap = np.where(x == y, 0.0, np.abs(x - y))  # equal infinities, as of a mask, do not differ
        worst = max(worst, float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0)))
    return worst
