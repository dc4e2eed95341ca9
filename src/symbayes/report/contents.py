"""The contents of a page: tables and figures, and the sections that hold them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Cell = str | bool | int | float | np.integer | np.floating | None
"""One entry of a table; None and NaN are shown as missing."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns; the first column names the row.

    ``formats`` gives a format specification per column (``".1%"``).  ``best`` says for a column whether
    higher or lower values are better, so that the best are marked, or names the rows to mark.  ``margins``
    are shown beside numbers, by row and column.  ``notes`` explain words below the table.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    caption: str
    formats: Mapping[str, str] = field(default_factory=dict)
    best: Mapping[str, Literal["higher", "lower"] | tuple[str, ...]] = field(default_factory=dict)
    margins: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise ValueError(f"a table needs columns with distinct names, not {list(self.columns)}")
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {number} of the table has {len(row)} cells for {len(self.columns)} columns; "
                    "write None where a value is missing"
                )
        unknown = sorted((set(self.formats) | set(self.best)) - set(self.columns))
        if unknown:
            raise ValueError(
                f"formats and best name columns that the table lacks: {unknown}; it has {list(self.columns)}"
            )
        for column, direction in self.best.items():
            if not isinstance(direction, tuple) and direction not in ("higher", "lower"):
                raise ValueError(f"best[{column!r}] is {direction!r}; give 'higher' or 'lower'")


@dataclass(frozen=True)
class Figure:
    """A drawing as SVG, with a caption that says what to see in it and an alternative text."""

    title: str
    svg: str
    caption: str
    alt: str

    def __post_init__(self) -> None:
        if not self.alt.strip():
            raise ValueError(f"figure {self.title!r} has no alternative text; say in `alt` what it shows")


@dataclass(frozen=True)
class Section:
    """A part of the page; blank lines in the lead separate paragraphs."""

    title: str
    lead: str
    items: Sequence[Table | Figure]
