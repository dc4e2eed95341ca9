"""The no-U-turn sampler.

Every draw is a state of a trajectory that grows until it turns back (`methods/phases/tree.py` has the rule),
so no length has to be given.

Use it for small networks, up to some thousand weights, and where a good length of trajectories is unknown.
All chains wait for the longest tree of each iteration, and a tree needs more memory than a trajectory: on
larger networks HMC gives more effective draws for the same number of gradients.

Step size and mass are found and adapted as for HMC, and shared by all chains; after burn-in they are fixed.
Statistics of every tree are `energy` (minus the log density), `log_likelihood` (untempered, over all data),
`acceptance` (the mean probability over its leaves), `divergent` (an energy error above 1000), `leaves`
(gradients over all data), `depth` (doublings) and `step_size`.

References: Hoffman & Gelman (2014), The No-U-Turn sampler; Betancourt (2017), A conceptual introduction to
Hamiltonian Monte Carlo.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from symbayes.engine.method import method
from symbayes.methods.phases import Trees
from symbayes.methods.phases.stepping import estimated_mass
from symbayes.methods.stepped import Stepped
from symbayes.posterior import Posterior
from symbayes.specs import Count, Share, require


@method
class NUTS(Stepped):
    """The no-U-turn sampler (Hoffman & Gelman 2014): exact up to its Monte-Carlo error.

    Attributes:
        burn_in: trees before the first draw is kept.
        draws: trees after that, one draw each.
        adapt: tune the step size during burn-in towards `target_accept`.
        depth: the most doublings of a tree; 10 are 1,023 leapfrog steps.
    """

    name: ClassVar[str] = "nuts"
    example: ClassVar[str] = "--mass diagonal --burn-in 100 --draws 400"
    made_of: ClassVar[str] = "trees"

    target_accept: Share = 0.8
    depth: Count = 10

    def check(self) -> None:
        super().check()
        require(self.depth <= 20, f"a tree has at most 20 doublings, not {self.depth}")

    def phases(self, posterior: Posterior) -> tuple[Trees, ...]:
        trees = functools.partial(
            Trees, step_size=self.step_size, target_accept=self.target_accept, depth=self.depth
        )
        burn_in = functools.partial(trees, adapting=self.adapt, keeps=False)
        drawing = functools.partial(trees, units=self.draws, adapting=False, keeps=True)
        if self.mass == "prior":
            return burn_in(units=self.burn_in, collects=None, whitens=None), drawing(
                collects=None, whitens=None
            )
        return *estimated_mass(burn_in, self.burn_in), drawing(collects=False, whitens=False)

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        step, leaves = (float(traces[name][:, self.burn_in :].mean()) for name in ("step_size", "leaves"))
        return [
            f"NUTS found a step size of {step:.3g} and grew trees of {leaves:.0f} leaves on average: "
            "start another run from these draws to begin with it"
        ]

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        warnings = []
        diverged = traces["divergent"][:, self.burn_in :]
        if diverged.any():
            warnings.append(
                f"{diverged.sum()} trees diverged after burn-in: "
                "use a larger target_accept or a smaller step_size"
            )
        full = float((traces["depth"][:, self.burn_in :] == self.depth).mean())
        if full > 0.05:
            warnings.append(
                f"{full:.0%} of the trees reached the largest depth of {self.depth} without a U-turn: "
                "use a larger depth, or HMC"
            )
        return warnings
