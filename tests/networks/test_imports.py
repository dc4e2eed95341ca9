"""Import paths of classes and functions, what is wrong with them, and the options that go with them."""

import functools
import json
import math
import sys
from pathlib import Path
from typing import Any

import own_networks
import pytest
from flax import nnx
from hypothesis import given
from hypothesis import strategies as st

from symbayes import specs
from symbayes.networks import imports
from symbayes.networks.imports import UnimportableCode


class Outer:
    class Inner:
        pass


@pytest.mark.parametrize("code", [own_networks.Small, own_networks.apply, math.sin, Outer.Inner, nnx.Linear])
def test_a_reference_leads_back_to_its_code(code: Any) -> None:
    path = imports.reference(code)
    assert isinstance(path, str)
    assert imports.resolve(path) is code
    assert imports.find(path) is code


def test_code_without_a_path_is_kept_itself() -> None:
    def local() -> None: ...

    renamed = type("Small", (), {"__module__": "own_networks"})
    for code in (local, lambda: 3, functools.partial(local), renamed, own_networks.ready.init):
        kept = imports.reference(code)
        assert kept == UnimportableCode(code)
        assert imports.resolve(kept) == code
    assert imports.reference(local) != imports.reference(lambda: 3)


def test_code_of_the_main_program_has_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process has another main program."""

    def function() -> None: ...

    function.__module__, function.__qualname__ = "__main__", "function"
    monkeypatch.setattr(sys.modules["__main__"], "function", function, raising=False)
    assert imports.reference(function) == UnimportableCode(function)


@pytest.mark.parametrize(
    "path", ["", "module", ":name", "module:", "a b:c", "a:b:c", "a/b.py:c", "a..b:c", "a:.b"]
)
def test_what_is_no_import_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="an import path is written 'module:attribute'"):
        imports.find(path)


def test_missing_modules_and_attributes_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"there is no module 'nowhere_at_all' to import: .* PYTHONPATH"):
        imports.find("nowhere_at_all:Net")
    with pytest.raises(ValueError, match=r"there is no module 'own_networks\.deeper' to import"):
        imports.find("own_networks.deeper:Net")
    with pytest.raises(ValueError, match="'own_networks:Smal': own_networks has no attribute 'Smal'"):
        imports.find("own_networks:Smal")
    (tmp_path / "needs_more.py").write_text("import not_installed_here\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match="'needs_more' cannot be imported: it needs 'not_installed_here'"):
        imports.find("needs_more:Net")


def test_arguments_that_code_does_not_take_are_refused() -> None:
    assert imports.parameters(own_networks.Small) == {"inputs", "width", "outputs", "rngs"}
    assert imports.parameters(own_networks.make_number) == set()
    assert imports.parameters(3) == set()
    assert imports.call("own_networks:make_number", ()) == 3
    with pytest.raises(TypeError, match=r"own_networks:make_number cannot be called with \(wide\): .*'wide'"):
        imports.call("own_networks:make_number", (("wide", 3),))
    with pytest.raises(TypeError, match=r"own_networks:Small cannot be called with \(rngs\): .*'inputs'"):
        imports.call("own_networks:Small", (), rngs=nnx.Rngs(0))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_options_are_hashable_and_survive_json(options: dict[str, Any]) -> None:
    frozen = imports.frozen(options)
    hash(frozen)
    assert frozen == imports.frozen(dict(reversed(options.items())))
    assert imports.frozen(specs.decode(json.loads(json.dumps(frozen)), {})) == frozen


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": 1}, math.sin, [1, {2}], 1j])
def test_options_that_json_cannot_hold_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="the option width must be a number, a string"):
        imports.frozen({"width": value})
