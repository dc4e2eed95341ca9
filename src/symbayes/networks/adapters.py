"""Networks of the user's own: from Flax NNX modules, from plain functions, and by import path.

Each keeps a spec with the import path of the code and the options that it is called with, from which
another process rebuilds it.  Of code without an import path a run keeps a checksum, and needs it again.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax.typing import DTypeLike

from symbayes import specs
from symbayes.networks import imports, pytrees
from symbayes.networks.equinox import FromEquinox, is_equinox_class
from symbayes.networks.imports import Options, Reference
from symbayes.networks.network import Network, NNXNetwork, Spec, from_spec
from symbayes.networks.session import session_code
from symbayes.trees import Tree, Variables


@dataclass(frozen=True)
class FromNNX(Spec):
    """A Flax NNX module by what makes it, a class or function that is called with the options and rngs; or a
    module that was made already, which is where chains begin."""

    constructor: Reference
    options: Options = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", imports.frozen(self.options))

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        if self.trained:
            return nnx.clone(imports.resolve(self.constructor))
        module = imports.call(self.constructor, self.options, rngs=rngs)
        if not isinstance(module, nnx.Module):
            raise TypeError(f"{self.constructor} gave a {type(module).__name__}, not an NNX module")
        return module

    @property
    def trained(self) -> bool:
        """Whether the module was made already."""
        return isinstance(imports.resolve(self.constructor), nnx.Module)

    def network(self) -> NNXNetwork:
        if not self.trained:
            return NNXNetwork(self)
        specs.require(not self.options, f"{self.constructor} is a module already and takes no options")
        return TrainedNNX(self)


@dataclass(frozen=True)
class TrainedNNX(NNXNetwork):
    """A network of an NNX module that was made already: its variables are where chains begin."""

    @property
    def start(self) -> Variables:
        """The module's own variables."""
        return self.init(jax.random.key(0), jnp.zeros((1, 1)))


@dataclass(frozen=True)
class FromFunctions(Spec):
    """Two plain functions: one gives fresh parameters, one applies them."""

    init: Reference
    apply: Reference
    options: Options = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", imports.frozen(self.options))

    def network(self) -> FunctionNetwork:
        for code in (self.init, self.apply):
            imports.resolve(code)
        return FunctionNetwork(self)


@dataclass(frozen=True)
class FunctionNetwork:
    """A network of two plain functions, whose parameters may be any pytree of floating-point arrays."""

    spec: FromFunctions

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        params = imports.call(self.spec.init, self.spec.options, key, x)
        return {"params": pytrees.to_named(params), "stats": {}}

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        params = pytrees.fill(_template(self.spec, x.shape, x.dtype), variables["params"])
        takes_key = "key" in imports.parameters(imports.resolve(self.spec.apply))
        randomness = {"key": key} if takes_key else {}
        return imports.call(self.spec.apply, self.spec.options, params, x, **randomness)

    def apply_train(
        self, variables: Variables, x: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, dict[str, Any]]:
        return self.apply(variables, x, key), {}


