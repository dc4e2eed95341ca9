"""Options of exact samplers whose chains share a step size and a mass, and checks of these options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases.stepping import LEAST
from symbayes.specs import MOST, Count, Natural, Positive, Share, require


@method
class Stepped(Method):
    """Base of exact samplers that take leapfrog or isokinetic steps.

    Attributes:
        step_size: step size of the integrator; by default found by trial.  With `adapt`, the initial value.
            In units of the prior's standard deviations where these differ between parameters, and of the
            estimated ones with a diagonal mass.
        chains: independent chains.
        adapt: tune during burn-in, the step size towards `target_accept`.
        target_accept: the mean acceptance probability that adaptation aims at.
        mass: prior, for the scales of the prior, or diagonal, estimated from all chains during burn-in.
    """

    remedy: ClassVar[str] = "use a smaller step_size, and inputs of the order of one"
    extends: ClassVar[str | None] = "draws"
    finds: ClassVar[tuple[str, ...]] = ("step_size",)
    made_of: ClassVar[str] = "trajectories"
    """What each draw is the end of, in the plural."""

    step_size: Positive | None = None
    burn_in: Natural = 50
    draws: Count = 240
    chains: Count = 4
    adapt: bool = True
    target_accept: Share = 0.9
    mass: Literal["prior", "diagonal"] = "prior"

    def check(self) -> None:
        total = self.burn_in + self.draws
        require(total <= MOST, f"{total:,} {self.made_of} are more than {MOST:,}: draw fewer")
        require(
            self.mass == "prior" or self.burn_in == 0 or self.burn_in >= LEAST,
            f"the mass is estimated during burn-in: use a burn_in of at least {LEAST}, "
            "or of 0 for a run that starts from another's draws",
        )

    def require_found(self, found: Mapping[str, np.ndarray]) -> None:
        require(
            self.mass == "prior" or self.burn_in > 0 or any(name.startswith("scales/") for name in found),
            f"the mass is estimated during burn-in: use a burn_in of at least {LEAST}, or start from draws "
            f"of a run of {type(self).__name__} that estimated one",
        )
