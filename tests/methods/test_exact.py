"""Samplers that claim to be exact: means and covariances of Gaussian posteriors at two temperatures."""

from typing import Any

import numpy as np
import pytest
from gaussians import STANDARD_ERRORS, correlated, drawn, errors_of, tempered

import symbayes as sb

ZERO = {"params": {"output": {"bias": np.zeros(1), "kernel": np.zeros((2, 1))}}}

METHODS: dict[str, Any] = {
    "hmc": lambda unit: sb.HMC(burn_in=50, draws=400, chains=16),
    "hmc-chees": lambda unit: sb.HMC(trajectory="chees", burn_in=60, draws=400, chains=16),
    "hmc-diagonal": lambda unit: sb.HMC(mass="diagonal", burn_in=60, draws=400, chains=16),
    "mala": lambda unit: sb.MALA(thin=8, burn_in=100, draws=400, chains=16),
}


@pytest.mark.parametrize("temperature", [1.0, 0.1])
@pytest.mark.parametrize("which", ["correlated", "conjugate"])
@pytest.mark.parametrize("name", METHODS)
def test_mean_and_covariance_of_a_gaussian(linear: Any, name: str, which: str, temperature: float) -> None:
    """Three means and six covariances: a correct sampler fails for one seed in 16,000; the seed is fixed."""
    posterior, mean, covariance = correlated() if which == "correlated" else linear
    method = METHODS[name](temperature**0.5)
    found = drawn(method, tempered(posterior, temperature), start=ZERO)
    errors = errors_of(found, mean, temperature * covariance)
    print(name, which, temperature, np.round(errors, 1))
    assert np.abs(errors).max() < STANDARD_ERRORS


def test_the_correlated_gaussian_is_correlated() -> None:
    _, _, covariance = correlated()
    scales = np.sqrt(np.diag(covariance))
    assert np.abs(covariance / scales[:, None] / scales - np.eye(3)).max() > 0.9
