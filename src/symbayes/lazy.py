"""Public names that are imported when they are first asked for (PEP 562).

A package says where its names are, and ``from package import name`` and ``package.name`` work as always.  The
same names stand under ``if TYPE_CHECKING`` as ordinary imports, for editors and type checkers.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazily(package: str, where: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The functions ``__getattr__`` and ``__dir__`` of a package.

    `where` gives for every public name its place: ``"module:attribute"``, or ``"module"`` for a module.
    """

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = where[name].partition(":")
        found = importlib.import_module(module)
        value = getattr(found, attribute) if attribute else found
        setattr(sys.modules[package], name, value)  # asked for once
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where})

    return get, names
