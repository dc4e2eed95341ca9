"""Programs in bfloat16: rounded products and activations, in every kind of program."""

import copy
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import symbayes as sb
from symbayes import trees
from symbayes.posterior.numerics import in_bfloat16
from symbayes.posterior.posterior import Precision

UNIT = 2.0**-8
"""Half the distance from 1 to the next bfloat16, relative."""

gradient = jax.jit(lambda posterior, variables: posterior.gradient(variables))


def rounded(x: Any) -> np.ndarray:
    return np.asarray(x).astype(jnp.bfloat16).astype(np.float64)


def convolution(x: Any, kernel: Any) -> jax.Array:
    return jax.lax.conv_general_dilated(x, kernel, (1,), "SAME", dimension_numbers=("NWC", "WIO", "NWC"))


def plain_convolution(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    padded = np.pad(x, ((0, 0), (1, 1), (0, 0)))
    return sum(padded[:, i : i + x.shape[1]] @ kernel[i] for i in range(3))


@given(st.integers(0, 1000))
@settings(max_examples=10)
def test_product_and_its_gradient_round_their_operands(seed: int) -> None:
    """The cotangent is an operand too."""
    rng = np.random.default_rng(seed)
    a, b, c = (rng.normal(size=shape).astype(np.float32) for shape in ((5, 7), (7, 3), (5, 3)))

    def weighted(a: Any, b: Any) -> jax.Array:
        return jnp.sum(c * in_bfloat16(jnp.matmul)(a, b))

    value, (by_a, by_b) = jax.value_and_grad(weighted, (0, 1))(a, b)
    product = rounded(a) @ rounded(b)
    assert abs(float(value) - np.sum(c * product)) <= UNIT * np.sum(np.abs(c * product))
    np.testing.assert_array_equal(in_bfloat16(jnp.matmul)(a, b), rounded(product.astype(np.float32)))
    np.testing.assert_allclose(by_a, rounded(c) @ rounded(b).T, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(by_b, rounded(a).T @ rounded(c), rtol=1e-5, atol=1e-5)
    assert np.abs(by_b - a.T @ c).max() > 1e-4, "and are not those of float32"


def test_convolution_and_its_gradient_round_their_operands() -> None:
    rng = np.random.default_rng(1)
    x, kernel, c = (rng.normal(size=shape).astype(np.float32) for shape in ((2, 6, 3), (3, 3, 4), (2, 6, 4)))
    value, pull = jax.vjp(in_bfloat16(convolution), x, kernel)
    expected = plain_convolution(rounded(x), rounded(kernel))
    np.testing.assert_allclose(value, expected, rtol=UNIT, atol=1e-5)
    assert np.array_equal(value, rounded(value)), "what it gives is rounded too"
    exact = jax.vjp(convolution, *(jnp.asarray(rounded(v), jnp.float32) for v in (x, kernel)))[1]
    for made, expected in zip(pull(jnp.asarray(c)), exact(jnp.asarray(rounded(c), jnp.float32)), strict=True):
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "shapes", "derivative"),
    [
        (jnp.matmul, ((5, 7), (7, 3)), "float32"),
        (convolution, ((2, 6, 3), (3, 3, 4)), "bfloat16"),
    ],
)
def test_accelerators_get_operands_in_bfloat16(
    function: Any, shapes: Any, derivative: str, monkeypatch: Any
) -> None:
    """And the same numbers come out as on a CPU, where rounded float32 stand in."""
    rng = np.random.default_rng(4)
    operands = [jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes]

    def slopes(*operands: jax.Array) -> Any:
        return jax.grad(lambda *args: jnp.sum(jnp.sin(in_bfloat16(function)(*args))), (0, 1))(*operands)

    on_cpu = slopes(*operands)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=UNIT, atol=1e-3), slopes(*operands), on_cpu
    )
    with jax.default_matmul_precision("float32"):
        program = str(jax.make_jaxpr(slopes)(*operands))
    assert "HIGHEST" not in program, "in float32 they would gain nothing"
    types = re.findall(r"preferred_element_type=(\w+)", program)
    assert types == ["bfloat16", derivative, derivative]


def in_loop(w: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda carry, _: (jnp.tanh(carry @ w), carry.sum()), x, length=3)[0]


