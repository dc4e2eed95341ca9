"""Networks made of Equinox modules; Equinox itself is imported only where one is used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from symbayes.networks import imports, pytrees
from symbayes.networks.imports import Options, Reference
from symbayes.networks.network import Spec
from symbayes.specs import require
from symbayes.trees import Variables


@dataclass(frozen=True)
class FromEquinox(Spec):
    """An Equinox module by what makes it, a class or function that is called with the options and a key; or a
    module that was made already, which is where chains begin."""

    constructor: Reference
    options: Options = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", imports.frozen(self.options))

    def make(self, key: jax.Array) -> Any:
        """A fresh module."""
        eqx = _equinox()
        made = imports.resolve(self.constructor)
        module = made if self.trained else imports.call(self.constructor, self.options, key=key)
        if not isinstance(module, eqx.Module):
            raise TypeError(f"{self.constructor} gave a {type(module).__name__}, not an Equinox module")
        stateful = jax.tree.leaves(module, is_leaf=lambda leaf: isinstance(leaf, eqx.nn.StateIndex))
        if any(isinstance(leaf, eqx.nn.StateIndex) for leaf in stateful):
            raise TypeError(
                f"{self.constructor} holds Equinox state, as batch norm does, which this adapter does not "
                "carry: use another normalisation, or a Flax NNX module"
            )
        return module

    @property
    def trained(self) -> bool:
        """Whether the module was made already."""
        return isinstance(imports.resolve(self.constructor), _equinox().Module)

    def network(self) -> EquinoxNetwork:
        if not self.trained:
            return EquinoxNetwork(self)
        require(not self.options, f"{self.constructor} is a module already and takes no options")
        return TrainedEquinox(self)


@dataclass(frozen=True)
class EquinoxNetwork:
    """An Equinox module, which sees one example at a time, mapped over examples.

    Its parameters are its floating-point arrays, named by the attributes and positions that lead to them.
    Without a key it is in inference mode; with one, a module whose call takes ``key`` gets another for
    every example.
    """

    spec: FromEquinox

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        return {"params": pytrees.to_named(_arrays(self.spec.make(key))), "stats": {}}

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        module = pytrees.fill(_template(self.spec), variables["params"])
        module = _equinox().nn.inference_mode(module, value=key is None)
        if key is None or "key" not in imports.parameters(type(module).__call__):
            return jax.vmap(lambda example: module(example))(x)
        keys = jax.random.split(key, x.shape[0])
        return jax.vmap(lambda example, key: module(example, key=key))(x, keys)

    def apply_train(
        self, variables: Variables, x: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, dict[str, Any]]:
        return self.apply(variables, x, key), {}


@dataclass(frozen=True)
class TrainedEquinox(EquinoxNetwork):
    """A network of an Equinox module that was made already: its variables are where chains begin."""

    @property
    def start(self) -> Variables:
        """The module's own variables."""
        return {"params": pytrees.to_named(_arrays(self.spec.make(jax.random.key(0)))), "stats": {}}

    def module(self, variables: Variables) -> Any:
        """The module with other variables, such as those of a draw."""
        return pytrees.fill(_template(self.spec), variables["params"])


def from_equinox(constructor: Callable[..., Any], **options: Any) -> EquinoxNetwork:
    """A network of an Equinox module, as in ``from_equinox(eqx.nn.MLP, in_size=64, out_size=10, ...)``.

    With an instance, as in ``from_equinox(trained)``, runs begin at the variables of the module, which are
    the attribute `start` of the network.

    Args:
        constructor: the module's class, or a function; called with the options and ``key``; or a module.
        options: numbers, strings and lists of them, which a run can store.
    """
    return FromEquinox(imports.reference(constructor), imports.frozen(options)).network()


def is_equinox_class(code: Any) -> bool:
    """Whether this is the class of an Equinox module, without importing Equinox for the question."""
    return isinstance(code, type) and any(base.__module__.split(".")[0] == "equinox" for base in code.__mro__)


def _equinox() -> ModuleType:
    try:
        import equinox
    except ModuleNotFoundError as error:
        raise ValueError(
            "networks of Equinox modules need Equinox: install it with `pip install symbayes[equinox]`"
        ) from error
    return equinox


def deserialised(network: EquinoxNetwork, path: Path) -> Any:
    """The arrays of the module that ``eqx.tree_serialise_leaves`` wrote."""
    try:
        return _arrays(_equinox().tree_deserialise_leaves(path, network.spec.make(jax.random.key(0))))
    except (RuntimeError, ValueError, EOFError) as error:
        raise ValueError(f"{path} holds another module than {network.spec.constructor} ({error})") from error


def _arrays(module: Any) -> Any:
    return _equinox().filter(module, _equinox().is_array)


@functools.lru_cache(maxsize=256)
def _template(spec: FromEquinox) -> Any:
    """The module with abstract arrays, without computing anything."""
    # The key is made in there, or a program that is being traced would hold it.
    return _equinox().filter_eval_shape(lambda: spec.make(jax.random.key(0)))
