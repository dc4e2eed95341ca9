"""The pages of the reference that are made from the code: ``python docs/generate.py`` writes them.

A test compares the pages with what this makes, so that they cannot fall behind.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path

import symbayes as sb
from symbayes.engine import Method
from symbayes.evaluate import METRICS, Metric
from symbayes.evaluate.metric import NEEDS
from symbayes.methods.phases import schedules, stopping, train
from symbayes.methods.training import Training

DOCS = Path(__file__).parent
NOTE = "<!-- Made from the code by `python docs/generate.py`: change the docstrings there. -->\n"


def methods() -> str:
    """Every method: its equation, hyper-parameters, example and references, from its class."""
    parts = [
        NOTE,
        "# Methods",
        "A method is a frozen dataclass of hyper-parameters. `sb.run(method, posterior)` gives "
        "[draws](../way-through-the-house.md). `sb.METHODS` is the table of methods by name; each has a "
        "command `symbayes sample NAME` with its hyper-parameters as options. What a method does is a short "
        "list of [phases](../add-a-method.md).",
        "Randomness depends on seed, chain and unit (a trajectory, an epoch) only: the size of a block "
        "changes no draw. In the equations, the log density is the tempered one of the "
        "[posterior](posterior.md).",
        *(_method(kind) for kind in sb.METHODS.values()),
        _training(),
        BEGINNING,
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


BEGINNING = """
## Beginning elsewhere

Chains begin at the network's own initialisation. `run(..., start=...)` takes

- draws of another run: chain c begins at the last draw of chain `c mod chains`, and is in its mode; where
  that run was of the same method, options left open take over what it found (step size, length, mass);
- variables: every chain begins there;
- variables with a leading axis over chains: each begins at its own.
"""


def _training() -> str:
    """What all methods that train have in common, told once."""
    parts, references = ["## Training"], []
    for module in (train, schedules, stopping):
        body, more = _without_references(inspect.getdoc(module) or "")
        parts += [_headed(body), body.partition("\n\n")[2]]
        references += more
    return "\n\n".join([*parts, "References: " + "; ".join(references) + "."])


def _method(kind: type[Method]) -> str:
    summary, _, attributes = (inspect.getdoc(kind) or "").partition("Attributes:\n")
    module = inspect.getdoc(sys.modules[kind.__module__]) or ""
    phases = [inspect.getdoc(module) or "" for module in _phase_modules(kind)]
    text, references = _without_references(module)
    parts = [f"## {kind.__name__}", summary.strip(), text.partition("\n\n")[2]]
    for phase in phases:
        body, more = _without_references(phase)
        parts.append(_headed(body))
        parts.append(body.partition("\n\n")[2])
        references += [each for each in more if each not in references]
    if issubclass(kind, Training):
        parts.append("The loss, optimisers and schedules are under [training](#training).")
    parts.append(_table(kind, attributes))
    if kind.example:
        parts.append(f"```console\n$ symbayes sample {kind.name} {kind.example}\n```")
    if kind.extends:
        parts.append(f"A finished run is extended by asking for more `{kind.extends}`.")
    parts.append("References: " + "; ".join(references).rstrip("?") + ".")
    return "\n\n".join(part.strip("\n") for part in parts if part.strip())


def _phase_modules(kind: type[Method]) -> list[object]:
    """Where the phases that a method's file names are defined, but for those that are told elsewhere."""
    named = vars(sys.modules[kind.__module__]).values()
    found = [each for each in named if inspect.isclass(each) and issubclass(each, sb.engine.Phase)]
    apart = {kind.__module__, train.__name__, sb.engine.Phase.__module__}
    return [sys.modules[each.__module__] for each in found if each.__module__ not in apart]


def _headed(body: str) -> str:
    """The first sentence of a file, as a heading of what follows."""
    return f"*{' '.join(body.partition(chr(10) * 2)[0].split()).rstrip('.')}.*"


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


BEGIN, END = "<!-- METRICS begins -->", "<!-- METRICS ends -->"
KINDS = {"classes": "Classes", "reals": "Real targets"}


def metrics() -> str:
    """The page of metrics with the table METRICS between its marks; the rest is written by hand."""
    before, _, rest = (DOCS / "reference/metrics.md").read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    columns = ("metric", "what it is", "function", "better", "needs", "reference")
    parts = []
    for kind, title in KINDS.items():
        rows = [columns, ("---",) * len(columns), *(_metric(row) for row in METRICS if kind in row.kinds)]
        parts += [f"### {title}", "\n".join(f"| {' | '.join(row)} |" for row in rows)]
    return "\n\n".join([f"{before}{BEGIN}", *parts, f"{END}{after}"])


def _metric(row: Metric) -> tuple[str, ...]:
    arguments = ", ".join(inspect.signature(row.function).parameters)
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
