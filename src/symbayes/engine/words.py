"""Times, sizes and counts in words."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """As a person says it: 12 s, 4 min, 3.5 h, 2.1 days."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172800 else f"{seconds / 86400:.1f} days"


def size(count: int | float) -> str:
    """As a person says it: 12 kB, 3.4 MB, 16 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
