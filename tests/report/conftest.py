"""A browser; random but plausible inputs, and every figure drawn from them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from symbayes.report import figures
from symbayes.report.contents import Figure

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        pytest.skip(f"no browser found; looked for {', '.join(BROWSERS)}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=OPTIONS)
        yield browser
        browser.close()


def _simplex(rng: np.random.Generator, points: int, classes: int) -> np.ndarray:
    return rng.dirichlet(np.full(classes, 0.4), size=points)


def _curve(rng: np.random.Generator, bins: int = 15):
    confidence = (np.arange(bins) + rng.random(bins)) / bins
    count = rng.integers(0, 40, bins).astype(float)
    accuracy = np.where(count > 0, rng.random(bins), np.nan)
    return np.where(count > 0, confidence, np.nan), accuracy, count


def _prices(rng: np.random.Generator, count: int = 40) -> figures.Predicted:
    """Targets with many digits before the point."""
    true, half = rng.uniform(180_000, 880_000, count), rng.uniform(2e4, 6e4, count)
    mean = true + half * rng.normal(size=count)
    return figures.Predicted(true, mean, mean - half, mean + half)


@pytest.fixture(scope="session")
def draw_all() -> Callable[[int], list[Figure]]:
    """Draws every figure, from the seed of its numbers."""
    return _draw_all


@pytest.fixture(scope="session")
def all_figures() -> Callable[[int], list[Figure]]:
    """The same figures, drawn once."""
    return cache(_draw_all)


def _draw_all(seed: int) -> list[Figure]:
    rng = np.random.default_rng(seed)
    probs = {name: _simplex(rng, 3, 10) for name in ("HMC", "ensemble")}
    energy = rng.normal(500, 5, size=(4, 30))
    rhat = {name: 1 + rng.exponential(0.1, 50) for name in ("raw", "aligned", "control")}
    x, t = np.sort(rng.random(20)), np.linspace(0, 1, 9)
    return [
        figures.reliability({"HMC": _curve(rng), "SGD": _curve(rng)}),
        figures.traces(energy, rng.random((4, 30)) < 0.8, energy[:, :5] + 400),
        figures.traces(energy[:, :1]),
        figures.rhat_histograms(rhat, {"raw": rhat["raw"] / 2 + 0.5}),
        figures.uncertain_images(rng.random((3, 8, 8)), probs, np.array([1, 2, 3]), list("0123456789")),
        figures.predictive_comparison(_simplex(rng, 40, 4), _simplex(rng, 40, 4), ("HMC", "SGD")),
        figures.curves(
            {"train": (x, np.exp(-x)), "test": (x, np.exp(-x / 2))}, "epoch", "loss (nats)", "Loss"
        ),
        figures.curves({"HMC": (10 ** (3 * x), x)}, "temperature", "loss (nats)", "Loss", log_x=True),
        figures.points({"SGLD": (x, x**2), "HMC": (x, 1 - x)}, "distance", "AUROC", "Detection"),
        figures.dots(
            {"here": {"SGLD": rng.random(), "a long name of a method": 0.1}, "published": {"SGLD": 0.4}},
            "total variation",
            "Distances",
            "Some.",
            ("half of HMC", 0.05),
        ),
        figures.predicted_against_true({"HMC": _prices(rng), "SGD": _prices(rng)}, 0.9, "price, EUR"),
        figures.sorted_intervals("HMC", _prices(rng), 0.9, "price, EUR"),
        figures.pit_histogram({"HMC": rng.random(50), "SGD": rng.random(50)}),
        figures.coverage_curves({"HMC": rng.random(50), "SGD": rng.random(50)}),
        figures.picture_grid(
            {"true": rng.random((3, 8, 4, 1)), "sd": rng.random((3, 8, 4))}, ("sd",), "Pictures", "Some."
        ),
        figures.entropy_histogram({"inside": rng.random(50), "outside": rng.random(70) + 0.5}),
        figures.sigma_histograms({name: rng.lognormal(size=60) for name in ("raw", "aligned", "control")}),
        figures.barrier_curves({name: (t, rng.random(9)) for name in ("raw", "aligned")}),
        figures.barrier_curves({name: (t, rng.random(9)) for name in ("raw", "aligned")}, of="accuracy"),
        figures.pruning_curve({"by sigma": (t[1:], rng.random(8)), "by signal": (t[1:], rng.random(8))}),
        figures.frontier(
            {
                "mean network": (100, rng.random(), rng.random()),
                "Gaussian": (100 * np.array([2, 3, 12]), rng.random(3), rng.random(3)),
            }
        ),
    ]
