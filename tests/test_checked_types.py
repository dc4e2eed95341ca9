"""A function of the package that is called with, or returns, what its annotations do not allow fails."""

import inspect
import os
from typing import Any

import numpy as np
import pytest

import checked_types
from symbayes import specs
from symbayes.report.figures import canvas

pytestmark = pytest.mark.skipif(
    os.environ.get("SYMBAYES_COMPILER") == "default",
    reason="this run is compiled as users compile it, where types are not checked",
)


def halved(number: int) -> int:
    half: Any = number / 2
    return half


def test_arguments_are_checked() -> None:
    number: Any = 3
    with pytest.raises(TypeError, match="did_you_mean"):
        specs.did_you_mean(number, ["three"])


def test_fields_of_dataclasses_are_checked() -> None:
    number: Any = 3
    with pytest.raises(TypeError, match="linestyle"):
        canvas.Pen("red", number, "o")


def test_results_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canvas, "Pen", lambda *_: "a pen")
    with pytest.raises(TypeError, match="pen"):
        canvas.pen(0)
    with pytest.raises(TypeError, match="halved"):
        checked_types.plainly(halved)(3)


def test_shapes_within_a_call_are_held_against_one_another() -> None:
    assert canvas.finite(np.zeros(3), np.zeros(3))[1] == 0
    with pytest.raises(TypeError, match="finite"):
        canvas.finite(np.zeros(3), np.zeros(4))


def test_what_can_be_read_of_a_function_is_as_it_was() -> None:
    signature = inspect.signature(specs.did_you_mean)
    assert [parameter.annotation for parameter in signature.parameters.values()] == ["str", "Iterable[str]"]
    assert specs.did_you_mean.__doc__
