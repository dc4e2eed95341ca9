"""Lines between networks."""

import jax
import numpy as np

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.analyse import barriers
from symbayes.analyse.predictions import predictive_of
from symbayes.engine import Opened
from symbayes.posterior import CategoricalPredictive


def test_a_permuted_copy_is_far_as_drawn_and_near_once_aligned(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset
) -> None:
    one = trees.index(hmc_draws.select([0], [7]).variables, (0, 0))
    element = hmc.group.random_element(jax.random.key(3))
    other = {**one, "params": jax.tree.map(np.asarray, hmc.group.act(element, one)["params"])}
    pair = sb.Draws.from_variables(jax.tree.map(lambda a, b: np.stack([a, b])[:, None], one, other))
    aligned = sb.symmetry.align(pair, hmc.group).draws
    parts = {"train": digits.train[:200], "test": digits.test}
    found = barriers(hmc, pair, aligned, parts, pairs=3, steps=5)
    assert found.pairs == 1
    for part in parts:
        assert found.barrier(part, "raw") > 0.01
        assert found.barrier(part, "aligned as a pair") < 1e-4
        assert found.barrier(part, "aligned jointly") < 1e-4
        assert found.drop(part, "aligned as a pair") == 0
    planted = int(sb.symmetry.transpositions(element)["total"])
    assert planted > 0
    assert found.swaps["raw"][0] == 0
    assert found.swaps["raw"][-1] == planted
    assert (np.diff(found.swaps["raw"]) >= 0).all()
    assert (found.swaps["aligned as a pair"] == 0).all()
    y = np.asarray(digits.test.y)

    def loss(variables):
        return evaluate.nll(predictive_of(hmc, variables, digits.test.x).mean, y)

    independent = evaluate.path(loss, one, other, steps=5)
    np.testing.assert_allclose(found.loss["test"]["raw"], independent.values, rtol=1e-4)


def test_curves_are_means_over_the_pairs_and_alignment_keeps_their_ends(
    hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset
) -> None:
    aligned = sb.symmetry.align(hmc_draws, hmc.group).draws
    parts = {"train": digits.train[:100], "test": digits.test[:100]}
    found = barriers(hmc, hmc_draws, aligned, parts, pairs=3, steps=3)
    for part, examples in parts.items():
        predictive = predictive_of(hmc, hmc_draws, examples.x)
        assert isinstance(predictive, CategoricalPredictive)
        ends = [evaluate.nll(predictive.probs[chain, -1], np.asarray(examples.y)) for chain in (0, 1)]
        for form in ("raw", "aligned jointly", "aligned as a pair"):
            np.testing.assert_allclose(found.loss[part][form][[0, -1]], ends, rtol=1e-4)
