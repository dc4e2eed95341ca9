"""What all studies share: parts are done once, kept when a study is stopped, and told on a page."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import cli
from symbayes.draws import RunError
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies import STUDIES, Desk, Found, Part, Study, stored

CALLS: list[str] = []
BROKEN: list[BaseException] = []
"""What the next part ends with, if anything."""


@dataclass(frozen=True)
class Square(Part):
    """The square of a number."""

    question: ClassVar[str] = "What is the square?"
    published: ClassVar[str] = "The square of three is nine."

    name: str
    number: float
    drawn: bool

    @property
    def of(self) -> str:
        return self.name

    def work(self, desk: Desk) -> Found:
        CALLS.append(self.name)
        desk.tell("multiplying")
        if BROKEN:
            raise BROKEN.pop()
        return {"square": np.float32(self.number) ** 2, "nothing": float("nan"), "seed": desk.seed}

    def answer(self, found: Found) -> str:
        return f"It is {found['square']:g}, {'large' if found['square'] > 5 else 'small'}."

    def show(self, found: Found) -> list[Table | Figure]:
        x = np.arange(3.0)
        table = Table(["name", "square"], [[self.name, found["square"]]], "One square.")
        if not self.drawn:
            return [table]
        return [table, figures.curves({self.name: (x, x * found["square"])}, "x", "y", "A line")]


@dataclass(frozen=True)
class Squares(Study):
    """Some squares."""

    name: ClassVar[str] = "squares"
    title: ClassVar[str] = "Which squares are there?"
    source: ClassVar[str] = "Euclid (-300), Elements"

    numbers: tuple[float, ...] = (2.0, 3.0)
    drawn: bool = False

    def parts(self) -> Mapping[str, Part]:
        return {f"number.{n:g}": Square(f"{n:g}", n, self.drawn) for n in self.numbers}

    def answer(self, found: Mapping[str, Found]) -> str:
        return f"The sum of squares is {sum(each['square'] for each in found.values()):g}."


@pytest.fixture
def study(tmp_path: Path) -> Squares:
    CALLS.clear()
    BROKEN.clear()
    return Squares(out=tmp_path / "study")


def test_a_study_writes_page_numbers_and_figures(study: Squares, capsys: pytest.CaptureFixture[str]) -> None:
    page = replace(study, drawn=True)()
    text = page.read_text()
    for words in (
        "Which squares are there?",
        "It is 4, small.",
        "It is 9, large.",
        "The sum of squares is 13.",
        "The square of three is nine.",
        "Euclid",
        "symbayes study squares --preset quick",
    ):
        assert words in text, words
    assert text.count("<h2 id=") == 3, "contents, answers, and one section for the question of both parts"
    numbers = json.loads((study.folder / "results.json").read_text())
    assert numbers["complete"] is True
    part = numbers["parts"]["number.3"]
    assert part["found"] == {"square": 9.0, "nothing": None, "seed": 0}
    assert part["settings"]["number"] == 3.0
    assert {"seconds", "made", "hardware", "versions", "answer", "published"} <= set(part)
    for name in ("number.2-1", "number.3-1"):
        assert ET.parse(study.folder / f"figures/{name}.svg").getroot().tag.endswith("svg")
        assert (study.folder / f"figures/{name}.pdf").read_bytes().startswith(b"%PDF-")
    assert page.resolve().as_uri() in capsys.readouterr().out.replace("\n", "")


def test_what_is_done_is_not_done_again(study: Squares) -> None:
    first = study().read_bytes()
    assert CALLS == ["2", "3"]
    assert study().read_bytes() == first, "the page is made from what is stored"
    assert CALLS == ["2", "3"]
    replace(study, numbers=(2.0, 3.0, 4.0))()
    assert CALLS == ["2", "3", "4"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("power")], ids=["stopped", "killed"])
def test_a_study_that_is_stopped_keeps_its_parts(study: Squares, error: BaseException) -> None:
    replace(study, only=("2",))()
    BROKEN.append(error)
    with pytest.raises(type(error)):
        study()
    assert CALLS == ["2", "3"]
    assert stored.path_of(study.folder, "number.2").exists()
    assert not stored.path_of(study.folder, "number.3").exists()
    unfinished = study.folder / "parts/number.3.unfinished"
    spent = json.loads(unfinished.read_text())
    unfinished.write_text(json.dumps(spent | {"seconds": spent["seconds"] + 100}))
    study()
    assert CALLS == ["2", "3", "3"]
    numbers = json.loads((study.folder / "results.json").read_text())
    assert numbers["parts"]["number.3"]["seconds"] >= 100, "the time before it was stopped counts"
    assert not unfinished.exists()


def test_finished_steps_of_a_part_are_not_repeated(study: Squares, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def work(self: Square, desk: Desk) -> Found:
        def step(name: str) -> dict[str, Any]:
            made.append(f"{self.name} {name}")
            return {"value": np.float32(self.number)}

        first = desk.step("first", lambda: step("first"))
        kept = json.loads((desk.folder / f"parts/number.{self.name}.unfinished").read_text())
        assert kept["steps"]["first"] == first, "at once, since a study may be killed"
        if BROKEN:
            raise BROKEN.pop()
        return {"square": first["value"] * desk.step("second", lambda: step("second"))["value"]}

    monkeypatch.setattr(Square, "work", work)
    BROKEN.append(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        study()
    study()
    assert made == ["2 first", "2 second", "3 first", "3 second"]
    found = json.loads((study.folder / "results.json").read_text())["parts"]
    assert [part["found"] for part in found.values()] == [{"square": 4.0}, {"square": 9.0}]
    # Steps of other settings, and of a file that cannot be read, are made again.
    other = replace(study, numbers=(4.0,))
    for content in ('{"sha256": "of other settings", "steps": {"first": {"value": 7}}, "seconds": 1}', "{"):
        for path in (study.folder / "parts").glob("number.4.*"):
            path.unlink()
        (study.folder / "parts/number.4.unfinished").write_text(content)
        made.clear()
        other()
        assert made == ["4 first", "4 second"]


def test_only_some_parts(study: Squares) -> None:
    page = replace(study, only=("3",))()
    assert CALLS == ["3"]
    assert "not complete: number.2" in page.read_text()
    assert json.loads((study.folder / "results.json").read_text())["complete"] is False
    replace(study, only=("number",))()
    assert CALLS == ["3", "2"]
    with pytest.raises(ValueError, match=r"no part 'nomber' \(did you mean 'number'\?\)"):
        replace(study, only=("nomber",))()


def test_results_of_other_settings_are_refused_before_any_work(
    study: Squares, monkeypatch: pytest.MonkeyPatch
) -> None:
    study()
    with pytest.raises(RunError, match=r"other settings \(seed: 0 there, 1 now\): choose another folder"):
        replace(study, seed=1)()
    monkeypatch.setattr(Squares, "parts", lambda self: {"number.2": Square("2", 2.5, False)})
    with pytest.raises(RunError, match=r"\(number: 2.0 there, 2.5 now\): .*or remove .*2.json"):
        study()
    assert CALLS == ["2", "3"]


def test_damaged_results_are_refused(study: Squares) -> None:
    study()
    path = stored.path_of(study.folder, "number.2")
    for content in (path.read_text()[:-20], path.read_text().replace('"number": 2.0', '"number": 2.5')):
        path.write_text(content)
        with pytest.raises(RunError, match="is damaged: restore it from a copy, or remove it"):
            study()
    path.unlink()
    study()
    assert CALLS == ["2", "3", "2"]


def test_parts_share_runs(tiny: sb.Posterior, tmp_path: Path) -> None:
    told: list[str] = []
    desk = Desk(tmp_path, seed=3, tell=told.append)
    method = sb.HMC(step_size=0.01, trajectory=0.02, burn_in=1, draws=4, chains=2)
    first = desk.run("digits/hmc", method, tiny)
    again = desk.run("digits/hmc", method, tiny)
    np.testing.assert_array_equal(first.draws.stats["energy"], again.draws.stats["energy"])
    assert first.config["seed"] == 3
    assert told[0] == "digits/hmc: HMC(step_size=0.01, burn_in=1, draws=4, chains=2, trajectory=0.02)"
    assert told[-1] == "digits/hmc: read back"
    with pytest.raises(RunError, match="another configuration"):
        desk.run("digits/hmc", replace(method, step_size=0.02), tiny)


def test_what_parts_share_is_made_once_in_a_study(tmp_path: Path) -> None:
    told: list[str] = []
    made: list[int] = []
    desk = Desk(tmp_path, tell=told.append)

    def make() -> int:
        made.append(1)
        return len(made)

    other = Desk(tmp_path, tell=told.append, made=desk.made)
    assert [desk.once("aligned", make), other.once("aligned", make), other.once("raw", make)] == [1, 1, 2]
    assert told == ["aligned", "raw"]


def test_what_alignment_found_is_read_back(
    tiny: sb.Posterior, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    method = sb.HMC(step_size=0.01, trajectory=0.02, burn_in=1, draws=4, chains=2)
    run = Desk(tmp_path).run("hmc", method, tiny)
    draws, other = run.draws.select(), run.draws.select([0])

    def aligned(of: Any = draws, scale: str | None = None) -> Any:
        desk = Desk(tmp_path, tell=told.append)  # as in another process: nothing is in memory
        return desk.aligned("digits: aligning draws", of, run.group, sb.symmetry.Weights(scale)).variables

    def same(found: Any, expected: Any) -> bool:
        return all(map(np.array_equal, *map(jax.tree.leaves, (found, expected))))

    first = aligned()
    assert not same(first, draws.variables)
    assert same(first, sb.symmetry.align(draws, run.group, by=sb.symmetry.Weights(None)).draws.variables)
    calls: list[int] = []
    align = sb.symmetry.align
    monkeypatch.setattr(sb.symmetry, "align", lambda *a, **k: calls.append(1) or align(*a, **k))
    assert same(aligned(), first)
    assert (calls, told[-1]) == ([], "digits: aligning draws: read back")
    (path,) = (tmp_path / "aligned").iterdir()
    content = path.read_bytes()
    for damaged in (content[:-1] + bytes([content[-1] ^ 1]), content[:-20], b""):
        path.write_bytes(damaged)
        assert same(aligned(), first)
        assert told[-1] == f"digits: aligning draws: {path} is damaged, so it is computed again"
    assert len(calls) == 3
    assert path.read_bytes() == content
    for changed in ({"of": other}, {"of": other, "scale": "minimal-mass"}):
        aligned(**changed)
        assert told[-1].endswith("was computed from other draws or settings, so it is computed again")
    assert len(calls) == 5


def test_studies_have_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["study", "list"]) == 0
    listed = capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.parse(["study", "--help"])
    helped = " ".join(capsys.readouterr().out.split())
    for name, study in STUDIES.items():
        assert name in listed
        assert name in helped
        command = cli.parse(["study", name, "--preset", "tiny", "--only", "a", "b", "--seed", "2"]).command
        assert isinstance(command, study)
        assert (command.preset, command.out, command.only, command.seed) == ("tiny", None, ("a", "b"), 2)
        assert str(command.folder) == f"runs/study-{name}-tiny"


@pytest.mark.parametrize("study", STUDIES.values(), ids=list(STUDIES))
def test_every_preset_has_parts_that_can_be_recorded(study: type[Study]) -> None:
    for preset in ("tiny", "quick", "gpu"):
        parts = study(preset).parts()
        assert len(parts) > 0
        for name, part in parts.items():
            json.dumps(stored.settings_of(part, 0))
            assert part.question.endswith("?"), name
