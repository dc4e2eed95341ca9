"""What a run records of itself before it starts: enough to know it again, and to rebuild it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from symbayes import specs, trees
from symbayes.draws import Draws
from symbayes.engine.method import Method
from symbayes.engine.observers import Observer
from symbayes.engine.phase import Phase
from symbayes.posterior import Posterior


def configuration(
    method: Method,
    phases: Sequence[Phase],
    posterior: Posterior,
    seed: int,
    start: Any,
    observers: Sequence[Observer],
    keep: int,
    mesh: Mesh | None,
) -> dict[str, Any]:
    """The content of a run's ``config.json``."""
    return {
        "format": 2,
        "method": specs.encode(method),
        "notes": method.notes(posterior),
        "forward": method.forward,
        "posterior": posterior.describe(),
        "validation": _validation(phases, posterior),
        "seed": seed,
        "start": None if start is None else _start_fingerprint(start),
        "keep": keep,
        "observers": {observer.name: _observer_fingerprint(observer) for observer in observers},
        "units": [phase.units for phase in phases],
        "derived_from": str(start.path) if isinstance(start, Draws) and start.path else None,
        "versions": specs.installed_versions(),
        "devices": [jax.local_devices()[0].device_kind, 1 if mesh is None else mesh.size],
        "processes": 1 if mesh is None else len({device.process_index for device in mesh.devices.flat}),
    }


def _validation(phases: Sequence[Phase], posterior: Posterior) -> dict[str, Any] | None:
    """Of the validation data, where some phase looks at them."""
    examples = posterior.validation
    if examples is None or all(phase.validation is None for phase in phases):
        return None
    return {"examples": len(examples), "sha256": examples.checksum()}


def agreed(
    config: dict[str, Any], mesh: Mesh | None, store: Any, block_steps: int | None, together: int | None
) -> dict[str, Any]:
    """What all processes of a run must have in common, by the names that a user has for it."""
    posterior = {key: value for key, value in config["posterior"].items() if key != "train"}
    return {
        "the method": [config["method"], config["units"], block_steps],
        "the seed": config["seed"],
        "the data": [config["posterior"]["train"], config["validation"]],
        "the posterior": posterior,
        "the start": config["start"],
        "the observers": [config["observers"], config["keep"]],
        "the chains at once": together,
        "whether to store": store is not None,
        "the mesh": None if mesh is None else [[d.id for d in row] for row in mesh.devices],
        "the versions": config["versions"],
    }


def _start_fingerprint(start: Any) -> str:
    """Of draws, only the last of each chain matters: that is where a run begins."""
    if isinstance(start, Draws):
        start = start.select(draws=slice(len(start) - 1, None)).variables
    return _sha256(trees.flatten(start).values())


def _observer_fingerprint(observer: Observer) -> str:
    """Two observers are the same if their public arrays and settings are."""
    settings = [value for name, value in vars(observer).items() if not name.startswith("_")]
    return _sha256([type(observer).__name__, *settings])


def _sha256(values: Any) -> str:
    digest = hashlib.sha256()
    for value in values:
        array = np.asarray(value)
        digest.update(f"{array.dtype.str} {array.shape};".encode())
        digest.update(np.asarray(array, order="C").tobytes())
    return digest.hexdigest()
