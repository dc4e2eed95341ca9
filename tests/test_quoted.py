"""Numbers that the README and the pages quote are those of the files in `results/`."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import symbayes as sb
from shown_code import ROOT
from symbayes.studies.compact.published import TABLE

METHODS = {
    "deep ensemble": "ensemble",
    "snapshot ensemble": "snapshot",
    "checkpoint ensemble": "checkpoint",
    "Laplace, Kronecker": "laplace, kronecker",
    "Laplace, last layer": "laplace, last layer",
    "variational": "vi",
    "BatchEnsemble": "batch ensemble",
    "Packed-Ensembles": "packed ensemble",
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


CIFAR = {
    "one member": "member 1",
    "ensemble of 3": "ensemble",
    "SWAG, one member": "swag",
    "Laplace of the last layer, one member": "laplace",
    "MC dropout": "dropout",
}


def test_readme_s_table_of_cifar_is_that_of_the_result() -> None:
    rows = result("cifar10_h200.json")["rows"]
    shown = list(table(ROOT / "README.md", "method | accuracy | NLL, in nats | ECE | AUROC, SVHN"))
    assert [method for method, *_ in shown] == list(CIFAR)
    for method, *cells in shown:
        row = rows[CIFAR[method]]
        assert cells == [f"{row['accuracy']:.1%}", *(f"{row[n]:.3f}" for n in ("NLL", "ECE", "AUROC"))], (
            method
        )


def test_how_to_s_table_of_cifar_is_that_of_the_result() -> None:
    rows = result("cifar10_h200.json")["rows"]
    shown = list(table(ROOT / "docs/how-to/train-image-networks.md", "method | accuracy"))
    assert [method for method, *_ in shown] == list(CIFAR)
    for method, *cells in shown:
        row = rows[CIFAR[method]]
        scores = [f"{row[name]:.3f}" for name in ("NLL", "Brier", "ECE", "AUROC")]
        seconds = f"{row['seconds']:.0f}" if "seconds" in row else ""
        assert cells == [f"{row['accuracy']:.1%}", *scores, f"{row['floats'] / 1e6:.1f} million", seconds]


GAUSSIANS = {
    "HMC, the other chain": "hmc: draws",
    "Gaussian of HMC's draws": "hmc: Gaussian, raw",
    "Gaussian of these, rebased": "hmc: Gaussian, rebased",
    "Gaussian of these, without permutations and scales": "hmc: Gaussian, scales removed too",
    "Gaussian of rank 32": "hmc: Gaussian of rank 32, aligned jointly",
    "ensemble of 5": "ensemble: draws",
    "Gaussian of the ensemble": "ensemble: Gaussian, raw",
    "Gaussian of the ensemble, rebased": "ensemble: Gaussian, rebased",
    "Gaussian of the ensemble, aligned jointly": "ensemble: Gaussian, aligned jointly",
    "variational inference": "vi",
}
WHOLE = {"100.0%": "100%", "0.000": "0"}
"""Numbers that hold by definition have no digits behind the point."""


def test_readme_s_table_of_gaussians_is_that_of_the_study() -> None:
    rows = result("mnist_compact_h200.json")["parts"]["gaussians"]["found"]["rows"]
    shown = list(table(ROOT / "README.md", "posterior | agreement with HMC"))
    assert [posterior for posterior, *_ in shown] == list(GAUSSIANS)
    for posterior, *cells in shown:
        name = GAUSSIANS[posterior]
        expected = []
        for column, form in (("agreement", ".1%"), ("TV", ".3f")):
            paper = f"{TABLE[name][column]:{form}}" if name in TABLE else ""
            expected += [f"{rows[name][column]:{form}}", WHOLE.get(paper, paper)]
        assert cells == expected, posterior


def test_readme_quotes_the_barrier_of_the_study() -> None:
    found = result("mnist_compact_h200.json")["parts"]["interpolation"]["found"]
    naive, rebased = (
        sb.evaluate.barrier(np.array(found["loss"][form][-1]), np.array(found["t"]))
        for form in ("naive", "rebased")
    )
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"the loss rises by {naive:.3f} nats, and by {rebased:.3f} once" in text


def test_readme_quotes_the_picture() -> None:
    (part,) = result("picture_h200.json")["parts"].values()
    many, scaled, sorted_ = re.findall(r"in (\d+)(?: hexagons)? (?:as trained|once)", part["answer"])[:3]
    text = " ".join((ROOT / "README.md").read_text().split())
    assert (
        f"Half of the networks lie in {many} hexagonal bins as trained, in {scaled} without scales, and in "
        f"{sorted_} once sorted" in text
    )


def test_reference_quotes_what_the_covariance_prior_repairs() -> None:
    accuracy = result("silent_pixels.json")["scales"]["1"]["accuracy"]["noise on silent pixels"]
    lost = {name: 100 * (values[0] - values[-1]) for name, values in accuracy.items()}
    text = " ".join((ROOT / "docs/reference/posterior.md").read_text().split())
    hmc, repaired = lost["hmc"], lost["hmc, covariance prior"]
    assert f"loses {hmc:.1f} points of accuracy, and {repaired:.1f} with this prior" in text
