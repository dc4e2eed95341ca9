"""A page on a screen: where its texts are, how large they are, and which lie on one another."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

# Texts of figures are groups of outlines: matplotlib calls them text_1, text_2, and scales outlines of 100
# units to the size of the font.
_FIGURE_TEXTS = """
() => [...document.querySelectorAll("figure svg")].flatMap((svg, figure) => {
  const frame = svg.getBoundingClientRect();
  const zoom = svg.getScreenCTM().a;
  return [...svg.querySelectorAll("g[id*='text_']")].map((group) => {
    const box = group.getBoundingClientRect();
    const inner = [...group.querySelectorAll("[transform*='scale']")].map((e) => e.getAttribute("transform"));
    const scales = inner.map((words) => Number(/scale\\(([-\\d.]+)/.exec(words)[1]));
    const angle = Number(/rotate\\(([-\\d.]+)/.exec(inner[0] ?? "")?.[1] ?? 0);
    return {
      name: group.id, owner: figure, angle, pixels: 100 * Math.max(0, ...scales) * zoom,
      left: box.left, top: box.top, right: box.right, bottom: box.bottom,
      beyond: Math.max(frame.left - box.left, frame.top - box.top, box.right - frame.right,
                       box.bottom - frame.bottom),
    };
  });
}).filter((text) => text.right > text.left)
"""

# What keeps clear of texts: a figure's frame of words of the page, its legends of what is outside them.
_AREAS = """
() => [...document.querySelectorAll("figure svg")].map((svg) => {
  const box = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return { name: element.id || element.getAttribute("aria-label"), left, top, right, bottom };
  };
  const axes = [...svg.querySelectorAll("g[id*='axes_']")].map((g) => g.querySelector("g[id*='patch_']"));
  const legends = [...svg.querySelectorAll("g[id*='legend_']")].map((legend) => ({
    ...box(legend), own: [...legend.querySelectorAll("g[id*='text_']")].map((text) => text.id),
  }));
  return { frame: box(svg), axes: axes.filter(Boolean).map(box), legends };
})
"""

# Words of the page itself, line by line, cut to what a box that scrolls lets through.
_PAGE_TEXTS = """
() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  for (let node = walker.nextNode(), number = 0; node; node = walker.nextNode(), number++) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest("script, style, svg, .unseen, .skip")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const limits = parent.closest(".table")?.getBoundingClientRect();
    for (const box of range.getClientRects()) {
      const left = Math.max(box.left, limits?.left ?? -1e9);
      const right = Math.min(box.right, limits?.right ?? 1e9);
      if (right <= left) continue;
      found.push({
        name: node.data.trim().slice(0, 40), owner: number, angle: 0, beyond: right - window.innerWidth,
        pixels: parseFloat(getComputedStyle(parent).fontSize),
        left, right, top: box.top, bottom: box.bottom,
      });
    }
  }
  return found;
}
"""


@dataclass(frozen=True)
class Box:
    """A rectangle on the screen, in pixels."""

    name: str
    left: float
    top: float
    right: float
    bottom: float

    def follows(self, other: Box) -> float:
        """How far from the end of one to the beginning of the other, in a line; infinite in two lines."""
        shared = min(self.bottom, other.bottom) - max(self.top, other.top)
        if shared < 0.5 * min(self.bottom - self.top, other.bottom - other.top):
            return float("inf")
        return max(self.left, other.left) - min(self.right, other.right)

    def overlap(self, other: Box) -> float:
        """How deep two boxes lie in one another; negative where they are apart."""
        across = min(self.right, other.right) - max(self.left, other.left)
        return min(across, min(self.bottom, other.bottom) - max(self.top, other.top))


@dataclass(frozen=True)
class Seen(Box):
    """A text on the screen: `owner` numbers what it belongs to, `beyond` is how far it leaves its frame."""

    owner: int
    angle: float
    pixels: float
    beyond: float


@dataclass(frozen=True)
class Legend(Box):
    """A legend, with the ids of its own texts."""

    own: list[str]


def check_texts(tab, smallest: float) -> None:
    """Every text of the page and of its figures is in its frame, apart from others, and large enough."""
    in_figures = [Seen(**text) for text in tab.evaluate(_FIGURE_TEXTS)]
    on_page = [Seen(**text) for text in tab.evaluate(_PAGE_TEXTS)]
    assert in_figures
    assert on_page
    for text in (*in_figures, *on_page):
        assert text.beyond <= 1, text
        assert text.pixels >= smallest, text
    # A slanted text has a box that says little.
    straight = [text for text in in_figures if text.angle % 90 == 0]
    for one, other in itertools.combinations(straight, 2):
        assert one.owner != other.owner or one.overlap(other) <= 1, (one, other)
        assert one.owner != other.owner or one.follows(other) >= 2, (one, other)
    for one, other in itertools.combinations(on_page, 2):
        # A line's box is as high as its font allows, which is a little more than its letters.
        assert one.owner == other.owner or one.overlap(other) <= 2, (one, other)
    _check_areas(tab, straight, on_page)


def _check_areas(tab, in_figures: list[Seen], on_page: list[Seen]) -> None:
    """Words of the page keep off the figures, and legends off the axes and their labels."""
    for number, areas in enumerate(tab.evaluate(_AREAS)):
        frame = Box(**areas["frame"])
        for text in on_page:
            assert frame.overlap(text) <= 1, (frame, text)
        for legend in (Legend(**legend) for legend in areas["legends"]):
            for axes in (Box(**axes) for axes in areas["axes"]):
                assert legend.overlap(axes) <= 1, (legend, axes)
            for text in in_figures:
                if text.owner == number and text.name not in legend.own:
                    assert legend.overlap(text) <= 1, (legend, text)
