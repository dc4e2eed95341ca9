"""The pages of the reference that are made from the code: ``python docs/generate.py`` writes them.

A test compares the pages with what this makes, so that they cannot fall behind.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import formulas

import symbayes as sb
from symbayes.engine import Method
from symbayes.evaluate import METRICS, Metric
from symbayes.evaluate.metric import NEEDS
from symbayes.methods.phases import adaptation, curvature, drifting, isokinetic, schedules, stopping, train
from symbayes.methods.training import Training
from symbayes.posterior.curvature import evidence, forms
from symbayes.posterior.numerics import noise

POINTED = {
    each.__name__.rpartition(".")[2]: each
    for each in (adaptation, curvature, drifting, isokinetic, evidence, forms, noise)
}
DOCS = Path(__file__).parent
NOTE = "<!-- Made from the code by `python docs/generate.py`: change the docstrings there. -->\n"


def methods() -> str:
    """Every method: its equation, hyper-parameters, example and references, from its class."""
    shown: dict[str, str] = {}
    parts = [
        NOTE,
        "# Methods",
        "This page gives the equations and options of every method. A method is a frozen dataclass of "
        "hyper-parameters. `sb.run(method, posterior)` gives [draws](../glossary.md). `sb.METHODS` is the "
        "table of methods by name; each has a command `symbayes sample NAME` with its hyper-parameters as "
        "options. A method consists of [phases](../add-a-method.md), such as burn-in and drawing.",
        "An option whose default is *open* is filled in by the method. Random numbers depend only on seed, "
        "chain and unit (a trajectory, an epoch), so how work is cut into blocks changes no draw. In the "
        "equations, the log density is the tempered one of the [posterior](posterior.md).",
        *(_method(kind, shown) for kind in sb.METHODS.values()),
        _training(),
        BEGINNING,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


BEGINNING = """
## Beginning elsewhere

Chains begin at the network's own initialisation. `run(..., start=...)` takes

- draws of another run: chain c begins at the last draw of chain `c mod chains`, and has the number of its
  mode; where that run was of the same method, options left open take the values that it found (step size,
  length, mass);
- variables: every chain begins there;
- variables with a leading axis over chains: each begins at its own.
"""


def _training() -> str:
    """What all methods that train have in common, told once."""
    parts, references = ["## Training"], []
    for module in (train, schedules, stopping):
        body, more = _without_references(inspect.getdoc(module) or "")
        parts += [f"#### {_title(body)}", typeset(_rest(body))]
        references += more
    return "\n\n".join([*parts, "References: " + "; ".join(references) + "."])


def _method(kind: type[Method], shown: dict[str, str]) -> str:
    """One method; phases that are shown already, by title and method, are pointed to."""
    summary, _, attributes = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    text, references = _without_references(inspect.getdoc(sys.modules[kind.__module__]) or "")
    parts = [f"## {kind.__name__}", summary.strip(), typeset(_rest(text))]
    for module in _modules(kind):
        body, more = _without_references(inspect.getdoc(module) or "")
        title = _title(body)
        references += [each for each in more if each not in references]
        if not _rest(body):
            continue
        if title in shown:
            parts.append(f"*{title}*: see [{shown[title]}](#{_slug(title)}).")
        else:
            parts += [f"#### {title}", typeset(_rest(body))]
            shown[title] = kind.__name__
    parts.append(f"#### Options of {kind.__name__}")
    if issubclass(kind, Training):
        parts.append("The loss, optimisers and schedules are under [Training](#training).")
    parts.append(_table(kind, attributes))
    if kind.example:
        parts.append(f"```console\n$ symbayes sample {kind.name} {kind.example}\n```")
    if kind.extends:
        parts.append(f"A finished run is extended by asking for more `{kind.extends}`.")
    parts.append("References: " + "; ".join(references).rstrip("?") + ".")
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


APART = {train.__name__, schedules.__name__, stopping.__name__, sb.engine.Phase.__module__}
"""What is told elsewhere on the page."""
POINTER = re.compile(r"`(?:\w+/)*(\w+)\.py`")


def _modules(kind: type[Method]) -> list[ModuleType]:
    """Where a method's equations are: the files of its phases, and those that these point to."""
    named = vars(sys.modules[kind.__module__]).values()
    phases = [each for each in named if inspect.isclass(each) and issubclass(each, sb.engine.Phase)]
    found: dict[str, ModuleType] = {}
    waiting = [sys.modules[each.__module__] for each in phases]
    while waiting:
        module = waiting.pop(0)
        if module.__name__ in found or module.__name__ in {kind.__module__, *APART}:
            continue
        found[module.__name__] = module
        waiting += [
            POINTED[name] for name in POINTER.findall(inspect.getdoc(module) or "") if name in POINTED
        ]
    return list(found.values())


