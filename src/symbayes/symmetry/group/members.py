"""What a group is made of: permutations, signs and scales, each with the parameters it moves."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    """A parameter's axes that a permutation, sign or scale moves; the exponent is 1 for a permutation."""

    path: str
    axes: tuple[int, ...]
    exponent: float = 1


@dataclass(frozen=True)
class Permutation:
    """An index of size n that may be permuted, separately for every value of the indices in `over`."""

    name: str
    size: int
    over: tuple[str, ...]
    copies: int
    moves: tuple[Move, ...]


@dataclass(frozen=True)
class Factor:
    """A free function on the indices in `over`, by which parameters are multiplied to the power of an
    exponent.
    """

    kind: str
    name: str
    over: tuple[str, ...]
    size: int
    moves: tuple[Move, ...]
    error: float | None = None


@dataclass(frozen=True)
class Pinned:
    """An axis of a parameter that may not be permuted, and why."""

    path: str
    axis: int
    size: int
    reason: str
