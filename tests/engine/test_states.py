"""A state as named arrays: what is read back, what is refused, and where numbers are not finite."""

import jax
import numpy as np
import pytest

from symbayes.draws import RunError
from symbayes.engine import states
from symbayes.engine.loop import State

STATE = State(np.arange(2, dtype=np.uint32), {"w": np.arange(6.0).reshape(3, 2)}, {"step": np.float32(0.5)})


def test_arrays_read_back_to_the_same_state():
    again = states.from_arrays(states.to_arrays(STATE), STATE)
    assert jax.tree.structure(again) == jax.tree.structure(STATE)
    jax.tree.map(np.testing.assert_array_equal, again, STATE)


@pytest.mark.parametrize(
    "change",
    [
        {"chain/w": np.zeros((3, 2), np.float32)},
        {"chain/w": np.zeros((2, 3))},
        {"chain/v": np.zeros((3, 2))},
    ],
    ids=["type", "shape", "name"],
)
def test_arrays_of_another_form_are_refused(change):
    with pytest.raises(RunError, match="the stored state has another form"):
        states.from_arrays({**states.to_arrays(STATE), **change}, STATE)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_named_with_its_chain(value):
    w = np.zeros((4, 3, 2), np.float32)
    w[2, 1, 0] = value
    assert states.first_nonfinite({"a": np.zeros(4), "n": np.arange(4), "w": w}) == "w, chain 2"
    assert states.first_nonfinite({"a": np.zeros(4), "loss": np.float32(value)}) == "loss"
    assert states.first_nonfinite({"a": np.zeros(4), "n": np.arange(4)}) is None
