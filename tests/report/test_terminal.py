"""Tables of the page in the terminal."""

import math

from rich.console import Console

from symbayes.report.contents import Table
from symbayes.report.terminal import terminal_table


def test_cells_are_written_as_on_the_page_and_missing_ones_are_dashes() -> None:
    table = Table(
        ["run", "floats", "share"],
        [["one", 1234567, 0.125], ["two", None, math.nan]],
        "Two rows.",
        {"floats": ",", "share": ".1%"},
        notes={"share": "part of the whole"},
    )
    console = Console(width=60)
    with console.capture() as captured:
        console.print(terminal_table(table))
    lines = captured.get().splitlines()
    rows = [[cell.strip() for cell in line.strip("│┃").split("│")] for line in lines if "│" in line]
    assert rows == [["one", "1,234,567", "12.5%"], ["two", "–", "–"]]
    assert [line.strip() for line in lines[-2:]] == ["Two rows.", "share: part of the whole."]
