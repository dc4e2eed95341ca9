"""A program in float64, and whether it is one that can be analysed: pure, of fixed shapes, with finite
parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxpr_as_fun

from symbayes import trees
from symbayes.symmetry.program.trace import jaxpr_of


def double(tree: Any) -> Any:
    """Every floating-point leaf in float64, as numpy arrays."""

    def convert(leaf: Any) -> np.ndarray:
        array = np.asarray(leaf)
        return array.astype(np.float64) if jnp.issubdtype(array.dtype, jnp.floating) else array

    return jax.tree.map(convert, tree)


@dataclass(frozen=True)
class Evaluation:
    """A program traced in float64."""

    jaxpr: Any
    paths: tuple[str, ...]
    inputs: tuple[Any, ...]

    @classmethod
    def of(cls, apply: Callable[..., Any], variables: trees.Tree, x: Any) -> Evaluation:
        flat = trees.flatten(variables)
        require_finite(flat)
        paths = tuple(flat)

        def function(leaves, inputs):
            return apply(trees.unflatten(dict(zip(paths, leaves, strict=True))), inputs)

        with jax.enable_x64(True):
            leaves, inputs = double(list(flat.values())), double(x)
            jaxpr = _trace_twice(function, leaves, inputs)
            return cls(jaxpr, paths, tuple(jax.tree.leaves(inputs)))

    def __call__(self, flat: dict[str, jax.Array], inputs: tuple[Any, ...]) -> list[jax.Array]:
        """The floating-point outputs at these parameters."""
        outs = jaxpr_as_fun(self.jaxpr)(*(flat[path] for path in self.paths), *inputs)
        return [out for out in outs if jnp.issubdtype(out.dtype, jnp.inexact)]

    @property
    def precision(self) -> float:
        """The rounding of the coarsest floating-point type in the program."""
        return max((float(jnp.finfo(dtype).eps) for dtype in _float_types(self.jaxpr)), default=2.3e-16)


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


def _float_types(jaxpr: Any) -> Iterator[Any]:
    for eqn in getattr(jaxpr, "jaxpr", jaxpr).eqns:
        for var in eqn.outvars:
            dtype = getattr(var.aval, "dtype", None)
            if dtype is not None and jnp.issubdtype(dtype, jnp.floating):
                yield dtype
        for sub in jax.tree.leaves(list(eqn.params.values()), is_leaf=lambda p: hasattr(p, "eqns")):
            if hasattr(sub, "eqns"):
                yield from _float_types(sub)


def difference(a: list[np.ndarray], b: list[np.ndarray]) -> float:
    """The largest absolute difference between two lists of outputs; infinite where one is not finite."""
    worst = 0.0
    for x, y in zip(a, b, strict=True):
        gap = np.where(x == y, 0.0, np.abs(x - y))  # equal infinities, as of a mask, do not differ
        worst = max(worst, float(np.max(np.where(np.isnan(gap), np.inf, gap), initial=0.0)))
    return worst
