"""PyTorch's layouts: how the arrays of one of its layers lie, beside the variables of ours.

PyTorch keeps a linear layer as (out, in) and a convolution as (out, in, height, width), where we have (in,
out) and (height, width, in, out).  It flattens images by channels, rows and columns, we by rows, columns and
channels, so the layer behind a flattened image has its inputs in another order.

Its LSTM stacks gates as i, f, g, o and has two biases, which add; ours stacks i, g, f, o, and adds one to the
forget gate's bias.  Its attention packs queries, keys and values into one array, each with a bias: that of
the keys changes nothing, and that of the values is one of the output, since attention sums to one.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from symbayes.networks.checkpoints.formats import CheckpointError

Shape = tuple[int, ...]
Arrays = Mapping[str, np.ndarray]
NAMES = {
    "kernel": "weight",
    "embedding": "weight",
    "scale": "weight",
    "mean": "running_mean",
    "var": "running_var",
}
"""What PyTorch calls our leaves; others have one name in both."""
ATTENTION = ("query", "key", "value", "output")
PACKED = "in_proj_weight"


@dataclass(frozen=True)
class Layer(abc.ABC):
    """A layer of ours that has its counterpart in a state dict.

    Attributes:
        name: the path of the layer.
        variables: the names of its variables, by what they are in the layer (as ``kernel``).
        shapes: their shapes, by the same.
    """

    name: str
    variables: Mapping[str, str]
    shapes: Mapping[str, Shape]

    @abc.abstractmethod
    def arrays(self) -> dict[str, Shape]:
        """The shapes of PyTorch's arrays, by their names below the layer's."""

    @abc.abstractmethod
    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        """PyTorch's arrays as our variables, by what they are in the layer."""

    @abc.abstractmethod
    def theirs(self, variables: Arrays) -> dict[str, np.ndarray]:
        """Our variables as PyTorch's arrays: the same function."""

    def signature(self) -> tuple[tuple[str, Shape], ...]:
        """What tells layers apart by their shapes."""
        return signature(self.arrays())


def signature(arrays: Mapping[str, Shape]) -> tuple[tuple[str, Shape], ...]:
    """Names and shapes; an array alone is told by its shape, without leading axes of size one."""
    if len(arrays) > 1:
        return tuple(sorted(arrays.items()))
    ((_, shape),) = arrays.items()
    while len(shape) > 2 and shape[0] == 1:
        shape = shape[1:]
    return (("", shape),)


@dataclass(frozen=True)
class Plain(Layer):
    """A layer whose leaves are arrays one by one: linear, convolution, norm.

    `channels` is above one where the layer stands behind a flattened image.
    """

    channels: int = 1

    def arrays(self) -> dict[str, Shape]:
        found = {}
        for kind, shape in self.shapes.items():
            theirs = (shape[-1], shape[-2], *shape[:-2]) if kind == "kernel" else shape
            found[NAMES.get(kind, kind)] = theirs
        return found

    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        found = {}
        for kind in self.variables:
            array = arrays[NAMES.get(kind, kind)]
            if kind == "kernel" and array.ndim == 2:
                array = regrouped(array, self.channels, -1).T
            elif kind == "kernel":
                array = array.transpose(*range(2, array.ndim), 1, 0)
            found[kind] = array
        return found

    def theirs(self, variables: Arrays) -> dict[str, np.ndarray]:
        found = {}
        for kind, array in variables.items():
            if kind == "kernel" and array.ndim == 2:
                array = regrouped(array.T, -1, self.channels)
            elif kind == "kernel":
                array = array.transpose(array.ndim - 1, array.ndim - 2, *range(array.ndim - 2))
            found[NAMES.get(kind, kind)] = array
        return found


@dataclass(frozen=True)
class Table(Layer):
    """A parameter outside of any layer, as an embedding or positions: one array of any name."""

    def arrays(self) -> dict[str, Shape]:
        ((_, shape),) = self.shapes.items()
        return {"": shape}

    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        ((kind, shape),) = self.shapes.items()
        return {kind: next(iter(arrays.values())).reshape(shape)}

    def theirs(self, variables: Arrays) -> dict[str, np.ndarray]:
        return {"": next(iter(variables.values()))}


