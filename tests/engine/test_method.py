"""Methods are validated by the types of their fields, and say what they cost and keep."""

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import symbayes as sb
from symbayes import specs
from symbayes.engine import Method, method
from symbayes.engine.method import kept_draws, phase_cost
from symbayes.specs import Count, Natural, Positive, Share

from .play import KEPT, LENGTH, Measured, Walk
from .runs import ENSEMBLE, HMC


@method
class Everything(Method):
    """A field of every type."""

    name: ClassVar[str] = "everything"

    rate: Positive
    share: Share = 0.5
    count: Count = 1
    number: Natural = 0
    word: Literal["one", "two", "three"] = "one"
    flag: bool = False
    length: Positive | None = None
    few: Count | None = None
    free: Any = "anything"
    chains: Count = 4

    def check(self) -> None:
        specs.require(self.number != 13, "number is not 13")


GOOD: list[dict[str, Any]] = [
    {},
    {"rate": 1},
    {"rate": np.float32(0.5), "count": np.int64(3)},
    {"share": 1e-9},
    {"share": 1 - 1e-9},
    {"count": 2**31 - 1},
    {"number": 0},
    {"word": "three"},
    {"flag": True},
    {"length": 0.1, "few": 2},
    {"length": None, "few": None},
    {"free": {1, 2}},
]
BAD: list[tuple[dict[str, Any], str]] = [
    *(({"rate": bad}, "rate must be a positive number, not") for bad in (0, -1.0, np.nan, np.inf, "a", True)),
    ({"rate": 1e-39}, "rate must lie between 1e-37 and"),
    ({"rate": None}, "^rate is needed$"),
    *(({"share": bad}, "share must be a positive number, not") for bad in (0.0, -0.5, "0.5")),
    *(({"share": bad}, "share lies between 0 and 1, not") for bad in (1.0, 1, 2.5)),
    *(({"count": bad}, "count must be a whole number of at least 1, not") for bad in (0, -3, 2.0, True, "2")),
    ({"count": 2**31}, "count must be at most 2,147,483,647"),
    ({"count": None}, "^count is needed$"),
    *(({"number": bad}, "number must be a whole number of at least 0, not") for bad in (-1, 0.0, False)),
    *(({"word": bad}, "^word is one, two or three, not") for bad in ("four", "", 1)),
    ({"word": None}, "^word is needed$"),
    *(({"flag": bad}, "^flag is True or False, not") for bad in (0, 1, "no", np.True_)),
    ({"flag": None}, "^flag is needed$"),
    *(({"length": bad}, "length must be a positive number, not") for bad in (0.0, -1.0, "x")),
    ({"few": 0}, "few must be a whole number of at least 1, not 0"),
    ({"number": 13}, "^number is not 13$"),
]


@pytest.mark.parametrize("fields", GOOD, ids=str)
def test_good_values_pass(fields):
    made = Everything(**{"rate": 0.1, **fields})
    assert dataclasses.replace(made) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.rate = 1.0


@pytest.mark.parametrize(("fields", "message"), BAD, ids=str)
def test_bad_values_are_refused_by_the_name_of_their_field(fields, message):
    with pytest.raises(ValueError, match=message):
        Everything(**{"rate": 0.1, **fields})
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(Everything(rate=0.1), **fields)


def test_two_words_are_joined_by_or():
    broken = object.__new__(sb.HMC)
    for name, value in (dataclasses.asdict(sb.HMC()) | {"mass": "priro"}).items():
        object.__setattr__(broken, name, value)
    with pytest.raises(ValueError, match=r"^mass is prior or diagonal, not 'priro'$"):
        specs.validate(broken)


def test_draws_are_the_units_that_end_in_one(tiny):
    assert kept_draws((Walk(12), Measured(7))) == len(KEPT) + 3
    assert kept_draws(HMC.phases(tiny)) == HMC.draws
    assert kept_draws(ENSEMBLE.phases(tiny)) == 1


def test_a_unit_costs_the_gradients_of_its_steps(tiny):
    assert phase_cost(Walk(12), tiny) == LENGTH
    assert [phase_cost(phase, tiny) for phase in HMC.phases(tiny)] == [5, 5]
    assert [phase_cost(phase, tiny) for phase in ENSEMBLE.phases(tiny)] == [1]
    uneven = dataclasses.replace(ENSEMBLE, batch=50)
    assert [phase_cost(phase, tiny) for phase in uneven.phases(tiny)] == [pytest.approx(100 / 128)]


def test_numbers_of_a_phase_become_arrays_of_one_type(tiny):
    """So that other values compile nothing; what is structure stays as it is."""
    phases = [Walk(3, length).arrays() for length in (4, np.int32(4))]
    for each in phases:
        assert (type(each.units), type(each.length)) == (np.int32, np.int32)
        assert each.kept_at == KEPT
    first, _ = HMC.phases(tiny)
    assert type(first.arrays().step_size) is np.float32
    assert type(first.arrays().adapting) is np.bool_


def test_a_phase_knows_which_parts_are_its_own():
    assert Measured(1).overrides("draw")
    assert not Walk(1).overrides("draw")
    assert Walk(1).overrides("step")
    assert not any(Walk(1).overrides(part) for part in ("open", "going", "fit", "learn", "begin"))


@method
class Parent(Method):
    """A parent.

    Attributes:
        first: told by the parent,
            in two lines.
        second: also told.
    """

    first: Count = 1
    second: Count = 2


@method
class Child(Parent):
    """A child.

    More about it.

    Attributes:
        third: its own.
        second: told again: otherwise.
    """

    third: Count = 3


def test_fields_are_described_by_the_nearest_class_in_the_order_of_the_fields() -> None:
    assert (Child.__doc__ or "").splitlines() == [
        "A child.",
        "",
        "More about it.",
        "",
        "Attributes:",
        "    first: told by the parent,",
        "        in two lines.",
        "    second: told again: otherwise.",
        "    third: its own.",
    ]
    assert Everything.__doc__ == "A field of every type."
