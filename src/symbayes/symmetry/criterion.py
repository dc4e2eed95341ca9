"""How networks are compared when they are aligned: what a criterion offers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from symbayes.symmetry.ascent import Ascent
from symbayes.symmetry.element import Element
from symbayes.symmetry.frame import Frame, Plan
from symbayes.symmetry.group import Symmetry
from symbayes.symmetry.stack import Stack


@dataclass(frozen=True)
class Found:
    """One element per draw, the objective on the way (it never falls), and what the user should know."""

    elements: Element
    objective: np.ndarray
    notes: tuple[str, ...] = ()


@runtime_checkable
class Criterion(Protocol):
    """Finds elements that bring draws near a reference or, where there is none, near one another."""

    def elements(
        self, stack: Stack, reference: Mapping[str, np.ndarray] | None, restarts: int, seed: int
    ) -> Found: ...


@runtime_checkable
class Matcher(Protocol):
    """Matches one network to a reference by coordinate ascent on an inner product of named arrays."""

    def log_scales(self, group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The log-scales that bring a batch of networks to the form in which they are compared."""
        ...

    def match(
        self,
        plan: Plan,
        reference: Sequence[np.ndarray],
        frame: Frame,
        start: int = 0,
        rng: np.random.Generator | None = None,
    ) -> Ascent:
        """Climb from one of several starts; the first is where the network stands."""
        ...
