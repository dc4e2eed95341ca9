"""How objects show themselves: one short line, and a table where a notebook can show one."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

C = TypeVar("C", bound=type)

LONGEST = 60
"""Characters of a part that is shown within another."""


def briefly(cls: C) -> C:
    """Let a dataclass show itself in one line, arrays by type and shape, without what is None or empty."""

    def shown(self: Any) -> str:
        parts = ((field.name, getattr(self, field.name, None)) for field in dataclasses.fields(self))
        return f"{type(self).__name__}({', '.join(f'{n}={brief(v)}' for n, v in parts if not _empty(v))})"

    cls.__repr__ = shown  # type: ignore[assignment]
    return cls


def brief(value: Any) -> str:
    """A value in few characters."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{dtype}{list(shape)}" if len(shape) else _number(value)
    if isinstance(value, Mapping):
        return _listed("{}", [str(key) for key in value])
    if isinstance(value, list | tuple) and len(repr(value)) > LONGEST:
        return f"[{len(value)} of {type(value[0]).__name__}]"
    words = repr(value)
    return words if len(words) <= LONGEST and "\n" not in words else type(value).__name__


def counted(number: int, thing: str) -> str:
    """A number of things: 1 chain, 1,000 draws."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def _number(value: Any) -> str:
    """The shortest decimal that reads back as the same: 0.1, not 0.10000000149, in single precision."""
    try:
        return str(np.asarray(value))
    except TypeError:  # it stands for a number in a program that is traced, or is a random key
        return f"{value}"


def _listed(ends: str, names: Sequence[str]) -> str:
    inside = ", ".join(names)
    if len(inside) > LONGEST:
        inside = f"{len(names)} names"
    return f"{ends[0]}{inside}{ends[1]}"


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping | tuple | list) and not value)


def html_table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), caption: str = "") -> str:
    """A table for a notebook; the first cell of each row is its name."""
    parts = []
    if caption:
        parts.append(f'<caption style="caption-side:bottom;text-align:left">{html.escape(caption)}</caption>')
    if head:
        parts.append(f"<thead><tr>{''.join(f'<th>{html.escape(cell)}</th>' for cell in head)}</tr></thead>")
    for name, *cells in rows:
        rest = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        parts.append(f'<tr><th style="text-align:left">{html.escape(name)}</th>{rest}</tr>')
    return f"<table>{''.join(parts)}</table>"
