"""What a row of the table of metrics says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from symbayes.evaluate.statistics import Statistics, kept, summed

Kind = Literal["classes", "reals"]
Need = Literal["targets", "validation", "reference", "ood", "logits", "draws"]
Group = Literal["test", "ood", "none"]

NEEDS: Mapping[Need, str] = {
    "targets": "the true targets",
    "validation": "validation examples",
    "reference": "another run to compare with",
    "ood": "out-of-distribution inputs",
    "logits": "the network's outputs before they are made probabilities",
    "draws": "several draws",
}
"""What a row may ask for beside the predictive, in words."""

OF_THE_PREDICTIVE: tuple[Need, ...] = ("draws", "logits")
"""Needs that the predictive meets, or does not, by what it holds."""

CLASSES: tuple[Kind, ...] = ("classes",)
REALS: tuple[Kind, ...] = ("reals",)
NORMALS = ("component_means", "component_scales")
"""What a row about a mixture of normals takes."""
DRAWS_FIRST = ("each", *NORMALS)
"""Attributes of predictives whose first axis is over draws and whose second over examples."""


def written(number: float | int | np.number, form: str) -> str:
    """A number in a metric's format; from a thousand on with separators, and not with an exponent."""
    text = format(number, form)
    return f"{float(text):,.0f}" if form.endswith("g") and 1e3 <= abs(float(text)) < 1e12 else text


@dataclass(frozen=True)
class Argument:
    """An argument of a metric's function: an array, and which of its axes is over which examples."""

    values: Any
    group: Group
    axis: int = 0


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
        name: heads the column; on the command line upper and lower case are the same.
        function: gives one number.  Its arguments are what the row takes, then the targets, then what the
            row takes of the validation examples with their targets, of the reference, or of the inputs from
            elsewhere.
        kinds: of predictives that it applies to.
        takes: attributes of the predictive.
        needs: what else must be at hand.
        format: how the number is written.
        better: which way; a number is the value to be near; None if neither way is better.
        paper: where it comes from.
        description: one line.
        shown: whether it is in the table if nobody names metrics; "positions" if outputs have any.
        each: of the same arguments, one number for each example (or a part of them), whose mean the metric
            is, for those that are means.  Intervals are quick with it.
        of_mean: what is done with that mean at last, such as its root; nothing unless given.
        statistics: what is kept of examples that come in batches, where the metric is no mean of `each`; of
            inputs from elsewhere all scores are kept.
        resampled: whether its interval may be found by computing it again and again; no for slow ones.
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
    shown: bool | Literal["positions"] = True
    each: Callable[..., np.ndarray] | None = None
    of_mean: Callable[[Any], Any] = lambda mean: mean
    statistics: Statistics | None = None
    resampled: bool = True

    @property
    def told_of_batches(self) -> Statistics:
        """How it is told of examples in batches, keeping as little as is possible."""
        if self.each is not None:
            return summed(self.each, self.of_mean)
        if self.statistics is not None:
            return self.statistics
        return Statistics(lambda *scores: scores, self.function, added=False)

    @property
    def told_of_examples(self) -> Statistics:
        """The same, where a mean keeps one number for each example."""
        return self.told_of_batches if self.each is None else kept(self.each, self.of_mean)

    def of(
        self,
        predictive: Any,
        y: Any = None,
        reference: Any = None,
        ood: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> float:
        """The number for a predictive, with whatever the row needs.

        `validation` is the predictive at validation inputs, and their targets.
        """
        given = self.arguments(predictive, y, reference, ood, validation)
        return float(self.function(*(one.values for one in given)))

    def arguments(
        self,
        predictive: Any,
        y: Any = None,
        reference: Any = None,
        ood: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> list[Argument]:
        """What the function is called with."""
        made = self._taken(predictive, "test")
        given = {"targets": y, "validation": validation, "reference": reference, "ood": ood}
        for need in self.needs:
            if need in OF_THE_PREDICTIVE:
                continue
            other = given[need]
            if other is None:
                raise ValueError(f"{self.name} needs {NEEDS[need]}: give {need}.")
            if need == "targets":
                made.append(Argument(np.asarray(other), "test"))
            elif need == "validation":
                made += [*self._taken(other[0], "none"), Argument(np.asarray(other[1]), "none")]
            else:
                made += self._taken(other, "ood" if need == "ood" else "test")
        return made

    def _taken(self, predictive: Any, group: Group) -> list[Argument]:
        return [Argument(getattr(predictive, name), group, int(name in DRAWS_FIRST)) for name in self.takes]

    def possible(self, predictive: Any, given: Collection[Need]) -> bool:
        """Whether it can be told of this predictive with what is at hand."""
        if "draws" in self.needs and predictive.count < 2:
            return False
        if "logits" in self.needs and getattr(predictive, "energy", None) is None:
            return False
        return predictive.kind in self.kinds and {*self.needs} <= {*OF_THE_PREDICTIVE, *given}
