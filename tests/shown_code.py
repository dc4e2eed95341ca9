"""Code that the README and the pages show, made small enough to be run in a test."""

import re
import shlex
from pathlib import Path
from typing import Any

from symbayes import cli

ROOT = Path(__file__).parents[1]

SMALL = {"draws": "6", "burn_in": "50", "epochs": "2", "trajectory": "0.01"}
"""What tests put in place of the numbers that are shown; pages count on the default `burn_in`."""
FEW = "examples=128, test_examples=100"


def blocks(path: Path, language: str) -> list[str]:
    """The fenced blocks of one language; blocks that include a file are fenced as ``{ .python }``."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)


def commands(path: Path) -> list[str]:
    """The command lines of the console blocks; one that ends in a backslash goes on in the next."""
    whole = [re.sub(r"\\\n\s*", "", block) for block in blocks(path, "console")]
    lines = [line for block in whole for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def small(code: str) -> str:
    """The same Python with few draws of short trajectories."""
    for name, value in SMALL.items():
        code = re.sub(rf"\b{name}=[\d.e-]+", f"{name}={value}", code)
    return code


def with_few_digits(code: str) -> str:
    """The same Python with the first digits where all are loaded."""
    return re.sub(r'load\("(digits[\w-]*)"\)', rf'load("\1", {FEW})', code)


def parse(command: str) -> Any:
    """The command object of a `symbayes` command line, not run."""
    return cli.parse(shlex.split(command)[1:])


def links(path: Path) -> list[str]:
    """Where a page's relative links lead, without anchors."""
    found = re.findall(r"\]\(([^)\s]+)\)", path.read_text())
    return [link.partition("#")[0] for link in found if not link.startswith(("http", "#"))]
