"""Runs of one posterior as one run: chains of different seeds, of different machines, of an earlier day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from symbayes.draws.joining import Along, joined, repeated
from symbayes.engine.opened import Opened, Source
from symbayes.engine.opening import open_run
from symbayes.specs import differences, require


def join(*runs: Source | list[Source] | tuple[Source, ...], along: Along = "chain") -> Opened:
    """Some runs of the same posterior as one, in memory; draws are read when they are used.

    The same draws twice are refused.

    Args:
        runs: folders, draws in memory, or opened runs; or a list of them.
        along: ``"chain"`` sets chains side by side; ``"draw"`` sets draws one after the other, as for runs
            that began where another ended.
    """
    listed = [run for given in runs for run in (given if isinstance(given, list | tuple) else [given])]
    require(len(listed) > 0, "to join takes at least one run")
    opened = [open_run(run) for run in listed]
    first = opened[0]
    for other in opened[1:]:
        lines = differences(first.config["posterior"], other.config["posterior"])
        require(not lines, f"these runs are of different posteriors ({'; '.join(lines[:3])})")
    parts = [run.draws for run in opened]
    draws = joined(parts, along)
    if (same := repeated(parts)) is not None:
        one, other = (place + 1 for place in same)
        raise ValueError(f"runs {one} and {other} of these hold the same draws, which would count twice")
    if all(run.draws.origin is not None for run in opened):
        draws = replace(draws, origin=first.draws.origin)
    names = [str(run.path or "draws in memory") for run in opened]
    config = {**first.config, "derived_from": names}
    return replace(
        first,
        draws=draws,
        config=config,
        path=None,
        traces=_traces([run.traces for run in opened], along),
        distribution=None,
    )


def _traces(parts: list[Mapping[str, Any]], along: Along) -> dict[str, np.ndarray]:
    """Those that all runs have, if equally long; one after the other, they have no common burn-in."""
    names = set.intersection(*(set(part) for part in parts))
    if along == "draw" or len({part[name].shape[1] for part in parts for name in names}) > 1:
        return {}
    return {name: np.concatenate([part[name] for part in parts], axis=0) for name in sorted(names)}
