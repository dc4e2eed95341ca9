"""Progress in a terminal, in a notebook and in a log."""

import io
import logging
import sys
import types

import pytest

from symbayes.engine.displays import Display, LogLines, NotebookBar, Standing, TerminalBar, display

NOW = Standing(done=420.0, total=1000.0, rate=12.0, left=200.0, taken=35.0, note="acceptance 0.9")
END = Standing(done=1000.0, total=1000.0, rate=12.0, left=0.0, taken=83.0)


def at(taken: float) -> Standing:
    return Standing(420.0, 1000.0, 12.0, 200.0, taken)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_standing_reads_as_a_line():
    assert str(NOW) == "42%, 12 grad/s, 3 min left, acceptance 0.9"
    assert str(END) == "100%, 12 grad/s, took 83 s, 1,000 gradients"
    assert str(Standing(0.0, 1000.0, None, None, 0.0)) == "0%"
    assert Standing(999.9, 1000.0, 1.0, 0.1, 1.0).share == "99%"


def test_the_last_line_tells_numbers_that_fit_one_another():
    """The rate of the last block is no part of it, and neither is what an earlier process did."""
    assert str(Standing(1248.0, 1248.0, 142_864.0, 0.0, 3.0)) == "100%, 416 grad/s, took 3 s, 1,248 gradients"
    resumed = Standing(1248.0, 1248.0, 142_864.0, 0.0, 2.0, before=1000.0)
    assert str(resumed) == "100%, 124 grad/s, took 2 s, 248 of 1,248 gradients"


def test_the_display_is_one_for_the_process(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert type(display("hmc", False)) is Display
    assert type(display("hmc", None)) is LogLines
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert type(display("hmc", None)) is TerminalBar
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert type(display("hmc", None)) is NotebookBar
    assert type(display("hmc", False)) is Display


def test_a_log_has_a_line_every_half_minute_and_one_at_the_end(caplog):
    caplog.set_level(logging.INFO, logger="symbayes")
    lines = LogLines("hmc")
    lines.begin(at(0.0))
    for taken in range(0, 100, 2):
        lines.step(at(float(taken)))
    lines.end(END)
    words = [record.getMessage() for record in caplog.records]
    assert words == ["hmc: 42%, 12 grad/s, 3 min left"] * 3 + [f"hmc: {END}"]


def test_lines_that_were_asked_for_are_printed_where_nobody_listens(capsys):
    LogLines("hmc", asked=True).end(END)
    LogLines("hmc").end(END)
    assert capsys.readouterr().err == f"hmc: {END}\n"


def test_a_notebook_has_one_output_that_is_replaced():
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown[-1] = bundle

    def show(bundle, raw, display_id):
        shown.append(bundle)
        return Handle()

    bar = NotebookBar("hmc <1>", show)
    bar.begin(at(0.0))
    bar.step(at(0.1))
    assert 'value="0.4200"' in shown[0]["text/html"]
    bar.end(END)
    (bundle,) = shown
    assert bundle["text/plain"] == f"hmc <1>: {END}"
    assert "hmc &lt;1&gt;: 100%" in bundle["text/html"]
    assert 'value="1.0000"' in bundle["text/html"]


@pytest.mark.parametrize(("columns", "there"), [(100, True), (60, False)])
def test_a_terminal_shows_what_there_is_room_for(monkeypatch, columns, there):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    bar = TerminalBar("hmc")
    bar.begin(at(0.0))
    bar.step(NOW)
    bar.end(NOW)
    assert "12 grad/s" in screen.getvalue()
    assert ("acceptance 0.9" in screen.getvalue()) is there
