"""Runs as one, networks of a session, and what takes runs in whatever form they are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb

from .runs import HMC, run


@pytest.fixture(scope="module")
def seeds(tiny, tmp_path_factory):
    """The same run with two seeds: in a folder and in memory."""
    folder = tmp_path_factory.mktemp("join") / "first"
    run(HMC, tiny, store=folder)
    return folder, run(HMC, tiny, seed=1)


def test_runs_of_different_seeds_are_chains_of_one(seeds, digits):
    folder, memory = seeds
    both = sb.join(folder, memory)
    assert (both.draws.chains, len(both.draws)) == (4, HMC.draws)
    np.testing.assert_array_equal(both.traces["energy"][2:], sb.open(memory).traces["energy"])
    x = digits.test.x[:5]
    np.testing.assert_array_equal(both.predict(x).probs[2:], sb.open(memory).predict(x).probs)
    assert both.config["derived_from"] == [str(folder), "draws in memory"]
    longer = sb.join([folder, memory], along="draw")
    assert (longer.draws.chains, len(longer.draws)) == (2, 2 * HMC.draws)


@pytest.mark.parametrize("along", ["chain", "draw"])
def test_the_same_draws_do_not_count_twice(seeds, tiny, tmp_path, along):
    folder, memory = seeds
    there = sb.open(folder, posterior=tiny)
    there.draws.save(tmp_path / "same.safetensors")
    read = sb.Draws.load(tmp_path / "same.safetensors")
    without = sb.Draws.from_variables(read.variables)
    for again in (folder, there, *(sb.open(draws, posterior=tiny) for draws in (read, without))):
        with pytest.raises(ValueError, match="runs 1 and 3 of these hold the same draws"):
            sb.join(folder, memory, again, along=along)


def test_runs_that_begin_alike_and_go_on_differently_join(seeds, tiny):
    """As chains do whose first proposal is rejected, and random masks of one network."""
    variables = sb.open(seeds[0]).draws.select().variables
    same = jax.tree.map(lambda leaf: np.repeat(leaf[:, :1], 6, axis=1), variables)
    for stats in ({}, {"key": np.arange(12).reshape(2, 6)}):
        one = sb.Draws.from_variables(same, stats)
        other = sb.Draws.from_variables(same if stats else variables, {name: -a for name, a in stats.items()})
        assert sb.join(*(sb.open(draws, posterior=tiny) for draws in (one, other))).draws.chains == 4


def test_runs_of_different_posteriors_do_not_join(seeds, digits, tiny):
    other = sb.Posterior(
        tiny.network, sb.likelihoods.Categorical(), sb.priors.Normal(0.7), digits.train[:128]
    )
    drawn = run(HMC, other)
    with pytest.raises(ValueError, match=r"different posteriors \(prior.scale"):
        sb.join(seeds[0], drawn)


def test_a_comparison_takes_runs_in_any_form(seeds, digits):
    folder, memory = seeds
    by_name = sb.compare({"a": folder, "b": memory}, reference="a", on=digits.test)
    listed = sb.compare([folder, memory], on=digits)
    assert list(listed.rows) == ["first", "hmc", "ceiling: half of first"]
    for mine, theirs in zip(by_name.rows.values(), listed.rows.values(), strict=True):
        assert mine == theirs
    assert list(sb.compare(memory, on=digits).rows) == ["hmc", "ceiling: half of hmc"]
    assert list(sb.compare([memory, memory], on=digits).rows)[:2] == ["hmc 1", "hmc 2"]


def notebook_network(scale: float):
    def fresh(key, x):
        return {"w": jax.random.normal(key, (x.reshape(len(x), -1).shape[1], 10))}

    def forward(params, x):
        return scale * x.reshape(len(x), -1) @ params["w"]

    return sb.networks.from_functions(fresh, forward)


def test_a_network_of_a_session_is_stored_and_given_again(digits, tmp_path):
    store, network = tmp_path / "run", notebook_network(1.0)
    rest = (sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:64])
    posterior = sb.Posterior(network, *rest)
    with pytest.warns(UserWarning, match=r"no import path, .* symbayes.open\(folder, network=network\)"):
        drawn = run(HMC, posterior, store=store)
    with pytest.warns(UserWarning, match="no import path"):
        assert run(HMC, posterior, store=store).path == store  # which is read back
    with pytest.raises(sb.RunError, match=r"without an import path: give it again, as in symbayes.open"):
        sb.open(store)
    x = digits.test.x[:4]
    again = sb.open(store, network=network)
    np.testing.assert_array_equal(again.predict(x).probs, posterior.predict(drawn, x).probs)
    with pytest.warns(UserWarning, match="not the network that .* was drawn with"):
        sb.open(store, network=notebook_network(2.0))
    with pytest.raises(sb.RunError, match="has weights"):
        sb.open(store, network=sb.networks.mlp(hidden=(3,), outputs=10))
    other = sb.Posterior(
        notebook_network(2.0), sb.likelihoods.Categorical(), sb.priors.Normal(), digits.train[:64]
    )
    with (
        pytest.warns(UserWarning, match="no import path"),
        pytest.raises(sb.RunError, match="another configuration"),
    ):
        run(HMC, other, store=store)
    assert jnp.isfinite(again.draws.stats["energy"]).all()
