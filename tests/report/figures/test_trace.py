"""What traces and members draw."""

import numpy as np
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from symbayes.report import figures
from symbayes.report.figures.canvas import SHADE

from .drawing import draw, points

SEED = np.random.SeedSequence().generate_state(1)[0]


def shaded(axes) -> list[tuple[float, float]]:
    """From where to where along x an area is shaded."""
    return [
        (patch.get_x(), patch.get_x() + patch.get_width())
        for patch in axes.patches
        if isinstance(patch, Rectangle) and to_hex(patch.get_facecolor()) == SHADE
    ]


def test_every_draw_stands_at_its_iteration_and_burn_in_before_it():
    rng = np.random.default_rng([SEED])
    energy, descent = rng.normal(500, 5, (3, 20)), rng.normal(520, 5, (3, 6))
    accepted = rng.random((3, 20)) < 0.8
    energy[1, 4] = np.nan
    drawn = draw(lambda: figures.traces(energy, accepted, descent))
    top, bottom = drawn.axes
    assert len(top.get_lines()) == len(bottom.get_lines()) == 3
    for chain in range(3):
        x, y = points(top.get_lines()[chain])
        np.testing.assert_array_equal(x, np.arange(26))
        np.testing.assert_array_equal(y, [*descent[chain], *energy[chain]], err_msg=str(SEED))
        x, y = points(bottom.get_lines()[chain])
        np.testing.assert_array_equal(x, 6 + np.arange(20))
        running = [100 * accepted[chain, : end + 1].mean() for end in range(20)]
        np.testing.assert_allclose(y, running)
    assert shaded(top) == shaded(bottom) == [(-0.5, 5.5)]
    assert drawn.legend == ["chain 1", "chain 2", "chain 3", "burn-in"]
    assert top.get_ylabel() == "potential energy (nats)"
    assert bottom.get_ylabel() == "accepted (%)"
    assert bottom.get_xlabel() == "iteration"
    low, high = top.get_ylim()
    assert low < np.nanmin(energy) <= np.nanmax(energy) < high
    assert bottom.get_ylim()[0] < 0 < 100 < bottom.get_ylim()[1]
    assert top.get_shared_x_axes().joined(top, bottom)


def test_a_descent_from_far_above_does_not_flatten_the_draws():
    rng = np.random.default_rng([SEED, 1])
    energy = rng.normal(100, 1, (2, 40))
    descent = np.repeat(np.geomspace(1e5, 100, 30)[None], 2, axis=0)
    (axes,) = draw(lambda: figures.traces(energy, None, descent)).axes
    low, high = axes.get_ylim()
    assert high - low < 8 * np.ptp(energy)
    assert low < energy.min() <= energy.max() < high


def test_more_than_eight_chains_are_drawn_but_not_named():
    energy = np.random.default_rng([SEED, 2]).normal(size=(9, 12))
    drawn = draw(lambda: figures.traces(energy))
    (axes,) = drawn.axes
    np.testing.assert_array_equal([points(line)[1] for line in axes.get_lines()], energy)
    assert drawn.legend == []
    assert axes.get_xlabel() == "iteration"


def test_members_are_numbered_from_one_with_their_mean():
    energy = np.random.default_rng([SEED, 3]).normal(300, 9, 7)
    energy[2] = np.inf
    (axes,) = draw(lambda: figures.traces(energy[:, None])).axes
    dots, mean = axes.get_lines()
    kept = np.isfinite(energy)
    np.testing.assert_array_equal(points(dots), [np.flatnonzero(kept) + 1, energy[kept]])
    assert dots.get_linestyle() == "None"
    np.testing.assert_allclose(points(mean)[1], energy[kept].mean())
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("member", "potential energy (nats)")
    assert axes.get_xlim() == (0.5, 7.5)
