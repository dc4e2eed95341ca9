"""A comparison in Markdown, comma-separated values, LaTeX, JSON and pandas."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbayes.draws import files
from symbayes.specs import require

if TYPE_CHECKING:
    from symbayes.analyse.comparison import Comparison
    from symbayes.evaluate import Metric

ENDINGS = (".md", ".csv", ".tex", ".json")
ARROWS = {"higher": ("↑", r"$\uparrow$"), "lower": ("↓", r"$\downarrow$")}
SPECIAL = {"&": r"\&", "%": r"\%", "_": r"\_", "#": r"\#", "$": r"\$", "±": r"$\pm$", "–": "--"}


def markdown(table: Comparison) -> str:
    """The table in Markdown, with the best in bold."""
    heads = ["run", *(f"{metric.name}{_arrow(metric, 0)}" for metric in table.told)]
    lines = [heads, ["---", *("---:" for _ in table.told)]]
    lines += [[_plain(name), *(_bold(table, name, m, "**", "**") for m in table.told)] for name in table.rows]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{text}\n\n{_caption(table)}\n"


def latex(table: Comparison) -> str:
    """The table as a tabular of LaTeX with rules of the package booktabs, with the best in bold."""
    heads = ["run", *(f"{_escaped(metric.name)}{_arrow(metric, 1)}" for metric in table.told)]
    lines = [
        " & ".join([_escaped(name), *(_bold(table, name, m, r"\textbf{", "}", True) for m in table.told)])
        for name in table.rows
    ]
    body = " \\\\\n".join(lines)
    return (
        f"% {_caption(table)}\n"
        f"\\begin{{tabular}}{{l{'r' * len(table.told)}}}\n\\toprule\n"
        f"{' & '.join(heads)} \\\\\n\\midrule\n{body} \\\\\n\\bottomrule\n\\end{{tabular}}\n"
    )


def csv_text(table: Comparison) -> str:
    """The table as comma-separated values: a column for each number and one for each margin."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = table.columns
    spread = [
        column for column in columns if any(table.margin(run, column) is not None for run in table.rows)
    ]
    writer.writerow(["run", *columns, *(f"{column} margin" for column in spread)])
    for run, row in table.rows.items():
        numbers = [row.get(column) for column in columns] + [table.margin(run, column) for column in spread]
        writer.writerow([run, *("" if number is None else repr(float(number)) for number in numbers)])
    return text.getvalue()


def numbers(table: Comparison) -> dict[str, Any]:
    """The numbers, the margins and the names of the best runs, for JSON; None for what is not finite."""
    return {
        "reference": table.reference,
        "test_examples": table.examples,
        "rows": {
            run: {name: _finite(value) for name, value in row.items()} for run, row in table.rows.items()
        },
        "margins": {
            run: {name: table.margin(run, name) for name in row}
            for run, row in table.rows.items()
            if table.margins
        },
        "best": {name: list(runs) for name, runs in table.best.items()},
        "notes": list(table.notes),
    }


def to_pandas(table: Comparison, margins: bool = False) -> Any:
    """The numbers, or their margins, as a DataFrame with a row for each run."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError("to_pandas takes the package pandas: pip install pandas") from None
    if margins:
        rows = {run: {name: table.margin(run, name) for name in table.columns} for run in table.rows}
    else:
        rows = {run: {name: row.get(name) for name in table.columns} for run, row in table.rows.items()}
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=table.columns, dtype=float)
    return frame.rename_axis("run")


def require_ending(path: Path, more: tuple[str, ...] = ()) -> None:
    """Refuse a file whose ending is not that of a known format."""
    known = (*ENDINGS, *more)
    require(path.suffix in known, f"a table is saved as {', '.join(known)}, and {path} ends in none of them")


def save(table: Comparison, path: Path) -> Path:
    """Write the table in the format of the file's ending."""
    require_ending(path)
    made = {".md": markdown, ".csv": csv_text, ".tex": latex, ".json": _json}[path.suffix](table)
    files.make_folders(path.parent)
    files.write_bytes(path, made.encode())
    return path


def _json(table: Comparison) -> str:
    return json.dumps(numbers(table), indent=1, allow_nan=False) + "\n"


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _caption(table: Comparison) -> str:
    return table.caption.replace("A * marks the best run", "In bold are the best run")


def _bold(table: Comparison, run: str, metric: Metric, left: str, right: str, tex: bool = False) -> str:
    words = table.text(run, metric, mark="")
    words = _escaped(words) if tex else words
    return f"{left}{words}{right}" if run in table.best.get(metric.name, ()) else words


def _arrow(metric: Metric, form: int) -> str:
    return f" {ARROWS[metric.better][form]}" if isinstance(metric.better, str) else ""


def _plain(text: str) -> str:
    return text.replace("|", r"\|")


def _escaped(text: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in text)
