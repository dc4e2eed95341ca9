"""Code of the user's own by its import path, ``"module:attribute"``, and the options that it is called with.

A path is what a run can store of a class or function: another process imports it again.  Code without
one (a lambda, a function inside another, anything of an interactive session) works where it is.
"""

from __future__ import annotations

import importlib
import inspect
import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from symbayes.specs import require

Options = tuple[tuple[str, Any], ...]
"""Keyword arguments in the order of their names."""


class UnimportableCode:
    """Code without an import path, or a module that was made already: equal to itself, and without JSON."""

    def __init__(self, code: Any) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UnimportableCode):
            return False
        # Modules compare their arrays, or not at all; the methods of one object are equal and not the same.
        return self.code is other.code or (_is_code(self.code) and self.code == other.code)

    def __hash__(self) -> int:
        return hash(self.code) if _is_code(self.code) else id(self.code)

    def __repr__(self) -> str:
        if _is_code(self.code):
            return getattr(self.code, "__qualname__", None) or repr(self.code)
        return f"an instance of {type(self.code).__name__}"


def _is_code(found: Any) -> bool:
    return inspect.isroutine(found) or inspect.isclass(found)


Reference = str | UnimportableCode


def reference(code: Any) -> Reference:
    """The import path of a class or function, if it has one."""
    module, name = getattr(code, "__module__", None), getattr(code, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return UnimportableCode(code)
    found: Any = sys.modules.get(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    return f"{module}:{name}" if found is code else UnimportableCode(code)


def resolve(code: Reference) -> Any:
    """What a reference refers to."""
    return code.code if isinstance(code, UnimportableCode) else find(code)


def find(path: str) -> Any:
    """Import what ``"module:attribute"`` names; a ValueError says which part of it is wrong."""
    require_path(path)
    module, _, name = path.partition(":")
    found = _imported(module)
    for part in name.split("."):
        require(hasattr(found, part), f"{path!r}: {module} has no attribute {name!r}")
        found = getattr(found, part)
    return found


def require_path(path: str) -> None:
    """Refuse what is not written as an import path."""
    module, colon, name = path.partition(":")
    require(
        bool(colon) and all(part.isidentifier() for part in (*module.split("."), *name.split("."))),
        f"an import path is written 'module:attribute', as in 'mypackage.models:SmallNet', not {path!r}",
    )


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            raise ValueError(
                f"there is no module {missing!r} to import: install it, or put its folder on PYTHONPATH"
            ) from error
        raise ValueError(f"the module {module!r} cannot be imported: it needs {missing!r}") from error


def parameters(code: Any) -> set[str]:
    """The names of the arguments that a class or function takes."""
    return set(_signature(code).parameters) if callable(code) else set()


def _signature(code: Callable[..., Any]) -> inspect.Signature:
    if not isinstance(code, type):
        return inspect.signature(code)
    # The metaclass of modules hides the arguments of a class, its constructor does not.
    constructor = inspect.signature(code.__init__)
    return constructor.replace(parameters=list(constructor.parameters.values())[1:])


def call(code: Reference, options: Options, *positional: Any, **more: Any) -> Any:
    """Call with the options; a TypeError says which code does not take them."""
    function = resolve(code)
    named = {**dict(options), **more}
    try:
        _signature(function).bind(*positional, **named)
    except TypeError as error:
        given = ", ".join([*("..." for _ in positional), *named])
        raise TypeError(f"{code} cannot be called with ({given}): {error}") from error
    return function(*positional, **named)


def frozen(options: Mapping[str, Any] | Options) -> Options:
    """Options in the order of their names, with tuples for lists; refused if JSON could not hold them."""
    pairs = dict(options)
    return tuple((name, _frozen_value(name, pairs[name])) for name in sorted(pairs))


def _frozen_value(name: str, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_frozen_value(name, item) for item in value)
    plain = value is None or isinstance(value, bool | int | str)
    if not plain and not (isinstance(value, float) and math.isfinite(value)):
        raise TypeError(
            f"the option {name} must be a number, a string, a truth value, None or a list of these, "
            f"so that a run can store it, not {value!r}"
        )
    return value
