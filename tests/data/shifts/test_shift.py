import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy import ndimage

from symbayes.data.shifts import KINDS, SEVERITIES, shift
from symbayes.data.shifts.blur import disk, translated
from symbayes.data.shifts.light import cloud
from symbayes.data.shifts.resolution import box_averaging


def smooth_colour(count=24, side=32, seed=0):
    """Coloured blobs with edges: something a blur, a resize and a compression can harm."""
    rng = np.random.default_rng(seed)
    noise = ndimage.gaussian_filter(rng.standard_normal((count, side, side, 3)), (0, 2, 2, 0))
    low, high = noise.min((1, 2, 3), keepdims=True), noise.max((1, 2, 3), keepdims=True)
    images = (noise - low) / (high - low)
    images[:, 8:20, 10:22] = rng.random((count, 1, 1, 3))
    return images.astype(np.float32)


@given(
    kind=st.sampled_from(KINDS),
    severity=st.sampled_from(SEVERITIES),
    seed=st.integers(0, 2**40),
    channels=st.sampled_from([1, 3]),
    count=st.integers(0, 3),
    side=st.sampled_from([(8, 8), (5, 9), (28, 28), (2, 2)]),
)
def test_shape_range_and_repeatability(kind, severity, seed, channels, count, side):
    x = np.random.default_rng(seed).random((count, *side, channels), np.float32)
    before = x.copy()
    shifted = shift(x, kind, severity, seed)
    assert shifted.shape == x.shape
    assert shifted.dtype == np.float32
    assert shifted.size == 0 or (shifted.min() >= 0 and shifted.max() <= 1)
    np.testing.assert_array_equal(shifted, shift(x, kind, severity, seed))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("kind", ["gaussian-noise", "shot-noise", "impulse-noise", "dead-pixels", "fog"])
def test_another_seed_and_another_image_get_other_draws(kind):
    x = np.repeat(smooth_colour(1), 2, axis=0)
    one, other = shift(x, kind, 3, seed=1), shift(x, kind, 3, seed=2)
    assert not np.array_equal(one, other)
    assert not np.array_equal(one[0], one[1])


def test_chunks_get_other_draws():
    x = np.full((1500, 2, 2, 1), 0.5, np.float32)
    noise = shift(x, "gaussian-noise", 1)
    assert not np.array_equal(noise[:500], noise[1000:])


# Mid-grey images: nothing is clipped, so the moments are the closed forms at CIFAR-10-C's constants.
GREY = np.full((200, 32, 32, 3), 0.5, np.float32)


@pytest.mark.parametrize(("severity", "scale"), list(enumerate([0.04, 0.06, 0.08, 0.09, 0.10], 1)))
def test_gaussian_noise_has_its_scale(severity, scale):
    noise = shift(GREY, "gaussian-noise", severity) - GREY
    assert abs(noise.std(dtype=np.float64) / scale - 1) < 0.01
    assert abs(noise.mean(dtype=np.float64)) < 5 * scale / np.sqrt(noise.size)


@pytest.mark.parametrize(("severity", "photons"), list(enumerate([500, 250, 100, 75, 50], 1)))
def test_shot_noise_has_the_variance_of_counting(severity, photons):
    noise = shift(GREY, "shot-noise", severity) - GREY
    assert abs(noise.var(dtype=np.float64) * photons / 0.5 - 1) < 0.02


@pytest.mark.parametrize(("severity", "share"), list(enumerate([0.01, 0.02, 0.03, 0.05, 0.07], 1)))
def test_impulse_noise_hits_its_share_either_way(severity, share):
    hit = shift(GREY, "impulse-noise", severity)
    for value in (0.0, 1.0):
        assert abs((hit == value).mean() - share / 2) < 5 * np.sqrt(share / 2 / hit.size)
    assert set(np.unique(hit)) == {0.0, 0.5, 1.0}


def test_dead_pixels_are_dead_in_all_channels():
    dead = shift(GREY, "dead-pixels", 5) == 0
    assert (dead.all(-1) == dead.any(-1)).all()
    assert abs(dead.mean() - 0.3) < 0.01


@pytest.mark.parametrize(
    "kind", ["gaussian-blur", "defocus-blur", "motion-blur", "rotation", "translation", "contrast"]
)
def test_a_flat_image_stays_flat(kind):
    x = np.broadcast_to(np.array([0.2, 0.5, 0.9], np.float32), (4, 16, 16, 3))
    np.testing.assert_allclose(shift(x, kind, 5), x, atol=1e-5)


