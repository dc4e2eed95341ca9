"""The convolution is JAX's in value and in every derivative, and its gradients have the quick order."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from symbayes.networks.convolution import convolution

CASES = {
    "same": ((7, 6), (3, 2), (1, 1), "SAME"),
    "strided": ((8, 7), (3, 3), (2, 2), "SAME"),
    "valid": ((6, 6), (3, 5), (2, 1), "VALID"),
    "padded": ((5, 6), (3, 3), (2, 2), ((1, 1), (1, 1))),
    "texts": ((9,), (4,), (1,), "VALID"),
}


def case(name: str) -> tuple[Any, Any, jax.Array, jax.Array]:
    size, window, strides, padding = CASES[name]
    positions = "HW"[: len(size)]
    settings = {
        "window_strides": strides,
        "padding": padding,
        "lhs_dilation": (1,) * len(size),
        "rhs_dilation": (1,) * len(size),
        "dimension_numbers": (f"N{positions}C", f"{positions}IO", f"N{positions}C"),
        "feature_group_count": 1,
    }
    rng = np.random.default_rng(0)
    x = jnp.asarray(rng.normal(size=(4, *size, 3)), jnp.float32)
    kernel = jnp.asarray(rng.normal(size=(*window, 3, 5)), jnp.float32)

    def ours(x: jax.Array, kernel: jax.Array) -> jax.Array:
        rest = {name: value for name, value in settings.items() if name != "window_strides"}
        return convolution(x, kernel, settings["window_strides"], **rest)

    return ours, lambda x, kernel: lax.conv_general_dilated(x, kernel, **settings), x, kernel


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
def test_it_is_that_of_jax(name: str) -> None:
    ours, plain, x, kernel = case(name)
    made = jax.jit(lambda x, kernel: derivatives(ours, x, kernel))(x, kernel)
    expected = jax.jit(lambda x, kernel: derivatives(plain, x, kernel))(x, kernel)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), made, expected)


@pytest.mark.parametrize("name", ["strided", "texts"])
def test_gradients_of_chains_have_the_quick_order_of_axes(name: str) -> None:
    ours, plain, x, kernel = case(name)
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
