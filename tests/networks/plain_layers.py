"""Layers in plain numpy and float64, as oracles of the networks' tests; and random variables for them."""

import math
from typing import Any

import jax
import numpy as np
import scipy.special

Pair = tuple[int, int]
"""Padding before and after, the same for rows and columns."""


def random_variables(network: Any, x: np.ndarray, seed: int) -> dict[str, Any]:
    """Numbers for every variable, also for those that begin at zero or one; variances are positive."""
    rng = np.random.default_rng(seed)

    def draw(path: Any, leaf: Any) -> np.ndarray:
        scale = 0.5 if leaf.ndim < 2 else 1 / math.sqrt(math.prod(leaf.shape[:-1]))
        numbers = scale * rng.normal(size=leaf.shape)
        return (np.exp(numbers) if "var" in str(path[-1]) else numbers).astype(np.float32)

    shapes = jax.eval_shape(network.init, jax.random.key(0), jax.ShapeDtypeStruct(x.shape, x.dtype))
    return jax.tree_util.tree_map_with_path(draw, shapes)


def outputs(network: Any, variables: dict[str, Any], x: np.ndarray) -> np.ndarray:
    return np.asarray(jax.jit(network.apply)(variables, x))


def dense(layer: dict[str, Any], x: np.ndarray) -> np.ndarray:
    return x @ np.float64(layer["kernel"]) + np.float64(layer.get("bias", 0.0))


def convolve(layer: dict[str, Any], x: np.ndarray, padding: Pair, stride: int = 1) -> np.ndarray:
    """The sum over the window's positions of shifted images times one matrix each."""
    kernel = np.float64(layer["kernel"])
    x = np.pad(x, ((0, 0), padding, padding, (0, 0)))
    size = [(x.shape[1 + axis] - kernel.shape[axis]) // stride + 1 for axis in (0, 1)]
    total = np.zeros((len(x), *size, kernel.shape[3])) + np.float64(layer.get("bias", 0.0))
    for i in range(kernel.shape[0]):
        for j in range(kernel.shape[1]):
            rows, columns = slice(i, i + stride * size[0], stride), slice(j, j + stride * size[1], stride)
            total += x[:, rows, columns] @ kernel[i, j]
    return total


def windows(x: np.ndarray, window: int, stride: int) -> np.ndarray:
    """All square windows as (n, rows, columns, positions, channels), without padding."""
    rows, columns = ((size - window) // stride + 1 for size in x.shape[1:3])
    cut = [
        [x[:, stride * i : stride * i + window, stride * j : stride * j + window] for j in range(columns)]
        for i in range(rows)
    ]
    stacked = np.stack([np.stack(row, 1) for row in cut], 1)
    return stacked.reshape(len(x), rows, columns, window * window, x.shape[3])


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def silu(x: np.ndarray) -> np.ndarray:
    return x * scipy.special.expit(x)


def filter_response_norm(layer: dict[str, Any], x: np.ndarray) -> np.ndarray:
    power = (x**2).mean(axis=(1, 2))[:, None, None, :]
    return layer["scale"] * x / np.sqrt(power + 1e-6) + layer["bias"]


def batch_norm(layer: dict[str, Any], mean: np.ndarray, var: np.ndarray, x: np.ndarray) -> np.ndarray:
    return layer["scale"] * (x - mean) / np.sqrt(var + 1e-5) + layer["bias"]
