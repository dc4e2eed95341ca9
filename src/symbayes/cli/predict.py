"""`symbayes predict`: the predictions of a run at new inputs, as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from symbayes.cli.options import OneRun, default, require_file
from symbayes.cli.output import Json, Output
from symbayes.specs import require

if TYPE_CHECKING:
    from symbayes.engine import Opened
    from symbayes.posterior import Predictive


@dataclass(frozen=True)
class Predict:
    """Predict new inputs with a run: means, intervals and probabilities, in the targets' own units.

    Example: symbayes predict runs/hmc-houses --data new-houses.csv --out prices.csv

    Attributes:
        run: folder of the run.
        out: the file to write, .csv or .npz; an existing file is replaced.
        data: a .csv, .npz or .parquet file with the columns of the training data (an .npz file may have an
            array x instead), or the name of a dataset, whose test part is predicted.
        interval: probability of the intervals.
        json: a file to write the predictions to, as JSON; - is the standard output.
    """

    run: OneRun
    out: Annotated[Path, default("required", "FILE")]
    data: Annotated[str | None, default("the test part of the run's own dataset")] = None
    interval: float = 0.9
    json: Json = None

    def __call__(self) -> None:
        from symbayes.draws import files
        from symbayes.engine import open_run

        output = Output(self.json)
        require_file("--out", self.out)
        require(self.out.suffix in WRITERS, f"--out names a .csv or .npz file, not {self.out}")
        require(0 < self.interval < 1, f"--interval is a probability between 0 and 1, not {self.interval}")
        run = open_run(self.run)
        arrays = self._predictive(run).described(self.interval)
        prepared = run.preparation
        names = prepared.class_names or prepared.targets
        files.write_bytes(self.out, WRITERS[self.out.suffix](arrays, names))
        rows = len(next(iter(arrays.values())))
        output.line(f"{rows:,} predictions ({', '.join(arrays)}): {self.out}")
        if output.wanted:
            told = {name: array.tolist() for name, array in arrays.items()}
            output.numbers({"file": str(self.out), "names": list(names), **told})

    def _predictive(self, run: Opened) -> Predictive:
        from symbayes import data

        if self.data is None or not data.names_a_file(self.data):
            name = self.data or run.about.get("data")
            require(name is not None, "the run does not name its dataset: give a file with --data")
            inputs = data.load(str(name)).test.x
        else:
            columns = data.read_columns(Path(self.data))
            if run.preparation.columns:
                return run.predict(columns)
            require(
                "x" in columns,
                f"{self.data} has no array x, and the columns of the run's inputs have no names",
            )
            # Where the run notes no preparation, the network takes the numbers as they are.
            return run.predict(columns["x"], raw="preparation" in run.about)
        predictive, scaling = run.predict(inputs), run.preparation.outputs
        return predictive if scaling is None else predictive.unscaled(scaling)


def _archive(arrays: Mapping[str, np.ndarray], names: tuple[str, ...]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _table(arrays: Mapping[str, np.ndarray], names: tuple[str, ...]) -> bytes:
    """A line for every example, with a column for each single number and for each output."""
    columns: dict[str, Any] = {}
    for what, values in arrays.items():
        require(values.ndim <= 2, "predictions with positions do not fit into a table: write an .npz file")
        if values.ndim == 1:
            labels = values.dtype.kind == "i" and len(names) > values.max()
            columns[what] = [names[value] for value in values] if labels else values
            continue
        each = names if len(names) == values.shape[1] else [str(i) for i in range(values.shape[1])]
        for i, name in enumerate(each):
            unnamed = not names and len(each) == 1
            columns[what if unnamed else f"{name} {what}"] = values[:, i]
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([f"{cell:.7g}" if isinstance(cell, float | np.floating) else cell for cell in row])
    return text.getvalue().encode()


WRITERS = {".csv": _table, ".npz": _archive}
