"""Full-batch Hamiltonian Monte Carlo.

Every draw is the end of a trajectory (`methods/phases/trajectories.py` has the equations) whose momentum is
fresh and whose end is accepted or rejected exactly.

The number of leapfrog steps is L = ceil(trajectory / e), and the step actually taken is trajectory / L.  Mind
the cost of the default trajectory: for the prior N(0, 1), a step of 1e-3 and temperature 1 one draw takes
1,571 gradients over all data; `symbayes.estimate` tells before the run.

During burn-in the step size is adapted by dual averaging on the mean acceptance of all chains, which share
it.  It is pulled towards the step size given, and a trajectory takes at most 16 times the steps of that one.
After burn-in the step size is fixed.

Statistics of every trajectory are `energy` (minus the log density), `log_likelihood` (untempered, over all
data), `acceptance` (a probability), `accepted`, `divergent` (an energy error above 1000), `step_size`
and `kinetic` (the energy of the momentum with which the trajectory ended, or began where it was rejected).

References: Neal (2011), MCMC using Hamiltonian dynamics; Izmailov et al. (2021), What are Bayesian
neural network posteriors really like?; Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases import Trajectories
from symbayes.methods.phases.trajectories import leapfrog_steps
from symbayes.posterior import Posterior
from symbayes.posterior.posterior import quarter_period
from symbayes.specs import MOST, Count, Natural, Positive, Share, require

LONGEST = 16
"""While adapting, a trajectory takes at most this many times the steps of the step size given."""


@method
class HMC(Method):
    """Full-batch Hamiltonian Monte Carlo (Neal 2011): exact up to its Monte-Carlo error.

    Attributes:
        step_size: of the leapfrog integrator; with `adapt`, where adaptation begins.  In units of the prior's
            standard deviations where these differ between parameters.
        trajectory: length of a trajectory, step size times number of steps; by default a quarter of
            the prior's period, pi/2 alpha sqrt(T).
        burn_in: trajectories before the first draw is kept.
        draws: trajectories after that, one draw each.
        chains: independent chains.
        adapt: tune the step size during burn-in towards `target_accept`.
        target_accept: the mean acceptance probability that adaptation aims at.
    """

    name: ClassVar[str] = "hmc"
    remedy: ClassVar[str] = "use a smaller step_size, and inputs of the order of one"
    example: ClassVar[str] = "--step-size 8e-3 --trajectory 0.48 --draws 200"
    extends: ClassVar[str | None] = "draws"

    step_size: Positive
    trajectory: Positive | None = None
    burn_in: Natural = 50
    draws: Count = 240
    chains: Count = 4
    adapt: bool = True
    target_accept: Share = 0.9

    def check(self) -> None:
        require(
            self.trajectory is None or self.trajectory >= self.step_size,
            f"a trajectory of {self.trajectory} is shorter than one step of {self.step_size}",
        )
        steps = (self.trajectory or self.step_size) / self.step_size
        require(steps <= MOST, f"a trajectory has {steps:.3g} steps: use a larger step_size")
        trajectories = self.burn_in + self.draws
        require(trajectories <= MOST, f"{trajectories:,} trajectories are more than {MOST:,}: draw fewer")

    def resolve(self, posterior: Posterior) -> HMC:
        trajectory = self.trajectory or quarter_period(posterior)
        if trajectory is None:
            raise ValueError("this prior has no variance: give a trajectory length")
        return dataclasses.replace(self, trajectory=max(trajectory, self.step_size))

    def phases(self, posterior: Posterior) -> tuple[Trajectories, Trajectories]:
        assert self.trajectory is not None, "resolve the method first"
        burn_in = Trajectories(
            units=self.burn_in,
            step_size=self.step_size,
            trajectory=self.trajectory,
            target_accept=self.target_accept,
            longest=min(MOST, LONGEST * leapfrog_steps(self.trajectory, self.step_size)),
            adapting=self.adapt,
            keeps=False,
        )
        drawing = dataclasses.replace(burn_in, units=self.draws, longest=MOST, adapting=False, keeps=True)
        return burn_in, drawing

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        warnings = []
        acceptance = traces["acceptance"]
        late = float(acceptance[:, acceptance.shape[1] // 2 :].mean())
        if late < 0.3:
            warnings.append(
                f"HMC accepted only {late:.0%} of its later trajectories: "
                "use a smaller step_size or a longer burn_in"
            )
        diverged = traces["divergent"][:, self.burn_in :]
        if diverged.any():
            warnings.append(
                f"{diverged.sum()} trajectories diverged after burn-in, "
                f"first at draw {int(diverged.any(axis=0).argmax())}: use a smaller step_size"
            )
        return warnings
