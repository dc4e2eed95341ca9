"""Draws in other people's formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbayes import trees
from symbayes.draws import files

if TYPE_CHECKING:
    from symbayes.draws.draws import Draws


def to_arviz(draws: Draws) -> Any:
    """An ArviZ DataTree; names keep their paths, statistics go to ``sample_stats``."""
    try:
        import arviz_base
    except ImportError as error:
        raise ImportError("ArviZ export needs the extra: pip install 'symbayes[arviz]'") from error
    groups = {"posterior": trees.flatten(draws.variables["params"]), "sample_stats": draws.stats}
    return arviz_base.from_dict({name: group for name, group in groups.items() if group})


def save_safetensors(draws: Draws, path: Path) -> None:
    """One file with every variable as (chain, draw, ...); an existing file is not overwritten."""
    if path.exists():
        raise FileExistsError(f"{path} exists already: choose another name or remove it first")
    files.write_bytes(path, files.pack(trees.flatten(draws.variables)))
