"""Priors against scipy.stats; ratios where totals cancel; moments of draws."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from symbayes import trees
from symbayes.posterior.priors import KINDS, Normal, Prior
from symbayes.posterior.sums import compensated

seeds = st.integers(0, 2**32 - 1)


def weights(seed: int, spread: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = {"bias": (3,), "kernel": (4, 3)}
    return {name: (spread * rng.normal(size=shape)).astype(np.float32) for name, shape in shapes.items()}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_is_a_prior_and_a_pytree(kind: type) -> None:
    assert isinstance(kind(), Prior)
    leaves, structure = jax.tree.flatten(kind())
    assert jax.tree.unflatten(structure, leaves) == kind()


@given(seeds, st.floats(0.05, 20))
def test_log_density_is_scipys_normal(seed: int, scale: float) -> None:
    params = weights(seed)
    expected = sum(
        scipy.stats.norm.logpdf(leaf.astype(np.float64), 0, scale).sum() for leaf in params.values()
    )
    assert float(Normal(scale).log_density(params)) == pytest.approx(expected, rel=1e-5, abs=1e-4)


@given(seeds, st.floats(0.05, 20))
def test_log_ratio_is_the_element_wise_difference(seed: int, scale: float) -> None:
    new, old = weights(seed), weights(seed + 1)
    ratio = Normal(scale).log_ratio(new, old)
    for name in new:
        density = [scipy.stats.norm.logpdf(side[name].astype(np.float64), 0, scale) for side in (new, old)]
        np.testing.assert_allclose(ratio[name], density[0] - density[1], rtol=1e-4, atol=1e-4 / scale**2)


def test_log_ratio_survives_where_totals_cancel() -> None:
    """A million weights that move by 1e-4: the difference is exact, that of totals is lost."""
    rng = np.random.default_rng(5)
    old = rng.normal(size=1_000_000).astype(np.float32)
    new = (old + 1e-4 * rng.normal(size=old.size)).astype(np.float32)
    wide_new, wide_old = new.astype(np.float64), old.astype(np.float64)
    exact = math.fsum((wide_old - wide_new) * (wide_old + wide_new) / 2)
    prior = Normal(1.0)
    by_elements = float(compensated(prior.log_ratio({"w": jnp.asarray(new)}, {"w": jnp.asarray(old)})["w"]))
    by_totals = float(prior.log_density({"w": new}) - prior.log_density({"w": old}))
    assert abs(by_elements - exact) < 1e-6
    assert abs(by_totals - exact) > 1e-3


def test_moments_of_draws() -> None:
    """Three checks at four standard errors and one p-value: one seed in 800 fails, and the seed is fixed."""
    scale, count = 0.3, 40_000
    draw = Normal(scale).sample(
        jax.random.key(3), {"a": np.zeros((count // 2,)), "b": np.zeros((count // 4, 2))}
    )
    values = np.asarray(trees.ravel(draw), np.float64)
    assert abs(values.mean()) < 4 * scale / math.sqrt(count)
    assert abs(values.var() / scale**2 - 1) < 4 * math.sqrt(2 / count)
    assert scipy.stats.kstest(values / scale, "norm").pvalue > 1e-3
    a, b = np.asarray(draw["a"]), np.asarray(draw["b"]).ravel()
    assert abs(np.corrcoef(a, b)[0, 1]) < 4 / math.sqrt(count // 2)


def test_standard_deviation() -> None:
    assert Normal(0.25).standard_deviation == 0.25


@pytest.mark.parametrize("scale", [0.0, -0.5, float("nan"), float("inf")])
def test_scale_must_be_positive(scale: float) -> None:
    with pytest.raises(ValueError, match=r"^scale must be a positive number, not "):
        Normal(scale)
