"""Options of samplers whose draws are ends of trajectories, and their phases.

A trajectory of length ``t`` takes ``L = ceil(t / e)`` steps, and the step size actually used is ``t / L``.
During burn-in the step size is adapted by dual averaging on the mean acceptance of all chains, which share
it.  It is pulled towards the given step size, and a trajectory takes at most 16 times the steps that this
needs (1,024 where none is given).  After burn-in step size, length and mass are fixed.

Reference: Hoffman & Gelman (2014), The No-U-Turn sampler, section 3.2.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np

from symbayes.engine.method import method
from symbayes.methods.phases.stepping import estimated_mass
from symbayes.methods.phases.trajectories import Trajectories, leapfrog_steps
from symbayes.methods.phases.tuned import TunedTrajectories
from symbayes.methods.stepped import Stepped
from symbayes.posterior import Posterior
from symbayes.posterior.posterior import quarter_period
from symbayes.specs import MOST, Part, Positive, require

F = TypeVar("F", bound="Flown")

LONGEST, LONGEST_OPEN = 16, 1024
"""The most steps of a trajectory during adaptation: as a multiple of those that the given step size needs,
and as a number where none is given."""

VARIED, CHEES = 0.2, 1.0
"""Jitter where the length of trajectories is not given, and where it is tuned."""

COSTLY = 10
"""Percentage points of acceptance lost to reduced-precision gradients from which a warning is given."""


@method
class Flown(Stepped):
    """Base of samplers whose draws are ends of trajectories.

    Attributes:
        burn_in: trajectories before the first draw is kept.
        draws: trajectories after that, one draw each.
        trajectory: length of a trajectory, step size times number of steps; by default a quarter of
            the prior's period, pi/2 alpha sqrt(T).  The word chees tunes it across chains during burn-in.
        jitter: relative variation of the length of trajectories, from 0 to 1; by default 0 for a length that
            is given, 0.2 for one that is not, and 1 for one that is tuned.
    """

    varies: ClassVar[float] = 0.0
    """Jitter where the length of trajectories is given."""
    flies: ClassVar[type[TunedTrajectories]]
    """The phase that makes the trajectories."""

    trajectory: Positive | Literal["chees"] | None = None
    jitter: Part | None = None

    def check(self) -> None:
        if self.step_size is not None and isinstance(self.trajectory, float | int):
            require(
                self.trajectory >= self.step_size,
                f"a trajectory of {self.trajectory} is shorter than one step of {self.step_size}",
            )
            steps = self.trajectory / self.step_size
            require(steps <= MOST, f"a trajectory has {steps:.3g} steps: use a larger step_size")
        super().check()
        require(
            self.trajectory != "chees" or self.chains > 1,
            "the length of trajectories is tuned across chains: use more than one",
        )

    def resolve(self: F, posterior: Posterior) -> F:
        given = isinstance(self.trajectory, float | int)
        jitter = self.jitter
        if jitter is None:
            jitter = CHEES if self.trajectory == "chees" else self.varies if given else VARIED
        if self.trajectory == "chees":
            self._first_length(posterior)
            return dataclasses.replace(self, jitter=jitter)
        length = self.trajectory or self._first_length(posterior)
        return dataclasses.replace(self, trajectory=max(length, self.step_size or 0.0), jitter=jitter)

    def _first_length(self, posterior: Posterior) -> float:
        """A quarter of the period of the prior, or of a standard normal where parameters are whitened."""
        length = math.pi / 2 if self.mass == "diagonal" else quarter_period(posterior)
        if length is None:
            raise ValueError("this prior has no variance: give a trajectory length")
        return length

    def phases(self, posterior: Posterior) -> tuple[Trajectories, ...]:
        assert self.trajectory is not None, "resolve the method first"
        chees, jitter = self.trajectory == "chees", self.jitter or 0.0
        length = float(self._first_length(posterior) if chees else self.trajectory)
        longest = LONGEST_OPEN
        if self.step_size is not None:
            longest = min(MOST, LONGEST * leapfrog_steps(length, self.step_size))
        common: dict[str, Any] = {
            "step_size": self.step_size,
            "trajectory": length,
            "target_accept": self.target_accept,
        }
        burn_in: dict[str, Any] = {"longest": longest, "adapting": self.adapt, "keeps": False, **common}
        drawing: dict[str, Any] = {"longest": MOST, "adapting": False, "keeps": True, **common}
        tuned = functools.partial(self.flies, jitter=jitter, chees=chees)
        if self.mass == "prior":
            of_prior: dict[str, Any] = {"collects": None, "whitens": None}
            return (
                tuned(units=self.burn_in, **burn_in, **of_prior),
                tuned(units=self.draws, **drawing, **of_prior),
            )
        return (
            *estimated_mass(functools.partial(tuned, **burn_in), self.burn_in),
            tuned(units=self.draws, collects=False, whitens=False, **drawing),
        )

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        sentences = []
        if "trajectory" in traces:
            length, step = (
                float(traces[name][:, self.burn_in :].mean()) for name in ("trajectory", "step_size")
            )
            sentences.append(
                f"{type(self).__name__} found a step size of {step:.3g} and used trajectories of length "
                f"{length:.3g} on average, {length / step:.0f} steps: "
                "start another run from these draws to begin with them"
            )
        if "acceptance_lost" in traces:
            lost = float(traces["acceptance_lost"][:, -1].mean())
            sentences.append(
                f"gradients in reduced precision cost {100 * lost:.1f} points of acceptance "
                "(of one trajectory per chain)"
            )
        return sentences

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        warnings = []
        acceptance = traces["acceptance"]
        late = float(acceptance[:, acceptance.shape[1] // 2 :].mean())
        if late < 0.3:
            warnings.append(
                f"{type(self).__name__} accepted only {late:.0%} of its later trajectories: "
                "use a smaller step_size or a longer burn_in"
            )
        lost = traces.get("acceptance_lost")
        if lost is not None and (points := 100 * float(lost[:, -1].mean())) > COSTLY:
            warnings.append(
                f"reduced-precision gradients cost {points:.0f} points of acceptance "
                '(of one trajectory per chain): use precision="float32" or a smaller step_size'
            )
        diverged = traces["divergent"][:, self.burn_in :]
        if diverged.any():
            warnings.append(
                f"{diverged.sum()} trajectories diverged after burn-in, "
                f"first at draw {int(diverged.any(axis=0).argmax())}: use a smaller step_size"
            )
        return warnings
