"""The log density, its gradient and its mini-batch estimate against plain formulas."""

import copy
import dataclasses
import json
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

import symbayes as sb
from symbayes import trees
from symbayes.posterior.posterior import Tempers, quarter_period

PRIOR = 0.5

log_density = jax.jit(lambda posterior, variables: posterior.log_density(variables))
gradient = jax.jit(lambda posterior, variables: posterior.gradient(variables))
terms = jax.jit(lambda posterior, variables: posterior.likelihood_terms(variables))


def chunked(posterior: sb.Posterior, chunk: int | None, **kwargs: Any) -> sb.Posterior:
    train = jax.tree.map(np.asarray, posterior.train)
    return sb.Posterior(
        posterior.network, sb.likelihoods.Categorical(), sb.priors.Normal(PRIOR), train, chunk=chunk, **kwargs
    )


def tempered(posterior: sb.Posterior, temperature: float, tempers: Tempers = "posterior") -> sb.Posterior:
    return chunked(posterior, None, temperature=temperature, tempers=tempers)


@pytest.fixture(scope="module")
def variables(tiny: sb.Posterior) -> dict[str, Any]:
    return jax.jit(lambda posterior, key: posterior.init(key))(tiny, jax.random.key(4))


def plain_parts(posterior: sb.Posterior, variables: dict[str, Any]) -> tuple[float, float]:
    """Log likelihood and log prior in float64, without the package."""
    w = {name: np.asarray(leaf, np.float64) for name, leaf in trees.flatten(variables["params"]).items()}
    x = np.asarray(posterior.train.x, np.float64).reshape(posterior.size, -1)
    hidden = np.maximum(x @ w["hidden1/kernel"] + w["hidden1/bias"], 0)
    logits = hidden @ w["output/kernel"] + w["output/bias"]
    log_probs = scipy.special.log_softmax(logits, axis=1)
    likelihood = math.fsum(log_probs[np.arange(posterior.size), np.asarray(posterior.train.y)])
    prior = math.fsum(scipy.stats.norm.logpdf(np.concatenate([a.ravel() for a in w.values()]), 0, PRIOR))
    return likelihood, prior


@pytest.fixture(scope="module")
def plain_gradient(tiny: sb.Posterior, variables: dict[str, Any]) -> Any:
    def density(params: Any) -> jax.Array:
        x = jnp.asarray(tiny.train.x).reshape(tiny.size, -1)
        hidden = jax.nn.relu(x @ params["hidden1"]["kernel"] + params["hidden1"]["bias"])
        logits = hidden @ params["output"]["kernel"] + params["output"]["bias"]
        chosen = jnp.eye(10)[tiny.train.y] * jax.nn.log_softmax(logits)
        return chosen.sum() - sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params)) / (2 * PRIOR**2)

    return jax.jit(jax.grad(density))(variables["params"])


def assert_trees_close(actual: Any, expected: Any, rtol: float) -> None:
    scale = max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(expected))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=rtol * scale), actual, expected)


@pytest.mark.parametrize("chunk", [None, 32, 50])
def test_density_and_gradient_for_every_chunk_size(
    tiny: sb.Posterior, variables: Any, plain_gradient: Any, chunk: int | None
) -> None:
    posterior = chunked(tiny, chunk)
    likelihood, prior = plain_parts(tiny, variables)
    each = terms(posterior, variables)
    assert each.shape == (64 * posterior.chunks.mask.shape[0],)
    assert float(each.sum()) == pytest.approx(likelihood, rel=1e-6)
    assert float(log_density(posterior, variables)) == pytest.approx(likelihood + prior, rel=1e-6)
    assert_trees_close(gradient(posterior, variables), plain_gradient, rtol=1e-5)


def test_jax_differentiates_the_density(tiny: sb.Posterior, variables: Any, plain_gradient: Any) -> None:
    by_jax = jax.jit(jax.grad(lambda variables, posterior: posterior.log_density(variables)))
    assert_trees_close(by_jax(variables, chunked(tiny, 50))["params"], plain_gradient, rtol=1e-5)


def test_chunks_that_suit_devices_change_nothing(tiny: sb.Posterior, variables: Any) -> None:
    posterior = chunked(tiny, 50)
    spread = posterior.spread(sb.make_mesh(1, devices=jax.devices()[:8], data=8))
    assert spread.chunks.mask.shape == (3, 48)
    for name, whole in (("density", log_density), ("gradient", gradient)):
        before, after = (whole(p, variables) for p in (posterior, spread))
        assert_trees_close({name: after}, {name: before}, rtol=1e-5)
    assert spread.train.checksum() == posterior.train.checksum() == tiny.train.checksum()


