"""What the tests of symmetries share: drawing variables, layers, and the check of a group against numbers and
oracles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry import Symmetry, discover


def log10_factorial(n: int) -> float:
    return math.log10(math.factorial(n))


def draw(shapes: dict[str, tuple[int, ...]], seed: int = 0) -> dict[str, Any]:
    """Normal variables; what is called ``var`` is positive."""
    rng = np.random.default_rng(seed)
    flat = {}
    for path, shape in shapes.items():
        array = rng.normal(size=shape)
        flat[path] = np.exp(0.3 * array) if path.split("/")[-1] == "var" else 0.5 * array
    return trees.unflatten({path: jnp.asarray(array, jnp.float32) for path, array in flat.items()})


def inputs(*shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(7), shape)


def free_scalings(apply: Callable[..., Any], variables: Any, x: Any) -> int:
    """The dimension of all diagonal scalings that keep the function, by brute force.

    Log-scales l keep f for all weights w exactly if ``J(w) diag(w) l = 0`` at generic w, with J the Jacobian.
    """
    shapes = trees.shapes(variables)
    sizes = [math.prod(shape) for shape in shapes.values()]

    def outputs(vector, at):
        leaves = jnp.split(vector, np.cumsum(sizes)[:-1])
        flat = {path: leaf.reshape(shapes[path]) for path, leaf in zip(shapes, leaves, strict=True)}
        outs = jax.tree.leaves(apply(trees.unflatten(flat), at))
        return jnp.concatenate([out.ravel() for out in outs])

    rng = np.random.default_rng(3)
    positive = np.concatenate(
        [np.full(n, path.endswith("var")) for path, n in zip(shapes, sizes, strict=True)]
    )
    with jax.enable_x64(True):
        jacobian = jax.jit(jax.jacrev(outputs))
        rows = []
        for _ in range(8):
            w = rng.normal(size=sum(sizes))
            w = np.where(positive, np.abs(w) + 0.1, w)
            at = (
                np.asarray(x)
                if np.issubdtype(np.asarray(x).dtype, np.integer)
                else 2 * rng.normal(size=x.shape)
            )
            rows.append(np.asarray(jacobian(w, at)) * w)
    stacked = np.concatenate(rows)
    stacked /= np.linalg.norm(stacked, axis=1, keepdims=True) + 1e-30
    values = np.linalg.svd(stacked, compute_uv=False)
    rank = int(np.sum(values > 1e-9 * values[0]))
    return sum(sizes) - rank


def expect(
    apply: Callable[..., Any],
    variables: Any,
    x: Any,
    *,
    permutations: float,
    signs: int,
    scales: int,
    brute_force: bool = True,
    beyond: int = 0,
) -> Symmetry:
    """The group of a program, after checking its three numbers, its action, and that no scaling was missed.

    `beyond` is how many scalings the function has that no signed permutation or scaling of single units
    explains.
    """
    group = discover(apply, variables, x)
    assert not group.dropped
    assert math.isclose(group.log10_permutations, permutations, abs_tol=1e-9), str(group)
    assert (group.sign_bits, group.scale_dimension) == (signs, scales), str(group)
    assert group.check(apply, variables, x) < 1e-9
    if brute_force:
        assert free_scalings(apply, variables, x) == scales + beyond
    return group


def convolve(x, kernel, stride: int = 1, groups: int = 1, padding: str = "SAME"):
    return jax.lax.conv_general_dilated(
        x,
        kernel,
        (stride, stride),
        padding,
        dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=groups,
    )


def layer_norm(x, scale, bias, epsilon: float = 1e-3):
    mean = jnp.mean(x, -1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(jnp.var(x, -1, keepdims=True) + epsilon) * scale + bias


def rms_norm(x, scale, epsilon: float = 1e-3):
    return x * jax.lax.rsqrt(jnp.mean(jnp.square(x), -1, keepdims=True) + epsilon) * scale
