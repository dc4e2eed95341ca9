"""Microcanonical Langevin Monte Carlo, unadjusted: fast, and biased by its energy error.

Every chain follows microcanonical Langevin dynamics without an accept step
(`methods/phases/microcanonical.py` has the equations), with its own step size and length, which are tuned in
burn-in.

Use it where speed matters more than exactness, and check `energy_variance`: on a Gaussian of 100 dimensions
the worst variance was 15 % too small at an energy variance per weight of 1e-3.  The default of 1e-4 is for
results that are compared with others; for exact draws use AdjustedMCLMC or HMC.  A step takes two gradients.
It needs at least two parameters.

Burn-in has three stages: half of it tunes the step size, a quarter also collects the spread of positions, and
a quarter tunes the length at a fixed step size (`methods/phases/drifting.py` has the equations).  A run that
starts from draws of another run of MCLMC begins with the step size and length found there, and needs no
burn-in.

Statistics of every draw are `energy` (minus the log density), `log_likelihood` (untempered, over all data),
`energy_variance` (per weight, of its steps), `taken_back` (the share of its steps that were not finite),
`step_size` and `length`.

References: Robnik & Seljak (2024), Fluctuation without dissipation: microcanonical Langevin Monte Carlo;
Robnik, De Luca, Silverstein & Seljak (2023), Microcanonical Hamiltonian Monte Carlo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases import Microcanonical
from symbayes.methods.phases.microcanonical import judged, microcanonical
from symbayes.posterior import Posterior
from symbayes.specs import MOST, Count, Natural, Positive, require

LATE = 0.25
"""Share of burn-in in the second stage, and in the third."""


@method
class MCLMC(Method):
    """Unadjusted microcanonical Langevin Monte Carlo (Robnik & Seljak 2024): biased by its energy error.

    Attributes:
        energy_variance: target of the energy variance per weight, to which the step size is tuned: the
            smaller, the less bias.
        step_size: length of a step in the space of weights; by default tuned for each chain.  In units of the
            prior's standard deviations where these differ between parameters.
        length: path length over which a velocity decorrelates; by default tuned for each chain.
        thin: steps from one draw to the next.
        burn_in: draws that are made and not kept, during which step size and length are tuned.
        draws: draws that are kept after that.
        chains: independent chains.
    """

    name: ClassVar[str] = "mclmc"
    remedy: ClassVar[str] = "use a smaller energy_variance, and inputs of the order of one"
    example: ClassVar[str] = "--thin 200 --draws 400"
    extends: ClassVar[str | None] = "draws"
    finds: ClassVar[tuple[str, ...]] = ("step_size", "length")

    energy_variance: Positive = 1e-4
    step_size: Positive | None = None
    length: Positive | None = None
    thin: Count = 100
    burn_in: Natural = 100
    draws: Count = 240
    chains: Count = 4

    def check(self) -> None:
        units = self.burn_in + self.draws
        require(units <= MOST, f"{units:,} draws are more than {MOST:,}: draw fewer")
        require(
            self.burn_in == 0 or self.burn_in >= 10 or self._given,
            "chains are tuned during burn-in: use a burn_in of at least 10, give step_size and length, or "
            "use a burn_in of 0 for a run that starts from another's draws",
        )

    @property
    def _given(self) -> bool:
        return self.step_size is not None and self.length is not None

    def require_found(self, found: Mapping[str, np.ndarray]) -> None:
        require(
            self.burn_in > 0 or self._given or "step_size" in found,
            "chains are tuned during burn-in: use a burn_in of at least 10, give step_size and length, or "
            "start from draws of a run of MCLMC",
        )

    def phases(self, posterior: Posterior) -> tuple[Microcanonical, ...]:
        return microcanonical(
            units=self.burn_in,
            draws=self.draws,
            thin=self.thin,
            step_size=self.step_size,
            length=self.length,
            aims=(self.energy_variance, self.energy_variance),
            late=LATE,
        )

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        names = ("energy_variance", "step_size")
        variance, step = (float(traces[name][:, self.burn_in :].mean()) for name in names)
        return [
            "draws of MCLMC are biased by their energy error: its variance per weight was "
            f"{variance:.2g} at a step size of {step:.3g}"
        ]

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        return judged(traces, self.burn_in, None if self.step_size is not None else self.energy_variance)
