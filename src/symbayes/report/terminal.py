"""Tables of the page, for the terminal."""

from __future__ import annotations

import math

from rich.table import Table as TerminalTable

from symbayes.evaluate.metric import written
from symbayes.report.contents import Cell, Table

MISSING = "–"


def terminal_table(table: Table) -> TerminalTable:
    """The same rows under the same columns, with the caption and the notes below."""
    notes = [f"{word}: {meaning}." for word, meaning in table.notes.items()]
    shown = TerminalTable(caption="\n".join([table.caption, *notes]), caption_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if number else "left")
    for row in table.rows:
        cells = zip(table.columns, row, strict=True)
        shown.add_row(*(_written(cell, table.formats.get(column, "")) for column, cell in cells))
    return shown


def _written(cell: Cell, form: str) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return MISSING
    return cell if isinstance(cell, str) else written(cell, form)
