"""What HMC finds by itself: step size, length of trajectories and mass; and who takes it over."""

import dataclasses
import math
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gaussians import correlated, tempered

import symbayes as sb
from symbayes import trees
from symbayes.methods.phases.chees import Flown, Length, criterion_gradient
from symbayes.methods.phases.mass import Spread, prior_scales
from symbayes.methods.phases.stepping import tried_step
from symbayes.methods.phases.tuned import van_der_corput

ZERO = {"params": {"output": {"bias": np.zeros(1), "kernel": np.zeros((2, 1))}}}


def test_numbers_of_van_der_corput() -> None:
    found = [float(van_der_corput(jnp.int32(n))) for n in range(7)]
    assert found == [1 / 2, 1 / 4, 3 / 4, 1 / 8, 5 / 8, 3 / 8, 7 / 8]


def test_spread_is_the_variance_of_all_positions() -> None:
    seed = int(np.random.default_rng().integers(2**31))
    print("seed", seed)
    x = np.random.default_rng(seed).normal(3.0, 0.5, size=(6, 4, 5)).astype(np.float32)
    spread = Spread.none({"w": jnp.zeros(5)})
    for positions in x:
        spread = spread.add({"w": jnp.asarray(positions)})
    flat = x.reshape(24, 5)
    np.testing.assert_allclose(spread.mean["w"], flat.mean(0), rtol=1e-5)
    expected = np.sqrt((24 * flat.var(0, ddof=1) + 5 * 1e-3 * 4.0) / 29)
    np.testing.assert_allclose(spread.scales({"w": jnp.float32(2.0)})["w"], expected, rtol=1e-4)


def test_scales_of_the_prior_follow_the_temperature(linear: Any) -> None:
    params = ZERO["params"]
    for tempers, expected in (("posterior", 0.8 * 0.5), ("likelihood", 0.8)):
        scales = prior_scales(tempered(linear[0], 0.25, tempers), params)
        assert trees.shapes(scales) == trees.shapes(params)
        np.testing.assert_allclose(trees.ravel(scales), expected, rtol=1e-6)


def test_first_step_follows_the_scale_of_the_posterior(linear: Any) -> None:
    """A posterior a tenth as wide has steps a tenth as long, up to the factor of two of the trials."""
    find = jax.jit(lambda posterior, variables, key: tried_step(posterior, variables, key))
    found, root = [], np.linalg.cholesky(linear[2])
    for unit in (1.0, 0.1, 0.01, 100.0):
        weights = linear[1] + unit * np.random.default_rng(0).normal(size=(8, 3)) @ root.T
        params = {"output": {"bias": weights[:, :1], "kernel": weights[:, 1:, None]}}
        variables = {"params": jax.tree.map(jnp.float32, params), "stats": {}}
        found.append(float(find(tempered(linear[0], unit**2), variables, jax.random.key(1))) / unit)
    print(found)
    assert max(found) / min(found) <= 2.0
    assert 0.5 < found[0] / np.sqrt(np.linalg.eigvalsh(linear[2])[0]) < 4.0


def test_gradient_of_the_criterion() -> None:
    """Against the sum over chains in plain numbers; one chain is as good as lost."""
    rng = np.random.default_rng(5)
    begin, end, momentum = rng.normal(size=(3, 4, 6))
    weight = np.array([0.9, 0.2, 1.0, 0.0])
    end[3] = np.inf
    flown = Flown(*({"w": jnp.asarray(a, jnp.float32)} for a in (begin, end, momentum)), jnp.full(4, 0.7))
    kept = weight > 0
    w, e, p = weight[kept], end[kept], momentum[kept]
    centre = (w[:, None] * e).sum(0) / w.sum()
    change = ((e - centre) ** 2).sum(1) - ((begin[kept] - begin.mean(0)) ** 2).sum(1)
    expected = (w * change * ((e - centre) * p).sum(1) * 0.7).sum() / w.sum()
    assert float(criterion_gradient(flown, jnp.asarray(weight, jnp.float32))) == pytest.approx(
        expected, rel=1e-4
    )


