"""The networks by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from symbayes.networks import imports
from symbayes.networks.adapters import from_name
from symbayes.networks.alexnet import alexnet
from symbayes.networks.cnn import cnn
from symbayes.networks.cnn_lstm import cnn_lstm
from symbayes.networks.lenet import lenet
from symbayes.networks.mlp import mlp
from symbayes.networks.network import Network
from symbayes.networks.resnet import resnet18, resnet20_frn
from symbayes.networks.transformer import transformer
from symbayes.specs import did_you_mean, require

NETWORKS: dict[str, Callable[..., Network]] = {
    "mlp": mlp,
    "lenet": lenet,
    "cnn": cnn,
    "resnet20-frn": resnet20_frn,
    "resnet18": resnet18,
    "alexnet": alexnet,
    "cnn-lstm": cnn_lstm,
    "transformer": transformer,
}


WITH_POSITIONS = ("mlp",)
"""Networks whose outputs may have positions, as those of images have."""


def make(name: str, outputs: int | tuple[int, ...], vocabulary: int | None = None, **options: Any) -> Network:
    """The network of that name, or the one of the user's own that ``"module:attribute"`` names.

    `outputs` (a shape, where they have positions) and, for texts, `vocabulary` are the `sizes` of a dataset:
    ``make("cnn-lstm", **dataset.sizes)``.  A network of your own gets those for which it has an argument.
    """
    sizes: dict[str, Any] = {"outputs": outputs}
    if vocabulary is not None:
        sizes["vocabulary"] = vocabulary
    if ":" in name:
        taken = imports.parameters(imports.find(name))
        return from_name(name, **{size: sizes[size] for size in sizes if size in taken}, **options)
    if name not in NETWORKS:
        raise ValueError(
            f"no network is called {name!r}{did_you_mean(name, NETWORKS)}; "
            f"the known ones are {', '.join(NETWORKS)}, "
            "and 'module:attribute' names one of your own"
        )
    require(
        isinstance(outputs, int) or name in WITH_POSITIONS,
        f"{name} has one output per class or target, not outputs of shape {outputs}: for those take "
        f"{' or '.join(WITH_POSITIONS)}, or a network of your own",
    )
    taken = imports.parameters(NETWORKS[name])
    unknown = sorted(options.keys() - taken)
    if unknown:
        known = sorted(taken - {"outputs", "vocabulary"})
        raise ValueError(f"{name} takes the options {', '.join(known)}, not {', '.join(unknown)}")
    if not sizes.keys() <= taken:
        readers = [other for other, made in NETWORKS.items() if "vocabulary" in imports.parameters(made)]
        raise ValueError(f"{name} does not read texts: the networks that do are {', '.join(readers)}")
    return NETWORKS[name](**sizes, **options)
