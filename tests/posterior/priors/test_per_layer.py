"""Priors by name: every parameter gets its own, once; and the JSON of all priors."""

import json
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes import specs, trees
from symbayes.posterior.priors import (
    KINDS,
    EmpiricalCovariance,
    GaussianMixture,
    Laplace,
    Logistic,
    Normal,
    PerLayer,
    Prior,
    StudentT,
)

SCALES = {"hidden1/bias": 2.0, "hidden1/kernel": 0.1, "output/bias": 2.0, "output/kernel": 0.5}
PRIOR = PerLayer({"hidden1/kernel": Normal(0.1), "*/bias": Normal(2.0)}, rest=Normal(0.5))

EXAMPLES = [
    Normal(0.3),
    Laplace(0.1),
    Logistic(0.7),
    StudentT(0.2, df=3.5),
    StudentT(0.2, df=1),
    GaussianMixture((1.0, 0.0025, 0.3), (0.25, 0.5, 0.25)),
    EmpiricalCovariance(alpha=0.7, eps=0.001),
    PRIOR,
    PerLayer({"hidden1/kernel": EmpiricalCovariance(), "*": Laplace(0.2)}, rest=Logistic(2.0)),
    PerLayer({"z": Normal(), "a": PerLayer({"a/b": Laplace()}, rest=Normal())}, rest=StudentT()),
]


