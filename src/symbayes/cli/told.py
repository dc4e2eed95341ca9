"""Commands that are studies, with the option ``--json`` for their numbers."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from symbayes.cli.output import Json, Output
from symbayes.studies.demo import Demo

RESULTS = "results.json"
"""The numbers, in the folder of the page."""


def with_json(study: type, **shown: Any) -> type:
    """The same command with ``--json``; with ``--json -`` its text goes to the standard error.

    `shown` are types of fields that say how these options appear in the help.
    """

    def call(self: Any) -> None:
        output = Output(self.json)
        with output.aside():
            page = study.__call__(self)
        if output.wanted:
            output.numbers(json.loads((page.parent / RESULTS).read_text()))

    made = dataclasses.make_dataclass(
        study.__name__,
        [*((name, form, getattr(study, name)) for name, form in shown.items()), ("json", Json, None)],
        bases=(study,),
        namespace={"__call__": call, "__module__": study.__module__},
        frozen=True,
    )
    line = "        json: a file to write all numbers to; - is the standard output.\n"
    made.__doc__ = f"{_described(study)}\n{line}"
    return made


def _described(study: type) -> str:
    """What the study does, and its options: those of the class that describes them."""
    told = [(cls.__doc__ or "").partition("Attributes:") for cls in study.__mro__]
    listed = next(options for _, found, options in told if found)
    return f"{told[0][0].rstrip()}\n\n    Attributes:{listed.rstrip()}"


DemoCommand = with_json(Demo)
