"""A convolution in its quick form is JAX's in value and in every derivative, for few and many channels."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from symbayes.posterior.numerics import quick_convolutions

CASES = {
    "same": ((7, 6), (3, 2), (1, 1), "SAME"),
    "strided": ((8, 7), (3, 3), (2, 2), "SAME"),
    "valid": ((6, 6), (3, 5), (2, 1), "VALID"),
    "padded": ((5, 6), (3, 3), (2, 2), ((1, 1), (1, 1))),
    "texts": ((9,), (4,), (1,), "VALID"),
}


def case(name: str, channels: int) -> tuple[Any, Any, jax.Array, jax.Array]:
    size, window, strides, padding = CASES[name]
    positions = "HW"[: len(size)]
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, *size, channels)), jnp.float32)
    kernel = jnp.asarray(rng.normal(size=(*window, channels, 5)), jnp.float32)

    def plain(x: jax.Array, kernel: jax.Array) -> jax.Array:
        order = (f"N{positions}C", f"{positions}IO", f"N{positions}C")
        return lax.conv_general_dilated(x, kernel, strides, padding, dimension_numbers=order)

    return quick_convolutions(plain), plain, x, kernel


def derivatives(convolve: Any, x: jax.Array, kernel: jax.Array) -> dict[str, Any]:
    def loss(x: jax.Array, kernel: jax.Array) -> jax.Array:
        return jnp.sum(jnp.sin(convolve(x, kernel)))

    def slope(kernel: jax.Array) -> jax.Array:
        return jax.grad(loss, argnums=1)(x, kernel)

    chains = jnp.stack([kernel, -2 * kernel])
    return {
        "value": convolve(x, kernel),
        "reverse": jax.grad(loss, argnums=(0, 1))(x, kernel),
        "forward": jax.jvp(convolve, (x, kernel), (jnp.cos(x), jnp.sin(kernel)))[1],
        "second": jax.jvp(slope, (kernel,), (jnp.cos(kernel),))[1],
        "chains": jax.vmap(jax.grad(loss, argnums=1), (None, 0))(x, chains),
    }


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("channels", [3, 9])
def test_it_is_that_of_jax(name: str, channels: int) -> None:
    ours, plain, x, kernel = case(name, channels)
    made = jax.jit(lambda x, kernel: derivatives(ours, x, kernel))(x, kernel)
    expected = jax.jit(lambda x, kernel: derivatives(plain, x, kernel))(x, kernel)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), made, expected)


@pytest.mark.parametrize("name", ["strided", "texts"])
def test_gradients_of_chains_have_the_quick_order_of_axes(name: str) -> None:
    ours, plain, x, kernel = case(name, 9)
    chains = jnp.stack([kernel, kernel])

    def orders(convolve: Any) -> set[Any]:
        def slopes(x: jax.Array, kernel: jax.Array) -> Any:
            return jax.grad(lambda *a: jnp.sum(convolve(*a) ** 2), argnums=(0, 1))(x, kernel)

        text = str(jax.make_jaxpr(jax.vmap(slopes, (None, 0)))(x, chains))
        return {line.strip() for line in text.splitlines() if "dimension_numbers" in line}

    last = x.ndim - 1
    positions = tuple(range(1, last))
    quick = lax.ConvDimensionNumbers(
        (0, last, *positions), (last, last - 1, *range(last - 1)), (0, last, *positions)
    )
    assert all(str(quick) in line for line in orders(ours))
    assert len(orders(ours)) < len(orders(plain)), "JAX's own are in several orders"


@pytest.mark.parametrize("settings", [{"rhs_dilation": (2, 2)}, {"feature_group_count": 3}])
def test_others_are_left_as_they_are(settings: Any) -> None:
    x, kernel = jnp.ones((2, 6, 6, 9)), jnp.ones((2, 2, 9 // settings.get("feature_group_count", 1), 6))

    def plain(x: jax.Array, kernel: jax.Array) -> jax.Array:
        order = ("NHWC", "HWIO", "NHWC")
        return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=order, **settings)

    text = str(jax.make_jaxpr(quick_convolutions(plain))(x, kernel))
    assert "conv_general_dilated" in text
    assert "custom_jvp" not in text


def test_axes_in_another_order() -> None:
    rng = np.random.default_rng(1)
    x, kernel = (jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in ((2, 3, 6, 5), (4, 3, 2, 3)))

    def plain(x: jax.Array, kernel: jax.Array) -> jax.Array:
        order = ("NCHW", "OIHW", "HWNC")
        return lax.conv_general_dilated(x, kernel, (1, 2), "SAME", dimension_numbers=order)

    np.testing.assert_allclose(quick_convolutions(plain)(x, kernel), plain(x, kernel), rtol=1e-4, atol=1e-5)
