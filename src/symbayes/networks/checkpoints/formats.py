"""A checkpoint's arrays by name, whatever format it has."""

from __future__ import annotations

import contextlib
import logging
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors

from symbayes import trees
from symbayes.draws import files
from symbayes.networks.checkpoints.tensors import read_torch

TORCH = (".pt", ".pth", ".bin", ".ckpt")
HOLDERS = ("state_dict", "model_state_dict", "model", "net", "network", "params", "module")
"""Under what training scripts put the weights, beside the optimiser and the epoch."""
WRAPPERS = ("module.", "_orig_mod.", "model.")
"""What wrappers put before every name."""
OF_TREES = ("_METADATA", "manifest.ocdbt", "checkpoint")
"""Files of which orbax writes at least one into the folder of a tree."""


class CheckpointError(ValueError):
    """A file that holds no weights that can be read, or those of another network."""


def read(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of a checkpoint by name, in the order of the file where it has one, else in natural order.

    A ``.safetensors`` or ``.npz`` file, a state dict that ``torch.save`` wrote (``.pt``, ``.pth``), or a
    folder of orbax.  No code in the file is run.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no checkpoint {path}")
    if (path / "journal.jsonl").is_file():
        raise CheckpointError(
            f"{path} is a run, with many networks, and not the checkpoint of one: `symbayes distance` and "
            "`symbayes evaluate` compare two runs"
        )
    try:
        if path.is_dir():
            found = trees.flatten(_orbax(path))
        elif path.suffix == ".safetensors":
            found = _sorted(path)
        elif path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                found = dict(arrays)
        elif path.suffix in TORCH:
            found = _state_dict(read_torch(path), path)
        else:
            raise CheckpointError(
                f"{path} is none of the known formats: .safetensors, .pt, .npz, or a folder of orbax; "
                "an .eqx file is read with its module, as in --network package.module:Class"
            )
    except (safetensors.SafetensorError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} is damaged ({error}): save it again") from error
    return {name: _plain(array) for name, array in _unwrapped(found).items()}


def in_order(path: str | Path) -> bool:
    """Whether a checkpoint keeps the order in which a program made its arrays."""
    return Path(path).suffix in (*TORCH, ".npz")


def _sorted(path: Path) -> dict[str, np.ndarray]:
    """In natural order of the names: these files do not keep the order of a state dict."""
    arrays = files.read_arrays(path)
    return {name: arrays[name] for name in sorted(arrays, key=lambda n: trees.path_key(n.replace(".", "/")))}


def _orbax(path: Path) -> Any:
    import jax
    import orbax.checkpoint as ocp  # takes a second to import

    folder = _tree_of(path).resolve()
    try:
        with _errors_only():
            reader = ocp.PyTreeCheckpointer()
            found: Any = reader.metadata(folder)
            found = getattr(found, "item_metadata", found)
            # As NumPy's, wherever the arrays lay when they were saved.
            plain = jax.tree.map(
                lambda _: ocp.RestoreArgs(restore_type=np.ndarray), getattr(found, "tree", found)
            )
            return _values(reader.restore(folder, restore_args=plain))
    except Exception as error:  # orbax has many of its own
        raise CheckpointError(f"{path} is no folder of orbax that can be read ({error})") from error


@contextlib.contextmanager
def _errors_only() -> Iterator[None]:
    """Without the warnings of orbax, as of files that a folder need not have."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _tree_of(path: Path) -> Path:
    """The folder of a tree: this one, or the only one below it, as in that of one step of a training."""
    if any((path / name).exists() for name in OF_TREES):
        return path
    below = [place.parent for depth in ("*", "*/*") for place in path.glob(f"{depth}/{OF_TREES[0]}")]
    if not below:
        raise CheckpointError(f"{path} is no checkpoint: a folder of orbax has a file {OF_TREES[0]}")
    last = max(below, key=lambda folder: trees.path_key(folder.as_posix()))
    if len(below) > 1:
        raise CheckpointError(f"{path} has {len(below)} checkpoints: name one of them, as in {last}")
    return last


def _values(tree: Any) -> Any:
    """Without the level ``value`` that Flax puts under every variable, and with positions as names."""
    if isinstance(tree, list | tuple):
        tree = {str(number): item for number, item in enumerate(tree)}
    if not isinstance(tree, Mapping):
        return tree
    if set(tree) == {"value"}:
        return _values(tree["value"])
    return {str(name): _values(item) for name, item in tree.items() if item is not None}


def _state_dict(found: Any, path: Path) -> dict[str, np.ndarray]:
    """The arrays by name in what a file holds, looking into the usual places."""
    if isinstance(found, Mapping):
        arrays = {str(name): item for name, item in found.items() if isinstance(item, np.ndarray)}
        if arrays:
            return arrays
        for name in HOLDERS:
            if isinstance(found.get(name), Mapping):
                return _state_dict(found[name], path)
    told = f"a dict of {', '.join(map(str, found))}" if isinstance(found, Mapping) else type(found).__name__
    raise CheckpointError(f"{path} holds no state dict but {told}: save `model.state_dict()`")


def _unwrapped(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    found = dict(arrays)
    for wrapper in WRAPPERS:
        if found and all(name.startswith(wrapper) for name in found):
            found = {name.removeprefix(wrapper): array for name, array in found.items()}
    return found


def _plain(array: Any) -> np.ndarray:
    """In float32, where it is of another width; counters stay."""
    array = np.asarray(array)
    whole = array.dtype.kind in "iub"
    return array if whole else array.astype(np.float32)
