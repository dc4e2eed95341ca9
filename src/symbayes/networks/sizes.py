"""The shapes of the arrays that a network takes.

Adapters refuse arrays of other shapes than the network makes: these are those of another network.  A caller
that cuts a network down to some of its units lifts this check; whether the network's code computes with fewer
units is then seen by trying.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from symbayes.specs import require

_any = ContextVar("of_any_size", default=False)


@contextmanager
def of_any_size() -> Iterator[None]:
    """Within this context networks take arrays of any size."""
    token = _any.set(True)
    try:
        yield
    finally:
        _any.reset(token)


def require_shape(name: str, shape: tuple[int, ...], expected: tuple[int, ...], whose: str) -> None:
    """Refuse an array of another shape."""
    require(_any.get() or shape == expected, f"{name} has shape {shape}, but {whose} has {expected}")
