"""The Network protocol, and networks made of Flax NNX modules.

Variables are ``{"params": ..., "stats": ...}``, nested dicts with string keys.  A network
carries a hashable spec that decides equality, so two equal networks compile once, and a run
rebuilds its network from the spec's JSON.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from flax import nnx

from symbayes import specs, trees
from symbayes.networks.sizes import require_shape
from symbayes.specs import Record
from symbayes.trees import Variables


@runtime_checkable
class Network(Protocol):
    """A function of variables and inputs."""

    @property
    def spec(self) -> object: ...

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        """Fresh variables for inputs shaped like `x`, whose first axis is over examples."""
        ...

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        """Outputs in evaluation; a key switches dropout and the like on."""
        ...

    def apply_train(self, variables: Variables, x: jax.Array, key: jax.Array) -> tuple[jax.Array, Variables]:
        """Outputs in training, and the updated statistics."""
        ...


class Spec:
    """Base of the dataclasses that describe a network; subclasses register themselves by name.

    A subclass says how to `build` an NNX module, or which other kind of `network` it describes.
    """

    kinds: ClassVar[dict[str, type]] = {}

    def __init_subclass__(cls) -> None:
        Spec.kinds[cls.__name__] = cls

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        """The NNX module for examples of this shape."""
        raise NotImplementedError

    def network(self) -> Network:
        """The network that this spec describes."""
        return NNXNetwork(self)


def from_spec(encoded: Record) -> Network:
    """The network whose encoded spec a run has stored."""
    return specs.decode(encoded, Spec.kinds).network()


@dataclass(frozen=True)
class NNXNetwork:
    """A network whose spec builds a Flax NNX module."""

    spec: Spec

    def init(self, key: jax.Array, x: jax.Array) -> Variables:
        module = self.spec.build(x.shape[1:], nnx.Rngs(key))
        _, params, stats, _ = nnx.split(module, nnx.Param, nnx.BatchStat, ...)
        return {"params": _to_tree(params), "stats": _to_tree(stats)}

    def apply(self, variables: Variables, x: jax.Array, key: jax.Array | None = None) -> jax.Array:
        return self._call(self._merge(variables, x, key, deterministic=key is None, training=False), x)

    def apply_train(self, variables: Variables, x: jax.Array, key: jax.Array) -> tuple[jax.Array, Variables]:
        module = self._merge(variables, x, key, deterministic=False, training=True)
        outputs = self._call(module, x)
        return outputs, _to_tree(nnx.state(module, nnx.BatchStat))

    def _merge(
        self,
        variables: Variables,
        x: jax.Array,
        key: jax.Array | None,
        *,
        deterministic: bool,
        training: bool,
    ) -> nnx.Module:
        graph, params, stats, rest = _template(self.spec, x.shape[1:])
        module = nnx.merge(
            graph,
            _fill(params, variables["params"], x),
            _fill(stats, variables.get("stats", {}), x),
            _with_key(rest, jax.random.key(0) if key is None else key),
        )
        module.set_attributes(
            deterministic=deterministic, use_running_average=not training, raise_if_not_found=False
        )
        return module

    @staticmethod
    def _call(module: Any, x: jax.Array) -> jax.Array:
        return module(x)


@functools.lru_cache(maxsize=256)
def _template(spec: Spec, example_shape: tuple[int, ...]) -> tuple[Any, nnx.State, nnx.State, nnx.State]:
    """The module's structure, without computing anything."""
    module = nnx.eval_shape(lambda: spec.build(example_shape, nnx.Rngs(0)))
    graph, params, stats, rest = nnx.split(module, nnx.Param, nnx.BatchStat, ...)
    return graph, params, stats, rest


def _to_tree(state: nnx.State) -> dict[str, Any]:
    flat = {"/".join(map(str, path)): leaf.get_value() for path, leaf in nnx.to_flat_state(state)}
    return trees.unflatten(flat)


def _fill(state: nnx.State, tree: dict[str, Any], x: jax.Array) -> nnx.State:
    flat = trees.flatten(tree) if tree else {}
    template = list(nnx.to_flat_state(state))
    named = {"/".join(map(str, path)): (path, leaf) for path, leaf in template}
    if flat.keys() != named.keys():
        missing, surplus = sorted(named.keys() - flat.keys()), sorted(flat.keys() - named.keys())
        raise ValueError(f"these are the variables of another network: missing {missing}, surplus {surplus}")
    for name, (_, leaf) in named.items():
        whose = f"for inputs of shape {x.shape[1:]} this network's"
        require_shape(name, flat[name].shape, leaf.shape, whose)
    # As JAX arrays, since a module writes new statistics into numpy's in place.
    filled = [(path, leaf.replace(jnp.asarray(flat[name]))) for name, (path, leaf) in named.items()]
    return nnx.from_flat_state(filled)


def _with_key(rest: nnx.State, key: jax.Array) -> nnx.State:
    """Give every source of randomness in the module its own stream under `key`."""
    filled = []
    for i, (path, leaf) in enumerate(nnx.to_flat_state(rest)):
        if isinstance(leaf, nnx.RngKey):
            filled.append((path, leaf.replace(jax.random.fold_in(key, i))))
        elif isinstance(leaf, nnx.RngCount):
            filled.append((path, leaf.replace(jnp.zeros((), jnp.uint32))))
        else:
            raise TypeError(f"the module holds state that is neither Param, BatchStat nor Rng: {path}")
    return nnx.from_flat_state(filled)
