"""Draws in other people's formats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from symbayes import trees
from symbayes.draws import files

if TYPE_CHECKING:
    from symbayes.draws.draws import Draws


def to_arviz(draws: Draws) -> Any:
    """An ArviZ DataTree; statistics go to ``sample_stats``.

    Names are paths with dots, since a DataTree allows no slash in them.
    """
    try:
        import arviz_base
    except ImportError as error:
        raise ImportError("ArviZ export needs the extra: pip install 'symbayes[arviz]'") from error
    params = trees.flatten(draws.variables["params"])
    dotted = {name.replace("/", "."): array for name, array in params.items()}
    groups = {"posterior": dotted, "sample_stats": draws.stats}
    return arviz_base.from_dict({name: group for name, group in groups.items() if group})


def save_safetensors(draws: Draws, path: Path) -> None:
    """One file with every variable as (chain, draw, ...); an existing file is not overwritten."""
    files.require_new(path)
    files.write_bytes(path, *files.pack(trees.flatten(draws.variables)))
