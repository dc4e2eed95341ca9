"""Lines between networks."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.analyse import barriers
from symbayes.analyse.barriers import line_between
from symbayes.analyse.predictions import predictive_of, with_statistics
from symbayes.engine import Opened
from symbayes.engine.opened import group_of
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


class Normalised(nnx.Module):
    """A batch norm between two layers."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(2, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.last = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(nnx.relu(self.norm(self.first(x))))


def test_statistics_along_a_line_are_those_of_the_networks_there() -> None:
    """Two copies of one network, of which the second has other signs before the norm and in its gain."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int32)
    part = sb.data.Examples(x, y)
    network = sb.networks.from_nnx(Normalised)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(1.0), part)
    run = sb.open(sb.run(sb.DeepEnsemble(epochs=20, batch=50, chains=2, learning_rate=1e-2), posterior))
    one = sb.networks.recomputed(network, trees.index(run.draws.variables, (0, 0)), x)
    two = jax.tree.map(np.array, one)
    two["params"]["first"] = jax.tree.map(lambda leaf: -leaf, two["params"]["first"])
    two["params"]["norm"]["scale"] = -two["params"]["norm"]["scale"]
    two["stats"]["norm"]["mean"] = -two["stats"]["norm"]["mean"]
    pair = sb.Draws.from_variables(jax.tree.map(lambda a, b: np.stack([a, b])[:, None], one, two))
    line = with_statistics(run, line_between(one, two, np.array([0.25])), part)
    middle = trees.index(line.variables, (0, 0))
    hidden = x @ middle["params"]["first"]["kernel"] + middle["params"]["first"]["bias"]
    np.testing.assert_allclose(middle["stats"]["norm"]["var"], hidden[:250].var(axis=0), rtol=1e-4)
    parts = {"train": part, "test": part}
    again = barriers(run, pair, pair, parts, pairs=1, steps=5)
    mixed = barriers(run, pair, pair, parts, pairs=1, steps=5, statistics="interpolate")
    assert again.recomputed == 400
    assert mixed.recomputed == 0
    assert again.loss["test"]["raw"][1] != mixed.loss["test"]["raw"][1]

    def loss(variables: dict) -> float:
        return evaluate.nll(predictive_of(run, sb.networks.recomputed(network, variables, x), x).mean, y)

    independent = evaluate.path(loss, one, two, steps=5)
    np.testing.assert_allclose(again.loss["test"]["raw"], independent.values, rtol=1e-4)


def test_symmetries_of_a_run_keep_networks_whose_statistics_are_computed_again() -> None:
    rng = np.random.default_rng(1)
    x = jnp.asarray(rng.normal(size=(100, 2)), jnp.float32)
    network = sb.networks.from_nnx(Normalised)
    fresh = network.init(jax.random.key(0), x[:2])
    drawn = jax.tree.map(lambda leaf: rng.normal(size=leaf.shape).astype(np.float32), fresh["params"])
    one = sb.networks.recomputed(network, {**fresh, "params": drawn}, x)
    expected = network.apply(one, x)
    whole = sb.symmetry.discover(network.apply, one, x[:2])
    kept = group_of(network, (2, 2), x.dtype)
    # Between kernel and gain, which the normaliser undoes, and between gain and the next kernel.
    assert (whole.scale_dimension, kept.scale_dimension) == (16, 8)
    changes = []
    for group in (whole, kept):
        moved = group.act(group.random_element(jax.random.key(2)), one)
        np.testing.assert_allclose(network.apply(moved, x), expected, rtol=1e-4, atol=1e-4)
        again = network.apply(sb.networks.recomputed(network, moved, x), x)
        changes.append(float(np.abs(again - expected).max()))
    assert changes[0] > 0.1
    assert changes[1] < 1e-4