def in_while(w: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, carry: jnp.tanh(carry @ w), x)


def in_branch(w: jax.Array, x: jax.Array) -> jax.Array:
    return jax.lax.cond(x[0, 0] > 1e9, lambda: x, lambda: jnp.tanh(jnp.tanh(jnp.tanh(x @ w) @ w) @ w))


def in_jit(w: jax.Array, x: jax.Array) -> jax.Array:
    return jax.jit(lambda x: in_loop(w, x))(x)


def in_checkpoint(w: jax.Array, x: jax.Array) -> jax.Array:
    return jax.checkpoint(in_loop)(w, x)


@pytest.mark.parametrize("function", [in_loop, in_while, in_branch, in_jit, in_checkpoint])
def test_products_inside_of_other_programs(function: Any) -> None:
    rng = np.random.default_rng(2)
    w, x = (rng.normal(size=shape).astype(np.float32) for shape in ((4, 4), (5, 4)))
    by_hand = x.astype(np.float64)
    for _ in range(3):
        by_hand = rounded(np.tanh(rounded((rounded(by_hand) @ rounded(w)).astype(np.float32))))
    made = in_bfloat16(function)(w, x)
    # A compiler may leave out rounding between two steps that it does as one.
    np.testing.assert_allclose(made, by_hand, atol=3 * UNIT)
    assert np.abs(np.asarray(made) - np.asarray(function(w, x))).max() > 1e-4


def test_gradient_through_a_loop_and_in_batches() -> None:
    rng = np.random.default_rng(3)
    w, x = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((2, 4, 4), (5, 4)))

    def loss(w: jax.Array, function: Any) -> jax.Array:
        return jnp.sum(function(w, x) ** 2)

    low, full = in_bfloat16(in_loop), in_loop
    together = jax.jit(jax.vmap(lambda w: jax.grad(loss)(w, low)))(w)
    for one, each in zip(w, together, strict=True):
        np.testing.assert_allclose(each, jax.grad(loss)(one, low), rtol=1e-4, atol=1e-5)
        exact = np.asarray(jax.grad(loss)(one, full))
        error = np.linalg.norm(each - exact) / np.linalg.norm(exact)
        assert 1e-5 < error < 20 * UNIT


def test_other_types_and_functions_with_a_derivative_of_their_own_are_left() -> None:
    @jax.custom_jvp
    def squared(x: jax.Array) -> jax.Array:
        return x @ x

    squared.defjvps(lambda tangent, value, x: tangent)

    def function(x: jax.Array, n: jax.Array) -> Any:
        half = x.astype(jnp.float16)
        return {"relu": jax.nn.relu(x), "own": squared(x / 3), "whole": n @ n, "half": half @ half}

    x, n = jnp.linspace(-1, 1, 9).reshape(3, 3), jnp.arange(9).reshape(3, 3)
    made = in_bfloat16(function)(x, n)
    assert made["half"].dtype == jnp.float16
    jax.tree.map(np.testing.assert_array_equal, made, function(x, n))


def test_activations_between_products_stay_small() -> None:
    """Sums are made in float32; what is random or given is not rounded by itself."""

    def function(w: jax.Array, x: jax.Array, key: jax.Array) -> jax.Array:
        inner = jax.nn.silu(x @ w)
        kept = jax.random.bernoulli(key, 0.5, inner.shape)
        inner = jnp.where(kept, inner, 0.0)
        return (inner / jnp.sqrt(jnp.mean(inner**2, axis=1, keepdims=True))) @ w

    w, x = jnp.ones((4, 4)), jnp.ones((5, 4))
    text = str(jax.make_jaxpr(in_bfloat16(function))(w, x, jax.random.key(0)))
    assert re.search(r"bf16\[5,4\] = logistic", text)
    assert re.search(r"bf16\[5,4\] = select_n", text)
    assert re.search(r"f32\[5\] = reduce_sum", text)
    assert "f32[5,4] = lt" not in text
    assert re.search(r"bool\[5,4\] = lt \w+ 0.5:f32", text), "the mask is drawn in float32"
    assert in_bfloat16(function)(w, x, jax.random.key(0)).dtype == jnp.float32


