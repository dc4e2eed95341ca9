"""Numbers that the README and the pages quote are those of the files in `results/`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shown_code import ROOT

METHODS = {
    "deep ensemble": "ensemble",
    "snapshot ensemble": "snapshot",
    "checkpoint ensemble": "checkpoint",
    "Laplace, Kronecker": "laplace, kronecker",
    "Laplace, last layer": "laplace, last layer",
    "variational": "vi",
    "BatchEnsemble": "batch ensemble",
    "MC dropout": "dropout",
}


def result(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "results" / name).read_text())


def table(page: Path, first: str) -> Iterator[list[str]]:
    """The cells of a table's rows, found by the head of its first column."""
    text = page.read_text().partition(f"\n| {first} |")[2].partition("\n\n")[0]
    for line in text.split("\n")[2:]:
        yield [cell.strip() for cell in line.strip("|").split("|")]


def test_table_of_modes_is_that_of_the_study() -> None:
    rows = result("fashion_modes_h200.json")["parts"]["predictions"]["found"]["rows"]
    shown = list(table(ROOT / "README.md", "method | accuracy"))
    assert len(shown) > 10
    for method, *cells in shown:
        name = METHODS.get(method, method.lower())
        one, many = (rows[f"{name}|{modes}"] for modes in ("one", "many"))
        for cell, (metric, form) in zip(
            cells,
            (("accuracy", ".1%"), ("NLL", ".3f"), ("ECE", ".3f"), ("AUROC|notmnist", ".3f")),
            strict=True,
        ):
            assert cell == f"{one[metric]:{form}} / {many[metric]:{form}}", (method, metric)


WORDS = {"one": 1, "two": 2, "five": 5, "ten": 10, "twenty": 20}


def compact(stored: str) -> dict[str, Any]:
    """The row of the result that some words name."""
    rows = result("compact_digits.json")["rows"]
    if match := re.fullmatch(r"(\w+) (draws?|networks?) in (?:float32|2\.5 bits)", stored):
        family = "stored draws" if match[2].startswith("draw") else "few bits"
        (found,) = (row for row in rows if (row["family"], row["size"]) == (family, WORDS[match[1]]))
    elif "Gaussian" in stored:
        size = int((re.findall(r"rank (\d+)", stored) or ["0"])[0])
        wanted = ("Gaussian", "aligned", size)
        (found,) = (row for row in rows if (row["family"], row["form"], row["size"]) == wanted)
    else:
        (found,) = (row for row in rows if row["family"] == "ceiling")
    return found


def test_table_of_compact_posteriors_is_that_of_the_result() -> None:
    shown = list(table(ROOT / "docs/how-to/compact-posterior.md", "stored"))
    assert len(shown) > 5
    for stored, bits, distance in shown:
        row = compact(stored)
        assert (bits, distance) == (f"{row['bits'] / 1000:,.0f}", f"{row['scores']['TV']:.3f}"), stored


def test_readme_quotes_the_compact_posterior() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    few, many = compact("twenty networks in 2.5 bits"), compact("twenty draws in float32")
    for row in (few, many):
        assert f"{row['bits'] / 1000:,.0f} kbit" in text
        assert f"{row['scores']['TV']:.3f}" in text