@pytest.mark.parametrize(
    ("first", "longest", "expected"),
    [(0.1, math.inf, math.pi), (4.0, math.inf, math.pi), (0.1, 1.0, 1.0)],
)
def test_length_finds_the_quarter_period_of_a_gaussian(first: float, longest: float, expected: float) -> None:
    """Of N(0, 2^2) in ten dimensions, exactly integrated: w' = w cos(t/2) + 2 p sin(t/2).

    It does not grow above the longest that can be flown.
    """

    def trial(carry: Any, key: jax.Array) -> Any:
        length, w = carry
        p, t = jax.random.normal(key, w.shape), length.value
        end = w * jnp.cos(t / 2) + 2 * p * jnp.sin(t / 2)
        last = p * jnp.cos(t / 2) - w / 2 * jnp.sin(t / 2)
        flown = Flown({"w": w}, {"w": end}, {"w": last}, jnp.full(64, t))
        return (length.learned(flown, jnp.ones(64), jnp.float32(longest)), end), None

    w = 2 * jax.random.normal(jax.random.key(7), (64, 10))
    keys = jax.random.split(jax.random.key(0), 300)
    (length, _), _ = jax.jit(lambda c, k: jax.lax.scan(trial, c, k))((Length.start(first), w), keys)
    found = float(jnp.exp(length.settled().current))
    assert found == pytest.approx(expected, rel=0.12)
    assert found < max(first, longest) + 1e-5


