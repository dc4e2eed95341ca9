"""The networks by name."""

from __future__ import annotations

import difflib
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


def make(name: str, outputs: int, **options: Any) -> Network:
    """The network of that name, or the one of the user's own that ``"module:attribute"`` names.

    One's own is given `outputs` if it takes an argument of that name.
    """
    if ":" in name:
        sized = {"outputs": outputs} if "outputs" in imports.parameters(imports.find(name)) else {}
        return from_name(name, **sized, **options)
    if name not in NETWORKS:
        close = difflib.get_close_matches(name, NETWORKS, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise ValueError(
            f"no network is called {name!r}{hint}; the known ones are {', '.join(NETWORKS)}, "
            "and 'module:attribute' names one of your own"
        )
    known = sorted(imports.parameters(NETWORKS[name]) - {"outputs"})
    unknown = sorted(options.keys() - set(known))
    if unknown:
        raise ValueError(f"{name} takes the options {', '.join(known)}, not {', '.join(unknown)}")
    return NETWORKS[name](outputs=outputs, **options)
