"""The one form of all methods: hyper-parameters, and the phases that they make.

    @method
    class Langevin(Method):
        step_size: Positive
        draws: Count = 200
        chains: Count = 4

        def phases(self, posterior):
            return (Diffuse(self.draws, self.step_size),)

The dataclass is the configuration, the options of the command and the record saved with a run.  Fields are
validated by their types (`symbayes.specs`) when it is made.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeVar, dataclass_transform

import numpy as np

from symbayes import specs
from symbayes.draws.forward import Kind
from symbayes.engine.phase import Phase
from symbayes.posterior import Posterior

M = TypeVar("M", bound=type)

ATTRIBUTES = "Attributes:"
"""What the fields of a method are described under, in its docstring."""


@dataclass_transform(frozen_default=True)
def method(cls: M) -> M:
    """Make a class a method: a frozen dataclass whose fields are validated.

    Its docstring is completed by what those of its bases say about the fields that it inherits.
    """
    made = dataclass(frozen=True)(cls)
    made.__doc__ = _documented(made)
    return made


def _documented(cls: type) -> str:
    """The docstring of a method, with its bases' entries for fields that it does not describe itself."""
    summary, entries = _entries(cls)
    for base in cls.__mro__[1:]:
        entries = _entries(base)[1] | entries
    fields = [entries[field.name] for field in dataclasses.fields(cls) if field.name in entries]
    return "\n".join([summary.rstrip(), "", ATTRIBUTES, *fields]) if fields else summary


def _entries(cls: type) -> tuple[str, dict[str, str]]:
    """What stands before a docstring's attributes, and the lines of each of them."""
    doc = inspect.cleandoc(cls.__doc__ or "")
    summary, _, rest = doc.partition(ATTRIBUTES)
    words = re.split(r"^    (\w+)(?=: )", rest, flags=re.M)[1:]
    pairs = zip(words[::2], words[1::2], strict=True)
    return summary, {name: f"    {name}{text.rstrip()}" for name, text in pairs}


class Method:
    """How draws are made: an abstract dataclass, of which `phases` must be given."""

    name: ClassVar[str]
    """Of its command."""
    remedy: ClassVar[str]
    """What to do when numbers stop being finite."""
    example: ClassVar[str] = ""
    """Options with which its command is shown in the help."""
    extends: ClassVar[str | None] = None
    """The field with more of which a run goes on, if its last phase is open-ended."""
    finds: ClassVar[tuple[str, ...]] = ()
    """Fields that may stay open (None): the run finds them, or takes them from the run it starts from."""

    trains: ClassVar[bool] = False
    """Whether it trains every chain, each from an initialisation of its own."""

    chains: int

    def __post_init__(self) -> None:
        specs.validate(self)
        self.check()

    def check(self) -> None:
        """Refuse fields that do not fit one another."""

    def resolve(self, posterior: Posterior) -> Method:
        """The same method with everything that was left open filled in from the posterior."""
        return self

    def started(self) -> Method:
        """The same method where a start is given: without training that comes before drawing."""
        return self

    def require_found(self, found: Mapping[str, np.ndarray]) -> None:
        """Refuse to begin without something that only a run from whose draws this one starts can have found:
        `found` is what its chains had in common, by name; empty where there is none of the same method."""

    def prepared(self, posterior: Posterior) -> Posterior:
        """The posterior as this method takes it: MC dropout needs a network that drops something."""
        return posterior

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        """What a run goes through; asked of the resolved method."""
        raise NotImplementedError

    @property
    def forward(self) -> Kind:
        """How its draws predict; most do by a plain forward pass."""
        return "plain"

    def notes(self, posterior: Posterior) -> list[str]:
        """What it does with this posterior that a user should know, in sentences; recorded with the run."""
        return []

    def tell(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        """What the run found of itself, such as a step size, in sentences for the user."""
        return []

    def review(self, traces: Mapping[str, np.ndarray]) -> list[str]:
        """What a user should be warned of, given the statistics of all units, each (chain, unit)."""
        return []


def kept_draws(phases: tuple[Phase, ...]) -> int:
    """How many draws of each chain a run gives."""
    return sum(phase.kept(unit) for phase in phases for unit in range(phase.units))


def phase_cost(phase: Phase, posterior: Posterior, begun: int | None = None) -> float:
    """What a unit is expected to cost one chain, in gradients over all data; `begun` is how many steps it had
    when the phase began."""
    return phase.expected_steps(posterior, begun) * phase.gradients_per_step(posterior)
