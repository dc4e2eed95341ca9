"""The null control of a run: as many draws of its prior, which know nothing of the data.

Aligning pure noise also shrinks variances and lifts means, so what alignment does to these draws is no
evidence about the posterior.
"""

from __future__ import annotations

import jax

from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.symmetry.align.control import null_draws
from symbayes.symmetry.group.stack import Stack


def prior_draws(run: Opened, like: Draws) -> Draws:
    """As many draws of the run's prior as there are in `like`.

    They are made when they are read, unless the draws are in memory.
    """
    sample = jax.jit(lambda key: run.prior.sample(key, run.variables["params"]))
    noise = null_draws(Stack.of(like, run.group), sample)
    assert isinstance(noise, Draws)
    return noise
