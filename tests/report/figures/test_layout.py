"""Whatever the names and however many the series: texts lie on the canvas, apart, large enough to read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from symbayes.evaluate import hexagons
from symbayes.report import figures
from symbayes.report.contents import Figure

from .drawing import Drawn, draw

# On a screen of 390 pixels a figure gets all but the page's padding (32) and the card's (12).
PHONE = 390 - 44
READABLE = 9.0  # pixels

SHORT = ["raw", "aligned", "control"]
LONG = [f"{number} hamiltonian-monte-carlo-temperature-0.1/seed-{number}, WWWW" for number in range(3)]
MANY = [f"run {number}" for number in range(12)]
NAMES = {"few": SHORT, "long": LONG, "many": MANY}


def reliability(names: list[str], rng: np.random.Generator) -> Figure:
    edges = np.arange(15) / 15
    curves = {n: (edges + 0.03, rng.random(15), rng.integers(1, 900, 15).astype(float)) for n in names}
    return figures.reliability(curves)


def traces(names: list[str], rng: np.random.Generator) -> Figure:
    energy = rng.normal(123_456, 5, (len(names), 30))
    return figures.traces(energy, rng.random(energy.shape), energy[:, :5] + 40)


def members(names: list[str], rng: np.random.Generator) -> Figure:
    return figures.traces(rng.normal(123_456, 5, (len(names), 1)))


def rhat(names: list[str], rng: np.random.Generator) -> Figure:
    return figures.rhat_histograms(*[{n: 1 + rng.exponential(0.3, 90) for n in names} for _ in range(2)])


def images(names: list[str], rng: np.random.Generator) -> Figure:
    probs = {n: rng.dirichlet(np.ones(10), 4) for n in names}
    return figures.uncertain_images(
        rng.random((4, 8, 8)), probs, rng.integers(10, size=4), list("0123456789")
    )


def images_of_things(names: list[str], rng: np.random.Generator) -> Figure:
    things = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle-boot",
    ]
    probs = {n: rng.dirichlet(np.ones(10), 4) for n in names}
    return figures.uncertain_images(rng.random((4, 8, 8, 3)), probs, np.array([0, 2, 7, 9]), things)


def comparison(names: list[str], rng: np.random.Generator) -> Figure:
    p, q = rng.dirichlet(np.ones(4), (2, 50))
    return figures.predictive_comparison(p, q, (names[0], names[1]))


def curves(names: list[str], rng: np.random.Generator) -> Figure:
    x = np.arange(1.0, 9)
    series = {n: (x, 1e5 * rng.random(8)) for n in names}
    return figures.curves(series, "share of the training (%)", "loss per example (nats)", "Loss")


def logarithmic_curves(names: list[str], rng: np.random.Generator) -> Figure:
    series = {n: (np.arange(8.0), rng.lognormal(0, 3, 8)) for n in names}
    return figures.curves(series, "epoch", "loss (nats)", "Loss", log_y=True)


def entropy(names: list[str], rng: np.random.Generator) -> Figure:
    return figures.entropy_histogram({n: 2.3 * rng.random(300) for n in names})


def sigma(names: list[str], rng: np.random.Generator) -> Figure:
    return figures.sigma_histograms({n: rng.lognormal(size=60) for n in names})


def barriers(names: list[str], rng: np.random.Generator) -> Figure:
    t = np.linspace(0, 1, 9)
    return figures.barrier_curves({n: (t, rng.random(9)) for n in names})


def pruning(names: list[str], rng: np.random.Generator) -> Figure:
    share = np.array([1, 0.5, 0.2, 0.1, 0.05, 0.01])
    return figures.pruning_curve({n: (share, rng.random(6)) for n in names})


def frontier(names: list[str], rng: np.random.Generator) -> Figure:
    size = np.array([1e3, 2e4, 3e6])
    return figures.frontier({n: (size * (1 + rng.random()), rng.random(3), rng.random(3)) for n in names})


def marks(names: list[str], rng: np.random.Generator) -> Figure:
    series = {n: (1e-3 * rng.random(5), rng.random(5)) for n in names}
    return figures.points(series, "squared MMD of canonical weights", "AUROC, notmnist", "Detection")


def hexagonal(names: list[str], rng: np.random.Generator) -> Figure:
    points = np.concatenate([0.6 * rng.normal(size=(500, 2)), np.ones((3000, 2))])
    found = hexagons(points, 0.1)
    labels = ("last weight of unit 1", "last weight of unit 2")
    return figures.densities(dict.fromkeys(names[:3], found), labels, "Densities", "Some.", 1.85)


FIGURES: Mapping[str, Callable[[list[str], np.random.Generator], Figure]] = {
    make.__name__: make
    for make in (
        reliability, traces, members, rhat, images, images_of_things, comparison, curves,
        logarithmic_curves, entropy, sigma, barriers, pruning, frontier, marks, hexagonal,
    )
}  # fmt: skip


@pytest.fixture(scope="module", params=[(kind, names) for kind in FIGURES for names in NAMES], ids="-".join)
def drawn(request) -> Drawn:
    kind, names = request.param
    return draw(lambda: FIGURES[kind](NAMES[names], np.random.default_rng(5)))


def test_texts_lie_on_the_canvas_apart_and_are_large_enough(drawn: Drawn):
    width, height = drawn.drawing.bbox.size
    boxes = [(text.get_text(), text.get_rotation(), text.get_window_extent()) for text in drawn.texts]
    assert boxes
    for name, _, box in boxes:
        assert min(box.x0, box.y0) >= -1, name
        assert max(box.x1 - width, box.y1 - height) <= 1, name
    straight = [(name, box) for name, rotation, box in boxes if rotation % 90 == 0]
    for (one, a), (other, b) in itertools.combinations(straight, 2):
        across, up = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(across, up) <= 1, (one, other, across, up)
    for text in drawn.texts:
        pixels = text.get_fontsize() / 72 * PHONE / drawn.drawing.get_figwidth()
        assert pixels >= READABLE, (text.get_text(), pixels)


def test_axes_keep_room_and_their_extents_are_finite(drawn: Drawn):
    for axes in drawn.axes:
        for low, high in (axes.get_xlim(), axes.get_ylim()):
            assert np.isfinite([low, high]).all()
            assert low != high
        if not axes.images and axes.get_label() != "<colorbar>":
            box = axes.get_window_extent()
            assert box.width > 0.4 * drawn.drawing.bbox.width, axes
            assert box.height > 0.5 * drawn.drawing.dpi, (axes, box.height / drawn.drawing.dpi)
