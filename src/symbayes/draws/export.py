"""Draws in other people's formats."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbayes import trees
from symbayes.draws import files

if TYPE_CHECKING:
    from symbayes.draws.draws import Draws

RENAMED = {
    "divergent": "diverging",
    "acceptance": "acceptance_rate",
    "log_likelihood": "total_log_likelihood",
}
"""Statistics that ArviZ knows by other names, or whose names mean something else there."""

TARGETS = "y"
"""What observed and predicted targets are called."""


def to_arviz(draws: Draws, groups: Mapping[str, np.ndarray] | None = None) -> Any:
    """What ArviZ reads: a DataTree, or InferenceData where the ArviZ that is in use is older than 1.0.

    Statistics go to ``sample_stats`` under ArviZ's names: `lp` is the log density, `energy` that of a whole
    Hamiltonian system, position and momentum, which only methods with momenta have.  Names of parameters are
    paths with dots, since a DataTree allows no slash in them.  `groups` are further arrays, each of the
    targets: ``log_likelihood`` (chain, draw, example), ``observed_data`` (example, ...) and the like.
    """
    params = trees.flatten(draws.variables["params"])
    dotted = {name.replace("/", "."): array for name, array in params.items()}
    made = {"posterior": dotted, "sample_stats": _statistics(draws.stats)}
    made |= {name: {TARGETS: array} for name, array in (groups or {}).items()}
    made = {name: group for name, group in made.items() if group}
    dims = {TARGETS: ["example"]}
    if _older():
        import arviz  # type: ignore[import-not-found]

        return arviz.from_dict(**made, dims=dims)
    try:
        import arviz_base
    except ImportError as error:
        raise ImportError("ArviZ export needs the extra: pip install 'symbayes[arviz]'") from error
    return arviz_base.from_dict(made, dims=dims)


def _older() -> bool:
    """Whether the ArviZ in use is older than 1.0: the one that is imported, or else installed."""
    if "arviz" in sys.modules:
        return sys.modules["arviz"].__version__.startswith("0.")
    try:
        return importlib.metadata.version("arviz").startswith("0.")
    except importlib.metadata.PackageNotFoundError:
        return False


def _statistics(stats: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By ArviZ's names."""
    named = {RENAMED.get(name, name): values for name, values in stats.items() if name != "kinetic"}
    if "energy" in stats:
        named["lp"] = -named.pop("energy")
        if "kinetic" in stats:
            named["energy"] = stats["energy"].astype(np.float64) + stats["kinetic"]
    return named


def save_safetensors(draws: Draws, path: Path) -> None:
    """One file with every variable as (chain, draw, ...); an existing file is not overwritten."""
    files.require_new(path)
    files.write_bytes(path, *files.pack(trees.flatten(draws.variables)))
