"""Counting what XLA compiles, anywhere in the process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

EVENT = "/jax/core/compile/backend_compile_duration"

_compiled: list[str] = []


def _listen(event: str, duration_secs: float, **about: Any) -> None:
    if event == EVENT:
        _compiled.append(str(about.get("fun_name", "unnamed")))


jax.monitoring.register_event_duration_secs_listener(_listen)


@contextmanager
def compilations() -> Iterator[list[str]]:
    """The names of the programs compiled within the context, filled in when it ends."""
    before = len(_compiled)
    found: list[str] = []
    yield found
    found.extend(_compiled[before:])