def test_padding_never_leaks(tiny: sb.Posterior, variables: Any) -> None:
    posterior = chunked(tiny, 50)
    padding = np.asarray(posterior.chunks.mask) == 0
    assert padding.any()
    other = copy.copy(posterior)
    other.chunks = dataclasses.replace(
        posterior.chunks,
        x=jnp.where(padding[..., None, None, None], 1e6, posterior.chunks.x),
        y=jnp.where(padding, 9 - posterior.chunks.y, posterior.chunks.y),
    )
    assert not np.array_equal(other.chunks.x, posterior.chunks.x)
    for whole in (log_density, gradient, terms):
        before, after = whole(posterior, variables), whole(other, variables)
        jax.tree.map(np.testing.assert_array_equal, after, before)
    assert other.train.checksum() == posterior.train.checksum()


@pytest.mark.parametrize("tempers", ["posterior", "likelihood"])
@given(st.floats(0.01, 100))
@settings(max_examples=10)
def test_temperature_both_ways(
    tempers: Tempers, tiny: sb.Posterior, variables: Any, temperature: float
) -> None:
    posterior = tempered(tiny, temperature, tempers)
    likelihood, prior = plain_parts(tiny, variables)
    expected = likelihood / temperature + (prior / temperature if tempers == "posterior" else prior)
    assert float(log_density(posterior, variables)) == pytest.approx(expected, rel=1e-5)


def test_gradient_is_tempered_as_the_density_is(
    tiny: sb.Posterior, variables: Any, plain_gradient: Any
) -> None:
    cold, prior_kept = tempered(tiny, 0.25), tempered(tiny, 0.25, "likelihood")
    assert_trees_close(gradient(cold, variables), jax.tree.map(lambda g: 4 * g, plain_gradient), rtol=1e-5)
    expected = jax.tree.map(lambda g, w: 4 * g + 3 * w / PRIOR**2, plain_gradient, variables["params"])
    assert_trees_close(gradient(prior_kept, variables), expected, rtol=1e-5)


def test_mini_batches_of_an_epoch_average_to_the_whole(tiny: sb.Posterior, variables: Any) -> None:
    posterior = tempered(tiny, 0.5, "likelihood")
    rows = jax.random.permutation(jax.random.key(8), posterior.size).reshape(4, 32)

    def estimate(params: Any, batch: jax.Array) -> jax.Array:
        return posterior.minibatch_log_density({**variables, "params": params}, batch, jax.random.key(0))[0]

    densities, gradients = jax.jit(jax.vmap(jax.value_and_grad(estimate), (None, 0)))(
        variables["params"], rows
    )
    assert float(jnp.std(densities)) > 1
    assert float(densities.mean()) == pytest.approx(float(log_density(posterior, variables)), rel=1e-5)
    mean = jax.tree.map(lambda leaf: leaf.mean(axis=0), gradients)
    assert_trees_close(mean, gradient(posterior, variables), rtol=1e-5)


def test_difference_terms_sum_to_the_difference(tiny: sb.Posterior, variables: Any) -> None:
    posterior = chunked(tiny, 50, temperature=0.5, tempers="likelihood")
    new = jax.tree.map(lambda w: w + 0.03, variables)
    differences = posterior.difference_terms(
        new["params"], variables["params"], terms(posterior, new), terms(posterior, variables)
    )
    total = math.fsum(float(x) for part in differences for x in np.ravel(part))
    (new_likelihood, new_prior), (likelihood, prior) = (plain_parts(tiny, v) for v in (new, variables))
    expected = 2 * (new_likelihood - likelihood) + new_prior - prior
    assert total == pytest.approx(expected, abs=1e-3)


def test_data_are_arguments_and_not_constants(tiny: sb.Posterior, variables: Any) -> None:
    def largest(jaxpr: Any) -> int:
        return max((np.size(constant) for constant in jaxpr.consts), default=0)

    rows = jnp.arange(8)
    programs = {
        "density": lambda p, v: p.log_density(v),
        "gradient": lambda p, v: p.gradient(v),
        "mini-batch": lambda p, v: p.minibatch_log_density(v, rows, jax.random.key(0))[0],
    }
    for name, program in programs.items():
        assert largest(jax.make_jaxpr(program)(tiny, variables)) <= rows.size, name
    assert largest(jax.make_jaxpr(tiny.log_density)(variables)) >= tiny.train.x.size, (
        "the check sees constants"
    )


