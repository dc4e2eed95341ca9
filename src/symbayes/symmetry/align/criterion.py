"""How networks are compared when they are aligned: what a criterion offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from symbayes.symmetry.group.element import Element
from symbayes.symmetry.group.stack import Stack


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
    ) -> Found:
        """One element for each draw; `reference` is a network's variables by name."""
        ...
