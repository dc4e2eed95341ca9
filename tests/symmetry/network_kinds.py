"""One small network of every kind whose draws are aligned in tests, by name: function, variables, input."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp

from symbayes.symmetry import Symmetry, discover

from .symmetry_networks import convolve, draw, inputs, layer_norm, rms_norm

relu = jax.nn.relu


def dense(activation):
    def apply(v, x):
        p = v["params"]
        for name in ("l1", "l2", "l3"):
            x = activation(x @ p[name]["kernel"] + p[name]["bias"])
        return x @ p["l10"]["kernel"] + p["l10"]["bias"]

    sizes = {"l1": (3, 9), "l2": (9, 8), "l3": (8, 7), "l10": (7, 2)}
    shapes = {f"params/{name}/kernel": size for name, size in sizes.items()}
    shapes |= {f"params/{name}/bias": size[1:] for name, size in sizes.items()}
    return apply, shapes, inputs(8, 3)


def residual_batch_norm():
    def norm(v, name, x):
        p, s = v["params"][name], v["stats"][name]
        return (x - s["mean"]) * jax.lax.rsqrt(s["var"] + 1e-3) * p["scale"] + p["bias"]

    def apply(v, x):
        p = v["params"]
        h = relu(norm(v, "bn0", convolve(x, p["stem"])))
        h = relu(h + norm(v, "bn2", convolve(relu(norm(v, "bn1", convolve(h, p["c1"]))), p["c2"])))
        return h.mean((1, 2)) @ p["head"]

    shapes = {"params/stem": (2, 2, 1, 6), "params/c1": (2, 2, 6, 5), "params/c2": (2, 2, 5, 6)}
    for name, n in (("bn0", 6), ("bn1", 5), ("bn2", 6)):
        shapes |= {f"params/{name}/{leaf}": (n,) for leaf in ("scale", "bias")}
        shapes |= {f"stats/{name}/{leaf}": (n,) for leaf in ("mean", "var")}
    return apply, shapes | {"params/head": (6, 2)}, inputs(8, 3, 3, 1)


def residual_kernels():
    """A stream of 6 that two kernels read and write directly: quadratic."""

    def apply(v, x):
        h = relu(x @ v["stem"])
        h = relu(h + h @ v["one"])
        return relu(h + h @ v["two"]) @ v["head"]

    return apply, {"stem": (3, 6), "one": (6, 6), "two": (6, 6), "head": (6, 2)}, inputs(8, 3)


def grouped_convolution():
    def apply(v, x):
        h = relu(convolve(x, v["c1"]) + v["b1"])
        h = relu(convolve(h, v["c2"], groups=3) + v["b2"])
        return h.reshape(len(x), -1) @ v["dense"]

    shapes = {"c1": (1, 1, 2, 6), "b1": (6,), "c2": (1, 1, 2, 12), "b2": (12,), "dense": (48, 2)}
    return apply, shapes, inputs(8, 2, 2, 2)


def attention():
    """Heads and dimensions on two axes, fused gates behind."""

    def apply(v, x):
        q, k, u = (jnp.einsum("btc,chd->bthd", x, v[name]) for name in ("query", "key", "value"))
        weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k))
        h = jnp.einsum("bhts,bshd,hdc->btc", weights, u, v["out"])
        gate, up = jnp.split(h @ v["in"] + v["bias"], 2, -1)
        return (relu(gate) * up) @ v["head"]

    shapes = dict.fromkeys(("query", "key", "value"), (5, 3, 4)) | {"out": (3, 4, 5), "in": (5, 12)}
    return apply, shapes | {"bias": (12,), "head": (6, 2)}, inputs(2, 4, 5)


def transformer():
    """A tied embedding and a stream with signs; heads and dimensions in one axis."""

    def heads(z):
        return z.reshape(*z.shape[:2], 2, 3)

    def apply(v, tokens):
        h = v["embed"][tokens]
        n = rms_norm(h, v["norm1"])
        q, k, u = (heads(n @ v[name]) for name in ("query", "key", "value"))
        weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k))
        h = h + jnp.einsum("bhts,bshd->bthd", weights, u).reshape(*h.shape[:2], 6) @ v["out"]
        h = h + jax.nn.gelu(rms_norm(h, v["norm2"]) @ v["up"]) @ v["down"]
        return rms_norm(h, v["norm3"]) @ v["embed"].T

    shapes = {"embed": (7, 6), "out": (6, 6), "up": (6, 5), "down": (5, 6)}
    shapes |= dict.fromkeys(("query", "key", "value"), (6, 6)) | {f"norm{n}": (6,) for n in (1, 2, 3)}
    return apply, shapes, jax.random.randint(jax.random.key(3), (3, 5), 0, 7)


def recurrent(activation):
    """The units are on both axes of the recurrent kernel."""

    def apply(v, x):
        def step(h, row):
            return activation(row @ v["w"] + h @ v["u"] + v["b"]), None

        return jax.lax.scan(step, jnp.zeros((len(x), 6)), jnp.swapaxes(x, 0, 1))[0] @ v["out"]

    return apply, {"w": (3, 6), "u": (6, 6), "b": (6,), "out": (6, 2)}, inputs(4, 4, 3)


def group_norm():
    def apply(v, x):
        h = (x @ v["in"] + v["b"]).reshape(-1, 2, 4)
        h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-3)
        return relu(h.reshape(-1, 8) * v["scale"] + v["bias"]) @ v["out"]

    return apply, {"in": (3, 8), "b": (8,), "scale": (8,), "bias": (8,), "out": (8, 2)}, inputs(8, 3)


def common_sign():
    """One sign for all units, by the mean of the normaliser."""

    def apply(v, x):
        return relu(layer_norm(x @ v["in"], v["scale"], v["bias"])) @ v["out"]

    return apply, {"in": (3, 8), "scale": (8,), "bias": (8,), "out": (8, 2)}, inputs(8, 3)


def experts():
    def apply(v, x):
        h = relu(jnp.einsum("bc,ech->beh", x, v["up"]))
        return jnp.einsum("be,beh,eho->bo", jax.nn.softmax(x @ v["gate"]), h, v["down"])

    return apply, {"gate": (3, 4), "up": (4, 3, 5), "down": (4, 5, 2)}, inputs(8, 3)


def scanned():
    def apply(v, x):
        def layer(h, w):
            return h + relu(h @ w["up"] + w["b"]) @ w["down"], None

        return jax.lax.scan(layer, x @ v["stem"], v["layers"])[0] @ v["head"]

    shapes = {"stem": (3, 4), "layers/up": (3, 4, 5), "layers/b": (3, 5), "layers/down": (3, 5, 4)}
    return apply, shapes | {"head": (4, 2)}, inputs(8, 3)


KINDS = {
    "relu": lambda: dense(relu),
    "tanh": lambda: dense(jnp.tanh),
    "abs": lambda: dense(jnp.abs),
    "gelu": lambda: dense(jax.nn.gelu),
    "residual_batch_norm": residual_batch_norm,
    "residual_kernels": residual_kernels,
    "grouped_convolution": grouped_convolution,
    "attention": attention,
    "transformer": transformer,
    "recurrent_relu": lambda: recurrent(relu),
    "recurrent_tanh": lambda: recurrent(jnp.tanh),
    "group_norm": group_norm,
    "common_sign": common_sign,
    "experts": experts,
    "scanned": scanned,
}


class Kind:
    """A network of some kind: its function, its shapes, an input and its group."""

    def __init__(self, name: str):
        apply, self.shapes, self.x = KINDS[name]()
        self.plain = apply
        self.apply = jax.jit(apply)
        self.each = jax.jit(jax.vmap(apply, (0, None)))

    @property
    def group(self) -> Symmetry:
        return self._group()

    @cache  # noqa: B019 - a handful of networks, each kept for the whole session
    def _group(self) -> Symmetry:
        return discover(self.plain, self.draw(0), self.x)

    def draw(self, seed: int):
        return draw(self.shapes, seed)


@cache
def kind(name: str) -> Kind:
    return Kind(name)
