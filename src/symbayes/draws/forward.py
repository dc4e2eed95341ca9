"""How a draw predicts: most by a plain forward pass of its weights, and some otherwise.

    plain         f(w, x)
    keyed         f(w, x, key): dropout and the like, where a draw is weights and a key, its statistic `key`
    linearised    f(m, x) + J(m, x) (w - m) around the mean m of what was fitted to the chain
    closed-form   the integral of that over what was fitted: one component of each chain

The kind is recorded with a run.  What was fitted is kept here as named arrays, since a distribution knows
nothing of draws' chains, and draws nothing of distributions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from symbayes.brief import briefly
from symbayes.specs import require

Kind = Literal["plain", "keyed", "linearised", "closed-form"]

FITTED: tuple[Kind, ...] = ("linearised", "closed-form")
"""Kinds that need what was fitted to the chain."""

COMPONENTS = "mixture/components/"
"""How names of a run's distribution begin: it is a mixture over chains."""

PREFIX = "forward/"
KIND = f"{PREFIX}kind"
LAW = f"{PREFIX}law/"

WORDS: dict[Kind, str] = {
    "plain": "by a forward pass of each draw",
    "keyed": "by a forward pass of each draw with its own key",
    "linearised": "by the network linearised at the mean",
    "closed-form": "by the integral over what was fitted, in closed form",
}


@briefly
@dataclass(frozen=True, eq=False)
class Forward:
    """The kind of forward pass, and what it needs beside the draws.

    Attributes:
        kind: of the forward pass.
        law: arrays of what was fitted, by name, each with a leading axis over chains; empty where the kind
            needs none.
    """

    kind: Kind = "plain"
    law: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = get_args(Kind)
        require(self.kind in kinds, f"a forward pass is one of {', '.join(kinds)}, not {self.kind!r}")

    @classmethod
    def of(cls, kind: Kind, distribution: Mapping[str, np.ndarray] | None) -> Forward:
        """The one of a run, whose `distribution` is a mixture over its chains."""
        if kind not in FITTED or distribution is None:
            return cls(kind)
        return cls(kind, {name.removeprefix(COMPONENTS): array for name, array in distribution.items()})

    @property
    def plain(self) -> bool:
        return self.kind == "plain"

    def of_chains(self, rows: Any) -> Forward:
        """That of some of the chains."""
        return Forward(self.kind, {name: array[rows] for name, array in self.law.items()})

    def require_plain(self, done: str) -> None:
        """Refuse draws that are not functions of their weights alone; `done` is what cannot be done."""
        require(
            self.plain,
            f"draws that predict {WORDS[self.kind]} cannot be {done}: "
            "take those of a run whose draws are networks by themselves",
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """As named arrays, none for a plain one."""
        if self.plain:
            return {}
        kind = np.frombuffer(self.kind.encode(), np.uint8)
        return {KIND: kind, **{f"{LAW}{name}": np.asarray(array) for name, array in self.law.items()}}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Forward:
        """What `arrays` gave; other names are not looked at."""
        if KIND not in arrays:
            return PLAIN
        kind: Any = arrays[KIND].tobytes().decode()
        return cls(kind, {name.removeprefix(LAW): a for name, a in arrays.items() if name.startswith(LAW)})


PLAIN = Forward()


def together(parts: Sequence[Forward], chains: bool) -> Forward:
    """The one of joined draws: of more `chains`, or of longer ones."""
    first = parts[0]
    kinds = sorted({part.kind for part in parts})
    require(len(kinds) == 1, f"draws that predict in different ways ({', '.join(kinds)}) cannot be joined")
    if not first.law:
        return first
    names = {frozenset(part.law) for part in parts}
    require(len(names) == 1, "draws of distributions of different kinds cannot be joined")
    if chains:
        law = {name: np.concatenate([part.law[name] for part in parts]) for name in first.law}
        return Forward(first.kind, law)
    same = all(np.array_equal(part.law[name], first.law[name]) for part in parts for name in first.law)
    require(same, "draws of different distributions are joined side by side: use along='chain'")
    return first
