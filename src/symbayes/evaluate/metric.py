"""What a row of the table of metrics says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["classes", "reals"]
Need = Literal["targets", "reference", "ood", "draws"]

NEEDS: Mapping[Need, str] = {
    "targets": "the true targets",
    "reference": "another run to compare with",
    "ood": "inputs from elsewhere",
    "draws": "several draws",
}
"""What a row may ask for beside the predictive, in words."""


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
        name: heads the column; on the command line upper and lower case are the same.
        function: gives one number.  Its arguments are what the row takes, then the targets, or what the
            row takes of the reference or of the inputs from elsewhere.
        kinds: of predictives that it applies to.
        takes: attributes of the predictive.
        needs: what else must be at hand.
        format: how the number is written.
        better: which way; a number is the value to be near; None if neither way is better.
        paper: where it comes from.
        description: one line.
        shown: whether it is in the table if nobody names metrics.
    """

    name: str
    function: Callable[..., float]
    kinds: tuple[Kind, ...]
    takes: tuple[str, ...]
    needs: tuple[Need, ...]
    format: str
    better: Literal["higher", "lower"] | float | None
    paper: str
    description: str
    shown: bool = True

    def of(self, predictive: Any, y: Any = None, reference: Any = None, ood: Any = None) -> float:
        """The number for a predictive, with whatever the row needs."""
        given = {"targets": y, "reference": reference, "ood": ood}
        arguments = [getattr(predictive, name) for name in self.takes]
        for need in self.needs:
            if need == "draws":
                continue
            if given[need] is None:
                raise ValueError(f"{self.name} needs {NEEDS[need]}: give {need}.")
            other = given[need]
            arguments += [np.asarray(other)] if need == "targets" else [getattr(other, n) for n in self.takes]
        return float(self.function(*arguments))

    def possible(self, predictive: Any, given: Collection[Need]) -> bool:
        """Whether it can be told of this predictive with what is at hand."""
        several = "draws" not in self.needs or predictive.count > 1
        return predictive.kind in self.kinds and several and {*self.needs} <= {"draws", *given}
