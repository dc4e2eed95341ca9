"""From a checkpoint to the variables of a network, and back into the form of the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jax.typing import DTypeLike

from symbayes import trees
from symbayes.draws import files
from symbayes.networks import pytrees
from symbayes.networks.checkpoints.formats import CheckpointError, in_order, read
from symbayes.networks.checkpoints.paths import by_path, difference
from symbayes.networks.checkpoints.state_dicts import StateDict
from symbayes.networks.equinox import EquinoxNetwork, deserialised
from symbayes.networks.network import Network
from symbayes.networks.traced import traced
from symbayes.trees import Variables

WRITTEN = (".safetensors", ".npz")


def load(
    path: str | Path, network: Network, example: Any, *, names: Mapping[str, str] | None = None
) -> Variables:
    """The variables of a network that a checkpoint holds.

    Where the names of the checkpoint are those of the variables (with dots or slashes), as in what Flax saves
    and in a port of your own, it is read as it is, without the optimiser's state, counters and streams of
    random numbers; else it is read as a state dict of PyTorch, layer by layer.  Layers of equal shape are
    matched by the numbers in their names and by their order; a `MatchedByOrder` warning is given where file
    order or name patterns alone decide; where nothing decides, `names` is required.

    Args:
        path: a checkpoint of any format that `read` takes, or an ``.eqx`` file of Equinox.
        network: the network that the checkpoint is of.
        example: inputs, or their shape with an axis over examples first.
        names: layers of the checkpoint by layers of the network, as in ``{"hidden1": "fc_in"}``.
    """
    if Path(path).suffix == ".eqx":
        if not isinstance(network, EquinoxNetwork):
            raise CheckpointError(
                f"{path} is of Equinox: name its module, as in --network package.module:Class"
            )
        return {"params": pytrees.to_named(deserialised(network, Path(path))), "stats": {}}
    arrays, (shape, dtype) = read(path), _form(example)
    variables, _ = traced(network, shape, dtype)
    wanted = trees.shapes(variables)
    named = by_path(arrays, wanted)
    if named is not None:
        found = {name: arrays[theirs] for name, theirs in named.items()}
    else:
        try:
            found = StateDict.of(network, arrays, shape, dtype, in_order(path), names).ours(arrays)
        except CheckpointError as error:
            raise CheckpointError(difference(arrays, wanted) or str(error)) from error
    return trees.like(variables, {name: np.ascontiguousarray(found[name]) for name in wanted})


def export(
    variables: Variables,
    path: str | Path,
    *,
    like: str | Path | None = None,
    network: Network | None = None,
    example: Any = None,
    names: Mapping[str, str] | None = None,
) -> Path:
    """Write variables as a ``.safetensors`` or ``.npz`` file, in their own names or `like` a checkpoint.

    With `like` (and the network, inputs and names that `load` takes) the file has the names and layouts of
    that checkpoint, for the program that wrote it:
    ``model.load_state_dict(safetensors.torch.load_file(path))``.
    """
    path, flat = Path(path), {name: np.asarray(leaf) for name, leaf in trees.flatten(variables).items()}
    require_writable(path)
    if like is not None:
        if network is None or example is None:
            raise TypeError("to write like a checkpoint, give the network and inputs too")
        flat = _in_form_of(like, flat, network, *_form(example), names)
    files.make_folders(path.parent)
    if path.suffix == ".npz":
        with open(path, "xb") as file:
            np.savez(file, allow_pickle=False, **flat)  # pyright: ignore[reportArgumentType]
    else:
        files.write_bytes(path, *files.pack(flat))
    return path


def require_writable(path: str | Path) -> None:
    """Refuse a path where `export` writes nothing: another format, or a file that exists."""
    if Path(path).suffix not in WRITTEN:
        raise CheckpointError(f"checkpoints are written as {' or '.join(WRITTEN)}, not {Path(path).name}")
    files.require_new(Path(path))


def _in_form_of(
    like: str | Path,
    flat: dict[str, np.ndarray],
    network: Network,
    shape: tuple[int, ...],
    dtype: DTypeLike,
    names: Mapping[str, str] | None,
) -> dict[str, np.ndarray]:
    arrays = read(like)
    named = by_path(arrays, {name: leaf.shape for name, leaf in flat.items()})
    if named is not None:
        found = {named[name]: leaf for name, leaf in flat.items()}
    else:
        state = StateDict.of(network, arrays, shape, dtype, in_order(like), names)
        found = {name: array.reshape(arrays[name].shape) for name, array in state.theirs(flat).items()}
    # Counters and the like go along.
    return {name: found.get(name, array) for name, array in arrays.items()}


def _form(example: Any) -> tuple[tuple[int, ...], Any]:
    """The shape of one input, and its type."""
    if isinstance(example, tuple):
        return example[1:], np.dtype(np.float32)
    array = np.asarray(example)
    return array.shape[1:], array.dtype
