"""The demonstration, with small numbers in place of its own."""

import json
from pathlib import Path

import pytest

import symbayes as sb
from symbayes.cli import main
from symbayes.studies import demo


@pytest.mark.usefixtures("blank_figures")
def test_the_demonstration_writes_its_page_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {
        "HMC": lambda **_: sb.HMC(step_size=0.01, trajectory=0.03, burn_in=2, draws=4, chains=2),
        "DeepEnsemble": lambda **_: sb.DeepEnsemble(epochs=1, chains=3),
        "SWAG": lambda **_: sb.SWAG(collect=2, draws=2),
        "Laplace": lambda **_: sb.Laplace(structure="last-layer", draws=2),
    }
    for name, method in small.items():
        monkeypatch.setattr(demo, name, method)
    assert main(["demo", "--out", str(tmp_path / "demo"), "--json", "-"]) == 0
    page, printed = tmp_path / "demo/index.html", capsys.readouterr()
    text = page.read_text()
    for title in ("Comparison", "Symmetry of hmc", "Symmetry of ensemble"):
        assert title in text
    numbers = json.loads((tmp_path / "demo/results.json").read_text())
    assert set(numbers["symmetry"]) == {"hmc", "ensemble"}
    assert {"swag", "laplace"} < set(numbers["comparison"])
    assert numbers["symmetry"]["hmc"]["log10_permutations"] == pytest.approx(35.42, abs=0.01)
    assert json.loads(printed.out) == numbers
    assert page.as_uri() in printed.err.replace("\n", "")