@dataclass(frozen=True)
class Recurrent(Layer):
    """An LSTM of one layer and one direction, ``nn.LSTM`` (ending ``_l0``) or ``nn.LSTMCell`` (without)."""

    ending: str = "_l0"

    def arrays(self) -> dict[str, Shape]:
        kernel, recurrent, bias = (self.shapes[kind] for kind in ("kernel", "recurrent", "bias"))
        shapes = {"weight_ih": kernel[::-1], "weight_hh": recurrent[::-1], "bias_ih": bias, "bias_hh": bias}
        return {f"{name}{self.ending}": shape for name, shape in shapes.items()}

    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        given = {name.removesuffix(self.ending): array for name, array in arrays.items()}
        bias = gates_swapped(given["bias_ih"] + given["bias_hh"])
        return {
            "kernel": gates_swapped(given["weight_ih"]).T,
            "recurrent": gates_swapped(given["weight_hh"]).T,
            "bias": bias - remembering(bias),
        }

    def theirs(self, variables: Arrays) -> dict[str, np.ndarray]:
        bias = variables["bias"] + remembering(variables["bias"])
        found = {
            "weight_ih": gates_swapped(variables["kernel"].T),
            "weight_hh": gates_swapped(variables["recurrent"].T),
            "bias_ih": gates_swapped(bias),
            "bias_hh": np.zeros_like(bias),
        }
        return {f"{name}{self.ending}": array for name, array in found.items()}


@dataclass(frozen=True)
class Attention(Layer):
    """``nn.MultiheadAttention`` with its packed projections."""

    def arrays(self) -> dict[str, Shape]:
        width = self.shapes["output/bias"][0]
        return {
            PACKED: (3 * width, width),
            "in_proj_bias": (3 * width,),
            "out_proj.weight": (width, width),
            "out_proj.bias": (width,),
        }

    def ours(self, arrays: Arrays) -> dict[str, np.ndarray]:
        output = arrays["out_proj.weight"]
        query, _, value = np.split(arrays["in_proj_bias"], 3)
        kernels = zip(ATTENTION, np.split(arrays[PACKED], 3), strict=False)
        found = {f"{name}/kernel": kernel.T for name, kernel in kernels}
        found |= {"output/kernel": output.T, "output/bias": arrays["out_proj.bias"] + output @ value}
        if "query/bias" in self.variables:
            found["query/bias"] = query
        elif query.any():
            raise CheckpointError(
                f"the checkpoint has a bias of the queries of {self.name}, and the network has none: "
                "give its option query_bias=true"
            )
        return found

    def theirs(self, variables: Arrays) -> dict[str, np.ndarray]:
        bias = variables["output/bias"]
        query = variables.get("query/bias", np.zeros_like(bias))
        return {
            PACKED: np.concatenate([variables[f"{name}/kernel"].T for name in ATTENTION[:3]]),
            "in_proj_bias": np.concatenate([query, np.zeros_like(bias), np.zeros_like(bias)]),
            "out_proj.weight": variables["output/kernel"].T,
            "out_proj.bias": bias,
        }


def regrouped(array: np.ndarray, first: int, second: int) -> np.ndarray:
    """The inputs, last axis, in the order of `second` groups of `first` instead of the other way round."""
    return array.reshape(len(array), first, second).swapaxes(1, 2).reshape(array.shape)


def gates_swapped(array: np.ndarray) -> np.ndarray:
    """Four stacked gates with the middle two exchanged: its own inverse."""
    first, second, third, fourth = np.split(array, 4)
    return np.concatenate([first, third, second, fourth])


def remembering(bias: np.ndarray) -> np.ndarray:
    """The one that our forget gate, the third, adds by itself."""
    return np.repeat(np.array([0, 0, 1, 0], bias.dtype), len(bias) // 4)


def channels_before(shapes: Sequence[Shape], image: Sequence[int], inputs: int) -> int:
    """The channels of the flattened image behind which a linear layer stands; one where there is none.

    Args:
        shapes: of the kernels before it.
        image: the shape of one input of the network.
        inputs: of the layer.
    """
    if not shapes:
        channels = image[-1] if len(image) == 3 else 1
    else:
        channels = shapes[-1][-1] if len(shapes[-1]) > 2 else 1
    return channels if inputs % channels == 0 and inputs > channels else 1
