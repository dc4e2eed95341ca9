"""Public signatures say what they take and give: `Any` stands only where a reason is listed here."""

import dataclasses
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import symbayes as sb

ROOMS = (
    "analyse",
    "data",
    "distributions",
    "draws",
    "engine",
    "evaluate",
    "methods",
    "networks",
    "posterior",
    "posterior.likelihoods",
    "posterior.priors",
    "report",
    "studies",
    "symmetry",
)

REASONS = {
    r"(Draws|Opened)\.to_arviz\(return\)": "a class of ArviZ that depends on its version",
    r"Comparison\.to_pandas\(return\)": "pandas is not imported",
    r"Examples\.[xy]": "given as whatever NumPy reads, held as an array",
    r"Dataset\.columns": "columns are defined on examples",
    r"Origin\.(posterior|distribution)": "draws come before posteriors and distributions",
    r"Tick\.\w+|Phase\.going\(return\)": "numbers, traced numbers, or axes of them",
    r"static\(\w+\)": "what dataclasses.field takes and gives",
    r"(Metric|RunningMetrics)\.\w+(\(\w+\))?": "predictives and targets come after metrics",
    r"(training|rate|stoppable|Training\.\w+|StoppableTraining\.\w+)\(changes\)": "options of a dataclass",
    r"(from_\w+|make|load)\((options|constructor)\)": "options and classes of the user's own",
    r"\w+\.tree_(un)?flatten\w*\(\w+\)": "JAX's own protocol",
    r"EmpiricalCovariance\.(basis|widths)": "None until the prior has seen the inputs",
    r"PerLayer\.(layers|rest)": "anything else is refused with a sentence",
    r"Desk\.run\(options\)|Desk\.made": "options of sb.run, and results of any kind",
}
"""Why `Any` is the truth, by what it annotates."""


def has_any(annotation: object) -> bool:
    text = annotation if isinstance(annotation, str) else str(annotation)
    return re.search(r"(?<!dtype\[typing\.)\bAny\b", text) is not None


def of_function(function: Any) -> Iterator[str]:
    """The parameters of a function, and its return, that are annotated with Any."""
    signature = inspect.signature(function)
    annotated = {name: each.annotation for name, each in signature.parameters.items()}
    for name, annotation in {**annotated, "return": signature.return_annotation}.items():
        if has_any(annotation):
            yield f"{function.__qualname__}({name})"


def of_class(kind: type) -> Iterator[str]:
    """Its public fields, methods and properties, those that it inherits within the package included."""
    for base in (each for each in kind.__mro__ if each.__module__.startswith("symbayes")):
        for name, annotation in inspect.get_annotations(base).items():
            if not name.startswith("_") and has_any(annotation):
                yield f"{base.__qualname__}.{name}"
        for name, member in vars(base).items():
            made = name == "__init__" and not dataclasses.is_dataclass(base)
            if name.startswith("_") and not made and name != "__call__":
                continue
            function = member.fget if isinstance(member, property) else member
            function = getattr(function, "__func__", getattr(function, "func", function))
            if inspect.isfunction(function) and function.__module__.startswith("symbayes"):
                yield from of_function(inspect.unwrap(function))


def untyped(value: Any) -> set[str]:
    if not str(getattr(value, "__module__", "")).startswith("symbayes"):
        return set()
    if inspect.isclass(value):
        return set(of_class(value))
    return set(of_function(inspect.unwrap(value))) if inspect.isfunction(value) else set()


def test_any_stands_only_where_a_reason_is_listed() -> None:
    found: set[str] = set()
    for module in (sb, *(importlib.import_module(f"symbayes.{room}") for room in ROOMS)):
        for name in getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")]):
            found |= untyped(getattr(module, name))
    known = {name: [one for one in REASONS if re.fullmatch(one, name)] for name in sorted(found)}
    without = [name for name, reasons in known.items() if not reasons]
    assert not without, "say what these are, or why nobody can"
    idle = set(REASONS) - {one for reasons in known.values() for one in reasons}
    assert not idle, "these reasons are not needed any more"


def test_any_is_seen_in_parameters_returns_fields_and_properties() -> None:
    class Sample:
        field: "list[Any]"

        def method(self, given: "Any", other: int) -> None: ...

        @property
        def made(self) -> "dict[str, Any]": ...

    Sample.__module__ = Sample.method.__module__ = "symbayes.sample"
    getter: Any = Sample.made.fget
    getter.__module__ = "symbayes.sample"
    names = {name.rpartition("Sample.")[2] for name in untyped(Sample)}
    assert names == {"field", "method(given)", "made(return)"}
