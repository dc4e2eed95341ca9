"""What the scatter of two predictives and the rows of pictures draw."""

import numpy as np
import pytest
from matplotlib.colors import to_hex

from symbayes.report import figures
from symbayes.report.figures.canvas import SHADE, pen

from .drawing import draw, points, tick_labels

SEED = np.random.SeedSequence().generate_state(1)[0]


def test_every_point_is_drawn_at_both_confidences_and_those_of_other_classes_apart():
    rng = np.random.default_rng([SEED])
    p, q = rng.dirichlet(np.ones(4), (2, 60))
    p[5] = np.nan
    drawn = draw(lambda: figures.predictive_comparison(p, q, ("HMC", "SGD")))
    top, bottom = drawn.axes
    known = np.arange(60) != 5
    first, second, same = p.max(1)[known], q.max(1)[known], (p.argmax(1) == q.argmax(1))[known]
    agreeing, other = (np.asarray(dots.get_offsets()) for dots in top.collections)
    np.testing.assert_allclose(agreeing, np.stack([first[same], second[same]], 1), err_msg=str(SEED))
    np.testing.assert_allclose(other, np.stack([first[~same], second[~same]], 1))
    (diagonal,) = top.get_lines()
    np.testing.assert_array_equal(*points(diagonal))
    assert drawn.legend == [f"same class ({same.sum()})", f"other class ({(~same).sum()})"]
    assert (top.get_xlabel(), top.get_ylabel()) == ("confidence of HMC (%)", "confidence of SGD (%)")
    for which in "xy":
        labels = tick_labels(top, which)
        assert labels
        assert all(float(text) == pytest.approx(100 * at) for at, text in labels.items())
    low, high = top.get_xlim()
    assert low <= min(first.min(), second.min())
    assert high >= 1
    distance = 0.5 * np.abs(p - q).sum(1)[known]
    steps = bottom.patches[0].get_data()
    np.testing.assert_array_equal(steps.values, np.histogram(distance, steps.edges)[0])
    assert steps.values.sum() == 59
    (mean,) = bottom.get_lines()
    assert points(mean)[0][0] == pytest.approx(distance.mean())
    assert bottom.get_xlabel() == f"total variation per point (dashed: mean {distance.mean():.4f})"
    assert bottom.get_ylabel() == "points"


@pytest.mark.parametrize("channels", [None, 1, 3])
def test_each_picture_stands_beside_its_own_bars(channels):
    rng = np.random.default_rng([SEED, 1])
    shape = (4, 6, 6) if channels is None else (4, 6, 6, channels)
    images = rng.random(shape)
    probs = {name: rng.dirichlet(np.ones(5), 4) for name in ("HMC", "SGD")}
    labels = rng.integers(5, size=4)
    names = list("vwxyz")
    drawn = draw(lambda: figures.uncertain_images(images, probs, labels, names))
    assert len(drawn.axes) == 8
    for row in range(4):
        picture, bars = drawn.axes[2 * row : 2 * row + 2]
        shown = np.asarray(picture.images[0].get_array())
        image = images[row] if channels == 3 else images[row].reshape(6, 6)
        scaled = (image - image.min()) / (image.max() - image.min())
        np.testing.assert_allclose(shown, scaled, atol=1e-6, err_msg=str(SEED))
        assert picture.get_xlabel() == f"true: {names[labels[row]]}"
        for index, (container, p) in enumerate(zip(bars.containers, probs.values(), strict=True)):
            np.testing.assert_allclose([bar.get_height() for bar in container], 100 * p[row])
            assert {to_hex(bar.get_facecolor()) for bar in container} == {pen(index).color.lower()}
            middles = [bar.get_x() + bar.get_width() / 2 for bar in container]
            np.testing.assert_array_equal(np.rint(middles), np.arange(5))
        shade = [patch for patch in bars.patches if to_hex(patch.get_facecolor()) == SHADE]
        assert [(p.get_x(), p.get_x() + p.get_width()) for p in shade] == [
            (labels[row] - 0.5, labels[row] + 0.5)
        ]
        assert list(tick_labels(bars, "x").values()) == names
        assert tick_labels(bars, "y") == {0: "0%", 50: "50%", 100: "100%"}
        low, high = picture.get_position().y0, picture.get_position().y1
        middle = (bars.get_position().y0 + bars.get_position().y1) / 2
        assert low - 0.02 < middle < high + 0.02
    assert drawn.legend == ["HMC", "SGD", "true class"]
