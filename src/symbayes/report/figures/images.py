"""Pictures with the predictions of each method, and predicted pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Integer, Real
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from symbayes.report.contents import Figure
from symbayes.report.figures.canvas import SHADE, blank, left_out, legend, pen, sheet, shown, to_svg
from symbayes.report.words import listed

_CLASSES = 10  # bars per picture; with more classes the likeliest ones are shown


def uncertain_images(
    images: Real[np.ndarray, "m height width"] | Real[np.ndarray, "m height width channel"],
    probs: Mapping[str, Float[np.ndarray, "m k"]],
    labels: Integer[np.ndarray, " m"],
    class_names: Sequence[str],
) -> Figure:
    """One row per picture: the picture, and each method's predictive distribution as bars."""
    _check(images, probs, labels, class_names)
    names = [shown(name, 12) for name in class_names]
    slanted = max(map(len, names), default=1) > 3
    dropped = sum(int(np.sum(~np.isfinite(p))) for p in probs.values())
    row_height = 1.45 if slanted else 1.05
    with sheet(0.45 + row_height * max(len(images), 1)) as drawing:
        if len(images) == 0:
            blank(drawing.add_subplot(), "no pictures to draw")
        grid = drawing.add_gridspec(max(len(images), 1), 2, width_ratios=[1, 3.6])
        for row, image in enumerate(images):
            # A long name has a line of its own: beside "true:" it would leave the canvas.
            label = ("true:\n" if slanted else "true: ") + names[labels[row]]
            _picture(drawing.add_subplot(grid[row, 0]), image, label)
            bars = {name: np.nan_to_num(p[row], posinf=0.0, neginf=0.0) for name, p in probs.items()}
            _bars(drawing.add_subplot(grid[row, 1]), bars, int(labels[row]), names, slanted)
        patches = [Patch(color=pen(index).color) for index in range(len(probs))]
        legend(drawing, [*patches, Patch(color=SHADE)], [*probs, "true class"], columns=4)
        svg = to_svg(drawing)
    caption = (
        "Bars are the probabilities of the classes; the shaded class is the true one. An uncertain "
        "prediction has probability on several classes, and methods may differ in this." + left_out(dropped)
    )
    alt = f"{len(images)} test images with the predicted class probabilities of {listed(list(probs))}."
    return Figure("The least certain images", svg, caption, alt)


def picture_grid(
    columns: Mapping[str, np.ndarray],
    maps: Sequence[str],
    title: str,
    caption: str,
) -> Figure:
    """A row for every example and a column for every kind of picture, (m, height, width) or with channels.

    Pictures are drawn from black at 0 to white at 1.  Columns named in `maps` hold numbers instead: they are
    drawn in colours from the smallest to the largest number, the same in all rows.
    """
    rows = {len(pictures) for pictures in columns.values()}
    if len(rows) != 1:
        raise ValueError(f"columns have {sorted(rows)} pictures; give as many in each")
    for name, pictures in columns.items():
        if pictures.ndim not in (3, 4) or (pictures.ndim == 4 and pictures.shape[3] not in (1, 3)):
            raise ValueError(
                f"column {name!r} has shape {pictures.shape}; give (m, height, width) or that with 1 or 3 "
                "channels"
            )
    (count,) = rows
    dropped = sum(int(np.sum(~np.isfinite(pictures))) for pictures in columns.values())
    with sheet(0.35 + 0.62 * max(count, 1)) as drawing:
        if count == 0:
            blank(drawing.add_subplot(), "no pictures to draw")
        else:
            grid = drawing.subplots(count, len(columns), squeeze=False)
            for cells, (name, pictures) in zip(grid.T, columns.items(), strict=True):
                colours, span = ("viridis", _span(pictures)) if name in maps else ("gray", (0.0, 1.0))
                for cell, picture in zip(cells, pictures, strict=True):
                    _cell(cell, picture, colours, span)
                cells[0].set_title(shown(name, 14), fontsize=8, loc="center")
        svg = to_svg(drawing)
    alt = f"{count} test examples as rows of pictures: {listed(list(columns))}."
    return Figure(title, svg, caption + left_out(dropped), alt)


def _span(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest number, or something around a single one."""
    known = values[np.isfinite(values)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _cell(axes: Axes, picture: np.ndarray, colours: str, span: tuple[float, float]) -> None:
    picture = np.nan_to_num(np.asarray(picture, dtype=np.float64))
    if picture.ndim == 3:
        picture = picture[:, :, 0] if picture.shape[2] == 1 else np.clip(picture, 0, 1)
    axes.imshow(picture, cmap=colours, vmin=span[0], vmax=span[1], interpolation="none")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)


def _check(
    images: np.ndarray, probs: Mapping[str, np.ndarray], labels: np.ndarray, names: Sequence[str]
) -> None:
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] not in (1, 3)):
        raise ValueError(
            f"images have shape {images.shape}; give (m, height, width) or that with 1 or 3 channels"
        )
    if labels.shape != (len(images),) or (labels.size and not 0 <= labels.min() <= labels.max() < len(names)):
        raise ValueError(f"labels must be {len(images)} integers from 0 to {len(names) - 1}, one per image")
    for method, p in probs.items():
        if p.shape != (len(images), len(names)):
            raise ValueError(f"probs[{method!r}] has shape {p.shape}; it needs {(len(images), len(names))}")


def _picture(axes: Axes, image: np.ndarray, label: str) -> None:
    image = np.asarray(image, dtype=np.float64)
    low, high = image.min(), image.max()
    image = (image - low) / (high - low) if high > low else np.zeros_like(image)
    if image.ndim == 3 and image.shape[2] == 1:
        image = image[:, :, 0]
    # "none" keeps the pixels of the picture; the browser enlarges them without smoothing.
    axes.imshow(image, cmap="gray", vmin=0, vmax=1, interpolation="none")
    axes.set(xticks=[], yticks=[])
    axes.grid(visible=False)
    axes.set_xlabel(label, labelpad=3)
    axes.spines[:].set_visible(False)


def _bars(axes: Axes, probs: Mapping[str, np.ndarray], label: int, names: list[str], slanted: bool) -> None:
    if not probs:
        return
    classes = np.arange(len(names))
    if len(names) > _CLASSES:
        mass = np.sum(list(probs.values()), axis=0)
        mass[label] = np.inf  # the true class is always shown
        classes = np.sort(np.argsort(-mass, kind="stable")[:_CLASSES])
    width = 0.82 / len(probs)
    axes.axvspan(*(np.flatnonzero(classes == label)[0] + np.array([-0.5, 0.5])), color=SHADE, linewidth=0)
    for index, p in enumerate(probs.values()):
        left = np.arange(len(classes)) - 0.41 + index * width
        axes.bar(left, 100 * p[classes], width, align="edge", color=pen(index).color)
    axes.set(ylim=(0, 100), xlim=(-0.5, len(classes) - 0.5))
    axes.set_yticks([0, 50, 100], ["0%", "50%", "100%"])
    axes.set_xticks(np.arange(len(classes)), [names[c] for c in classes])
    if slanted:
        axes.tick_params(axis="x", labelrotation=35, labelsize=8)
        for tick in axes.get_xticklabels():
            tick.set(ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