def impulse(side=15):
    x = np.zeros((1, side, side, 1), np.float32)
    x[0, side // 2, side // 2] = 1
    return x


@pytest.mark.parametrize(("severity", "sigma"), list(enumerate([0.4, 0.6, 0.7, 0.8, 1.0], 1)))
def test_gaussian_blur_spreads_as_a_gaussian(severity, sigma):
    spread = shift(impulse(), "gaussian-blur", severity)[0, 7, :, 0]
    np.testing.assert_allclose(spread[8] / spread[7], np.exp(-1 / (2 * sigma**2)), rtol=1e-4)
    np.testing.assert_allclose(spread[6], spread[8], rtol=1e-5)


def test_defocus_kernels():
    """Below radius one the disk is a single pixel, and the rim's 3x3 Gaussian is all that blurs."""
    rim = np.exp(-np.array([1, 0, 1]) / (2 * 0.4**2))
    rim /= rim.sum()
    kernel = disk(0.3, 0.4)
    middle = len(kernel) // 2
    part = slice(middle - 1, middle + 2)
    np.testing.assert_allclose(kernel[part, part], np.outer(rim, rim), rtol=1e-5)
    hard = disk(1.5, 0.1)
    np.testing.assert_allclose(hard[1:-1, 1:-1][1:-1, 1:-1], np.full((3, 3), 1 / 9), rtol=1e-5)


def test_motion_blur_trails_to_one_side_within_45_degrees():
    spread = shift(np.repeat(impulse(41), 50, axis=0), "motion-blur", 5)[..., 0]
    np.testing.assert_allclose(spread.sum((1, 2)), 1, rtol=1e-5)
    rows, columns = np.nonzero(spread.max(0))
    assert columns.min() == 20
    assert (np.abs(rows - 20) <= columns - 20 + 1).all()


@pytest.mark.parametrize(("severity", "radius", "sigma"), [(1, 6, 1.0), (4, 8, 2.25), (5, 9, 2.5)])
def test_motion_blur_weights(severity, radius, sigma):
    """Whatever the angle, the pixel where the trail begins keeps the first weight."""
    weights = np.exp(-(np.arange(2 * radius + 1) ** 2) / (2 * sigma**2))
    spread = shift(np.repeat(impulse(41), 5, axis=0), "motion-blur", severity)
    np.testing.assert_allclose(spread[:, 20, 20, 0], 1 / weights.sum(), rtol=1e-5)


def test_brightness_keeps_hue_and_saturation():
    x = np.array([0.2, 0.4, 0.1], np.float32).reshape(1, 1, 1, 3).repeat(2, 1).repeat(2, 2)
    np.testing.assert_allclose(
        shift(x, "brightness", 5)[0, 0, 0], np.array([0.2, 0.4, 0.1]) * 0.7 / 0.4, rtol=1e-5
    )
    black = np.zeros((1, 2, 2, 3), np.float32)
    np.testing.assert_allclose(shift(black, "brightness", 2), 0.1, rtol=1e-6)


def test_contrast_shrinks_towards_the_channel_means():
    x = smooth_colour(3)
    mean = x.mean((1, 2), keepdims=True)
    np.testing.assert_allclose(shift(x, "contrast", 5), mean + 0.15 * (x - mean), atol=1e-6)


def test_fog_on_black_and_white():
    white = np.ones((2, 32, 32, 1), np.float32)
    foggy = shift(white, "fog", 5)
    np.testing.assert_allclose(foggy.max((1, 2, 3)), 1, rtol=1e-5)
    np.testing.assert_allclose(foggy.min((1, 2, 3)), 1 / 2.5, rtol=1e-5)
    np.testing.assert_array_equal(shift(white * 0, "fog", 5), 0)


@pytest.mark.parametrize(("height", "width"), [(8, 8), (28, 28), (5, 17)])
def test_a_cloud_fills_the_unit_interval(height, width):
    clouds = cloud(np.random.default_rng(0), 3, height, width, 2.0)
    assert clouds.shape == (3, height, width)
    np.testing.assert_allclose(clouds.min((1, 2)), 0)
    np.testing.assert_allclose(clouds.max((1, 2)), 1)


def test_a_faster_decay_gives_a_smoother_cloud():
    rough, smooth = (cloud(np.random.default_rng(0), 20, 32, 32, decay) for decay in (1.5, 3.0))
    assert np.abs(np.diff(rough, axis=1)).mean() > 1.5 * np.abs(np.diff(smooth, axis=1)).mean()


def test_jpeg_is_pillows():
    x = smooth_colour(1)
    buffer = io.BytesIO()
    Image.fromarray(np.rint(x[0] * 255).astype(np.uint8)).save(buffer, "JPEG", quality=40)
    expected = np.asarray(Image.open(buffer)) / np.float32(255)
    np.testing.assert_array_equal(shift(x, "jpeg", 5)[0], expected)


def test_pixelate_keeps_a_flat_image_and_the_mean():
    flat = np.full((3, 32, 32, 3), 51 / 255, np.float32)
    np.testing.assert_allclose(shift(flat, "pixelate", 5), flat, rtol=1e-6)
    x = smooth_colour(8)
    assert abs(shift(x, "pixelate", 5).mean() - x.mean()) < 0.01


@given(st.integers(2, 20), st.floats(1, 3), st.floats(0, 0.999))
def test_box_averaging_is_an_integral_over_fine_strips(pixels, side, offset):
    """Each pixel of 400 strips; a strip takes the mean of its box, a pixel the mean of its strips."""
    strips = (np.arange(400 * pixels) + 0.5) / 400
    box = np.floor(strips / side + offset).astype(int)
    member = (box[:, None] == np.arange(box.max() + 1)).astype(float)
    of_pixel = np.repeat(np.eye(pixels), 400, axis=0)
    down = (member.T @ of_pixel) / np.maximum(member.sum(axis=0), 1)[:, None]
    expected = of_pixel.T @ member @ down / 400
    found = box_averaging(pixels, side, np.array([offset]))[0]
    np.testing.assert_allclose(found, expected, atol=0.01)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)