def test_length_does_not_grow_where_trajectories_are_cut_off() -> None:
    """One direction is a thousand times as narrow as the others: a quarter of their period takes thousands of
    steps, more than adaptation allows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3)).astype(np.float32) * [1000.0, 1e-3, 1e-3]
    y = rng.normal(size=(20, 1)).astype(np.float32)
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1),
        sb.likelihoods.Gaussian(1.0),
        sb.priors.Normal(1.0),
        sb.data.Examples(x.astype(np.float32), y),
    )
    method = sb.HMC(trajectory="chees", burn_in=12, draws=1, chains=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = sb.run(method, posterior, progress=False)
    assert drawn.origin is not None
    traces = drawn.origin.traces
    assert (traces["trajectory"] / traces["step_size"])[:, :12].max() == pytest.approx(1024, rel=1e-3)
    assert float(drawn.origin.found["length/current"]) <= math.log(math.pi / 2) + 1e-5


def test_jitter_spreads_the_lengths_that_are_flown(linear: Any) -> None:
    method = sb.HMC(step_size=0.05, trajectory=0.4, jitter=0.5, burn_in=0, draws=63, chains=2, adapt=False)
    drawn = sb.run(method, linear[0], start=ZERO, progress=False)
    lengths = np.sort(drawn.stats["trajectory"][0])
    np.testing.assert_allclose(lengths, 0.4 * (0.5 + np.arange(1, 64) / 64), rtol=1e-5)
    steps = drawn.stats["trajectory"] / drawn.stats["step_size"]
    np.testing.assert_allclose(steps, np.round(steps), rtol=1e-5)
    assert (drawn.stats["step_size"] <= 0.05 * (1 + 1e-5)).all()


def test_a_mass_makes_up_for_widths_that_differ() -> None:
    """Of the correlated Gaussian: scales are its standard deviations."""
    posterior, _, covariance = correlated()
    method = sb.HMC(mass="diagonal", burn_in=60, draws=20, chains=16)
    drawn = sb.run(method, posterior, start=ZERO, progress=False)
    assert drawn.origin is not None
    found = drawn.origin.found
    scales = np.concatenate([found["scales/output/bias"], found["scales/output/kernel"][:, 0]])
    np.testing.assert_allclose(scales, np.sqrt(np.diag(covariance)), rtol=0.25)
    assert found["spread/count"] == 16 * 24


@pytest.fixture(scope="module")
def found(linear: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, sb.Draws]:
    """The same run in memory and in a folder."""
    method = sb.HMC(mass="diagonal", trajectory="chees", burn_in=24, draws=8, chains=4)
    folder = tmp_path_factory.mktemp("found") / "run"
    sb.run(method, linear[0], store=folder, start=ZERO, progress=False)
    memory = sb.run(method, linear[0], start=ZERO, progress=False)
    return {"memory": memory, "folder": sb.Run(folder).draws}


@pytest.mark.parametrize("method", [sb.HMC, sb.NUTS])
def test_a_mass_that_nobody_estimates_is_refused(linear: Any, method: Any) -> None:
    with pytest.raises(ValueError, match=f"or start from draws of a run of {method.__name__} that estimated"):
        sb.run(method(mass="diagonal", burn_in=0, draws=2, chains=4), linear[0], start=ZERO, progress=False)


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_a_run_takes_over_what_the_run_before_found(linear: Any, found: Any, where: str) -> None:
    before = found["memory"]
    method = sb.HMC(mass="diagonal", trajectory="chees", burn_in=0, draws=4, chains=4)
    after = sb.run(method, linear[0], start=found[where], progress=False)
    assert after.origin is not None
    for name in ("step_size", "length/current", "scales/output/bias", "scales/output/kernel"):
        np.testing.assert_allclose(
            after.origin.found[name], before.origin.found[name], rtol=1e-5, err_msg=name
        )


def test_what_is_given_is_not_taken_over_nor_what_another_method_found(linear: Any, found: Any) -> None:
    given = sb.HMC(step_size=0.011, jitter=0.1, trajectory=0.05, burn_in=0, draws=2, chains=4)
    drawn = sb.run(given, linear[0], start=found["memory"], progress=False)
    assert drawn.origin is not None
    assert float(drawn.origin.found["initial"]) == pytest.approx(0.011)
    other = sb.run(sb.MALA(thin=2, burn_in=0, draws=2, chains=4), linear[0], start=found["memory"])
    alone = sb.run(
        sb.MALA(thin=2, burn_in=0, draws=2, chains=4),
        linear[0],
        start=trees.index(found["memory"].variables, (slice(None), -1)),
    )
    np.testing.assert_array_equal(other.stats["step_size"], alone.stats["step_size"])


def test_the_user_is_told_what_was_found(found: Any) -> None:
    method = sb.HMC(mass="diagonal", trajectory="chees", burn_in=24, draws=8, chains=4)
    (sentence,) = method.tell(found["memory"].origin.traces)
    step = found["memory"].stats["step_size"].mean()
    assert f"HMC found a step size of {step:.3g} and used" in sentence


@pytest.mark.parametrize("tuned", [False, True])
def test_reduced_precision_tells_the_acceptance_that_it_costs(linear: Any, tuned: bool) -> None:
    """Large weights, so that bfloat16 errs by as much as the step does."""
    far = tempered(linear[0], 1.0)
    far.chunks = dataclasses.replace(far.chunks, y=far.chunks.y * 30.0)
    far.precision = "bf16"
    method = sb.HMC(step_size=0.02, trajectory=0.2, burn_in=10, draws=5, chains=8, adapt=False)
    if tuned:
        method = dataclasses.replace(method, jitter=0.1)
    centre = {"params": {"output": {"bias": 30 * linear[1][:1], "kernel": 30 * linear[1][1:, None]}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = sb.run(method, far, start=centre, progress=False)
    (lost,) = np.unique(drawn.stats["acceptance_lost"])
    print("lost", lost)
    assert lost > 0.02
    assert drawn.origin is not None
    (*_, sentence) = method.tell(drawn.origin.traces)
    cost = f"{100 * lost:.1f} points of acceptance (of one trajectory per chain)"
    assert sentence == f"gradients in reduced precision cost {cost}"
    far.precision = "tf32"  # which a CPU computes in float32
    drawn = sb.run(method, far, start=centre, progress=False)
    assert abs(drawn.stats["acceptance_lost"]).max() < 1e-5


def test_a_costly_precision_is_warned_of() -> None:
    method = sb.HMC(step_size=0.1, burn_in=1, draws=2, chains=2)
    traces = {
        "acceptance": np.full((2, 3), 0.8),
        "divergent": np.zeros((2, 3), bool),
        "acceptance_lost": np.array([[0.0, 0.2, 0.2]] * 2),
    }
    (warning,) = method.review(traces)
    assert "reduced-precision gradients cost 20 points of acceptance (of one" in warning
    assert method.review({**traces, "acceptance_lost": np.full((2, 3), 0.05)}) == []
