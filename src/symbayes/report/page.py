"""One self-contained HTML file: text, sortable tables and figures, readable offline and on a phone."""

from __future__ import annotations

import functools
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from symbayes.draws import files
from symbayes.evaluate.metric import written
from symbayes.report.contents import Cell, Figure, Section, Table
from symbayes.report.inline import inline

PROSE = 48
"""A cell with more characters than this is shown as a sentence."""

__all__ = ["Figure", "Section", "Table", "render", "write"]


def render(title: str, summary: str, sections: Sequence[Section], provenance: Mapping[str, str]) -> str:
    """The page as one HTML document; every text is plain text and is escaped."""
    figures = tables = 0
    shown_sections = []
    for number, section in enumerate(sections, start=1):
        items: list[_ShownTable | _ShownFigure] = []
        for item in section.items:
            if isinstance(item, Table):
                tables += 1
                items.append(_show_table(item, tables))
            else:
                figures += 1
                items.append(_show_figure(item, figures))
        shown_sections.append(
            {
                "id": f"section-{number}",
                "title": section.title,
                "lead": _paragraphs(section.lead),
                "entries": items,
            }
        )
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=title, summary=_paragraphs(summary), sections=shown_sections, provenance=dict(provenance)
        )
    )


@functools.cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write(path: str | os.PathLike[str], html: str) -> None:
    """Write the page to ``path``; if that fails, a file that was there before is kept."""
    target, content = Path(path), html.encode()
    files.make_folders(target.parent)
    files.write_bytes(target, content)


@dataclass(frozen=True)
class _ShownCell:
    text: str
    number: str | None  # what the cell sorts by, written so that JavaScript reads it
    missing: bool
    best: bool
    margin: str = ""

    @property
    def prose(self) -> bool:
        """Whether it is a sentence, which is broken into lines."""
        return len(self.text) > PROSE


@dataclass(frozen=True)
class _ShownTable:
    id: str
    number: int
    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[_ShownCell]]
    notes: Mapping[str, str]
    is_table: bool = True

    @property
    def prose(self) -> bool:
        """Whether it holds sentences; then its rows are stacked on a narrow screen."""
        return any(cell.prose for row in self.rows for cell in row[1:])


@dataclass(frozen=True)
class _ShownFigure:
    id: str
    number: int
    title: str
    caption: list[str]
    svg: Markup
    is_table: bool = False


def _show_figure(figure: Figure, number: int) -> _ShownFigure:
    name = f"figure-{number}"
    drawing = Markup(inline(figure.svg, f"{name}-", figure.alt))  # checked and rewritten by `inline`
    return _ShownFigure(name, number, figure.title, _paragraphs(figure.caption), drawing)


def _show_table(table: Table, number: int) -> _ShownTable:
    shown_columns = []
    cells_by_column = []
    for index, column in enumerate(table.columns):
        values = [row[index] for row in table.rows]
        texts = [_text(value, table.formats.get(column)) for value in values]
        names = [str(row[0]) for row in table.rows]
        best = _best(values, texts, names, table.best.get(column))
        margins = [_margin(table, name, column) for name in names]
        cells = [
            _ShownCell(text, _number(value), _is_missing(value), marked, margin)
            for value, text, marked, margin in zip(values, texts, best, margins, strict=True)
        ]
        numeric = any(cell.number is not None for cell in cells)
        shown_columns.append((column, numeric and index > 0))
        cells_by_column.append(cells)
    rows = [list(row) for row in zip(*cells_by_column, strict=True)]
    return _ShownTable(f"table-{number}", number, table.caption, shown_columns, rows, table.notes)


def _best(
    values: Sequence[Cell],
    texts: Sequence[str],
    names: Sequence[str],
    direction: str | tuple[str, ...] | None,
) -> list[bool]:
    """Which cells of a column are marked."""
    if isinstance(direction, tuple):
        return [name in direction for name in names]
    best = _best_text(values, texts, direction)
    return [best is not None and text == best for text in texts]


def _margin(table: Table, row: str, column: str) -> str:
    margin = table.margins.get(row, {}).get(column, math.nan)
    return f"±{_text(margin, table.formats.get(column)).rstrip('%')}" if math.isfinite(margin) else ""


def _best_text(values: Sequence[Cell], texts: Sequence[str], direction: str | None) -> str | None:
    """The text of the best value of a column; all cells with the same text are marked."""
    if direction is None:
        return None
    finite = [
        (float(value), text)
        for value, text in zip(values, texts, strict=True)
        if not isinstance(value, str) and value is not None and math.isfinite(value)
    ]
    if len(finite) < 2:
        return None
    chosen = max(finite) if direction == "higher" else min(finite)
    return chosen[1]


def _is_missing(value: Cell) -> bool:
    return value is None or value == "" or (not isinstance(value, str) and math.isnan(value))


def _text(value: Cell, spec: str | None) -> str:
    if value is None or _is_missing(value):
        return "–"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if spec is None:
        spec = "," if isinstance(value, int | np.integer) else ".4g"
    return written(value, spec)


def _number(value: Cell) -> str | None:
    if isinstance(value, str) or value is None or math.isnan(value):
        return None
    return str(float(value)).replace("inf", "Infinity")


def _paragraphs(text: str) -> list[str]:
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
