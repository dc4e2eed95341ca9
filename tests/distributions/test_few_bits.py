"""Networks in few bits: the code, the rounding, and the choice of networks."""

from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.distributions.few_bits import rounding
from symbayes.distributions.few_bits.choosing import herded
from symbayes.distributions.few_bits.coding import Coded, decode, encode
from symbayes.distributions.few_bits.networks import FewBits, Layout, Rows, rounded
from symbayes.distributions.few_bits.rounding import compensated, freedom


@given(st.integers(0, 2**32 - 1), st.integers(0, 9000), st.integers(1, 5), st.floats(0.01, 60))
@settings(deadline=None, max_examples=30)
def test_integers_survive_the_code_in_about_their_entropy(
    seed: int, n: int, groups: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, groups, n)
    integers = np.rint(rng.normal(size=n) * scale * (1 + classes)).astype(np.int64) + 7 * classes
    coded = encode(integers, classes)
    np.testing.assert_array_equal(decode(coded, classes), integers)
    entropy = 0.0
    for number in np.unique(classes):
        counts = np.unique(integers[classes == number], return_counts=True)[1]
        entropy -= float(np.sum(counts * np.log2(counts / counts.sum())))
    words = 16 * len(coded.words)
    assert entropy * 0.999 <= words <= 1.03 * entropy + 0.02 * n + 64 * (1 + n // 4096)


def test_a_damaged_code_is_refused() -> None:
    rng = np.random.default_rng(0)
    integers, classes = rng.integers(-3, 4, 500), np.zeros(500, np.int64)
    coded = encode(integers, classes)
    with pytest.raises(ValueError, match="ends too early"):
        decode(Coded(coded.words[:-1], coded.frequencies, coded.alphabets), classes)
    longer = np.append(coded.words, np.uint16(0))
    with pytest.raises(ValueError, match="does not end where it should"):
        decode(Coded(longer, coded.frequencies, coded.alphabets), classes)
    changed = coded.words.copy()
    changed[10] ^= 1
    with pytest.raises(ValueError, match="the code"):
        decode(Coded(changed, coded.frequencies, coded.alphabets), classes)


@given(
    st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(1, 4), st.booleans(), st.sampled_from([3, 32])
)
@settings(deadline=None, max_examples=30)
def test_what_is_lost_is_what_the_factor_says(
    seed: int, inputs: int, outputs: int, skips: bool, together: int
) -> None:
    """tr E'AE of the rounded weights is the sum over rows of their own errors, each over U_rr, however many
    rows put their errors upon later ones at once."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, inputs)) @ rng.normal(size=(inputs, inputs))
    moment = x.T @ x / 40
    free = freedom(moment)[None]
    weights, steps = rng.normal(size=(1, inputs, outputs)), rng.uniform(0.05, 0.5, inputs)
    instead = rng.normal(size=weights.shape)
    if skips:
        steps[rng.integers(inputs)] = np.inf
    with mock.patch.object(rounding, "TOGETHER", together):
        integers = compensated(weights, steps, free, instead)
    kept = np.where(
        np.isfinite(steps)[:, None], integers * np.where(np.isfinite(steps), steps, 0)[:, None], instead
    )
    error = (weights - kept)[0]
    damped = np.linalg.inv(free[0].T @ free[0])
    np.testing.assert_allclose(damped, moment + 0.01 * np.trace(moment) / inputs * np.eye(inputs), rtol=1e-6)
    lost = np.linalg.solve(free[0].T, error)
    np.testing.assert_allclose(np.trace(error.T @ damped @ error), np.sum(lost**2), rtol=1e-6)
    assert np.all(np.abs(lost) <= (steps / 2 / np.diag(free[0]))[:, None] * (1 + 1e-9))


def test_compensation_loses_far_less_where_inputs_are_correlated() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 30)) + 0.1 * rng.normal(size=(200, 30))
    moment, weights = x.T @ x / 200, rng.normal(size=(1, 30, 8))
    free, steps = freedom(moment)[None], np.full(30, 0.5)
    error = weights - compensated(weights, steps, free) * 0.5
    rough = weights - np.rint(weights / 0.5) * 0.5
    assert np.mean((x @ error[0]) ** 2) < 0.2 * np.mean((x @ rough[0]) ** 2)


def test_networks_are_chosen_as_by_trying_every_one() -> None:
    rng = np.random.default_rng(2)
    predictions = rng.normal(size=(7, 5, 3))
    target = predictions.mean(axis=0)
    chosen: list[int] = []
    for _ in range(4):
        tried = {
            i: np.sum((predictions[[*chosen, i]].mean(axis=0) - target) ** 2)
            for i in range(7)
            if i not in chosen
        }
        chosen.append(min(tried, key=lambda i: tried[i]))
    np.testing.assert_array_equal(herded(predictions, target, 4), chosen)
    assert sorted(herded(predictions, predictions[3], 7)) == list(range(7)), "the nearest one is kept once"
    with pytest.raises(ValueError, match="8 networks are to be kept, and there are 7"):
        herded(predictions, target, 8)


KERNEL, BIAS = "params/conv/kernel", "params/conv/bias"


def test_networks_come_back_as_their_integers_times_steps(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    layout = {KERNEL: Layout((3, 2, 4), (0, 1)), BIAS: Layout((4,))}
    weights = {
        KERNEL: rng.normal(size=(5, 3, 2, 4)),
        BIAS: rng.normal(size=(5, 4)),
    }
    matrices = {name: layout[name].matrices(array) for name, array in weights.items()}
    assert matrices[KERNEL].shape == (5, 6, 4)
    np.testing.assert_array_equal(layout[KERNEL].arrays(matrices[KERNEL]), weights[KERNEL])
    steps = {
        KERNEL: np.array([0.1, 0.2, 50.0, 0.3, 0.05, 0.2]),
        BIAS: np.array([0.01]),
    }
    rows = {name: Rows.of(steps[name], matrices[name].std(axis=(0, 2))) for name in layout}
    kernel = rows[KERNEL]
    np.testing.assert_array_equal(kernel.stored, [True, True, False, True, True, True])
    np.testing.assert_allclose(kernel.sizes[kernel.stored], steps[KERNEL][kernel.stored], rtol=0.05)
    numbers = np.array([7, 1, 4, 0, 9])
    integers = rounded(matrices, rows, {}, numbers)
    exact = {"stats/mean": rng.normal(size=(5, 4)).astype(np.float32)}
    few = FewBits.of(layout, rows, numbers, integers, exact)
    few.save(tmp_path / "few.safetensors")
    for made in (few, FewBits.load(tmp_path / "few.safetensors")):
        back = made.draws.variables
        matrix = layout[KERNEL].matrices(back["params"]["conv"]["kernel"][0])
        error = np.abs(matrix - matrices[KERNEL])[:, kernel.stored]
        assert np.all(error <= kernel.sizes[kernel.stored, None] / 2 * (1 + 1e-6))
        np.testing.assert_array_equal(back["stats"]["mean"][0], exact["stats/mean"])
        assert made.bits == few.bits
    anew = matrix[:, 2]
    assert 0.3 < anew.std() < 3, "as wide as what it stands for"
    alone = few.first(2)
    np.testing.assert_array_equal(
        layout[KERNEL].matrices(alone.draws.variables["params"]["conv"]["kernel"][0]),
        matrix[:2],
    )
    assert len(alone) == 2
    assert alone.bits < few.bits
