"""Commands that only have subcommands."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, Union


def group(name: str, doc: str, commands: Sequence[Any]) -> Any:
    """A command that only has `subcommands`, whose names it keeps."""

    def call(self: Any) -> None:
        self.command()

    made = dataclasses.make_dataclass(
        name,
        [("command", Union[tuple(commands)])],  # noqa: UP007
        namespace={
            "__call__": call,
            "subcommands": [kept.name for command in commands for kept in command.__metadata__],
        },
        frozen=True,
    )
    made.__doc__ = doc
    return made
