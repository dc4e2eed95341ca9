"""What ArviZ reads of a run, by calling it: one package below version 1.0, or the three of 1.0."""

import importlib
import inspect
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import symbayes as sb

from .runs import HMC

ENOUGH = sb.HMC(0.01, trajectory=0.05, burn_in=3, draws=16, chains=2)
"""Draws enough for a tail to be fitted to."""


@pytest.fixture(scope="module")
def az() -> Any:
    """The ArviZ of this environment: one package, or those of its parts that there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the old one tells of the new one
        found = {}
        for name in ("arviz_stats", "arviz_plots", "arviz"):
            try:
                module = importlib.import_module(name)
            except ImportError:
                continue
            parts = ("summary", "loo", "plot_energy", "plot_trace", "loo_pit")
            found |= {part: getattr(module, part) for part in parts if hasattr(module, part)}
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def drawn(tiny: sb.Posterior) -> sb.Draws:
    return sb.run(ENOUGH, tiny, block_steps=10)


@pytest.fixture(scope="module")
def exported(drawn: sb.Draws, az: Any, digits: sb.data.Dataset) -> Any:
    return sb.open(drawn).to_arviz(x=digits.test.x[:3])


def values(exported: Any, group: str, name: str) -> np.ndarray:
    return np.asarray(exported[group][name].values)


def test_groups_have_the_names_that_arviz_looks_for(exported, drawn, tiny):
    assert {"lp", "energy", "diverging", "acceptance_rate"} <= set(exported["sample_stats"].data_vars)
    np.testing.assert_array_equal(values(exported, "observed_data", "y"), tiny.train.y)
    assert values(exported, "posterior_predictive", "y").shape == (2, 16, 128)
    assert values(exported, "predictions", "y").shape == (2, 16, 3)
    np.testing.assert_array_equal(values(exported, "sample_stats", "diverging"), drawn.stats["divergent"])


def test_the_log_likelihood_of_examples_adds_up_to_that_of_all(exported, drawn):
    pointwise = values(exported, "log_likelihood", "y")
    np.testing.assert_allclose(pointwise.sum(axis=-1), drawn.stats["log_likelihood"], rtol=1e-5)


def test_the_energy_is_that_of_position_and_momentum(exported, drawn):
    """|p|^2 is chi-square with as many degrees of freedom as there are weights."""
    kinetic = values(exported, "sample_stats", "energy") + values(exported, "sample_stats", "lp")
    np.testing.assert_allclose(kinetic, drawn.stats["kinetic"], rtol=1e-3)
    weights = sum(int(np.prod(shape)) for shape in drawn.shapes.values())
    error = np.sqrt(weights / 2 / kinetic.size)
    assert abs(kinetic.mean() - weights / 2) < 6 * error


def test_arviz_summarises_and_compares(exported, az):
    if not hasattr(az, "summary"):
        pytest.skip("there is no ArviZ here that summarises")
    table = az.summary(exported, var_names=["output.bias"])
    assert len(table) == 10
    assert {"ess_bulk", "r_hat"} <= set(table.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # thirty-two draws are too few for it to be sure
        assert np.isfinite(getattr(az.loo(exported), "elpd", None) or az.loo(exported)["elpd_loo"])


@pytest.mark.parametrize("plot", ["plot_trace", "plot_energy"])
def test_arviz_draws(exported, az, plot):
    if not hasattr(az, plot):
        pytest.skip(f"there is no {plot} here")
    import matplotlib

    matplotlib.use("agg")
    options = {"var_names": ["output.bias"]} if plot == "plot_trace" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert getattr(az, plot)(exported, **options) is not None
    import matplotlib.pyplot

    matplotlib.pyplot.close("all")


def test_a_run_whose_data_are_not_known_has_draws_still(tiny, tmp_path):
    sb.run(HMC, tiny, store=tmp_path / "run", block_steps=10)
    run = sb.open(tmp_path / "run")
    with pytest.raises(sb.RunError, match="does not tell its dataset"):
        run.to_arviz()
    tree = run.to_arviz(log_likelihood=False, posterior_predictive=False)
    assert "output.bias" in tree["posterior"].data_vars


def test_a_target_of_one_number_has_the_axes_of_its_log_likelihood(az):
    data = sb.data.from_arrays(np.arange(12.0), np.sin(np.arange(12.0)), validation=0)
    network, law = sb.networks.mlp(hidden=(), outputs=1), sb.likelihoods.Gaussian(0.5)
    posterior = sb.Posterior(network, law, sb.priors.Normal(), data.train)
    exported = sb.open(sb.run(ENOUGH, posterior)).to_arviz(x=data.test.x)
    draws = values(exported, "log_likelihood", "y").shape
    assert values(exported, "posterior_predictive", "y").shape == draws
    assert values(exported, "observed_data", "y").shape == draws[2:] == (len(data.train),)
    assert values(exported, "predictions", "y").shape == (*draws[:2], len(data.test))
    if hasattr(az, "loo_pit"):
        # Below 1.0 the variable is named as y; it gives the array, and later versions one for each variable.
        old = "y" in inspect.signature(az.loo_pit).parameters
        found = az.loo_pit(exported, y="y") if old else az.loo_pit(exported, var_names="y")["y"]
        assert np.shape(found) == draws[2:]
