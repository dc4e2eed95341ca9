"""The output of a study: the page, the numbers and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from symbayes.draws import files
from symbayes.engine.words import duration
from symbayes.report import page
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.numbers import json_text
from symbayes.studies.part import Part
from symbayes.studies.stored import Result

if TYPE_CHECKING:
    from symbayes.studies.study import Study

NOT_YET = "Not done yet."


def write(study: Study, parts: Mapping[str, Part], done: Mapping[str, Result]) -> Path:
    """Write the page, the numbers and the figures of the finished parts; returns the path of the page."""
    from symbayes.report.figures import as_pdf  # which imports matplotlib

    folder = study.folder
    files.make_folders(folder / "figures")
    with as_pdf() as pdfs:
        shown = {name: list(parts[name].show(result.found)) for name, result in done.items()}
    for name, items in shown.items():
        drawings = [item for item in items if isinstance(item, Figure)]
        for number, figure in enumerate(drawings, start=1):
            stem = folder / "figures" / f"{name}-{number}"
            files.write_bytes(stem.with_name(stem.name + ".svg"), figure.svg.encode())
            files.write_bytes(stem.with_name(stem.name + ".pdf"), pdfs[figure.svg])
    page.write(folder / "results.json", json_text(numbers(study, parts, done)))
    target = folder / "index.html"
    made = page.render(
        study.title, _summary(study, parts, done), _sections(parts, done, shown), _provenance(study, done)
    )
    page.write(target, made)
    return target


def numbers(study: Study, parts: Mapping[str, Part], done: Mapping[str, Result]) -> dict[str, Any]:
    """All results, for JSON."""
    return {
        "study": study.name,
        "title": study.title,
        "source": study.source,
        "command": study.command,
        "preset": study.preset,
        "complete": len(done) == len(parts),
        "answer": _whole(study, done),
        "seconds": round(sum(result.seconds for result in done.values()), 1),
        "parts": {
            name: {
                "question": parts[name].question,
                "answer": parts[name].answer(result.found),
                "published": parts[name].published,
                **result.record(),
            }
            for name, result in done.items()
        },
    }


def say(study: Study, parts: Mapping[str, Part], done: Mapping[str, Result], target: Path) -> None:
    """Print the answers, and the address of the page."""
    console = Console(highlight=False)
    for name, part in parts.items():
        if name in done:
            console.print(f"[bold]{name}[/bold]", part.answer(done[name].found), sep="\n")
    console.print(f"\n{_whole(study, done)}", markup=False)
    missing = [name for name in parts if name not in done]
    if missing:
        console.print(f"not done yet: {', '.join(missing)}", markup=False)
    console.print(f"[bold]page:[/bold] {target.resolve().as_uri()}", soft_wrap=True)


def _whole(study: Study, done: Mapping[str, Result]) -> str:
    return study.answer({name: result.found for name, result in done.items()}) if done else NOT_YET


def _summary(study: Study, parts: Mapping[str, Part], done: Mapping[str, Result]) -> str:
    missing = [name for name in parts if name not in done]
    words = [_whole(study, done)]
    if missing:
        words.append(
            f"This page is not complete: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} still "
            "to do."
        )
    return "\n\n".join([*words, f"The paper: {study.cited()}"])


def _sections(
    parts: Mapping[str, Part], done: Mapping[str, Result], shown: Mapping[str, Sequence[Table | Figure]]
) -> list[Section]:
    """A table of all answers, and then one section for each question, with all its posteriors."""
    if not done:
        return []
    rows = [
        [_asked(parts[name]), parts[name].answer(result.found), parts[name].published or None]
        for name, result in done.items()
    ]
    caption = "Each question, our answer, and the answer of the paper."
    sections = [
        Section("Questions and answers", "", [Table(["question", "our answer", "published"], rows, caption)])
    ]
    for question in dict.fromkeys(parts[name].question for name in done):
        names = [name for name in done if parts[name].question == question]
        lead = [f"{_of(parts[name])}{parts[name].answer(done[name].found)}" for name in names]
        published = parts[names[0]].published
        lead += [f"Published: {published}"] if published else []
        lead += [f"Warning of a run: {words}" for name in names for words in _warned(done[name])]
        items = [item for name in names for item in shown[name]]
        sections.append(Section(question, "\n\n".join(lead), items))
    return sections


def _warned(result: Result) -> list[str]:
    return [f"{run}: {words}." for run, every in result.warnings.items() for words in dict.fromkeys(every)]


def _asked(part: Part) -> str:
    return f"{part.question} ({part.of})" if part.of else part.question


def _of(part: Part) -> str:
    return f"{part.of}: " if part.of else ""


def _provenance(study: Study, done: Mapping[str, Result]) -> dict[str, str]:
    """The command that repeats the study, and the time and hardware of every part."""
    told = {"run it again": study.command, "numbers": "results.json", "figures": "figures/, as SVG and PDF"}
    for name, result in done.items():
        told[name] = f"{duration(result.seconds)} on {result.hardware}, {result.made}"
    versions = {str(result.versions): result.versions for result in done.values()}
    for number, found in enumerate(versions.values(), start=1):
        listed = ", ".join(f"{name} {version}" for name, version in found.items())
        told["versions" if len(versions) == 1 else f"versions {number}"] = listed
    return told
