"""A higher severity lies further from the clean images: every shift, small and large, grey and coloured."""

import numpy as np
import pytest
from PIL import Image

from symbayes import data
from symbayes.data.shifts import KINDS, SEVERITIES, shift

from ..files import real

COUNT = 200


def digits() -> np.ndarray:
    return np.asarray(data.load("digits").test.x[:COUNT])


def enlarged(side: int) -> np.ndarray:
    pixels = np.rint(255 * digits()[..., 0]).astype(np.uint8)
    size, way = (side, side), Image.Resampling.BICUBIC
    images = np.stack([np.asarray(Image.fromarray(image).resize(size, way)) for image in pixels])
    return images[..., None] / np.float32(255)


def coloured(side: int = 32) -> np.ndarray:
    """Enlarged digits, each in an ink of its own on a paper of its own."""
    rng = np.random.default_rng(20)
    ink, paper = rng.random((2, COUNT, 1, 1, 3), np.float32)
    return paper + (ink - paper) * enlarged(side)


CLEAN = {
    "digits": digits,
    "digits enlarged to 28x28": lambda: enlarged(28),
    "coloured digits enlarged to 32x32": coloured,
    "mnist": lambda: real("mnist").test.x[:COUNT],
    "fashion-mnist": lambda: real("fashion-mnist").test.x[:COUNT],
    "cifar10": lambda: real("cifar10").test.x[:COUNT],
}


@pytest.fixture(scope="module", params=CLEAN)
def clean(request) -> np.ndarray:
    return np.asarray(CLEAN[request.param]())


def distances(x: np.ndarray, kind: str, seed: int) -> list[float]:
    return [float(np.mean((shift(x, kind, s, seed) - x) ** 2, dtype=np.float64)) for s in SEVERITIES]


@pytest.mark.parametrize("kind", KINDS)
def test_the_squared_distance_grows_with_the_severity(clean, kind):
    for seed in (0, 7):
        values = distances(clean, kind, seed)
        assert (np.diff([0.0, *values]) > 1e-4 * values[-1]).all(), (seed, values)


@pytest.mark.parametrize("side", [9, 12, 15, 21])
@pytest.mark.parametrize("kind", ["motion-blur", "translation", "pixelate"])
def test_sizes_that_do_not_divide_are_no_exception(kind, side):
    values = distances(enlarged(side), kind, 1)
    assert (np.diff([0.0, *values]) > 1e-4 * values[-1]).all(), values
