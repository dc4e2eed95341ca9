"""The page as a person meets it: in a browser, on a phone and on a desk."""

import pytest
from figures.screen import check_texts

from symbayes.report import page
from symbayes.report.contents import Section, Table

pytestmark = pytest.mark.browser

ROWS = [
    ["run 10", 0.5, 1_000, "b"],
    ["run 2", -1.5, 20, "a"],
    ["<b>run 1</b>", None, 300, "10"],
    ["run 3", 1e-7, 4, "9"],
]


@pytest.fixture(scope="module")
def address(all_figures, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("page") / "page.html"
    table = Table(["name", "log likelihood", "count", "word"], ROWS, "To sort", best={"count": "higher"})
    wide = Table(
        [f"column number {i}" for i in range(20)], [list(range(20))], "A wide table " + "of many words " * 9
    )
    sections = [Section("Tables", "Two.", [table, wide]), Section("Figures", "All.", all_figures(0))]
    page.write(path, page.render("A page", "Words. " * 30, sections, {"command": "x" * 200}))
    return path.as_uri()


@pytest.fixture
def open_page(browser, address):
    """Opens the page at a width; afterwards nothing may have failed or left the file."""
    troubles: list[str] = []
    requests: list[str] = []
    contexts = []

    def open_at(width: int, scheme: str = "light", **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, **options
        )
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda message: troubles.append(message.text))
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("requestfailed", lambda request: troubles.append(request.url))
        tab.on("request", lambda request: requests.append(request.url))
        tab.goto(address)
        return tab

    yield open_at
    for context in contexts:
        context.close()
    assert troubles == []
    assert {url for url in requests if not url.startswith("data:")} == {address}


def column(tab, index: int) -> list[str]:
    cells = tab.locator("table").first.locator(f"tbody tr > :nth-child({index + 1})")
    return [text.replace(" (best)", "") for text in cells.all_text_contents()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_everything_fits_the_screen(open_page, width, scheme, all_figures):
    tab = open_page(width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    boxes = [drawing.bounding_box() for drawing in tab.locator("figure svg").all()]
    assert len(boxes) == len(all_figures(0))
    for box in boxes:
        assert box["width"] > 250
        assert box["height"] > 100
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    # A table that is too wide scrolls in its own box, with its caption in view.
    wide = tab.locator(".table").nth(1)
    assert wide.evaluate("box => box.scrollWidth > box.clientWidth")
    wide.evaluate("box => { box.scrollLeft = box.scrollWidth }")
    words = wide.locator(".words").bounding_box()
    assert words["x"] >= 0
    assert words["x"] + words["width"] <= width


@pytest.mark.parametrize("width", [390, 1300])
def test_no_text_hides_another_or_leaves_its_frame_or_is_too_small(open_page, width):
    check_texts(open_page(width), smallest=9)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_lie_on_white_and_the_page_follows_the_scheme(open_page, scheme):
    tab = open_page(1280, scheme)
    ground = "element => getComputedStyle(element).backgroundColor"
    assert tab.locator(".card").first.evaluate(ground) == "rgb(255, 255, 255)"
    red = int(tab.locator("body").evaluate(ground).removeprefix("rgb(").split(",")[0])
    assert red < 60 if scheme == "dark" else red > 200


def test_a_click_sorts_and_another_turns_round(open_page):
    tab = open_page(1280)
    assert column(tab, 0) == [row[0] for row in ROWS]
    headers = tab.locator("table").first.locator("thead th")
    headers.nth(1).get_by_role("button").click()
    assert column(tab, 1) == ["-1.5", "1e-07", "0.5", "–"]
    assert headers.nth(1).get_attribute("aria-sort") == "ascending"
    headers.nth(1).get_by_role("button").click()
    assert column(tab, 1) == ["0.5", "1e-07", "-1.5", "–"]
    assert headers.nth(1).get_attribute("aria-sort") == "descending"
    headers.nth(2).get_by_role("button").click()
    assert column(tab, 2) == ["4", "20", "300", "1,000"]
    assert headers.nth(1).get_attribute("aria-sort") is None
    headers.nth(3).get_by_role("button").click()
    assert column(tab, 3) == ["9", "10", "a", "b"]
    # Whole rows move.
    assert column(tab, 0) == ["run 3", "<b>run 1</b>", "run 2", "run 10"]


def test_the_keyboard_sorts_too(open_page):
    tab = open_page(360)
    tab.locator("table").first.get_by_role("button", name="name").focus()
    tab.keyboard.press("Enter")
    assert column(tab, 0)[-3:] == ["run 2", "run 3", "run 10"]
    tab.keyboard.press("Tab")
    tab.keyboard.press("Space")
    assert column(tab, 1) == ["-1.5", "1e-07", "0.5", "–"]


def test_the_contents_lead_to_the_sections(open_page):
    tab = open_page(360, reduced_motion="reduce")
    top = "document.querySelector('#section-2').getBoundingClientRect().top"
    assert tab.evaluate(top) > 800
    tab.get_by_role("navigation").get_by_role("link", name="Figures").click()
    assert abs(tab.evaluate(top)) < 40


def test_without_scripts_the_table_is_there_and_offers_no_buttons(open_page):
    tab = open_page(360, java_script_enabled=False)
    assert tab.get_by_role("button").count() == 0
    assert tab.get_by_role("columnheader", name="log likelihood").is_visible()
