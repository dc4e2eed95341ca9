"""Metropolis-adjusted microcanonical Monte Carlo.

Every draw is the end of a trajectory of isokinetic steps in a fresh direction, accepted or rejected exactly
(`methods/phases/gliding.py` has the equations).

Use it like HMC, where draws must be trusted: its energy errors are smaller on targets of many parameters, and
its velocity stays bounded where gradients are large.  A step takes two gradients.  It needs at least two
parameters.

Step size, length of trajectories and mass are given, found and adapted as for HMC, in the same units, and
shared by all chains; after burn-in they are fixed.  Statistics of every trajectory are `energy` (minus the
log density), `log_likelihood` (untempered, over all data), `acceptance` (a probability), `accepted`,
`divergent` (an energy error above 1000), `step_size` and `trajectory`, the length that was used.

References: Robnik, Cohn-Gordon & Seljak (2025), Metropolis adjusted microcanonical Hamiltonian Monte Carlo.
"""

from __future__ import annotations

from typing import ClassVar

from symbayes.engine.method import method
from symbayes.methods.flown import Flown
from symbayes.methods.phases import IsokineticTrajectories


@method
class AdjustedMCLMC(Flown):
    """Metropolis-adjusted microcanonical Monte Carlo (Robnik et al. 2025): exact up to its Monte-Carlo error.

    Attributes:
        jitter: relative variation of the length of trajectories, from 0 to 1; by default 0.2, and 1 for a
            length that is tuned.
    """

    name: ClassVar[str] = "adjusted-mclmc"
    example: ClassVar[str] = "--trajectory 0.48 --draws 200"
    varies: ClassVar[float] = 0.2
    flies: ClassVar[type[IsokineticTrajectories]] = IsokineticTrajectories
