"""Which signs act on a term, and the values that they can take together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

Pattern = frozenset[str]
"""The signs that act on a term."""


def sign_choices(names: Sequence[str]) -> list[dict[str, int]]:
    """All values of some signs, by number: where bit k of the number is set, the k-th sign is negative."""
    return [
        {name: -1 if number >> k & 1 else 1 for k, name in enumerate(names)}
        for number in range(2 ** len(names))
    ]


def weight(pattern: Iterable[str], choice: Mapping[str, int]) -> int:
    """The product of the chosen signs over a pattern; those that are not chosen count as positive."""
    return int(np.prod([choice.get(name, 1) for name in pattern], dtype=int))


def together(patterns: Iterable[Pattern], names: Sequence[str]) -> list[list[str]]:
    """The named signs in groups: two that act on one term, or are linked by others that do, share a group."""
    groups = [[name] for name in names]
    for pattern in patterns:
        met = [group for group in groups if not pattern.isdisjoint(group)]
        if len(met) > 1:
            groups = [group for group in groups if group not in met]
            groups.append([name for name in names if any(name in group for group in met)])
    return groups
