"""What is done to the pages when the documentation is built, where its tools are installed."""

import importlib.util
import json
from types import ModuleType, SimpleNamespace

import pytest

from shown_code import ROOT


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    pytest.importorskip("latex2mathml", reason="latex2mathml is installed with the extra docs")
    pytest.importorskip("mkdocs", reason="mkdocs is installed with the extra docs")
    spec = importlib.util.spec_from_file_location("hooks", ROOT / "docs/hooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formulas_become_mathml_and_code_stays(hooks: ModuleType) -> None:
    page = "With $w^2$ and `cost $5$`:\n\n$$\n\\frac{a}{b}\n$$\n\n```console\n$ symbayes demo\n$ ls\n```\n"
    made = hooks.on_page_markdown(page)
    assert made.count("<math") == 2
    assert "<msup>" in made
    assert "<mfrac>" in made
    assert 'display="block"' in made
    assert "`cost $5$`" in made
    assert "$ symbayes demo\n$ ls\n" in made


def test_prices_and_shell_variables_are_no_formulas(hooks: ModuleType) -> None:
    for text in ("it costs $5 and then $6", "the folder $HOME and $OUT"):
        assert "<math" not in hooks.on_page_markdown(text)


def test_words_in_code_are_whole_and_blocks_are_left_alone(hooks: ModuleType) -> None:
    block = "<pre><span></span><code>--out a-b\n</code></pre>"
    page = f"<p><code>--out page.html</code> <code>{'a-' * 30}</code></p>{block}"
    made = hooks.on_page_content(page)
    assert '<code><span class="word">--out</span> page.html</code>' in made
    assert made.count('class="word"') == 1
    assert made.endswith(block)


def test_the_notebook_is_shown_with_what_its_cells_gave(hooks: ModuleType) -> None:
    made = hooks.on_page_markdown((ROOT / "docs/how-to/notebooks.md").read_text())
    assert "\n## A regression in a notebook\n" in made
    assert made.count('src="data:image/png;base64,') == 2
    cells = json.loads((ROOT / "docs/examples/notebook.ipynb").read_text())["cells"]
    for cell in cells:
        assert "".join(cell["source"]).lstrip("# ") in made
        for output in cell.get("outputs", []):
            assert "".join(output["data"].get("text/html", "")) in made


def test_nothing_is_fetched_for_the_search(hooks: ModuleType) -> None:
    script = f'<script src="{hooks.SHIM}"></script>'
    page = SimpleNamespace(url="how-to/devices.html")
    assert hooks.on_post_page(script, page=page) == '<script src="../assets/worker.js"></script>'
    assert (ROOT / "docs/assets/worker.js").is_file()
