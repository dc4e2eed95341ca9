"""Turn a standalone SVG document into a fragment for an HTML page with several drawings.

Inside a page all drawings share their ids and style sheet, so ids get a prefix, and style elements, which
would apply to the whole page, are removed.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

_IGNORED = {"metadata", "style", "title", "desc"}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
# What matplotlib's own style element says, as inherited properties of the root.
_ROOT_STYLE = "stroke-linejoin:round;stroke-linecap:butt"


def inline(svg: str, prefix: str, alt: str) -> str:
    """The drawing as an ``<svg>`` element with prefixed ids, an accessible name and no fixed size."""
    try:
        root = ElementTree.fromstring(svg)
    except ElementTree.ParseError as error:
        raise ValueError(f"the figure is not a well-formed SVG document: {error}") from error
    if _local(root.tag) != "svg" or "viewBox" not in root.attrib:
        raise ValueError("the figure must be an <svg> element with a viewBox, so that it can be scaled")
    _rewrite(root, prefix)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib.update({"role": "img", "aria-label": alt, "style": _ROOT_STYLE})
    return ElementTree.tostring(root, encoding="unicode")


def _rewrite(element: ElementTree.Element, prefix: str) -> None:
    """Drop namespaces and page-wide elements below ``element``, and prefix every id and reference."""
    element.tag = _local(element.tag)
    if element.tag in ("script", "foreignObject"):
        raise ValueError(f"the figure holds a <{element.tag}> element; only drawings can be put on a page")
    attributes = {_local(name): value for name, value in element.attrib.items()}
    for name, value in attributes.items():
        if name.startswith("on"):
            raise ValueError(f"the figure has an event handler ({name}); only drawings can be put on a page")
        if name == "id":
            attributes[name] = prefix + value
        elif name == "href":
            attributes[name] = _link(value, prefix)
        else:
            attributes[name] = _REFERENCE.sub(rf"url(#{prefix}\1)", value)
    element.attrib.clear()
    element.attrib.update(attributes)
    for child in list(element):
        if _local(child.tag) in _IGNORED:
            element.remove(child)
        else:
            _rewrite(child, prefix)
    # Matplotlib indents its output; between shapes the white space means nothing.
    if element.tag not in ("text", "tspan"):
        element.text = None
        for child in element:
            child.tail = None


def _link(value: str, prefix: str) -> str:
    if value.startswith("#"):
        return f"#{prefix}{value[1:]}"
    if value.startswith("data:image/"):
        return "".join(value.split())
    raise ValueError(f"the figure refers to {value[:80]!r}; a page holds everything it shows")


def _local(name: str) -> str:
    """A name without its XML namespace: HTML knows the one of SVG by itself."""
    return name.rpartition("}")[2]