def test_another_temperature_scale_or_data_compiles_nothing(
    tiny: sb.Posterior, digits: Any, variables: Any
) -> None:
    density: Any = jax.jit(lambda posterior, variables: posterior.log_density(variables))
    other = sb.Posterior(
        sb.networks.mlp(hidden=(6,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(2.0),
        digits.train[128:256],
        temperature=0.1,
    )
    assert float(density(other, variables)) != float(density(tiny, variables))
    assert density._cache_size() == 1
    density(tempered(tiny, 1.0, "likelihood"), variables)
    assert density._cache_size() == 2, "the count sees what does compile"


def test_description_is_json_that_rebuilds_the_network(tiny: sb.Posterior, digits: Any) -> None:
    posterior = tempered(tiny, 0.1, "likelihood")
    described = json.loads(json.dumps(posterior.describe()))
    assert sb.networks.from_spec(described["network"]) == tiny.network
    assert described["temperature"] == 0.1
    assert described["tempers"] == "likelihood"
    assert described["likelihood"] == {"kind": "Categorical"}
    assert described["prior"] == {"kind": "Normal", "scale": PRIOR}
    assert described["train"] == {"examples": 128, "sha256": digits.train[:128].checksum()}
    assert chunked(tiny, 50).describe()["train"] == described["train"]
    # Sums over other chunks are rounded otherwise: draws are those of the same chunks alone.
    assert (described["chunk"], chunked(tiny, 50).describe()["chunk"]) == (128, 43)


def test_leaves_and_structure_rebuild_the_posterior(tiny: sb.Posterior, variables: Any) -> None:
    leaves, structure = jax.tree.flatten(tiny)
    again = jax.tree.unflatten(structure, leaves)
    assert jax.tree.structure(again) == structure
    assert float(log_density(again, variables)) == float(log_density(tiny, variables))


def test_fresh_variables_do_not_share_random_numbers_with_a_methods_steps(tiny: sb.Posterior) -> None:
    """Methods fold the number of a step into the same key that initialises a chain."""
    key = jax.random.key(0)
    kernel = np.ravel(tiny.init(key)["params"]["hidden1"]["kernel"])
    for step in range(4):
        noise = np.asarray(jax.random.normal(jax.random.fold_in(key, step), kernel.shape))
        assert abs(np.corrcoef(kernel, noise)[0, 1]) < 5 / math.sqrt(kernel.size)


def test_quarter_period_of_the_prior(tiny: sb.Posterior) -> None:
    assert quarter_period(tiny) == pytest.approx(math.pi / 2 * PRIOR)
    assert quarter_period(tempered(tiny, 0.25)) == pytest.approx(math.pi / 2 * PRIOR * 0.5)
    assert quarter_period(tempered(tiny, 0.25, "likelihood")) == pytest.approx(math.pi / 2 * PRIOR)


def _examples(n: int = 6, classes: int = 3, **changes: Any) -> sb.data.Examples:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    y = rng.integers(0, classes, n).astype(np.int32)
    return dataclasses.replace(sb.data.Examples(x, y), **changes)


def _with_bad_inputs(*rows: int) -> sb.data.Examples:
    examples = _examples()
    examples.x[list(rows), 1] = [np.nan, np.inf][: len(rows)]
    return examples


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.0}, "temperature must be a positive number, not 0.0"),
        ({"temperature": -1.0}, "temperature must be a positive number, not -1.0"),
        ({"temperature": math.nan}, "temperature must be a positive number, not nan"),
        ({"chunk": 0}, "chunk must be a positive number, not 0"),
        ({"train": _examples(0)}, "the training data are empty"),
        ({"train": _examples(y=np.zeros(5, np.int32))}, "the training data have 6 inputs but 5 targets"),
        (
            {"train": _examples(x=np.zeros(6, np.float32))},
            r"axis over examples and at least one more.*\(6,\)",
        ),
        (
            {"train": _with_bad_inputs(2, 4)},
            "training data hold NaN or infinity in 2 of 6.* first in number 2",
        ),
        ({"validation": _with_bad_inputs(5)}, "validation data hold NaN or infinity in 1 of 6.* number 5"),
        ({"train": _examples(y=np.full(6, 3, np.int32))}, "labels run from .* to 3, .* outputs for 0 to 2"),
        ({"validation": _examples(y=np.full(6, -1, np.int32))}, "labels run from -1 to "),
        ({"validation": _examples(x=np.zeros((6, 5), np.float32))}, r"of shape \(4,\).* of shape \(5,\)"),
        (
            {
                "network": sb.networks.from_functions(
                    lambda key, x: {"w": jnp.ones((7, 3))}, lambda p, x: x @ p["w"]
                )
            },
            r"cannot be computed for inputs of shape \(1, 4\), one example: dot_general requires",
        ),
        ({"likelihood": sb.likelihoods.Gaussian()}, r"targets have shape \(n, 3\) and are real, not int32"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(changes: dict[str, Any], message: str) -> None:
    parts = {
        "network": sb.networks.mlp(hidden=(2,), outputs=3),
        "likelihood": sb.likelihoods.Categorical(),
        "prior": sb.priors.Normal(),
        "train": _examples(),
    }
    with pytest.raises(ValueError, match=message) as refused:
        sb.Posterior(**{**parts, **changes})
    assert "\n" not in str(refused.value)
