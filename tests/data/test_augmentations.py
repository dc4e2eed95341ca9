"""Augmentation: every image is one of those that it may become, and all of them are drawn."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from symbayes.data.augmentations import AUGMENTATIONS, augmented, require_augmentable

KEYS = 600
HEIGHT, WIDTH = 8, 16
"""So that margins are one and two pixels."""


def expected(name: str, image: np.ndarray) -> list[np.ndarray]:
    """Every image that it may become."""
    if name == "flip":
        return [image, image[:, ::-1]]
    wide = np.pad(image, ((1, 1), (2, 2), (0, 0)), mode="constant" if name == "crop" else "edge")
    return [wide[i : i + HEIGHT, j : j + WIDTH] for i in range(3) for j in range(5)]


@pytest.mark.parametrize("name", AUGMENTATIONS)
def test_every_form_of_an_image_is_as_likely(name: str) -> None:
    image = np.random.default_rng(0).random((HEIGHT, WIDTH, 2), np.float32)
    keys = jax.random.split(jax.random.key(3), KEYS)
    made = np.asarray(augmented([name], keys, jnp.broadcast_to(image, (KEYS, *image.shape))))
    forms = np.stack(expected(name, image))
    same = (made[:, None] == forms).all(axis=(2, 3, 4))
    np.testing.assert_array_equal(same.sum(axis=1), 1)
    share = 1 / len(forms)
    # Five standard deviations of a share.
    assert np.abs(same.mean(axis=0) - share).max() < 5 * np.sqrt(share * (1 - share) / KEYS)


def test_ways_follow_one_another_and_each_has_a_key_of_its_own() -> None:
    images = jnp.asarray(np.random.default_rng(1).random((5, HEIGHT, WIDTH, 1), np.float32))
    keys = jax.random.split(jax.random.key(7), 5)
    made = augmented(["shift", "flip", "flip"], keys, images)
    for key, image, found in zip(keys, images, made, strict=True):
        for number, name in enumerate(("shift", "flip", "flip")):
            image = AUGMENTATIONS[name](jax.random.fold_in(key, number), image)
        np.testing.assert_array_equal(found, image)
    np.testing.assert_array_equal(augmented([], keys, images), images)


@pytest.mark.parametrize(
    ("names", "shape", "message"),
    [
        (
            ["filp"],
            (8, 8, 1),
            "no augmentation is called 'filp' .did you mean 'flip'..: there are flip, crop",
        ),
        (["flip"], (64,), "augmentation is for images of shape .height, width, channels., not for inputs of"),
        ("flip", (8, 8, 1), "augmentation is a list of names, as in .'flip'."),
    ],
)
def test_what_cannot_be_augmented_is_refused(names: Any, shape: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        require_augmentable(names, shape)
    require_augmentable([], (64,))