def _title(body: str) -> str:
    """The first sentence of a file, as a heading of what follows."""
    return " ".join(body.partition("\n\n")[0].split()).rstrip(".")


def _rest(body: str) -> str:
    return body.partition("\n\n")[2]


def _slug(title: str) -> str:
    """The anchor that Markdown gives to a heading."""
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower())


def typeset(text: str) -> str:
    """A docstring as Markdown: formulas as LaTeX, and without pointers to other files of the code."""
    text = re.sub(r"\s*\(`[\w/]+\.py`[^()]*\)", "", text)
    parts = []
    for part in re.split(r"\n\n", text):
        if part.startswith("    "):
            parts.append(f"$$\n{formulas.display(part)}\n$$")
        else:
            parts.append(
                re.sub(r"``([^`]+)``", lambda found: f"${formulas.latex(found[1], inline=True)}$", part)
            )
    return "\n\n".join(parts)


def _without_references(doc: str) -> tuple[str, list[str]]:
    """The text, and the references at its end, one by one."""
    text, _, given = doc.partition("\nReference")
    listed = re.sub(r"\s+", " ", given.partition(":")[2]).strip().rstrip(".")
    return text.strip("\n"), [each.strip() for each in listed.split(";") if each.strip()]


def _table(kind: type[Method], attributes: str) -> str:
    """Hyper-parameters with their defaults and meanings."""
    entries = re.findall(r"^    (\w+): (.*?)(?=^    \w+: |\Z)", attributes, flags=re.M | re.S)
    meanings = {name: re.sub(r"\s+", " ", text).strip() for name, text in entries}
    rows = ["| hyper-parameter | default | meaning |", "| --- | --- | --- |"]
    for field in dataclasses.fields(kind):  # type: ignore[arg-type]
        words = {dataclasses.MISSING: "required", None: "open"}
        default = words.get(field.default, f"`{field.default}`")
        rows.append(f"| `{field.name}` | {default} | {meanings[field.name]} |")
    return "\n".join(rows)


KINDS = {"classes": "Classes", "reals": "Real targets"}
DEFINED = (
    "predictions",
    "calibration",
    "smooth",
    "decomposition",
    "recalibration.scaling",
    "recalibration.conformal",
    "selection",
    "detection",
    "uncertainty",
    "agreement",
    "regression",
    "quantiles",
    "convergence",
    "landscape",
    "mmd",
    "wasserstein",
    "stein",
    "pairwise",
    "leave_one_out",
    "evidence",
)
"""The files of `symbayes.evaluate` whose formulas are shown, in this order."""


def metrics() -> str:
    """The page of metrics with METRICS and the formulas between their marks; the rest is written by hand."""
    page = (DOCS / "reference/metrics.md").read_text()
    return _marked(_marked(page, "METRICS", _metric_tables()), "FORMULAS", _definitions())


def _marked(page: str, mark: str, content: str) -> str:
    begin, end = (f"<!-- {mark} {word} -->" for word in ("begins", "ends"))
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n\n{content}\n\n{end}{rest.partition(end)[2]}"


def _metric_tables() -> str:
    columns = ("metric", "what it is", "function", "better", "needs", "reference")
    parts = []
    for kind, title in KINDS.items():
        rows = [columns, ("---",) * len(columns), *(_metric(row) for row in METRICS if kind in row.kinds)]
        parts += [f"### {title}", "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join(parts)


def _definitions() -> str:
    """What the files of metrics say at their top."""
    parts = []
    for name in DEFINED:
        module = importlib.import_module(f"symbayes.evaluate.{name}")
        body, _ = _without_references(inspect.getdoc(module) or "")
        parts += [f"#### {_title(body)}", typeset(_rest(body))]
    return "\n\n".join(parts)


def _metric(row: Metric) -> tuple[str, ...]:
    parameters = inspect.signature(row.function).parameters.values()
    arguments = ", ".join("..." if each.kind is each.VAR_POSITIONAL else each.name for each in parameters)
    near = isinstance(row.better, float)
    return (
        f"`{row.name}`" + ("" if row.shown else " (if named)"),
        row.description,
        f"`{row.function.__name__}({arguments})`",
        f"near {row.better:{row.format}}" if near else str(row.better or "–"),
        ", ".join(NEEDS[need] for need in row.needs) or "–",
        row.paper or "–",
    )


PAGES: dict[str, Callable[[], str]] = {"reference/methods.md": methods, "reference/metrics.md": metrics}


if __name__ == "__main__":
    for name, page in PAGES.items():
        (DOCS / name).write_text(page())
        print(DOCS / name)
