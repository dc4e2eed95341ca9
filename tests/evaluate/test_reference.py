"""The reference page is what the table of metrics says."""

import pytest

from shown_code import ROOT
from symbayes.evaluate import METRICS, reference

PAGE = ROOT / "docs/reference/metrics.md"


def test_the_page_is_up_to_date() -> None:
    told = "run `python -m symbayes.evaluate.reference docs/reference/metrics.md`"
    assert reference.written(PAGE.read_text()) == PAGE.read_text(), told


def test_it_says_all_of_every_row() -> None:
    text = reference.markdown()
    for row in METRICS:
        (line, *others) = [
            line
            for line in text.splitlines()
            if line.startswith(f"| `{row.name}`") and row.description in line
        ]
        assert 1 + len(others) == len(row.kinds)
        assert f"`{row.function.__name__}(" in line
        assert row.paper in line


def test_it_is_written_between_the_marks_again_and_again(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{reference.BEGIN}\nold\n{reference.END}\nafter\n")
    reference.main([str(page)])
    once = page.read_text()
    reference.main([str(page)])
    assert page.read_text() == once
    assert once.startswith("before\n")
    assert once.endswith("after\n")
    assert "old" not in once
    with pytest.raises(ValueError, match="the page has no marks"):
        reference.written("nothing")
