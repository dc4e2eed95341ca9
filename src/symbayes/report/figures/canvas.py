"""What all figures share: size, colours, names, and the conversion to SVG.

Only matplotlib's objects are used, never pyplot, and its settings are restored after each drawing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from jaxtyping import Bool, Shaped
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import LogLocator

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

# A phone gives a figure about 320 CSS pixels: at 4.2 inches, 9.5 points come out as 10 pixels.
WIDTH = 4.2
SOFT = "#5b636d"
SHADE = "#ebe8e1"

# The palette of Okabe and Ito (2008), without yellow, which is faint on white.  Seven colours against
# four dashes: the pair repeats after 28 series.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")

_STYLE: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.labelsize": 9.5,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": "#e4e1da",
    "grid.linewidth": 0.6,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": "#1d2126",
    "ytick.labelcolor": "#1d2126",
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "text.color": "#1d2126",
    "axes.labelcolor": "#1d2126",
    "legend.fontsize": 9,
    "legend.frameon": False,
    "legend.handlelength": 2.2,
    "lines.linewidth": 1.5,
    "lines.markersize": 4.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    # A dollar sign in the name of a run is not mathematics.
    "text.parse_math": False,
    # Outlines instead of text: the same picture on every device, whatever fonts it has.
    "svg.fonttype": "path",
    "svg.hashsalt": "symbayes",
    # Text in PDFs stays text, in a font that papers may embed.
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class Pen:
    """How a series is drawn: colour, and dash and marker that distinguish it without colour."""

    color: str
    linestyle: str
    marker: str


def pen(index: int) -> Pen:
    return Pen(*(choice[index % len(choice)] for choice in (_COLOURS, _DASHES, _MARKERS)))


_SIZES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


@contextmanager
def sheet(height: float) -> Iterator[Figure]:
    """An empty drawing of the common width, in the common style; call `to_svg` before leaving."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield Figure(figsize=(WIDTH, height), layout="constrained")


_pdfs: ContextVar[dict[str, bytes] | None] = ContextVar("pdfs", default=None)


@contextmanager
def as_pdf() -> Iterator[dict[str, bytes]]:
    """A context in which every figure is also drawn as PDF; it yields a mapping from SVG to PDF."""
    made: dict[str, bytes] = {}
    token = _pdfs.set(made)
    try:
        yield made
    finally:
        _pdfs.reset(token)


def to_svg(drawing: Figure) -> str:
    """The drawing as an SVG document; the same drawing always gives the same bytes."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    if (made := _pdfs.get()) is not None:
        paper = io.BytesIO()
        nothing = {"CreationDate": None, "Creator": None, "Producer": None}
        drawing.savefig(paper, format="pdf", dpi=200, metadata=nothing)
        made[svg] = paper.getvalue()
    return svg


def legend(drawing: Figure, handles: list[Any], names: list[str], columns: int = 2) -> None:
    """One legend above all axes, in as many columns as the names leave room for."""
    names = [shown(name) for name in names]
    if not handles:
        return
    longest = max(len(name) for name in names)
    fitting = max(1, min(columns, len(names), 62 // (longest + 8)))
    rows = -(-len(names) // fitting)
    drawing.legend(
        handles,
        names,
        loc="outside upper left",
        ncols=-(-len(names) // rows),
        columnspacing=1.2,
        borderaxespad=0.2,
    )


def blank(axes: Axes, text: str = "no finite values to draw") -> None:
    """Say in empty axes that there was nothing to draw."""
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT)
    axes.set(xticks=[], yticks=[])


def log_counts(axes: Axes) -> None:
    """Make the axis of counts logarithmic, such that a count of one is visible."""
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.yaxis.set_minor_formatter("")


def log_ticks(low: float, high: float) -> LogLocator:
    """Places of ticks on a logarithmic axis: few on a long one, and several on one that is short."""
    decades = np.log10(high / low)
    longer = {0.6: (1, 1.5, 2, 3, 4, 6, 8), 2: (1, 2, 5), 4: (1, 3)}
    return LogLocator(subs=next((subs for most, subs in longer.items() if decades < most), (1,)))


def short(value: float, least: float = 1e3) -> str:
    """1,000 as 1k and 2,500,000 as 2.5M; numbers below `least` as they are."""
    size, unit = next((pair for pair in _SIZES if abs(value) >= max(least, pair[0])), (1, ""))
    return f"{value / size:.10g}{unit}".replace("-", "\N{MINUS SIGN}")


def shown(name: str, limit: int = 44) -> str:
    """A name made fit to draw: on one line, not too long, in characters that the font has."""
    drawable = "".join(
        letter if _has_glyph(letter) else "\N{REPLACEMENT CHARACTER}" for letter in name.strip()
    )
    return drawable if len(drawable) <= limit else drawable[: limit - 1] + "…"


@cache
def _has_glyph(letter: str) -> bool:
    return letter.isprintable() and get_font(findfont("DejaVu Sans")).get_char_index(ord(letter)) != 0


def finite(*arrays: Shaped[np.ndarray, " n"]) -> tuple[list[np.ndarray], int]:
    """The arrays as float64 where all of them are finite, and how many places were dropped."""
    columns = [np.asarray(array, dtype=np.float64) for array in arrays]
    keep: Bool[np.ndarray, " n"] = np.logical_and.reduce([np.isfinite(column) for column in columns])
    return [column[keep] for column in columns], int(np.sum(~keep))


def left_out(count: int) -> str:
    """The sentence about dropped values; empty where there are none."""
    if count == 0:
        return ""
    return (
        " One value that is not finite was left out."
        if count == 1
        else (f" {count:,} values that are not finite were left out.")
    )
