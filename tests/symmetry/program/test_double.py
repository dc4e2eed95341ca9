"""Programs in float64: the same function, whatever types they write down."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes.symmetry.program.evaluation import Evaluation

V = {"w": np.linspace(-1, 1, 12).reshape(3, 4).astype(np.float32)}
X = np.linspace(0.1, 1.7, 6).reshape(2, 3).astype(np.float32)


def scanned(v, x):
    first = jnp.zeros((2, 4), jnp.float32), jnp.int32(0)

    def step(carry, row):
        h, n = carry
        return (jnp.tanh(h + x @ v["w"] * row), n + 1), h.sum()

    (h, _), sums = jax.lax.scan(step, first, jnp.arange(3, dtype=jnp.float32), reverse=True)
    return h.sum(0) + sums.sum()


def looped(v, x):
    start = jnp.int32(0), jnp.ones((2, 4), jnp.float32)
    return jax.lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, jnp.sin(s[1] + x @ v["w"])), start)[1]


def branched(v, x):
    branches = [lambda h: jnp.exp(h), lambda h: jnp.float32(2) * h, lambda h: h / jnp.float32(3)]
    return jax.lax.switch((x.sum() > 0).astype(jnp.int32) + 1, branches, x @ v["w"])


def called(v, x):
    @jax.custom_jvp
    def softplus(h):
        return jnp.logaddexp(h, 0.0)

    softplus.defjvp(lambda primals, tangents: (softplus(*primals), tangents[0]))
    return jax.jit(jax.checkpoint(lambda h: softplus(h)))(x @ v["w"])


def low_precision(v, x):
    return jax.nn.relu(x.astype(jnp.bfloat16) @ v["w"].astype(jnp.float16)).astype(jnp.float32)


def picked(v, x):
    h = x @ v["w"]
    rows = jnp.zeros((5, 4), jnp.float32).at[jnp.argmax(h, -1)].add(h)
    return jnp.sort(rows, 0), jnp.cumsum(h, -1), jnp.fft.fft(h).real


@pytest.mark.parametrize("apply", [scanned, looped, branched, called, low_precision, picked])
def test_a_widened_program_computes_in_float64(apply):
    """As precise as the same function traced on float64 arguments with its types written as float64."""
    evaluation = Evaluation.of(apply, V, X)
    assert evaluation.precision < 1e-15
    with jax.enable_x64(True):
        found = evaluation({"w": V["w"].astype(np.float64)}, evaluation.inputs)
        with pytest.MonkeyPatch.context() as patch:
            for name in ("float32", "float16", "bfloat16"):
                patch.setattr(jnp, name, jnp.float64)
            wanted = jax.tree.leaves(apply(jax.tree.map(jnp.float64, V), jnp.float64(X)))
    assert all(out.dtype == np.float64 for out in found)
    for out, exact in zip(found, wanted, strict=True):
        np.testing.assert_allclose(out, exact, rtol=1e-13, atol=1e-14)


def test_bits_and_calls_to_python_keep_their_types():
    """A reinterpretation of bits has the width it was written for, and a call back gets what it expects."""
    seen = []

    def apply(v, x):
        def back(h):
            seen.append(np.asarray(h).dtype)
            return np.float64(h) * 2

        h = x @ v["w"]
        doubled = jax.pure_callback(back, jax.ShapeDtypeStruct(h.shape, h.dtype), h)
        halves = jax.lax.bitcast_convert_type(h, jnp.int32) & jnp.int32(2**31 - 1)
        return doubled + jax.lax.bitcast_convert_type(halves, jnp.float32)

    evaluation = Evaluation.of(apply, V, X)
    assert evaluation.precision == pytest.approx(2**-23)
    with jax.enable_x64(True):
        (found,) = evaluation({"w": V["w"].astype(np.float64)}, evaluation.inputs)
    h = X.astype(np.float64) @ V["w"]
    np.testing.assert_allclose(found, 2 * h + np.abs(h), rtol=1e-6)
    assert set(seen) == {np.dtype(np.float32)}


def test_random_numbers_from_a_constant_key_are_those_of_the_program():
    def apply(v, x):
        return x @ v["w"] + jax.random.normal(jax.random.key(3), (4,))

    evaluation = Evaluation.of(apply, V, X)
    assert evaluation.precision < 1e-15
    with jax.enable_x64(True):
        (found,) = evaluation(V, evaluation.inputs)
    np.testing.assert_allclose(found, apply(V, X), rtol=1e-5)


def test_whole_numbers_keep_the_width_that_the_program_was_traced_with():
    def apply(v, x):
        return v["w"][x["rows"]] * v["counts"]

    variables = {"w": V["w"], "counts": np.arange(4)}
    x = {"rows": np.array([0, 2])}
    evaluation = Evaluation.of(apply, variables, x)
    with jax.enable_x64(True):
        (found,) = evaluation(variables, evaluation.inputs)
    np.testing.assert_allclose(found, V["w"][[0, 2]] * np.arange(4))
