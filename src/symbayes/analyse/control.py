"""The null control of a run: the same number of draws of its prior, which do not depend on the data.

Alignment also shrinks variances and lifts means of pure noise, so an effect that it has on these draws too is
no evidence about the posterior.
"""

from __future__ import annotations

from typing import Any

import jax

from symbayes.draws import Draws
from symbayes.engine import Source, open_run
from symbayes.posterior.priors import Prior
from symbayes.symmetry.align.control import null_draws
from symbayes.symmetry.group.stack import Stack


def prior_draws(source: Source, like: Draws) -> Draws:
    """As many draws of the run's prior as there are in `like`.

    They are drawn when they are read, unless `like` is in memory.
    """
    run = open_run(source)
    weights = run.variables["params"]
    noise = null_draws(Stack.of(like, run.group), lambda key: _sampled(run.prior, key, weights))
    assert isinstance(noise, Draws)
    return noise


@jax.jit
def _sampled(prior: Prior, key: jax.Array, weights: Any) -> Any:
    return prior.sample(key, weights)
