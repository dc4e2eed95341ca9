"""The scales at which networks are compared: of smallest mass, of unit norm, or their own."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from symbayes.symmetry.canonical.masses import unscaled
from symbayes.symmetry.canonical.minimal_mass import balanced, minimal_mass_of_all
from symbayes.symmetry.canonical.unit_norm import unit_norm, unit_norm_of_all
from symbayes.symmetry.group.group import Symmetry
from symbayes.symmetry.group.stack import Stack


def require_scale(scale: str | None) -> None:
    """Refuse a name that is none of the forms."""
    if scale not in ("minimal-mass", "unit-norm", None):
        raise ValueError(f"scale is 'minimal-mass', 'unit-norm' or None, not {scale!r}")


def log_scales(scale: str | None, group: Symmetry, flat: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The log-scales that bring a batch of networks to a form; units that have none in it keep theirs."""
    if scale is None or not group.scales:
        return unscaled(group, len(next(iter(flat.values()))))
    return (balanced if scale == "minimal-mass" else unit_norm)(group, flat)


def canonical_scales(
    scale: str | None, group: Symmetry, flat: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The log-scales that bring a batch to a form, dead units included: the same for the whole orbit."""
    if scale is None or not group.scales:
        return unscaled(group, len(next(iter(flat.values()))))
    return (minimal_mass_of_all if scale == "minimal-mass" else unit_norm_of_all)(group, flat)


def log_scales_of_one(
    scale: str | None, group: Symmetry, flat: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The same for one network."""
    batch = {name: leaf[None] for name, leaf in flat.items()}
    return {name: logs[0] for name, logs in log_scales(scale, group, batch).items()}


def log_scales_of_all(scale: str | None, stack: Stack) -> dict[str, np.ndarray]:
    """The same for all draws, by number."""
    found = unscaled(stack.group, stack.count)
    for ids, flat in stack.blocks():
        for name, logs in log_scales(scale, stack.group, flat).items():
            found[name][ids] = logs
    return found
