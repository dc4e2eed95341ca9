"""Configuration as frozen dataclasses, and their JSON.

Methods, networks, likelihoods and priors are frozen dataclasses.  `encode` writes one as
JSON with the name of its class under ``"kind"``; `decode` builds it again from a table of
known classes, so that a run rebuilds what made it without pickle.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import importlib.metadata
import platform
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from symbayes.version import __version__

Record = dict[str, Any]
"""A JSON object: numbers, words, lists and further objects by name."""
Recorded = Mapping[str, Any]
"""A JSON object that is only read."""

SMALLEST, LARGEST = 1e-37, 3e38
"""Within these a number is as exact in float32 as any."""
MOST = 2**31 - 1
"""Compiled programs count in int32."""


def encode(value: Any) -> Any:
    """JSON for a dataclass, and for what its fields may hold."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # What the class does not take when it is made, it makes of the rest.
        names = [field.name for field in dataclasses.fields(value) if field.init]
        fields = {name: encode(getattr(value, name)) for name in names}
        return {"kind": type(value).__name__, **fields}
    if isinstance(value, tuple | list):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    array = np.asarray(value)
    if array.dtype == np.float32:
        # The shortest decimal that reads back as the same float32: 0.1, not 0.10000000149.
        return array.astype(str).astype(np.float64).tolist()
    return array.tolist()


def decode(value: Any, kinds: Mapping[str, type]) -> Any:
    """What `encode` wrote; `kinds` are the classes that may be built, by name."""
    if isinstance(value, list):
        return tuple(decode(item, kinds) for item in value)
    if not isinstance(value, dict):
        return value
    fields = {key: decode(item, kinds) for key, item in value.items() if key != "kind"}
    if "kind" not in value:
        return fields
    if value["kind"] not in kinds:
        raise ValueError(f"unknown kind {value['kind']!r}: known here are {', '.join(sorted(kinds))}")
    return kinds[value["kind"]](**fields)


def differences(stored: Any, given: Any, path: str = "") -> list[str]:
    """Where two JSON values differ, one readable line each."""
    if isinstance(stored, dict) and isinstance(given, dict):
        # The fields of two different kinds do not compare: their names say enough.
        same_kind = stored.get("kind") == given.get("kind")
        return [
            line
            for key in (sorted(stored.keys() | given.keys()) if same_kind else ["kind"])
            for line in differences(stored.get(key), given.get(key), f"{path}.{key}" if path else key)
        ]
    return [] if stored == given else [f"{path}: {stored!r} there, {given!r} now"]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is closest, or nothing."""
    plain = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), plain, n=1)
    return f" (did you mean {plain[close[0]]!r}?)" if close else ""


def require(condition: bool | np.bool_, message: str) -> None:
    """Refuse bad input in one sentence."""
    if not condition:
        raise ValueError(message)


def require_positive(**values: Any) -> None:
    """Refuse numbers that are not finite and greater than zero.

    Values that are not plain numbers pass: a dataclass that is also a pytree is rebuilt with
    traced arrays in its fields.
    """
    for name, value in values.items():
        words = isinstance(value, str | bytes | bool | list | tuple | dict)
        require(not words, f"{name} must be a positive number, not {value!r}")
        if isinstance(value, int | float | np.number):
            require(0 < value < float("inf"), f"{name} must be a positive number, not {value!r}")
            require(
                SMALLEST <= float(value) <= LARGEST,
                f"{name} must lie between {SMALLEST} and {LARGEST}, the range of float32, not {value!r}",
            )


def require_probability(**values: Any) -> None:
    """Refuse what is not one number between zero and one, both excluded."""
    for name, value in values.items():
        require(np.ndim(value) == 0, f"{name} is one probability, not several: ask for one after the other")
        number = hasattr(value, "__float__") and not isinstance(value, bool)
        within = number and 0 < float(value) < 1
        require(within, f"{name} is a probability between 0 and 1, not {value!r}")


def require_counts(least: int = 1, **values: Any) -> None:
    """Refuse what is not a whole number of at least `least`, or more than programs can count to."""
    for name, value in values.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        require(whole and value >= least, f"{name} must be a whole number of at least {least}, not {value!r}")
        require(value <= MOST, f"{name} must be at most {MOST:,}, not {value:,}")


def require_kind(what: str, value: Any, *members: str, example: str) -> None:
    """Refuse what has not these members, and a class in the place of what is made of it."""
    if isinstance(value, type):
        raise TypeError(f"give {what} as in {example}, not the class {value.__name__} itself")
    if not all(hasattr(value, member) for member in members):
        raise TypeError(f"give {what} as in {example}, not a value of type {type(value).__name__}")


@dataclass(frozen=True)
class Rule:
    """What values of a field must be: `check` takes its name and value, and refuses."""

    check: Callable[[str, Any], None]


def _share(name: str, value: Any) -> None:
    require_positive(**{name: value})
    require(value < 1, f"{name} lies between 0 and 1, not {value}")


def _part(name: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    require(number and 0 <= value <= 1, f"{name} lies from 0 to 1, not {value!r}")


def _amount(name: str, value: Any) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    require(number and value >= 0, f"{name} is a number of at least zero, not {value!r}")
    if value:
        require_positive(**{name: value})


Positive = Annotated[float, Rule(lambda name, value: require_positive(**{name: value}))]
"""A finite number above zero."""
Amount = Annotated[float, Rule(_amount)]
"""A finite number of at least zero."""
Share = Annotated[float, Rule(_share)]
"""A number between zero and one, both excluded."""
Part = Annotated[float, Rule(_part)]
"""A number from zero to one, both included."""
Count = Annotated[int, Rule(lambda name, value: require_counts(**{name: value}))]
"""A whole number of at least one."""
Natural = Annotated[int, Rule(lambda name, value: require_counts(least=0, **{name: value}))]
"""A whole number of at least zero."""


def validate(value: Any) -> None:
    """Refuse a dataclass with a field that is not what its type says: see `Rule`, and words and switches."""
    hints = _hints(type(value))
    for field in dataclasses.fields(value):
        _validate(field.name, getattr(value, field.name), hints[field.name])


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, include_extras=True)


def _validate(name: str, value: Any, hint: Any) -> None:
    if get_origin(hint) in (Union, types.UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        if value is not None and value not in words:
            rules = [part for part in parts if get_origin(part) is not Literal] or parts
            _validate(name, value, rules[0])
        return
    require(value is not None, f"{name} is needed")
    if get_origin(hint) is Literal:
        words = [str(word) for word in get_args(hint)]
        allowed = f"{', '.join(words[:-1])} or {words[-1]}"
        require(value in get_args(hint), f"{name} is {allowed}, not {value!r}")
    elif hint is bool:
        require(isinstance(value, bool), f"{name} is True or False, not {value!r}")
    else:
        for rule in getattr(hint, "__metadata__", ()):
            if isinstance(rule, Rule):
                rule.check(name, value)


def installed_versions() -> dict[str, str]:
    """What runs and pages record of the software that made them."""
    found = {"python": platform.python_version(), "symbayes": __version__}
    for name in ("jax", "flax", "optax", "numpy"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed as a package"
    return found
