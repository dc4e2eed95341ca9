"""Where data files live."""

from __future__ import annotations

import os
from pathlib import Path


def data_folder(root: str | Path | None = None) -> Path:
    """`root`, else ``SYMBAYES_DATA``, else ``symbayes`` in the user's cache."""
    chosen = root or os.environ.get("SYMBAYES_DATA")
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "symbayes"
