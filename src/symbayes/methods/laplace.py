"""Laplace approximations: a Gaussian around each mode, whose precision is the curvature there.

Each chain trains a network to a maximum ``m`` of the posterior density (`methods/phases/train.py` has the
loss).  A start that is given takes the place of training.  The approximation is

    N(m, H^-1),   H = sum_i J_i^T L_i J_i + P

with ``J_i`` the Jacobian of the network's outputs in its weights at example ``i``, ``L_i`` the second
derivative of the negative log likelihood in the outputs, and ``P`` the precision of the prior.  The sum is
the generalised Gauss-Newton matrix (`methods/phases/curvature.py` has the details).  Its diagonal, two
Kronecker factors for every layer, or the whole matrix of the last layer are kept.

Predictions are made in one of three ways: by drawing weights, which underfits where the density is not
Gaussian so far from ``m``; by drawing weights of the linearised network, ``f(m, x) + J(m, x) (w - m)``, whose
curvature is ``H``; or without draws, by the probit approximation (for regression, exactly) of the latter.
The log evidence is reported for each chain: it compares priors and networks without validation data.

Use it around any trained network: it costs as many gradients over the data as there are outputs.
`last-layer` is the cheapest, `kronecker` the closest to the whole matrix, and `diagonal` neglects
correlations between weights.

References: MacKay (1992), A practical Bayesian framework for backpropagation networks; Daxberger et al.
(2021), Laplace redux - effortless Bayesian deep learning.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from symbayes.draws.forward import Kind
from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases.curvature import FACTOR, Curvature, Form, Precision
from symbayes.methods.phases.middle import Middle
from symbayes.methods.phases.sample import Sample
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.posterior.curvature import FACTORS, STRUCTURES
from symbayes.specs import Count, Natural, require

Predict = Literal["samples", "linearised", "probit"]

FORWARD: dict[Predict, Kind] = {"samples": "plain", "linearised": "linearised", "probit": "closed-form"}


@method
class Laplace(StoppableTraining):
    """A Gaussian around each mode, whose precision is the curvature there (Daxberger et al. 2021).

    Attributes:
        epochs: passes over the training data; none where a start is given.
        chains: number of modes, each with its own Gaussian.
        structure: the part of the curvature that is kept: its diagonal, two Kronecker factors for every
            layer, or the whole matrix of the last layer, with the weights of all others fixed.
        prior_precision: that of the posterior, or that times a factor, which is chosen by the evidence, for
            all weights or for each layer separately, or by the loss on validation data.
        predict: by drawing weights, by drawing weights of the linearised network, or by the probit
            approximation of the latter, without draws.
        draws: draws of each chain; with predict=probit there is one, the mode.
    """

    name: ClassVar[str] = "laplace"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--structure last-layer --predict probit --chains 5"
    extends: ClassVar[str | None] = "draws"

    epochs: Natural = 50
    chains: Count = 1
    structure: Form = "kronecker"
    prior_precision: Precision = "prior"
    predict: Predict = "linearised"
    draws: Count = 30

    def started(self) -> Laplace:
        return dataclasses.replace(self, epochs=0)

    @property
    def forward(self) -> Kind:
        return FORWARD[self.predict]

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        require(
            self.prior_precision != "validation" or posterior.validation is not None,
            "there are no validation data to choose the precision on: give them to the posterior, or use "
            "prior_precision='evidence'",
        )
        validation = posterior.validation if self.prior_precision == "validation" else None
        curvature = Curvature(self.structure, self.prior_precision, validation)
        last = Middle() if self.predict == "probit" else Sample(self.draws)
        return self.stoppable(posterior, self.training(posterior)), curvature, last

    def notes(self, posterior: Posterior) -> list[str]:
        names = STRUCTURES[self.structure].neglected(posterior)
        if not names:
            return []
        return [f"used in no product, or in several, and therefore diagonal only: {', '.join(names)}"]

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        if "log_evidence" not in traces:
            return []
        words = [f"log evidence {_range(traces['log_evidence'][:, -1], ',.1f')}"]
        factors = {name: _range(traces[name][:, -1], ".3g") for name in traces if name.startswith(FACTOR)}
        if self.prior_precision != "prior":
            each = [
                f"{factor}{name.removeprefix(FACTOR).replace('/', ' in ', 1)}"
                for name, factor in factors.items()
            ]
            words.append(f"the prior's precision was multiplied by {', '.join(each)}")
        return words

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        # A layer that nothing depends on goes to an end by right; all of them together do not.
        if FACTOR not in traces or self.prior_precision == "prior":
            return []
        factors = traces[FACTOR][:, -1]
        ends = ((factors > 0.9 * FACTORS[-1], "largest"), (factors < 1.1 * FACTORS[0], "smallest"))
        return [
            f"the factor of the prior's precision that {self.prior_precision} chose is {factors[at][0]:.0e}, "
            f"the {which} that is tried: give the posterior another prior, or use prior_precision='prior'"
            for at, which in ends
            if at.any()
        ]


def _range(values: np.ndarray, form: str) -> str:
    """One number, or the smallest and the largest of several chains."""
    low, high = (format(float(end), form) for end in (values.min(), values.max()))
    return low if low == high else f"{low} to {high}"
