"""What is done to the pages when they are built, so that nothing is fetched to read them.

Formulas between dollar signs become MathML, and the theme's script for search from a disk is our own.
"""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.utils import get_relative_url

SHIM = "https://unpkg.com/iframe-worker/shim"
WORKER = "assets/worker.js"

_FENCED = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^\$\$\n(.+?)\n\$\$$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The same page with MathML in the place of formulas; code is left alone."""
    parts = _FENCED.split(markdown)
    return "".join(part if number % 2 else _with_formulas(part) for number, part in enumerate(parts))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The same page with a script of our own in the place of the one that would be fetched."""
    return output.replace(SHIM, get_relative_url(WORKER, page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    return output_content.replace(SHIM, WORKER)


def _with_formulas(text: str) -> str:
    text = _BLOCK.sub(lambda found: f'<div class="formula">{convert(found[1], display="block")}</div>', text)
    # In a span, or a formula at the beginning of a line would be a paragraph of its own.
    return _INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", text)
