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
    return trees.unflatten({path: jax.device_put(np.float32(array)) for path, array in flat.items()})


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


def largest_change(
    group: Symmetry, apply: Callable[..., Any], variables: Any, x: Any, seed: int = 0
) -> float:
    """How much the outputs change, relative to the largest, under random elements of small and large scales.

    Weights and inputs are drawn anew, in float64: nothing of the package's own check is used.
    """
    rng = np.random.default_rng(seed)
    worst = 0.0
    with jax.enable_x64(True):
        run = jax.jit(lambda w, g, at: (apply(w, at), apply(group.act(g, w), at)))
        for spread in (0.2, 0.7, 2.0, 4.0):
            draws = {
                path: np.exp(rng.normal(size=leaf.shape))
                if path.endswith("var")
                else rng.normal(size=leaf.shape)
                for path, leaf in trees.flatten(variables).items()
            }
            whole = jnp.issubdtype(x.dtype, jnp.integer)
            at = (
                rng.permutation(np.asarray(x).ravel()).reshape(x.shape) if whole else rng.normal(size=x.shape)
            )
            element = group.random_element(jax.random.key(rng.integers(2**31)), spread=spread)
            before, after = run(trees.unflatten(draws), element, at)
            for a, b in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
                worst = max(worst, float(jnp.max(jnp.abs(a - b)) / jnp.max(jnp.abs(a), initial=1e-30)))
    return worst


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
