"""Images changed at random in ways that keep what they show.

Each is a pure function of a key and one image, (height, width, channels), that compiled programs can take:
what is drawn depends on the key alone.

    flip    left becomes right, with probability 1/2
    crop    a window of the same size out of the image with a black margin of an eighth of its side
    shift   moved by up to an eighth of its side in both directions, the edge repeated

Reference: Krizhevsky, Sutskever & Hinton (2012), ImageNet classification with deep convolutional neural
networks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp

from symbayes.specs import did_you_mean, require

MARGIN = 1 / 8
"""Of the side of an image, by how much it may move: four pixels of 32."""


def flip(key: jax.Array, image: jax.Array) -> jax.Array:
    return jnp.where(jax.random.bernoulli(key), image[:, ::-1], image)


def crop(key: jax.Array, image: jax.Array) -> jax.Array:
    return _moved(key, image, "constant")


def shift(key: jax.Array, image: jax.Array) -> jax.Array:
    return _moved(key, image, "edge")


AUGMENTATIONS: dict[str, Callable[[jax.Array, jax.Array], jax.Array]] = {
    "flip": flip,
    "crop": crop,
    "shift": shift,
}


def augmented(names: Sequence[str], keys: jax.Array, images: jax.Array) -> jax.Array:
    """A batch of images, each changed in these ways, one after the other, with a key of its own."""

    def one(key: jax.Array, image: jax.Array) -> jax.Array:
        for number, name in enumerate(names):
            image = AUGMENTATIONS[name](jax.random.fold_in(key, number), image)
        return image

    return jax.vmap(one)(keys, images)


def require_augmentable(names: Sequence[str], shape: tuple[int, ...]) -> None:
    """Refuse names that are not known, and inputs that are no images."""
    require(not isinstance(names, str), f"augmentation is a list of names, as in [{names!r}]")
    for name in names:
        require(
            name in AUGMENTATIONS,
            f"no augmentation is called {name!r}{did_you_mean(name, AUGMENTATIONS)}: "
            f"there are {', '.join(AUGMENTATIONS)}",
        )
    require(
        not names or len(shape) == 3,
        f"augmentation is for images of shape (height, width, channels), not for inputs of shape {shape}",
    )


def _moved(key: jax.Array, image: jax.Array, margin: str) -> jax.Array:
    """The image moved by a whole number of pixels, drawn evenly; the margin is black or its edge."""
    height, width, channels = image.shape
    rows, columns = (max(1, round(MARGIN * side)) for side in (height, width))
    wide = jnp.pad(image, ((rows, rows), (columns, columns), (0, 0)), mode=margin)
    down, right = jax.random.randint(key, (2,), 0, jnp.array([2 * rows + 1, 2 * columns + 1]))
    return jax.lax.dynamic_slice(wide, (down, right, 0), (height, width, channels))