def params(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    shapes = {"hidden1/bias": (3,), "hidden1/kernel": (4, 3), "output/bias": (2,), "output/kernel": (3, 2)}
    return trees.unflatten(
        {name: jnp.asarray(rng.normal(size=shape), jnp.float32) for name, shape in shapes.items()}
    )


@given(st.integers(0, 1000))
def test_every_parameter_has_its_own_scale(seed: int) -> None:
    old, new = params(seed), params(seed + 1)
    flat_old, flat_new = trees.flatten(old), trees.flatten(new)
    density = {
        name: scipy.stats.norm.logpdf(np.asarray(leaf, np.float64), 0, SCALES[name])
        for name, leaf in flat_old.items()
    }
    expected = sum(each.sum() for each in density.values())
    assert float(PRIOR.log_density(old)) == pytest.approx(expected, rel=1e-5)
    ratio = PRIOR.log_ratio(new, old)
    assert jax.tree.structure(ratio) == jax.tree.structure(old)
    for name, leaf in trees.flatten(ratio).items():
        change = (
            scipy.stats.norm.logpdf(np.asarray(flat_new[name], np.float64), 0, SCALES[name]) - density[name]
        )
        np.testing.assert_allclose(leaf, change, rtol=1e-4, atol=1e-4)


def test_draws_and_deviations() -> None:
    like = trees.unflatten({name: np.zeros((5000,)) for name in SCALES})
    drawn = PRIOR.sample(jax.random.key(0), like)
    assert jax.tree.structure(drawn) == jax.tree.structure(like)
    deviations = trees.flatten(PRIOR.deviations(like))
    standard = []
    for name, leaf in trees.flatten(drawn).items():
        assert float(deviations[name]) == pytest.approx(SCALES[name])
        standard.append(np.asarray(leaf) / SCALES[name])
        assert scipy.stats.kstest(standard[-1], "norm").pvalue > 1e-3
    correlations = np.corrcoef(standard) - np.eye(len(SCALES))
    assert np.abs(correlations).max() < 5 / np.sqrt(5000), "no two parameters share random numbers"
    assert PRIOR.standard_deviation is None


def test_no_deviations_where_one_law_has_none() -> None:
    prior = PerLayer({"*/bias": StudentT(df=2.0)}, rest=Normal())
    assert prior.deviations(params(0)) is None


def test_first_match_decides() -> None:
    ordered = PerLayer({"hidden1/*": Normal(3.0), "*/kernel": Normal(0.2)}, rest=Normal(1.0))
    found = {name: float(leaf) for name, leaf in trees.flatten(ordered.deviations(params(0))).items()}
    expected = {"hidden1/bias": 3.0, "hidden1/kernel": 3.0, "output/bias": 1.0, "output/kernel": 0.2}
    assert found == pytest.approx(expected)


def test_one_prior_may_stand_at_several_places() -> None:
    shared = Normal(0.1)
    prior = PerLayer({"hidden1/*": shared, "output/kernel": shared}, rest=shared)
    assert float(prior.log_density(params(0))) == pytest.approx(
        float(shared.log_density(params(0))), rel=1e-6
    )
    everything = PerLayer({"*": shared}, rest=Normal(7.0))
    assert float(everything.log_density(params(0))) == pytest.approx(float(shared.log_density(params(0))))


def test_scales_are_leaves_and_patterns_static() -> None:
    density: Any = jax.jit(lambda prior, params: prior.log_density(params))
    for scale in (0.1, 0.2):
        prior = PerLayer({"*/bias": Normal(scale)}, rest=Laplace(scale))
        density(jax.tree.map(jnp.float32, prior), params(0))
    assert density._cache_size() == 1
    density(jax.tree.map(jnp.float32, PRIOR), params(0))
    assert density._cache_size() == 2, "the count sees what does compile"


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (
            {"dense*/kernel": Normal()},
            r"pattern 'dense\*/kernel' matches no parameter .*: there are hidden1/bias, hidden1/kernel",
        ),
        ({"*/bias": Normal(), "output/bias": Normal()}, "'output/bias' matches no parameter that an earlier"),
    ],
)
def test_pattern_without_a_parameter_is_refused(digits: Any, layers: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sb.Posterior(
            sb.networks.mlp(hidden=(3,), outputs=10),
            sb.likelihoods.Categorical(),
            PerLayer(layers, rest=Normal()),
            digits.train[:20],
        )


@pytest.mark.parametrize("layers", [{"a": 0.5}, [("a", "b")], {3: Normal()}])
def test_what_is_no_prior_is_refused(layers: Any) -> None:
    with pytest.raises(ValueError, match="PerLayer takes priors by patterns of names, not"):
        PerLayer(layers, rest=Normal())


def test_every_kind_has_an_example() -> None:
    assert {type(prior) for prior in EXAMPLES} == set(KINDS.values())


def test_no_two_kinds_are_one_structure() -> None:
    """Else a program compiled for one prior may be run for another."""
    structures = [jax.tree.structure(prior) for prior in EXAMPLES]
    for i, first in enumerate(structures):
        assert all(first != second for second in structures[:i]), EXAMPLES[i]


@pytest.mark.parametrize("prior", EXAMPLES, ids=repr)
def test_json_and_pytree_give_the_same_prior_back(prior: Any) -> None:
    assert isinstance(prior, Prior)
    leaves, structure = jax.tree.flatten(prior)
    assert jax.tree.unflatten(structure, leaves) == prior
    # As files write it: sorted by name.
    written = json.dumps(specs.encode(jax.tree.map(jnp.float32, prior)), sort_keys=True)
    again = specs.decode(json.loads(written), KINDS)
    assert again == prior
    assert json.dumps(specs.encode(again), sort_keys=True) == written


def test_a_record_rebuilds_a_fitted_prior(digits: Any) -> None:
    """The covariance is not written: with the training data of the record, the posterior has it again."""

    def make(prior: Any) -> sb.Posterior:
        network = sb.networks.mlp(hidden=(3,), outputs=10)
        return sb.Posterior(network, sb.likelihoods.Categorical(), prior, digits.train[:100])

    prior = PerLayer({"hidden1/kernel": EmpiricalCovariance(alpha=2.0, eps=0.05)}, rest=Normal(0.5))
    posterior = make(prior)
    recorded = json.loads(json.dumps(posterior.describe()["prior"], sort_keys=True))
    assert recorded["layers"] == [
        ["hidden1/kernel", {"kind": "EmpiricalCovariance", "alpha": 2.0, "eps": 0.05}]
    ]
    again = make(specs.decode(recorded, KINDS))
    variables = posterior.init(jax.random.key(0))
    slopes = [made.gradient(variables) for made in (posterior, again)]
    jax.tree.map(np.testing.assert_array_equal, *slopes)
    covariance = 2 * np.cov(digits.train.x[:100].reshape(100, -1).astype(np.float64), rowvar=False)
    fitted = trees.flatten(posterior.prior.deviations(variables["params"]))
    expected = np.sqrt(np.diag(covariance) + 0.05)
    np.testing.assert_allclose(fitted["hidden1/kernel"][:, 0], expected, rtol=1e-5)