def test_running_statistics_are_whole() -> None:
    """Rounded, they would stay where they are, up to two per cent off."""
    rng = np.random.default_rng(3)
    x, w, old = (rng.normal(size=shape).astype(np.float32) for shape in ((50, 4), (4, 3), (3,)))

    def function(x: jax.Array, w: jax.Array, old: jax.Array) -> tuple[jax.Array, jax.Array]:
        inner = x @ w
        mean = jnp.mean(inner, axis=0)
        return 0.9 * old + 0.1 * mean, (inner - mean) @ w.T

    made, outputs = in_bfloat16(function)(x, w, old)
    inner = rounded((rounded(x) @ rounded(w)).astype(np.float32))
    np.testing.assert_allclose(made, 0.9 * old + 0.1 * inner.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(outputs, (inner - inner.mean(axis=0)) @ w.T, rtol=0.05, atol=0.05)
    assert "bf16[50,3] = sub" in str(jax.make_jaxpr(in_bfloat16(function))(x, w, old))


NETWORKS = {
    "mlp": sb.networks.mlp(hidden=(6,), outputs=10),
    "cnn": sb.networks.cnn(channels=(3,), hidden=(5,), outputs=10),
}


def make(digits: Any, network: str, precision: Precision, chunk: int | None = None) -> sb.Posterior:
    likelihood, prior = sb.likelihoods.Categorical(), sb.priors.Normal(0.5)
    train = digits.train[:96]
    return sb.Posterior(NETWORKS[network], likelihood, prior, train, precision=precision, chunk=chunk)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("chunk", [None, 40])
def test_posterior_rounds_gradients_and_nothing_else(digits: Any, network: str, chunk: int | None) -> None:
    full, low = make(digits, network, "float32", chunk), make(digits, network, "bf16", chunk)
    variables = full.init(jax.random.key(1))
    exact, made = (trees.ravel(gradient(posterior, variables)) for posterior in (full, low))
    error = float(jnp.linalg.norm(made - exact) / jnp.linalg.norm(exact))
    assert 1e-5 < error < 10 * UNIT
    np.testing.assert_array_equal(made, trees.ravel(gradient(low, variables)), "it is deterministic")
    for what in (lambda p, v: p.likelihood_terms(v), lambda p, v: p.log_density(v)):
        program = jax.jit(what)
        np.testing.assert_array_equal(program(full, variables), program(low, variables))
    assert low.describe()["precision"] == "bf16"


@pytest.mark.parametrize("precision", ["float32", "tf32"])
def test_other_precisions_are_asked_of_the_device(linear: Any, precision: Precision) -> None:
    """Of gradients, whole and of mini-batches; the density is float32 always."""
    posterior = copy.copy(linear[0])
    posterior.precision = precision
    variables, rows, key = posterior.init(jax.random.key(1)), jnp.arange(8), jax.random.key(0)

    def asked(function: Any) -> set[str]:
        return set(re.findall(r"precision=\(Precision\.(\w+), ", str(jax.make_jaxpr(function)(variables))))

    low = {"float32": "HIGHEST", "tf32": "HIGH"}[precision]
    assert asked(posterior.gradient) == {low}
    assert asked(lambda v: posterior.minibatch_log_density(v, rows, key)[0]) == {low}
    assert asked(posterior.likelihood_terms) == asked(posterior.log_density) == {"HIGHEST"}


@pytest.mark.parametrize("network", NETWORKS)
def test_mini_batches_round_gradients_too(digits: Any, network: str) -> None:
    def slope(posterior: sb.Posterior, variables: Any) -> jax.Array:
        def density(params: Any) -> jax.Array:
            key = jax.random.key(0)
            return posterior.minibatch_log_density({**variables, "params": params}, jnp.arange(32), key)[0]

        return trees.ravel(jax.grad(density)(variables["params"]))

    full, low = (make(digits, network, precision) for precision in ("float32", "bf16"))
    variables = full.init(jax.random.key(1))
    exact, made = (jax.jit(slope)(posterior, variables) for posterior in (full, low))
    assert 1e-5 < float(jnp.linalg.norm(made - exact) / jnp.linalg.norm(exact)) < 10 * UNIT