@functools.lru_cache(maxsize=256)
def _template(spec: FromFunctions, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
    """The functions' own form of the parameters, without computing anything."""

    def init(x: jax.Array) -> Any:
        # The key is made in here, or a program that is being traced would hold it.
        return imports.call(spec.init, spec.options, jax.random.key(0), x)

    return jax.eval_shape(init, jax.ShapeDtypeStruct(shape, dtype))


@dataclass(frozen=True)
class Imported(Spec):
    """A network by its import path, or by that of a function that makes it from the options."""

    path: str
    options: Options = ()

    def __post_init__(self) -> None:
        imports.require_path(self.path)
        object.__setattr__(self, "options", imports.frozen(self.options))

    def network(self) -> ImportedNetwork:
        _imported(self)
        return ImportedNetwork(self)


@dataclass(frozen=True)
class ImportedNetwork:
    """A network of any kind that goes by its import path."""

    spec: Imported

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        return _imported(self.spec).init(key, x)

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        return _imported(self.spec).apply(variables, x, key)

    def apply_train(
        self, variables: Variables, x: jax.Array, key: jax.Array
    ) -> tuple[jax.Array, dict[str, Any]]:
        return _imported(self.spec).apply_train(variables, x, key)


@functools.lru_cache(maxsize=256)
def _imported(spec: Imported) -> Network:
    found = imports.find(spec.path)
    if _is_network(found):
        specs.require(not spec.options, f"{spec.path} is a network already and takes no options")
        return found
    if not callable(found):
        raise TypeError(
            f"{spec.path} is a {type(found).__name__}: name a network, a Flax NNX or Equinox module class, "
            "or a function that makes one of them"
        )
    made = imports.call(spec.path, spec.options)
    if not _is_network(made):
        raise TypeError(
            f"{spec.path} gave a {type(made).__name__}, not a network: a function that makes an NNX module "
            "takes `rngs`, one that makes an Equinox module takes `key`"
        )
    return made


def _is_network(found: Any) -> bool:
    return isinstance(found, Network) and not isinstance(found, type)


def from_nnx(constructor: Callable[..., nnx.Module] | nnx.Module, **options: Any) -> NNXNetwork:
    """A network of a Flax NNX module, as in ``from_nnx(SmallNet, width=32)``.

    With an instance, as in ``from_nnx(trained)``, runs begin at the variables of the module, which are the
    attribute `start` of the network.

    Args:
        constructor: the module's class, or a function; called with the options and ``rngs``; or a module.
        options: numbers, strings and lists of them, which a run can store.
    """
    if isinstance(constructor, nnx.Module):
        constructor = nnx.clone(constructor)  # training it further is no matter of this network
    return FromNNX(imports.reference(constructor), imports.frozen(options)).network()


def from_functions(
    init: Callable[..., Tree], apply: Callable[..., jax.Array], **options: Any
) -> FunctionNetwork:
    """A network of two plain functions.

    Args:
        init: ``init(key, x, **options)`` gives fresh parameters, any pytree of floating-point arrays.
        apply: ``apply(params, x, **options)`` gives outputs of shape (examples, outputs).  If it takes
            ``key`` too, it gets one where randomness is wanted, and None where it is not.
        options: numbers, strings and lists of them, which a run can store.
    """
    return FromFunctions(imports.reference(init), imports.reference(apply), imports.frozen(options)).network()


def from_name(path: str, **options: Any) -> Network:
    """The network that ``"module:attribute"`` names.

    The attribute is an NNX module class or a function that takes ``rngs``, an Equinox module class or a
    function that takes ``key``, a function that makes a network, or a network itself.
    """
    found = imports.find(path)
    if isinstance(found, nnx.Module) or (isinstance(found, type) and issubclass(found, nnx.Module)):
        return FromNNX(path, imports.frozen(options)).network()
    if is_equinox_class(found) or is_equinox_class(type(found)):
        return FromEquinox(path, imports.frozen(options)).network()
    if callable(found) and not _is_network(found):
        taken = imports.parameters(found)
        if "rngs" in taken:
            return FromNNX(path, imports.frozen(options)).network()
        if "key" in taken:
            return FromEquinox(path, imports.frozen(options)).network()
    return Imported(path, imports.frozen(options)).network()


def require_network(found: object) -> None:
    """Refuse what is no network; of modules, it is told what makes one of them."""
    cls = found if isinstance(found, type) else type(found)
    maker = "from_nnx" if issubclass(cls, nnx.Module) else "from_equinox" if is_equinox_class(cls) else None
    if maker is not None:
        name = cls.__name__
        raise TypeError(
            f"{name} is a module and no network yet: give networks.{maker}({name}, ...) or "
            f"networks.{maker}(module)"
        )
    specs.require_kind("the network", found, "init", "apply", example="networks.mlp()")


def require_storable(network: Network) -> None:
    """Refuse a network that another process could not rebuild from its spec; one of a session is not rebuilt,
    but given again."""
    spec = network.spec
    if session_code(network) is not None:
        return
    try:
        rebuilt = from_spec(json.loads(json.dumps(specs.encode(spec))))
    except (TypeError, ValueError) as error:
        raise ValueError(f"the network's spec {spec!r} cannot be rebuilt from its JSON: {error}") from error
    specs.require(rebuilt == network, f"the network's spec {spec!r} reads back from JSON as another network")
