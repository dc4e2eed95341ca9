"""PyTorch's layouts: which array of a state dict is which variable, and how its axes lie.

PyTorch keeps a linear layer as (out, in) and a convolution as (out, in, height, width), where we have (in,
out) and (height, width, in, out).  It flattens images by channels, rows and columns, we by rows, columns and
channels, so the layer behind a flattened image has its inputs in another order.

Layers are told by their shapes, in the order in which the network uses them and the state dict lists them.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from symbayes import trees
from symbayes.networks.checkpoints.formats import CheckpointError
from symbayes.networks.network import Network
from symbayes.networks.traced import traced

NAMES = {
    "kernel": "weight",
    "embedding": "weight",
    "scale": "weight",
    "mean": "running_mean",
    "var": "running_var",
}
"""What PyTorch calls our leaves; others have one name in both."""
IGNORED = ("num_batches_tracked",)


@dataclass(frozen=True)
class Leaf:
    """A variable, the array of a state dict that it is, and in how many channels its inputs are grouped.

    `channels` is above one where the layer stands behind a flattened image.
    """

    variable: str
    array: str
    kind: str
    channels: int = 1

    def ours(self, array: np.ndarray) -> np.ndarray:
        """PyTorch's array as our variable."""
        if self.kind != "kernel" or array.ndim < 2:
            return array
        if array.ndim == 2:
            if self.channels > 1:
                array = (
                    array.reshape(len(array), self.channels, -1).transpose(0, 2, 1).reshape(len(array), -1)
                )
            return array.T
        return array.transpose(*range(2, array.ndim), 1, 0)

    def theirs(self, variable: np.ndarray) -> np.ndarray:
        """Our variable as PyTorch's array: the inverse of `ours`."""
        if self.kind != "kernel" or variable.ndim < 2:
            return variable
        if variable.ndim == 2:
            array = variable.T
            if self.channels > 1:
                array = (
                    array.reshape(len(array), -1, self.channels).transpose(0, 2, 1).reshape(len(array), -1)
                )
            return array
        return variable.transpose(variable.ndim - 1, variable.ndim - 2, *range(variable.ndim - 2))

    def their_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        return self.theirs(np.empty(shape, np.bool_)).shape


def _swapped(array: np.ndarray, first: int, second: int) -> np.ndarray:
    """The inputs, last axis, in the order of `second` groups of `first` instead of the other way round."""
    return array.reshape(len(array), first, second).transpose(0, 2, 1).reshape(len(array), -1)


def torch_layout(
    network: Network, arrays: Mapping[str, np.ndarray], shape: tuple[int, ...], dtype: Any
) -> list[Leaf]:
    """Every variable of a network with its array in a state dict, for inputs of this shape."""
    variables, _ = traced(network, shape, dtype)
    shapes = trees.shapes(variables)
    left = _layers(name for name in arrays if name.rpartition(".")[2] not in IGNORED)
    found = []
    for layer, leaves in _in_use(network, shape, dtype).items():
        channels = _channels(found, shapes, shape, leaves)
        wanted = [Leaf(name, NAMES.get(kind, kind), kind, channels) for kind, name in leaves.items()]
        prefix = _first_fit(left, wanted, shapes, arrays)
        if prefix is None:
            told = ", ".join(f"{leaf.array} {leaf.their_shape(shapes[leaf.variable])}" for leaf in wanted)
            raise CheckpointError(
                f"the checkpoint has no layer left for {layer} of the network, which needs {told}; "
                f"it has {_told(left, arrays)}. Give the options that the network was trained with, or a "
                "port of your own whose parameters have the names of the state dict"
            )
        del left[prefix]
        dot = f"{prefix}." if prefix else ""
        found += [Leaf(leaf.variable, dot + leaf.array, leaf.kind, leaf.channels) for leaf in wanted]
    if left:
        raise CheckpointError(
            f"the network has no place for {_told(left, arrays)} of the checkpoint: "
            "give the options that the network was trained with"
        )
    return found


def _layers(names: Any) -> dict[str, list[str]]:
    """The last parts of the names by what stands before them, in order."""
    found: dict[str, list[str]] = {}
    for name in names:
        prefix, _, last = name.rpartition(".")
        found.setdefault(prefix, []).append(last)
    return found


def _in_use(network: Network, shape: tuple[int, ...], dtype: Any) -> dict[str, dict[str, str]]:
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


def _channels(
    before: Sequence[Leaf],
    shapes: Mapping[str, tuple[int, ...]],
    image: Sequence[int],
    leaves: Mapping[str, str],
) -> int:
    """The channels of the flattened image behind which a layer stands; one where it stands behind none."""
    if "kernel" not in leaves or len(shapes[leaves["kernel"]]) != 2:
        return 1
    inputs = shapes[leaves["kernel"]][0]
    kernels = [shapes[leaf.variable] for leaf in before if leaf.kind == "kernel"]
    if not kernels:
        channels = image[-1] if len(image) == 3 else 1
    else:
        channels = kernels[-1][-1] if len(kernels[-1]) > 2 else 1
    return channels if inputs % channels == 0 and inputs > channels else 1


def _first_fit(
    left: Mapping[str, list[str]],
    wanted: Sequence[Leaf],
    shapes: Mapping[str, tuple[int, ...]],
    arrays: Mapping[str, np.ndarray],
) -> str | None:
    for prefix, kinds in left.items():
        dot = f"{prefix}." if prefix else ""
        if sorted(kinds) == sorted(leaf.array for leaf in wanted) and all(
            arrays[dot + leaf.array].shape == leaf.their_shape(shapes[leaf.variable]) for leaf in wanted
        ):
            return prefix
    return None


def _told(left: Mapping[str, list[str]], arrays: Mapping[str, np.ndarray]) -> str:
    names = [f"{prefix}.{kind}" if prefix else kind for prefix, kinds in left.items() for kind in kinds]
    told = [f"{name} {arrays[name].shape}" for name in itertools.islice(names, 4)]
    return ", ".join(told) + (f" and {len(names) - 4} more" if len(names) > 4 else "") if told else "none"
