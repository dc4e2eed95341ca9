"""Draws in other people's formats."""

from __future__ import annotations

import importlib.metadata
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbayes import trees
from symbayes.draws import files
from symbayes.draws.forward import PREFIX, Forward

if TYPE_CHECKING:
    from symbayes.draws.draws import Draws

RENAMED = {
    "divergent": "diverging",
    "acceptance": "acceptance_rate",
    "log_likelihood": "total_log_likelihood",
}
"""Statistics that ArviZ knows by other names, or whose names mean something else there."""

STATISTICS = "statistics"

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # once a day it tells that there is a newer one
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
    """One file with every variable and statistic as (chain, draw, ...); one that is there is kept."""
    files.require_new(path)
    statistics = {f"{STATISTICS}/{name}": array for name, array in draws.stats.items()}
    rest = statistics | draws.forward.arrays()
    files.write_bytes(path, *files.pack(trees.flatten(draws.variables) | rest))


def load_safetensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], Forward]:
    """The variables and statistics of such a file, by name, and how they predict."""
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    try:
        arrays = files.read_arrays(path)
    except Exception as error:  # safetensors has an error of its own
        raise ValueError(f"{path} is not a safetensors file, or is damaged: {error}") from error
    mark = f"{STATISTICS}/"
    statistics = {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}
    variables = {name: array for name, array in arrays.items() if not name.startswith((mark, PREFIX))}
    return variables, statistics, Forward.from_arrays(arrays)
