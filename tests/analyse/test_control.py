"""The null control of a run."""

import numpy as np

import symbayes as sb
from symbayes import trees
from symbayes.analyse import prior_draws
from symbayes.engine import Opened


def test_the_control_has_the_shape_of_the_draws_and_the_law_of_the_prior(
    hmc: Opened, hmc_draws: sb.Draws
) -> None:
    control = prior_draws(hmc, hmc_draws)
    assert control.shapes == hmc_draws.shapes
    assert (control.chains, len(control)) == (hmc_draws.chains, len(hmc_draws))
    values = np.asarray(trees.ravel(control.variables["params"], batch_dims=2)).astype(np.float64)
    n = values.size
    # The prior is N(0, 0.5^2): five standard errors.
    assert abs(values.mean()) < 5 * 0.5 / np.sqrt(n)
    assert abs(values.var() - 0.25) < 5 * 0.25 * np.sqrt(2 / n)
    flat = values.reshape(-1, values.shape[-1])
    assert np.abs(np.corrcoef(flat) - np.eye(len(flat))).max() < 5 / np.sqrt(flat.shape[1])
