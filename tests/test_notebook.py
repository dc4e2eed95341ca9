"""The notebook of the documentation is executed, in a kernel as a reader's is."""

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs/examples/notebook.ipynb"


def test_the_notebook_runs_and_shows_what_it_should(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in shown if output.output_type == "error"]
    pages = [_html(output) for output in shown]
    assert sum("<progress" in page and "100%" in page for page in pages) == 2
    assert sum("<table>" in page and "RMSE" in page for page in pages) == 2
    assert sum("image/png" in output.get("data", {}) for output in shown) == 2
    warned = [output.text for output in shown if output.get("name") == "stderr"]
    assert warned == []


def _html(output: Any) -> str:
    return output.get("data", {}).get("text/html", "")


def test_the_notebook_in_the_documentation_has_been_executed() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert sum("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"]) == 2
