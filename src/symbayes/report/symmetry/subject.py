"""A run and the symmetries of its network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from symbayes import symmetry
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import Predictive
from symbayes.posterior.prediction import predict
from symbayes.symmetry import Symmetry
from symbayes.symmetry.align.control import null_draws
from symbayes.symmetry.group.stack import Stack

Tell = Callable[[str], Any]
"""Takes a few words on what is being done."""


def silent(words: str) -> None:
    """For those who do not ask."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A run, fresh variables of its network, and the group that the network's program has."""

    run: Opened
    variables: Any
    group: Symmetry

    @classmethod
    def of(cls, run: Opened, x: Any) -> Subject:
        """From a run and some inputs of its dataset."""
        x = jax.numpy.asarray(x[:2])
        variables = run.network.init(jax.random.key(0), x)
        return cls(run, variables, symmetry.discover(run.network.apply, variables, x))

    @property
    def symmetric(self) -> bool:
        """Whether anything moves."""
        return bool(self.group.permutations or self.group.signs or self.group.scales)

    def control(self, draws: Draws) -> Draws:
        """As many draws of the prior, which know nothing of the data: the null control.

        Aligning pure noise also shrinks variances and lifts means, so what alignment does to these draws is
        no evidence about the posterior.  They are made when they are read, unless the draws are in memory.
        """
        sample = jax.jit(lambda key: self.run.prior.sample(key, self.variables["params"]))
        noise = null_draws(Stack.of(draws, self.group), sample)
        assert isinstance(noise, Draws)
        return noise

    def predict(self, draws: Any, x: Any) -> Predictive:
        """The predictive of draws, or of one network."""
        return predict(self.run.network, self.run.likelihood, draws, np.asarray(x))
