"""The commands about symmetry, end to end on tiny runs."""

import json
import re
from pathlib import Path

import pytest

import symbayes as sb
from symbayes.cli import main
from symbayes.distributions import Gaussian


def sampled(folder: Path, *options: str) -> Path:
    arguments = ["sample", "ensemble", "--epochs", "2", "--chains", "4", "--store", str(folder)]
    assert main([*arguments, *options]) == 0
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sampled(tmp_path_factory.mktemp("runs") / "four", "--hidden", "4")


@pytest.fixture(scope="module")
def aligned(run: Path) -> Path:
    assert main(["align", str(run)]) == 0
    return run.with_name("four-aligned")


def loaded(path: Path) -> Gaussian:
    found = sb.distributions.load(path)
    assert isinstance(found, Gaussian)
    return found


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What is said about bad input: one sentence after the progress, exit code two."""
    capsys.readouterr()
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip()
    assert "Traceback" not in error
    lines = [line for line in error.splitlines() if line.startswith("symbayes: ")]
    assert len(lines) == 1
    return error[error.index("symbayes: ") :].replace("\n", " ")


def test_align_prints_what_it_found(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["align", str(run), "--out", str(out), "--restarts", "2", "--scale", "unit-norm"]) == 0
    output = capsys.readouterr().out
    assert "10^1.4 permutations, 0 sign bits, 4 scale dimensions" in output
    assert re.search(r"hidden1 +│ +4 │ +\d\.\d │ +– │ +\d\.\d │ +1\.9 ", output)
    before, after = map(float, re.findall(r"draws of the run +│ +(\S+) │ +(\S+) │", output)[0])
    assert after > before
    assert re.search(r"control +│ +\S+ │ +\S+ │", output)
    assert f"symbayes report {out}" in output.replace("\n", "")
    assert sb.Run(out).config["alignment"]["by"] == {"kind": "Weights", "scale": "unit-norm"}


@pytest.mark.parametrize(
    ("by", "measure"), [("activations", "summed correlation"), ("straight-through", "loss half-way (nats)")]
)
def test_align_by_what_networks_do(
    run: Path, tmp_path: Path, by: str, measure: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["align", str(run), "--by", by, "--out", str(tmp_path / "out")]) == 0
    output = capsys.readouterr().out
    assert measure in output
    before, after = map(float, re.findall(r"draws of the run +│ +(\S+) │ +(\S+) │", output)[0])
    assert after < before if by == "straight-through" else after > before
    assert sb.Run(tmp_path / "out").finished


def test_an_aligned_run_is_evaluated_as_its_source(
    run: Path, aligned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["evaluate", str(run), str(aligned)]) == 0
    assert re.search(r"four-aligned .*│ +100\.0% │ 0\.000 │", capsys.readouterr().out)


def test_align_to_another_run(run: Path, aligned: Path, tmp_path: Path) -> None:
    assert main(["align", str(run), "--to", str(aligned), "--out", str(tmp_path / "to")]) == 0
    assert sb.Run(tmp_path / "to").config["alignment"]["to"] == str(aligned)


def test_compact_prints_a_table_and_saves_the_gaussian(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "gaussian.safetensors"
    arguments = ["compact", str(run), "--rank", "1", "--samples", "3", "--out", str(out)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    for row in ("mean network, aligned", "Gaussian, diagonal,", "Gaussian, rank 1,", "ceiling: all 2 draws"):
        assert row in output
    assert loaded(out).rank == 1
    assert "is there already" in complaint(arguments, capsys)


def test_compact_without_alignment(aligned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", str(aligned), "--rank", "0", "--samples", "2", "--no-align"]) == 0
    assert "aligned │" not in capsys.readouterr().out
    assert loaded(aligned / "gaussian-rank-0.safetensors").rank == 0


def test_report_writes_the_numbers_beside_the_page(run: Path, tmp_path: Path) -> None:
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    bounds = ["--max-draws", "4", "--max-examples", "100"]
    assert main(["report", str(run), "--out", str(page), "--json", str(numbers), *bounds]) == 0
    assert "Symmetry of four" in page.read_text()
    written = json.loads(numbers.read_text())
    assert written["data"] == "digits"
    assert written["symmetry"]["four"]["looked_at"]["test"] == 100
    assert written["comparison"]["four"]["accuracy"] > 0


def test_a_folder_that_is_there_is_not_overwritten(
    run: Path, aligned: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (aligned / "journal.jsonl").read_bytes()
    assert "holds a run already: choose another folder" in complaint(["align", str(run)], capsys)
    other = ["align", str(run), "--out", str(run)]
    assert "holds a run already" in complaint(other, capsys)
    assert (aligned / "journal.jsonl").read_bytes() == before


def test_a_run_without_draws_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = sampled(tmp_path / "empty", "--hidden", "3", "--keep", "0")
    for command in ("align", "compact"):
        assert "holds no draws" in complaint([command, str(empty)], capsys)


def test_a_network_without_symmetries_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    linear = sampled(tmp_path / "linear", "--option", "hidden=[]")
    assert "has no symmetries: there is nothing to align" in complaint(["align", str(linear)], capsys)
    assert "has no symmetries: give --no-align" in complaint(["compact", str(linear)], capsys)


def test_a_run_of_another_network_is_no_reference(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = sampled(tmp_path / "other", "--hidden", "5")
    message = complaint(["align", str(run), "--to", str(other), "--out", str(tmp_path / "out")], capsys)
    assert "is a run of another network" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["align", "/nowhere"], "/nowhere is not a run"),
        (["align", "RUN", "--restarts", "0", "--out", "OUT"], "restarts counts the starts"),
        (["align", "RUN", "--to", "/nowhere", "--out", "OUT"], "/nowhere is not a run"),
        (["compact", "RUN", "--rank", "-1"], "rank must be a whole number of at least 0, not -1"),
        (["compact", "RUN", "--rank", "9"], "2 draws of 310 weights are fitted, so the rank is at most 1"),
        (["compact", "RUN", "--max-draws", "2"], "has too few draws"),
        (["report", "RUN", "--max-draws", "0"], "max_draws must be a whole number of at least 1"),
    ],
)
def test_bad_input_is_one_sentence(
    run: Path, tmp_path: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"RUN": str(run), "OUT": str(tmp_path / "out")}
    assert message in complaint([places.get(option, option) for option in options], capsys)
