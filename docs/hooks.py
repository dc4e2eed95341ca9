"""What is done to the pages when they are built, so that nothing is fetched to read them.

Formulas between dollar signs become MathML, and the theme's script for search from a disk is our own.  A
comment that names a notebook becomes its cells, with what they gave when it was run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.utils import get_relative_url

SHIM = "https://unpkg.com/iframe-worker/shim"
WORKER = "assets/worker.js"

_FENCED = re.compile(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^\$\$\n(.+?)\n\$\$$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$\n]+?)(?<!\s)\$(?![\w$])")
_NOTEBOOK = re.compile(r"^<!-- notebook: (\S+) -->$", re.MULTILINE)
_CODE = re.compile(r"<pre.*?</pre>|<code>([^<]*)</code>", re.DOTALL)

LONGEST = 30
"""Words in code of up to so many letters are not broken at their hyphens; they fit on a phone."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The same page with MathML in the place of formulas, and notebooks in the place of their names; code is
    left alone."""
    markdown = _NOTEBOOK.sub(lambda found: notebook(Path(__file__).parent / found[1]), markdown)
    parts = _FENCED.split(markdown)
    return "".join(part if number % 2 else _with_formulas(part) for number, part in enumerate(parts))


def on_page_content(html: str, **_: Any) -> str:
    """The same page with words in code, such as options, whole at the end of a line."""
    return _CODE.sub(lambda found: found[0] if found[1] is None else f"<code>{_whole(found[1])}</code>", html)


def _whole(code: str) -> str:
    words = code.split(" ")
    return " ".join(
        f'<span class="word">{word}</span>' if "-" in word and len(word) <= LONGEST else word
        for word in words
    )


def notebook(path: Path) -> str:
    """The cells of a notebook that was run, one heading lower, and what each gave."""
    return "\n\n".join(part for cell in json.loads(path.read_text())["cells"] for part in _cell(cell))


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield re.sub("^#", "##", source, flags=re.MULTILINE)
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        data = {kind: "".join(value) for kind, value in output.get("data", {}).items()}
        if "image/png" in data:
            picture = data["image/png"].replace("\n", "")
            yield f'<img alt="{data["text/plain"][1:-1]}" src="data:image/png;base64,{picture}">'
        elif "text/html" in data:
            yield f'<div class="output">{data["text/html"]}</div>'
        elif "text/plain" in data:
            yield f"```text\n{data['text/plain']}\n```"


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """The same page with a script of our own in the place of the one that would be fetched."""
    return output.replace(SHIM, get_relative_url(WORKER, page.url))


def on_post_template(output_content: str, **_: Any) -> str:
    return output_content.replace(SHIM, WORKER)


def _with_formulas(text: str) -> str:
    text = _BLOCK.sub(lambda found: f'<div class="formula">{convert(found[1], display="block")}</div>', text)
    # In a span, or a formula at the beginning of a line would be a paragraph of its own.
    return _INLINE.sub(lambda found: f"<span>{convert(found[1])}</span>", text)
