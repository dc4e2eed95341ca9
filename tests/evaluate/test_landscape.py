"""Paths and barriers against closed forms: quadratic bowls and a double well."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import Path, accuracy_drop, barrier, path

SEEDS = st.integers(0, 2**32 - 1)


def tree(rng: np.random.Generator) -> dict:
    return {"params": {"kernel": rng.normal(size=(3, 2)), "bias": rng.normal(size=3)}, "stats": {}}


def squares(w) -> float:
    return float(np.sum(w["params"]["kernel"] ** 2) + np.sum(w["params"]["bias"] ** 2))


@settings(deadline=None, max_examples=40)
@given(SEEDS, st.integers(2, 30))
def test_a_bowl_is_a_parabola_along_the_path_and_has_no_barrier(seed: int, steps: int):
    rng = np.random.default_rng(seed)
    w0, w1 = tree(rng), tree(rng)
    found = path(squares, w0, w1, steps)
    t = np.linspace(0, 1, steps)
    apart = squares({"params": {k: w0["params"][k] - w1["params"][k] for k in ("kernel", "bias")}})
    # |(1-t) a + t b|^2 = (1-t) |a|^2 + t |b|^2 - t (1-t) |a - b|^2
    expected = (1 - t) * squares(w0) + t * squares(w1) - t * (1 - t) * apart
    np.testing.assert_array_equal(found.t, t)
    np.testing.assert_allclose(found.values, expected, rtol=1e-12, atol=1e-12)
    assert found.values[0] == squares(w0)
    assert found.values[-1] == squares(w1)
    assert barrier(found.values) == 0
    # Upside down it is a hill, highest half way for an odd number of places.
    top = apart / 4 if steps % 2 else apart * np.max(t * (1 - t))
    np.testing.assert_allclose(barrier(-found.values), top, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(accuracy_drop(found.values), top, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=40)
@given(st.floats(0.5, 3), st.floats(-2, 2), st.floats(0.1, 2))
def test_a_double_well_has_the_height_of_its_middle(well: float, tilt: float, height: float):
    """height (w^2/a^2 - 1)^2 + tilt w between -a and a; the tilt is in the straight line already."""
    found = path(
        lambda w: height * (w["w"] ** 2 / well**2 - 1) ** 2 + tilt * w["w"], {"w": -well}, {"w": well}, 5
    )
    np.testing.assert_allclose(barrier(found.values, found.t), height, rtol=1e-12)
    np.testing.assert_allclose(barrier(found.values), height, rtol=1e-12)


def test_uneven_places_are_taken_as_they_are():
    # The line between the ends is at 1.75 where t is 0.75, and at 1.5 half way.
    assert barrier([1.0, 2.5, 2.0], [0.0, 0.75, 1.0]) == 0.75
    assert barrier([1.0, 2.5, 2.0]) == 1.0
    assert accuracy_drop([0.9, 0.2, 0.7]) == pytest.approx(0.6)
    assert barrier([0.9, 0.2, 0.7]) == 0


def test_weights_keep_their_precision_and_losses_may_be_jax_scalars():
    def loss(w):
        assert w["w"].dtype == jnp.float32
        return jnp.sum(w["w"])

    for kind in (jnp, np):
        found = path(loss, {"w": kind.zeros(2, "float32")}, {"w": kind.ones(2, "float32")}, 3)
        assert found.values.tolist() == [0.0, 1.0, 2.0]


def test_bad_input_is_refused():
    w = {"w": np.zeros(2)}
    with pytest.raises(ValueError, match="at least 2"):
        path(lambda w: 0.0, w, w, 1)
    with pytest.raises(ValueError, match=r"\['w'\] has shape \(2,\) at one end of the path and \(3,\)"):
        path(lambda w: 0.0, w, {"w": np.zeros(3)})
    with pytest.raises(ValueError, match=r"\['v'\] has shape none"):
        path(lambda w: 0.0, w, {**w, "v": np.zeros(3)})
    with pytest.raises(ValueError, match="not finite"):
        barrier([0.0, np.nan, 1.0])
    for values in ([1.0], [[0.0, 1.0]]):
        with pytest.raises(ValueError, match="both ends"):
            barrier(values)
    for t in ([0.0, 0.5], [0.0, 0.5, 0.9], [0.1, 0.5, 1.0], [0.0, 1.2, 1.0]):
        with pytest.raises(ValueError, match="rise from 0 to 1"):
            barrier([0.0, 1.0, 0.0], t)


def test_a_barrier_is_that_of_the_path_it_is_given() -> None:
    line = path(lambda w: float(np.cos(w["a"][0])), {"a": np.array([-2.0])}, {"a": np.array([1.0])}, steps=7)
    assert barrier(line) == barrier(line.values, line.t) > 0
    uneven = Path(np.array([0.0, 0.1, 1.0]), np.array([0.0, 2.0, 1.0]))
    assert barrier(uneven) == pytest.approx(1.9)
    accuracies = Path(line.t, -line.values)
    assert accuracy_drop(accuracies) == barrier(line)
