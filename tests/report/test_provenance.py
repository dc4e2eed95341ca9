"""How a page names the command that made it."""

import sys

import pytest

from symbayes.report.provenance import provenance


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("/opt/bin/symbayes", "symbayes report 'my run'"),
        ("/opt/lib/symbayes/__main__.py", "symbayes report 'my run'"),
        ("study.py", "study.py report 'my run'"),
    ],
)
def test_the_command_is_one_that_can_be_given_again(
    program: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [program, "report", "my run"])
    assert provenance({})["command"] == words
