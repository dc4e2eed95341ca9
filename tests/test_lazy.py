"""What is imported when: heavy packages where they are used, and public names that all agree."""

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import symbayes as sb
from symbayes.cli import COMMANDS

HEAVY = ["jax", "numpy", "flax", "optax", "scipy", "sklearn", "matplotlib", "jinja2", "PIL"]


def loaded(code: str, names: list[str]) -> str:
    """Which of these modules a new process has after running the code, last on its standard output."""
    told = f"\nimport sys; print(*[name for name in {names} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code) + told], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], [], ["sampel"]])
def test_help_version_and_mistyped_words_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
    import symbayes
    from symbayes.cli import main
    try:
        main({arguments})
    except SystemExit:
        pass
    """
    assert loaded(code, HEAVY) == ""


def test_the_whole_package_imports_only_what_it_always_uses() -> None:
    code = "\n".join(f"import {entry.place.partition(':')[0]}" for entry in COMMANDS.values())
    late = ["matplotlib", "sklearn", "jinja2", "scipy.stats", "scipy.optimize", "scipy.linalg", "PIL"]
    # Newer versions of SciPy bring some of these with special functions.
    brought = loaded("import scipy.special", late).split()
    looked_for = [name for name in late if name not in brought]
    assert loaded(code, [*looked_for, "symbayes.report.runs"]) == "symbayes.report.runs"


def shown_to_checkers(package: str) -> dict[str, object]:
    """What the names imported under ``if TYPE_CHECKING`` are."""
    tree = ast.parse(Path(inspect.getfile(importlib.import_module(package))).read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        assert node.module
        for alias in node.names:
            module = importlib.import_module(node.module)
            if not hasattr(module, alias.name):
                importlib.import_module(f"{node.module}.{alias.name}")
            found[alias.asname or alias.name] = getattr(module, alias.name)
    return found


@pytest.mark.parametrize("package", ["symbayes", "symbayes.report.figures"])
def test_checkers_and_readers_see_the_same_names(package: str) -> None:
    module, seen = importlib.import_module(package), shown_to_checkers(package)
    assert sorted(seen) == sorted(set(module.__all__) - {"__version__"})
    for name, value in seen.items():
        assert getattr(module, name) is value
    assert set(module.__all__) <= set(dir(module))


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'symbayes' has no attribute 'HMCC'"):
        _ = sb.HMCC  # a name that is not there


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_their_own_first_sentences(name: str) -> None:
    text = COMMANDS[name].load().__doc__ or ""
    assert COMMANDS[name].summary == " ".join(text.partition("\n\n")[0].split())