def test_rotation_by_its_angle():
    side = 41
    x = np.zeros((40, side, side, 1), np.float32)
    x[:, 20, 33:36] = 1
    rotated = shift(x, "rotation", 3)[..., 0]
    rows, columns = np.mgrid[:side, :side] - 20
    mass = rotated.sum((1, 2))
    angles = np.degrees(
        np.arctan2((rotated * rows).sum((1, 2)) / mass, (rotated * columns).sum((1, 2)) / mass)
    )
    np.testing.assert_allclose(np.abs(angles), 30, atol=1)
    assert (angles > 0).any()
    assert (angles < 0).any()


EIGHT = {(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j}


def test_translation_by_its_share_of_the_side():
    moved = shift(np.repeat(impulse(20), 60, axis=0), "translation", 3)[..., 0]
    assert {tuple(np.argwhere(image > 0.999)[0] - 10) for image in moved} == {
        (3 * i, 3 * j) for i, j in EIGHT
    }
    moved = shift(np.repeat(impulse(15), 60, axis=0), "translation", 2)[..., 0]  # by 1.5 pixels
    where = {tuple(2 * (np.argwhere(image > 0).mean(axis=0) - 7)) for image in moved}
    assert where == {(3 * i, 3 * j) for i, j in EIGHT}
    np.testing.assert_allclose(moved.sum((1, 2)), 1, rtol=1e-5)


def test_translated_repeats_the_edge():
    x = np.arange(9, dtype=np.float32).reshape(1, 3, 3, 1)
    moved = translated(x, np.array([1]), np.array([-2]))[0, ..., 0]
    np.testing.assert_array_equal(moved, [[2, 2, 2], [2, 2, 2], [5, 5, 5]])


@pytest.mark.parametrize(
    ("x", "kind", "severity", "message"),
    [
        (GREY[:1], "gaussian-nois", 1, "did you mean 'gaussian-noise'"),
        (GREY[:1], "frost", 1, "no shift is called 'frost'"),
        (GREY[:1], "fog", 0, "severity must be"),
        (GREY[:1], "fog", 6, "severity must be"),
        (GREY[0], "fog", 1, "float32 images"),
        (GREY[:1].astype(np.float64), "fog", 1, "float32 images"),
        (GREY[:1, :, :, :2], "fog", 1, "float32 images"),
        (GREY[:1] + 1, "fog", 1, r"lie in \[0, 1\]"),
        (GREY[:1] * np.nan, "fog", 1, r"lie in \[0, 1\]"),
        (GREY[:1, :1], "fog", 1, "at least 2x2"),
    ],
)
def test_refusals(x, kind, severity, message):
    with pytest.raises(ValueError, match=message):
        shift(x, kind, severity)


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed"):
        shift(GREY[:1], "fog", 1, seed=-1)
