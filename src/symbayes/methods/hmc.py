"""Full-batch Hamiltonian Monte Carlo.

Every draw is the end of a trajectory (`methods/phases/trajectories.py` has the equations) that starts with a
fresh momentum and is accepted or rejected exactly.

Use it where draws must be trusted: it is the exact method here that scales to large networks.  Without
arguments it finds its step size; `trajectory="chees"` also tunes the length of trajectories, which is worth
its burn-in for many draws with eight chains or more; `mass="diagonal"` helps where parameters have posteriors
of very different widths.

A trajectory of length ``t`` takes ``L = ceil(t / e)`` leapfrog steps, and the step size actually used is
``t / L``.  The default trajectory is costly: for the prior ``N(0, 1)``, a step of 0.001 and temperature 1 one
draw takes 1,571 gradients over all data; `symbayes.estimate` predicts the cost before the run.

During burn-in the step size is adapted by dual averaging on the mean acceptance of all chains, which share
it.  It is pulled towards the given step size, and a trajectory takes at most 16 times the steps that this
needs (1,024 where none is given).  After burn-in step size, length and mass are fixed.  A run that starts
from draws of another run of HMC takes over what that one found, for options that are not given.

Statistics of every trajectory are `energy` (minus the log density), `log_likelihood` (untempered, over all
data), `acceptance` (a probability), `accepted`, `divergent` (an energy error above 1000), `step_size` and
`kinetic` (the energy of the momentum with which the trajectory ended, or began where it was rejected); where
something is tuned, also `trajectory`, the length that was used.

References: Neal (2011), MCMC using Hamiltonian dynamics; Izmailov et al. (2021), What are Bayesian
neural network posteriors really like?; Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.flown import Flown
from symbayes.methods.phases import Trajectories, TunedTrajectories
from symbayes.posterior import Posterior


@method
class HMC(Flown):
    """Full-batch Hamiltonian Monte Carlo (Neal 2011): exact up to its Monte-Carlo error."""

    name: ClassVar[str] = "hmc"
    example: ClassVar[str] = "--trajectory 0.48 --draws 200"
    flies: ClassVar[type[TunedTrajectories]] = TunedTrajectories

    def phases(self, posterior: Posterior) -> tuple[Trajectories, ...]:
        """The plain phase is used where only the step size is tuned, starting from one that is given."""
        phases = super().phases(posterior)
        tunes = self.step_size is None or self.jitter or self.trajectory == "chees" or self.mass == "diagonal"
        return phases if tunes else tuple(_plain(phase) for phase in phases)


def _plain(phase: Trajectories) -> Trajectories:
    fields = ("units", "step_size", "trajectory", "target_accept", "longest", "adapting", "keeps")
    return Trajectories(**{name: getattr(phase, name) for name in fields})
