import errno
import os
from collections import Counter
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.report import page
from symbayes.report.contents import Figure, Section, Table

VOID = {"meta", "link", "br", "hr", "img", "input"}
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1">{}</svg>'


class Reader(HTMLParser):
    """Elements and texts of a document whose tags must all close in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def within(self, tag: str) -> list[str]:
        return [text for where, text in self.texts if where == tag]


def render_with(*items: Table | Figure) -> str:
    return page.render("Title", "Summary.", [Section("Part", "Lead.", items)], {"command": "demo"})


@pytest.fixture(scope="module")
def full_page(all_figures) -> str:
    table = Table(["method", "accuracy"], [["HMC", 0.9], ["SGD", 0.8]], "Test", best={"accuracy": "higher"})
    return render_with(table, *all_figures(0), *all_figures(0))


def test_full_page_parses_with_its_landmarks_in_order(full_page, all_figures):
    tags = [tag for tag, _ in Reader(full_page).elements]
    marks = [tag for tag in tags if tag in ("html", "head", "body", "header", "nav", "main", "footer")]
    assert marks == ["html", "head", "body", "header", "nav", "main", "footer"]
    assert Counter(tags)["figure"] == Counter(tags)["svg"] == 2 * len(all_figures(0))


def test_ids_are_unique_and_every_reference_has_its_target(full_page):
    reader = Reader(full_page)
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert [name for name, count in Counter(ids).items() if count > 1] == []
    targets = set()
    for _, attrs in reader.elements:
        for name, value in attrs.items():
            if name == "href" and value.startswith("#"):
                targets.add(value[1:])
            elif name == "aria-labelledby":
                targets.add(value)
            elif value and "url(#" in value:
                targets.add(value.split("url(#")[1].split(")")[0])
    assert any(target.startswith("figure-3-") for target in targets)
    assert targets <= set(ids)


def test_nothing_is_fetched_from_elsewhere(full_page):
    for tag, attrs in Reader(full_page).elements:
        for name, value in attrs.items():
            if name in ("href", "src", "xlink:href", "srcset", "action"):
                assert value.startswith(("#", "data:")), (tag, name, value[:60])
            assert "url(" not in (value or "") or "url(#" in value
    for scheme in ("http://", "https://", "//cdn", "@import", "<!--"):
        assert scheme not in full_page.replace("http://www.w3.org/2000/svg", "")


def test_figures_have_names_for_those_who_do_not_see_them(full_page):
    drawings = [attrs for tag, attrs in Reader(full_page).elements if tag == "svg"]
    assert all(attrs["role"] == "img" and len(attrs["aria-label"]) > 20 for attrs in drawings)
    assert all("width" not in attrs and "viewbox" in attrs for attrs in drawings)


def test_the_same_contents_give_the_same_bytes(full_page, all_figures):
    table = Table(["method", "accuracy"], [["HMC", 0.9], ["SGD", 0.8]], "Test", best={"accuracy": "higher"})
    assert render_with(table, *all_figures(0), *all_figures(0)) == full_page


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))))
@settings(deadline=None, max_examples=40)
def test_texts_come_back_as_they_were_and_never_as_markup(text):
    hostile = f"</td></script><script>alert('{text}')</script>\"><img src=x onerror=alert(1)>&amp;"
    table = Table([hostile, "b"], [[hostile, 1.0]], hostile, notes={hostile: hostile})
    figure = Figure(hostile, SQUARE.format(""), hostile, hostile)
    html = page.render(hostile, hostile, [Section(hostile, hostile, [table, figure])], {hostile: hostile})
    reader = Reader(html)
    tags = Counter(tag for tag, _ in reader.elements)
    assert tags["script"] == 1
    assert tags["img"] == 0
    for tag in ("title", "h1", "h2", "th", "dt", "dd"):
        found = [each.strip() for each in reader.within(tag)]
        assert found.count(hostile) == (2 if tag in ("dt", "dd") else found.count(hostile)) > 0
    (drawing,) = [attrs for tag, attrs in reader.elements if tag == "svg"]
    assert drawing["aria-label"].split() == hostile.split()


def test_notes_stand_beneath_their_table():
    table = Table(["run", "ECE"], [["a", 0.1]], "On 5 examples.", notes={"ECE": "gap of confidence"})
    html = render_with(table, Table(["run"], [["b"]], "None."))
    reader = Reader(html)
    assert reader.within("dt") == ["ECE", "command"]
    assert reader.within("dd") == ["gap of confidence", "demo"]
    assert "gap" not in "".join(reader.within("span"))
    first, _, rest = html.partition("gap of confidence")
    assert (first.count("</table>"), rest.count("</table>")) == (1, 1)


def test_cells_show_formats_missing_values_and_the_best():
    rows = [
        ["a", 0.97216, 1234567, None, True],
        ["b", 0.97224, 12, float("nan"), False],
        ["c", np.float32(0.5), np.int64(7), float("inf"), ""],
    ]
    table = Table(["name", "accuracy", "n", "x", "flag"], rows, "T", formats={"accuracy": ".1%"},
                  best={"accuracy": "higher", "n": "lower", "x": "lower"})  # fmt: skip
    html = render_with(table)
    reader = Reader(html)
    # 97.2 % reads the same twice, so both are best; one finite value alone is not.
    assert reader.within("strong") == ["97.2%", "97.2%", "7"]
    cells = [text for text in reader.within("td") if text.strip()]
    assert cells == ["1,234,567", "–", "yes", "12", "–", "no", "50.0%", "inf", "–"]
    numbers = [attrs.get("data-number") for tag, attrs in reader.elements if tag == "td"]
    assert [float(n) for n in numbers if n not in (None, "Infinity")] == [
        0.97216,
        1234567,
        1,
        0.97224,
        12,
        0,
        0.5,
        7,
    ]
    assert numbers.count("Infinity") == 1


@pytest.mark.parametrize(
    ("columns", "rows", "options"),
    [
        ([], [], {}),
        (["a", "a"], [], {}),
        (["a", "b"], [["x"]], {}),
        (["a"], [], {"formats": {"b": ".1f"}}),
        (["a"], [], {"best": {"b": "higher"}}),
    ],
)
def test_tables_that_make_no_sense_are_refused(columns, rows, options):
    with pytest.raises(ValueError, match=r"column|cells"):
        Table(columns, rows, "T", **options)


@pytest.mark.parametrize(
    "svg",
    [
        "<p>no</p>",
        "<svg",
        "<svg/>",
        SQUARE.format("<script>alert(1)</script>"),
        SQUARE.format('<g onload="alert(1)"/>'),
        SQUARE.format('<image href="https://example.org/x.png"/>'),
        SQUARE.format('<a href="javascript:alert(1)"/>'),
        SQUARE.format('<a xmlns:x="http://www.w3.org/1999/xlink" x:href="javascript:alert(1)"/>'),
        SQUARE.format("<foreignObject/>"),
    ],
)
def test_drawings_that_are_more_than_drawings_are_refused(svg):
    with pytest.raises(ValueError, match="figure"):
        render_with(Figure("t", svg, "", "a drawing"))


def test_figure_without_alternative_text_is_refused():
    with pytest.raises(ValueError, match="alternative text"):
        Figure("t", SQUARE.format(""), "", " ")


def test_write_replaces_and_leaves_nothing_beside(tmp_path):
    path = tmp_path / "new" / "page.html"
    page.write(path, "one\n")
    page.write(path, "zwei – 2\n")
    assert path.read_bytes() == "zwei – 2\n".encode()
    assert os.listdir(path.parent) == ["page.html"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_failed_write_keeps_the_old_page(tmp_path, monkeypatch, step):
    path = tmp_path / "page.html"
    page.write(path, "old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match=r"cannot write .*page.html \(No space left"):
        page.write(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]


def test_text_that_cannot_be_encoded_keeps_the_old_page(tmp_path):
    path = tmp_path / "page.html"
    page.write(path, "old")
    with pytest.raises(UnicodeEncodeError):
        page.write(path, "half \ud800 a character")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]
