"""Random small programs that compare, pick, sort, cut and join units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..symmetry_networks import draw

BATCH, FEATURES = 6, 3
Value = Callable[[Any, Any], Any]
"""A function of (variables, x) that gives (batch, units)."""


class RandomProgram:
    """A few random operations on (batch, units); parameters are named as they are met."""

    def __init__(self, seed: int, steps: int = 5):
        self.rng = np.random.default_rng(seed)
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.words: list[str] = []
        self.values: list[tuple[Value, int]] = [(lambda v, x: x, FEATURES)]
        self.values = [self.dense(), self.dense()]
        for _ in range(steps):
            name = self.rng.choice(sorted(OPERATIONS))
            self.words.append(str(name))
            self.values.append(OPERATIONS[name](self))
        self.words.append("readout")
        outs = [self.dense(value, 2)[0] for value in self.values[-2:]]
        self.apply = lambda v, x: sum(out(v, x) for out in outs)

    def parameter(self, *shape: int) -> Callable[[Any], Any]:
        name = f"p{len(self.shapes)}"
        self.shapes[name] = shape
        return lambda v: v[name]

    def variables(self, seed: int = 0) -> dict[str, Any]:
        return draw(self.shapes, seed)

    def any(self) -> tuple[Value, int]:
        return self.values[self.rng.integers(max(0, len(self.values) - 3), len(self.values))]

    def dense(self, value: tuple[Value, int] | None = None, units: int = 4) -> tuple[Value, int]:
        f, n = self.any() if value is None else value
        kernel = self.parameter(n, units)
        return (lambda v, x: f(v, x) @ kernel(v)), units

    def of_size(self, units: int) -> Value:
        """Some value with so many units."""
        f, n = self.any()
        return f if n == units else self.dense((f, n), units)[0]


Operation = Callable[[RandomProgram], tuple[Value, int]]


def unary(function: Callable[[Any], Any]) -> Operation:
    def operation(program: RandomProgram) -> tuple[Value, int]:
        f, n = program.any()
        return (lambda v, x: function(f(v, x))), n

    return operation


def binary(function: Callable[[Any, Any], Any]) -> Operation:
    def operation(program: RandomProgram) -> tuple[Value, int]:
        f, n = program.any()
        g = program.of_size(n)
        return (lambda v, x: function(f(v, x), g(v, x))), n

    return operation


def table(indices: Callable[[Any], Any]) -> Operation:
    """Rows of a parameter, looked up by (batch, any) indices that the units give, and summed."""

    def operation(program: RandomProgram) -> tuple[Value, int]:
        f, n = program.any()
        rows = program.parameter(n, 4)
        return (lambda v, x: rows(v)[indices(f(v, x))].sum(1)), 4

    return operation


def gain(program: RandomProgram) -> tuple[Value, int]:
    f, n = program.any()
    scale, bias = program.parameter(n), program.parameter(n)
    return (lambda v, x: f(v, x) * scale(v) + bias(v)), n


def positions(program: RandomProgram) -> tuple[Value, int]:
    """The first rows of a longer table, added to the examples."""
    f, n = program.any()
    rows = program.parameter(BATCH + 2, n)
    return (lambda v, x: f(v, x) + rows(v)[:BATCH]), n


def joined(program: RandomProgram) -> tuple[Value, int]:
    (f, n), (g, m) = program.any(), program.any()
    return program.dense(((lambda v, x: jnp.concatenate([f(v, x), g(v, x)], -1)), n + m))


def cut(program: RandomProgram) -> tuple[Value, int]:
    f, n = program.any()
    start = int(program.rng.integers(n - 1))
    return (lambda v, x: f(v, x)[:, start : start + 2]), 2


def halves(program: RandomProgram) -> tuple[Value, int]:
    """A fused kernel of two parts, one of which gates the other."""
    f, _ = program.dense(units=8)
    return (lambda v, x: jax.nn.relu(f(v, x)[:, :4]) * f(v, x)[:, 4:]), 4


def folded(program: RandomProgram) -> tuple[Value, int]:
    f, _ = program.dense(units=6)
    return (lambda v, x: f(v, x).reshape(-1, 2, 3).max(1)), 3


def window(program: RandomProgram) -> tuple[Value, int]:
    """Two units, from a place that others decide."""
    f, n = program.any()
    g = program.of_size(n)

    def value(v, x):
        start = jnp.argmax(g(v, x).sum(0))
        return jax.lax.dynamic_slice(f(v, x), (0, start), (BATCH, 2))

    return value, 2


def scanned(program: RandomProgram) -> tuple[Value, int]:
    """A recurrence over the examples, from float32 zeros."""
    f, n = program.any()
    kernel = program.parameter(n, n)

    def value(v, x):
        def step(h, row):
            h = jax.nn.relu(row + h @ kernel(v))
            return h, h

        rows = f(v, x)
        return jax.lax.scan(step, jnp.zeros(n, rows.dtype), rows)[1]

    return value, n


OPERATIONS: dict[str, Operation] = {
    "relu": unary(jax.nn.relu),
    "tanh": unary(jnp.tanh),
    "abs": unary(jnp.abs),
    "sign": unary(jnp.sign),
    "round": unary(jnp.round),
    "clip": unary(lambda h: jnp.clip(h, -1, 1)),
    "clip to positive": unary(lambda h: jnp.clip(h, 0, 1)),
    "leaky": unary(lambda h: jnp.where(h > 0, h, 0.1 * h)),
    "above a constant": unary(lambda h: jnp.where(h > 0.3, h, 0.0)),
    "as integers": unary(lambda h: (3 * h).astype(jnp.int32).astype(h.dtype)),
    "softmax": unary(jax.nn.softmax),
    "unit norm": unary(lambda h: h / jnp.sqrt(jnp.sum(h * h, -1, keepdims=True) + 1e-3)),
    "largest one": unary(lambda h: h / (jnp.abs(h).max(-1, keepdims=True) + 1e-9)),
    "only the largest": unary(lambda h: jnp.where(h >= h.max(-1, keepdims=True), h, 0)),
    "sort": unary(lambda h: jnp.sort(h, -1)),
    "ranks": unary(lambda h: jnp.argsort(jnp.argsort(h, -1), -1).astype(h.dtype)),
    "running sum": unary(lambda h: jnp.cumsum(h, -1)),
    "running maximum": unary(lambda h: jax.lax.cummax(h, 1)),
    "roll": unary(lambda h: h + jnp.roll(h, 1, -1)),
    "flip": unary(lambda h: h - h[:, ::-1]),
    "count": unary(lambda h: jnp.sum(h > 0, -1, keepdims=True) * h),
    "add": binary(jnp.add),
    "multiply": binary(jnp.multiply),
    "maximum": binary(jnp.maximum),
    "where above": binary(lambda h, g: jnp.where(h > g, h, 0)),
    "mask by the mean": binary(lambda h, g: h * (g > g.mean(-1, keepdims=True))),
    "mask by the largest": binary(lambda h, g: h * (g >= jax.lax.top_k(g, 2)[0][:, -1:])),
    "one by argmax": binary(lambda h, g: h * jnp.take_along_axis(h, jnp.argmax(g, -1)[:, None], -1)),
    "in the order of": binary(lambda h, g: jnp.take_along_axis(h, jnp.argsort(g, -1), -1)),
    "clamp": binary(lambda h, g: jax.lax.clamp(-jnp.abs(g), h, jnp.abs(g))),
    "row by argmax": table(lambda h: jnp.argmax(h, -1)[:, None]),
    "row by argmin": table(lambda h: jnp.argmin(h, -1)[:, None]),
    "rows by top_k": table(lambda h: jax.lax.top_k(h, 2)[1]),
    "row by a count": table(lambda h: jnp.clip(jnp.sum(h > 0, -1), 0, h.shape[-1] - 1)[:, None]),
    "gain": gain,
    "positions": positions,
    "join": joined,
    "cut": cut,
    "halves": halves,
    "fold": folded,
    "window": window,
    "scan": scanned,
    "dense": lambda program: program.dense(),
}
