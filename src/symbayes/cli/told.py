"""Commands that are studies, with the option ``--json`` for their numbers."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from symbayes.cli.output import Json, Output
from symbayes.studies.demo import Demo

RESULTS = "results.json"
"""The numbers, in the folder of the page."""


def with_json(study: type) -> type:
    """The same command with ``--json``; with ``--json -`` its text goes to the standard error."""

    def call(self: Any) -> None:
        output = Output(self.json)
        with output.aside():
            page = study.__call__(self)
        if output.wanted:
            output.numbers(json.loads((page.parent / RESULTS).read_text()))

    made = dataclasses.make_dataclass(
        study.__name__,
        [("json", Json, None)],
        bases=(study,),
        namespace={"__call__": call, "__module__": study.__module__},
        frozen=True,
    )
    line = "    json: a file to write all numbers to; - is the standard output.\n"
    made.__doc__ = f"{(study.__doc__ or '').rstrip()}\n\n    Attributes:\n    {line}"
    return made


DemoCommand = with_json(Demo)
