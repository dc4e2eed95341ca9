"""Groups of attention and embeddings, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import pytest

from ..symmetry_networks import draw, expect, inputs, layer_norm, rms_norm
from ..symmetry_networks import log10_factorial as lf

HEADS, DIM = 2, 3


def attend(q, k, v):
    """Softmax attention of arrays (batch, token, head, dimension)."""
    weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) / DIM**0.5)
    return jnp.einsum("bhts,bshd->bthd", weights, v)


def split_heads(x):
    return x.reshape(*x.shape[:-1], HEADS, DIM)


def merge_heads(x):
    return x.reshape(*x.shape[:-2], HEADS * DIM)


# Heads permute as blocks, and within each head the query-key and the value dimensions: 2! 3!^2 3!^2.
# Nothing stands between query and key, nor between value and output: a sign and a scale for each of 6 + 6.
ATTENTION = {"permutations": lf(2) + 2 * lf(3) + 2 * lf(3), "signs": 12, "scales": 12}


def test_separate_projections():
    def apply(v, x):
        q, k, u = (split_heads(x @ v[name]["kernel"] + v[name]["bias"]) for name in ("query", "key", "value"))
        return merge_heads(attend(q, k, u)) @ v["out"]["kernel"]

    shapes = {f"{name}/kernel": (4, 6) for name in ("query", "key", "value")}
    shapes |= {f"{name}/bias": (6,) for name in ("query", "key", "value")}
    # The key's bias adds the same to all logits of a query, which softmax forgets: its 6 entries do not
    # matter at all.
    variables = draw(shapes | {"out/kernel": (6, 4)})
    group = expect(apply, variables, inputs(6, 5, 4), **ATTENTION, beyond=6)
    assert sorted((p.size, p.copies) for p in group.permutations) == [(2, 1), (3, 2), (3, 2)]


def test_heads_on_their_own_axis():
    """Kernels of shape (features, heads, dimensions): one permutation then spans two axes."""

    def apply(v, x):
        q, k, u = (jnp.einsum("btc,chd->bthd", x, v[name]) for name in ("query", "key", "value"))
        return jnp.einsum("bthd,hdc->btc", attend(q, k, u), v["out"])

    shapes = dict.fromkeys(("query", "key", "value"), (4, HEADS, DIM))
    group = expect(apply, draw(shapes | {"out": (HEADS, DIM, 4)}), inputs(6, 5, 4), **ATTENTION)
    assert [site.axes for site in group.sites["query"]] == [(1, 2)]


def test_fused_projection_that_is_split():
    def apply(v, x):
        q, k, u = map(split_heads, jnp.split(x @ v["qkv"] + v["bias"], 3, -1))
        return merge_heads(attend(q, k, u)) @ v["out"]

    variables = draw({"qkv": (4, 18), "bias": (18,), "out": (6, 4)})
    expect(apply, variables, inputs(6, 5, 4), **ATTENTION, beyond=6)  # the key's bias, as above


@pytest.mark.parametrize("first", [True, False])
def test_fused_projection_that_is_reshaped(first):
    """One kernel for (query or key or value, head, dimension), indexed after the product."""

    def apply(v, x):
        qkv = (x @ v["qkv"] + v["bias"]).reshape(*x.shape[:2], 3, HEADS, DIM)
        if first:
            q, k, u = qkv.transpose(2, 0, 1, 3, 4)
        else:
            q, k, u = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
        return merge_heads(attend(q, k, u)) @ v["out"]

    variables = draw({"qkv": (4, 18), "bias": (18,), "out": (6, 4)})
    expect(apply, variables, inputs(6, 5, 4), **ATTENTION, beyond=6)


def test_grouped_queries():
    """4 query heads share 2 key-value heads: 2! 2!^2 orders; dimensions within each key-value head."""

    def apply(v, x):
        q = (x @ v["query"]).reshape(*x.shape[:2], 4, DIM)
        k, u = (jnp.repeat(split_heads(x @ v[name]), 2, axis=2) for name in ("key", "value"))
        return attend(q, k, u).reshape(*x.shape[:2], 4 * DIM) @ v["out"]

    variables = draw({"query": (4, 12), "key": (4, 6), "value": (4, 6), "out": (12, 4)})
    expect(apply, variables, inputs(8, 5, 4), permutations=lf(2) + 2 * lf(2) + 4 * lf(3), signs=12, scales=12)


def test_query_key_norm_ties_the_dimensions_of_all_heads():
    """One gain per dimension for all heads: 2! for the heads, 3! for queries and keys, 3!^2 for values.

    Signs: of 6 + 6 columns of query and key and 3 + 3 gains, the product of four must be one at each of 6
    (head, dimension) pairs: 12 are free; values have 6.  Scales: from gain to gain 3, values 6.
    """

    def apply(v, x):
        q = rms_norm(split_heads(x @ v["query"]), v["q_gain"])
        k = rms_norm(split_heads(x @ v["key"]), v["k_gain"])
        return merge_heads(attend(q, k, split_heads(x @ v["value"]))) @ v["out"]

    shapes = {
        "query": (4, 6),
        "key": (4, 6),
        "value": (4, 6),
        "q_gain": (DIM,),
        "k_gain": (DIM,),
        "out": (6, 4),
    }
    expect(
        apply,
        draw(shapes),
        inputs(10, 5, 4),
        permutations=lf(2) + lf(3) + 2 * lf(3),
        signs=12 + 6,
        scales=3 + 6,
    )


TOKENS = jax.random.randint(jax.random.key(3), (6, 5), 0, 7)
C, HIDDEN = 6, 4


def transformer(norm, gain_names):
    def apply(v, tokens):
        h = v["embed"][tokens] + v["position"]
        n = norm(h, *(v["norm1"][name] for name in gain_names))
        q, k, u = (split_heads(n @ v[name]) for name in ("query", "key", "value"))
        h = h + merge_heads(attend(q, k, u)) @ v["out"]
        n = norm(h, *(v["norm2"][name] for name in gain_names))
        h = h + jax.nn.gelu(n @ v["up"] + v["b"]) @ v["down"]
        return norm(h, *(v["norm3"][name] for name in gain_names)) @ v["embed"].T

    shapes = {"embed": (7, C), "position": (5, C), "out": (6, C), "up": (C, HIDDEN), "b": (HIDDEN,)}
    shapes |= {"down": (HIDDEN, C)} | dict.fromkeys(("query", "key", "value"), (C, 6))
    shapes |= {f"norm{n}/{name}": (C,) for n in (1, 2, 3) for name in gain_names}
    return apply, draw(shapes)


ORDERS = lf(C) + lf(HIDDEN) + ATTENTION["permutations"]


def test_layer_norm_transformer_with_tied_embedding():
    """Signs: the whole stream (1), from gains and shifts 1 and 2 to what reads them (6 + 6), attention (12).

    Scales: the same without the stream, which epsilon fixes.
    """
    apply, variables = transformer(layer_norm, ("scale", "bias"))
    expect(apply, variables, TOKENS, permutations=ORDERS, signs=1 + 12 + 12, scales=12 + 12)


def test_rms_norm_transformer_with_tied_embedding():
    """As with layer norm, but every unit of the stream has its own sign (6)."""
    apply, variables = transformer(rms_norm, ("scale",))
    expect(apply, variables, TOKENS, permutations=ORDERS, signs=6 + 12 + 12, scales=12 + 12)


def test_rotary_positions():
    """Rotated in pairs by constants: the 2 heads permute; a sign and a scale per head and pair."""

    def rotate(z):
        angle = jnp.arange(5.0)[:, None] * jnp.array([1.0, 0.1])
        a, b = jnp.split(z, 2, -1)
        c, s = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
        return jnp.concatenate([a * c - b * s, a * s + b * c], -1)

    def apply(v, x):
        q, k = (rotate((x @ v[name]).reshape(*x.shape[:2], 2, 4)) for name in ("query", "key"))
        weights = jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k))
        return jnp.einsum("bhts,bsc->btc", weights, x)

    expect(
        apply, draw({"query": (3, 8), "key": (3, 8)}), inputs(8, 5, 3), permutations=lf(2), signs=4, scales=4
    )


def test_mixture_of_experts():
    """4 experts of 5 ReLU units: experts permute, and units within each: 4! 5!^4; 20 scales."""

    def apply(v, x):
        h = jax.nn.relu(jnp.einsum("bc,ech->beh", x, v["up"]))
        return jnp.einsum("be,beh,eho->bo", jax.nn.softmax(x @ v["gate"]), h, v["down"])

    variables = draw({"gate": (3, 4), "up": (4, 3, 5), "down": (4, 5, 2)})
    expect(apply, variables, inputs(40, 3), permutations=lf(4) + 4 * lf(5), signs=0, scales=20)


def test_mixer():
    """Tokens mixed through 5 units, channels (6) through 7: 6! 5! 7!.

    The stream is only ever multiplied as a whole (GELU mixes through tokens and through channels), so one
    sign and one scale are common to all of it.
    """

    def apply(v, x):
        h = x @ v["embed"]
        h = h + jnp.einsum("buc,ut->btc", jax.nn.gelu(jnp.einsum("btc,tu->buc", h, v["t1"])), v["t2"])
        h = h + jax.nn.gelu(h @ v["c1"]) @ v["c2"]
        return h.mean(1) @ v["head"]

    shapes = {"embed": (3, 6), "t1": (4, 5), "t2": (5, 4), "c1": (6, 7), "c2": (7, 6), "head": (6, 2)}
    total = lf(6) + lf(5) + lf(7)
    expect(apply, draw(shapes), inputs(40, 4, 3), permutations=total, signs=1, scales=1)


def test_embedding():
    """4 embedding dimensions summed linearly (signs, scales), then 5 ReLU units (scales)."""

    def apply(v, tokens):
        return jax.nn.relu(v["embed"][tokens].mean(1) @ v["w1"]) @ v["w2"]

    variables = draw({"embed": (7, 4), "w1": (4, 5), "w2": (5, 2)})
    tokens = jax.random.randint(jax.random.key(3), (30, 5), 0, 7)
    expect(apply, variables, tokens, permutations=lf(4) + lf(5), signs=4, scales=9)


@pytest.mark.parametrize("masked", [-jnp.inf, -1e9])
def test_causal_mask_pins_tokens_only(masked):
    def apply(v, x):
        q, k, u = (split_heads(x @ v[name]) for name in ("query", "key", "value"))
        logits = jnp.einsum("bthd,bshd->bhts", q, k)
        logits = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), logits, masked)
        return merge_heads(jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(logits), u)) @ v["out"]

    shapes = dict.fromkeys(("query", "key", "value"), (4, 6))
    expect(apply, draw(shapes | {"out": (6, 4)}), inputs(6, 5, 4), **ATTENTION)
