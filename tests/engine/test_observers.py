"""What observers remember and give, without a run."""

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees


@pytest.mark.parametrize("draws", [1, 3])
def test_moments_of_a_single_draw_have_no_variance(tiny: sb.Posterior, draws: int) -> None:
    observer = sb.Moments()
    keys = jax.random.split(jax.random.key(2), (1, draws))
    seen = jax.tree.map(np.asarray, jax.jit(jax.vmap(jax.vmap(tiny.init)))(keys))
    given = observer.finish(observer.update(observer.init(tiny), seen))
    assert int(given["count"]) == draws
    for name, values in trees.flatten(seen).items():
        np.testing.assert_allclose(given[f"mean/{name}"], values.mean(axis=(0, 1)), atol=1e-6)
        if draws == 1:
            assert np.isnan(given[f"variance/{name}"]).all()
        else:
            np.testing.assert_allclose(given[f"variance/{name}"], values[0].var(axis=0, ddof=1), atol=1e-6)
