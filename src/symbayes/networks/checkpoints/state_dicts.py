"""A network's variables in a state dict of PyTorch, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.networks.checkpoints.layouts import (
    ATTENTION,
    PACKED,
    Arrays,
    Attention,
    Layer,
    Plain,
    Recurrent,
    Shape,
    Table,
    channels_before,
)
from symbayes.networks.checkpoints.matching import Unit, match
from symbayes.networks.network import Network
from symbayes.networks.traced import traced

LSTM = {"kernel", "recurrent", "bias"}


@dataclass(frozen=True)
class StateDict:
    """Every layer of a network with its arrays in a state dict."""

    places: tuple[tuple[Layer, Unit], ...]

    @classmethod
    def of(
        cls,
        network: Network,
        arrays: Arrays,
        shape: Shape,
        dtype: DTypeLike,
        ordered: bool = False,
        names: Mapping[str, str] | None = None,
    ) -> StateDict:
        """For inputs of this shape and type; the rest as `match` takes it."""
        layers = _layers(network, arrays, shape, dtype)
        found = match(layers, arrays, ordered, names)
        return cls(tuple((layer, found[layer.name]) for layer in layers))

    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """Our variables by name."""
        found = {}
        for layer, unit in self.places:
            theirs = {below: arrays[name] for below, name in unit.arrays.items()}
            found |= {layer.variables[kind]: array for kind, array in layer.ours(theirs).items()}
        return found

    def theirs(self, flat: Arrays) -> dict[str, np.ndarray]:
        """The arrays of the state dict by name."""
        found = {}
        for layer, unit in self.places:
            ours = layer.theirs({kind: flat[name] for kind, name in layer.variables.items()})
            if len(ours) == 1:  # An array alone has any name.
                ours = dict(zip(unit.arrays, ours.values(), strict=True))
            found |= {unit.arrays[below]: array for below, array in ours.items()}
        return found


def _layers(network: Network, arrays: Arrays, shape: Shape, dtype: DTypeLike) -> list[Layer]:
    """The layers in the order in which the program uses them, in the forms that the state dict has."""
    shapes = trees.shapes(traced(network, shape, dtype)[0])
    lasts = {name.rpartition(".")[2] for name in arrays}
    found: list[Layer] = []
    kernels: list[Shape] = []
    for name, variables in _joined(_in_use(network, shape, dtype), PACKED in lasts).items():
        here = {kind: shapes[variable] for kind, variable in variables.items()}
        if "query/kernel" in here:
            found.append(Attention(name, variables, here))
        elif set(here) == LSTM:
            found.append(Recurrent(name, variables, here, "_l0" if "weight_ih_l0" in lasts else ""))
        elif name in here:
            found.append(Table(name, variables, here))
        else:
            linear = len(here.get("kernel", ())) == 2
            channels = channels_before(kernels, shape, here["kernel"][0]) if linear else 1
            found.append(Plain(name, variables, here, channels))
        kernels += [here[kind] for kind in here if kind.rpartition("/")[2] == "kernel"]
    return found


def _joined(layers: Mapping[str, dict[str, str]], packed: bool) -> dict[str, dict[str, str]]:
    """With the four layers of each attention as one, where they are packed, and what stands alone by name."""
    found: dict[str, dict[str, str]] = {}
    for layer, variables in layers.items():
        above, _, last = layer.rpartition("/")
        siblings = {f"{above}/{name}" for name in ATTENTION}
        if layer == "":
            found |= {kind: {kind: name} for kind, name in variables.items()}
        elif packed and last in ATTENTION and siblings <= set(layers):
            mine = found.setdefault(above, {})
            mine |= {f"{last}/{kind}": name for kind, name in variables.items()}
        else:
            found[layer] = variables
    return found


def _in_use(network: Network, shape: Shape, dtype: DTypeLike) -> dict[str, dict[str, str]]:
    """Layers in the order in which the program first uses them: the names of their leaves by kind."""
    variables, program = traced(network, shape, dtype)
    # A program takes its arguments in JAX's order of the tree.
    names = [
        name for collection in sorted(variables) for name in _jax_order(variables[collection], collection)
    ]
    place = {id(var): name for var, name in zip(program.jaxpr.invars, names, strict=False)}
    used: dict[str, None] = {}
    for equation in program.jaxpr.eqns:
        for var in equation.invars:
            if id(var) in place:
                used.setdefault(place[id(var)])
    layers: dict[str, dict[str, str]] = {}
    for name in [*used, *names]:
        layer, _, kind = name.partition("/")[2].rpartition("/")
        layers.setdefault(layer, {})[kind] = name
    return layers


def _jax_order(tree: Any, prefix: str) -> list[str]:
    if not isinstance(tree, Mapping):
        return [prefix]
    return [name for key in sorted(tree) for name in _jax_order(tree[key], f"{prefix}/{key}")]
