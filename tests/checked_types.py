"""Types are checked at every call: of arrays, with their shapes, by jaxtyping; of all else by beartype alone.

jaxtyping holds the shapes within one call against one another, for which it binds and checks the arguments
twice.  Where a file annotates no shapes that is not needed, and what is left takes a tenth of the time.
Functions within functions of such files are not checked, since that would be prepared anew at every call.
"""

import functools
import inspect
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import _decorator, install_import_hook

_with_shapes = _decorator.jaxtyped
_beartype = beartype(conf=BeartypeConf(violation_type=TypeError))


def install(package: Path) -> None:
    """Check the types of a package that is imported after this."""
    annotated = (path for path in package.rglob("*.py") if "from jaxtyping import" in path.read_text())
    modules = {".".join(path.relative_to(package.parent).with_suffix("").parts) for path in annotated}
    checked = functools.partial(_checked, modules)
    # By the first name the import hook finds it in files, by the second jaxtyping itself does.
    jaxtyping.jaxtyped = _decorator.jaxtyped = checked
    install_import_hook(package.name, "beartype.beartype")


def _checked(modules: set[str], fn: Any = None, *, typechecker: Any = None) -> Any:
    if fn is None:
        return functools.partial(_checked, modules, typechecker=typechecker)
    if not inspect.isfunction(fn) or fn.__module__ in modules:
        return _with_shapes(fn, typechecker=typechecker)
    return fn if "<locals>" in fn.__qualname__ or not fn.__annotations__ else plainly(fn)


def plainly(fn: types.FunctionType) -> Callable[..., Any]:
    """The function with checks; what can be read of it, as its annotations, is as it was."""
    twin = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
    twin.__kwdefaults__, twin.__qualname__ = fn.__kwdefaults__, fn.__qualname__
    twin.__annotations__ = {
        name: _decorator._destring_annotation(hint, fn.__globals__)
        for name, hint in fn.__annotations__.items()
    }
    return functools.update_wrapper(_beartype(twin), fn)
