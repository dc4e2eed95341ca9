"""Predictions kept in a run's folder, so that a second metric costs no second forward pass.

    predictions/KEY.safetensors   what the likelihood predicts for every draw at some inputs

The key is a checksum of the draws, how they predict, the inputs, the network's program and the likelihood.
These files are a convenience: a damaged one is made again, and where none can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from symbayes import specs
from symbayes.draws import Draws, files
from symbayes.draws.forward import Forward
from symbayes.draws.joining import pieces
from symbayes.draws.shards import ShardSegment
from symbayes.networks import Network
from symbayes.networks.traced import traced
from symbayes.posterior.likelihoods import Likelihood

FOLDER = "predictions"
LARGEST = 2**28
"""Bytes of predictions above which they are not kept."""
MOST = 2**30
"""Bytes of all that is kept of one run; the oldest go first."""
ADDRESS = re.compile(r"0x[0-9a-f]+")


def recalled(
    path: Path,
    draws: Draws,
    network: Network,
    likelihood: Likelihood,
    x: np.ndarray,
    make: Callable[[], np.ndarray],
) -> np.ndarray:
    """What `make` gives for these draws and inputs, or what it gave before; damaged draws are refused."""
    parts = [piece for segment in draws.segments for piece in pieces(segment)]
    shards = [piece for piece in parts if isinstance(piece, ShardSegment)]
    if len(shards) < len(parts):
        return make()
    key = files.sha256(*_described(shards, draws.forward, network, likelihood, x))
    file = path / FOLDER / f"{key[:32]}.safetensors"
    kept = _read(file)
    if kept is not None:
        return kept
    values = make()
    if values.nbytes <= LARGEST:
        with contextlib.suppress(OSError):  # a folder that cannot be written, a full disk
            _write(file, values)
    return values


def _described(
    shards: list[ShardSegment], forward: Forward, network: Network, likelihood: Likelihood, x: np.ndarray
) -> Iterator[files.Buffer]:
    for shard in shards:
        yield f"{' '.join(shard.checksums())} {shard.draws};".encode()
    yield forward.kind.encode()
    for name, array in sorted(forward.law.items()):
        yield f"{name} {array.dtype.str} {array.shape};".encode()
        yield _bytes(array)
    # The program rather than the network's name: what a function of the user's own computes may change.
    _, program = traced(network, x.shape[1:], x.dtype)
    yield ADDRESS.sub("", str(program.jaxpr)).encode()
    for constant in program.consts:
        yield _bytes(np.asarray(constant))
    yield json.dumps(specs.encode(likelihood), sort_keys=True).encode()
    yield f"{x.dtype.str} {x.shape}".encode()
    yield _bytes(x)


def _bytes(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _checksum(values: np.ndarray) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(files.sha256(_bytes(values))), np.uint8)


def _read(file: Path) -> np.ndarray | None:
    """The predictions, if they are there and whole."""
    try:
        arrays = files.read_arrays(file)
        values, checksum = arrays["values"], arrays["sha256"]
    except Exception:  # safetensors has an error of its own for what is damaged
        return None
    return values if np.array_equal(checksum, _checksum(values)) else None


def _write(file: Path, values: np.ndarray) -> None:
    files.make_folders(file.parent)
    files.write_bytes(file, *files.pack({"values": values, "sha256": _checksum(values)}))
    there = sorted(file.parent.glob("*.safetensors"), key=lambda one: one.stat().st_mtime_ns)
    size = sum(one.stat().st_size for one in there)
    for old in there[:-1]:
        if size <= MOST:
            break
        size -= old.stat().st_size
        old.unlink(missing_ok=True)
