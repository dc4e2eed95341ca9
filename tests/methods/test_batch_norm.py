"""MC batch norm: a draw's statistics are NumPy's over the mini-batch that its key draws."""

import jax
import numpy as np
import pytest
from normed import HiddenNorm

import symbayes as sb
from symbayes import trees
from symbayes.networks import NNXNetwork

SEED, EXAMPLES, BATCH, EPOCHS, DRAWS, CHAINS = 4, 25, 6, 1, 3, 2


@pytest.fixture(scope="module")
def posterior() -> sb.Posterior:
    rng = np.random.default_rng(8)
    x = rng.normal(size=(EXAMPLES, 4)).astype(np.float32)
    return sb.Posterior(
        NNXNetwork(HiddenNorm(2)),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(1.0),
        sb.data.Examples(x, (x[:, 0] > 0).astype(np.int32)),
    )


def test_statistics_of_a_draw_are_those_of_its_mini_batch(posterior: sb.Posterior) -> None:
    method = sb.MCBatchNorm(epochs=EPOCHS, batch=BATCH, draws=DRAWS, chains=CHAINS)
    drawn = sb.run(method, posterior, seed=SEED, progress=False)
    x = np.asarray(posterior.train.x)
    for chain in range(CHAINS):
        chain_key = jax.random.fold_in(jax.random.key(SEED), chain)
        first = trees.index(drawn.variables, (chain, 0))
        for draw in range(DRAWS):
            one = trees.index(drawn.variables, (chain, draw))
            for name, value in trees.flatten(first["params"]).items():
                np.testing.assert_array_equal(trees.flatten(one["params"])[name], value, err_msg=name)
            rows = jax.random.permutation(jax.random.fold_in(chain_key, EPOCHS + draw), EXAMPLES)[:BATCH]
            layer = one["params"]["layers"]["0"]
            hidden = x[np.asarray(rows)] @ np.asarray(layer["kernel"]) + np.asarray(layer["bias"])
            norm = one["stats"]["layers"]["1"]
            np.testing.assert_allclose(norm["mean"], hidden.mean(axis=0), rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(norm["var"], hidden.var(axis=0), rtol=1e-3, atol=1e-5)


def test_networks_without_batch_statistics_are_refused(tiny: sb.Posterior) -> None:
    with pytest.raises(ValueError, match="this network has no batch statistics: use one with batch"):
        sb.MCBatchNorm().resolve(tiny)
