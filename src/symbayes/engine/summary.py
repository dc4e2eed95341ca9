"""A run in a few numbers: what it is, whether it has ended, and whether to trust it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from symbayes import evaluate
from symbayes.brief import counted
from symbayes.data import readable
from symbayes.draws import Draws, Run
from symbayes.draws.columns import some_weights
from symbayes.draws.forward import WORDS, Kind
from symbayes.engine.words import size

if TYPE_CHECKING:
    from symbayes.engine.opened import Opened

WEIGHTS = 1000
"""The most weights whose R-hat and effective sample size are computed, chosen at random."""

ADDED = {"WithNoise": "with noise", "WithDropout": "with dropout"}
"""What is said of networks that hold another one."""

FEWEST = 4
"""Draws of a chain from which R-hat can be told."""


@dataclass(frozen=True)
class Summary:
    """What is told of a run first.  What it has not is None.

    Attributes:
        path: its folder.
        method: by which it was drawn.
        network: whose weights it has.
        data: name of the dataset.
        examples: on which it was conditioned.
        finished: whether it has all its draws.
        chains: how many.
        draws: of each chain, as kept so far.
        weights: numbers in a draw.
        forward: how draws predict.
        evidence: log evidence of every chain.
        acceptance: mean over the draws.
        divergences: how many draws' trajectories diverged.
        rhat: largest rank-normalised split R-hat: of the energy, and of the weights (some of them, where
            there are many), which symmetries keep apart.
        ess: smallest bulk effective sample size of the same.
        gradients: over all data, of all chains.
        bytes: of its folder.
        created: when.
    """

    path: str | None
    method: str
    network: str
    data: str | None
    examples: int
    finished: bool
    chains: int
    draws: int
    weights: int
    forward: Kind
    evidence: list[float] | None
    acceptance: float | None
    divergences: int | None
    rhat: Mapping[str, float]
    ess: Mapping[str, float]
    gradients: float | None
    bytes: int | None
    created: str | None

    @classmethod
    def of(cls, run: Run | Opened) -> Summary:
        """Of a run in a folder or in memory."""
        config, draws = run.config, run.draws
        posterior, stats = config["posterior"], run.draws.stats if run.draws.segments else {}
        folder = Run(run.path) if run.path is not None else None
        mixed = _mixed(draws, stats)
        about = config.get("about", {})
        return cls(
            path=None if run.path is None else str(run.path),
            method=config["method"]["kind"],
            network=_network(posterior["network"]),
            data=about.get("data", about.get("title")),
            examples=posterior["train"]["examples"],
            finished=folder is None or folder.finished,
            chains=draws.chains if draws.segments else config["method"].get("chains", 1),
            draws=len(draws),
            weights=sum(math.prod(shape) for shape in draws.shapes.values()) if draws.segments else 0,
            forward=draws.forward.kind,
            evidence=_evidence(run.traces),
            acceptance=float(stats["acceptance"].mean()) if "acceptance" in stats else None,
            divergences=int(stats["divergent"].sum()) if "divergent" in stats else None,
            rhat={name: float(np.nanmax(evaluate.rhat(values))) for name, values in mixed.items()},
            ess={name: float(np.nanmin(evaluate.ess_bulk(values))) for name, values in mixed.items()},
            gradients=None if folder is None else folder.gradients,
            bytes=None if folder is None else _bytes(folder.path),
            created=config.get("created"),
        )

    def numbers(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    def rows(self) -> dict[str, str]:
        """In words, line by line."""
        state = "finished" if self.finished else "not finished: the same command or call goes on with it"
        told = {
            "method": self.method,
            "network": f"{self.network}, {self.weights:,} numbers",
            "data": f"{readable(self.data or 'not named')}, {self.examples:,} training examples",
            "state": state,
            "draws": f"{counted(self.chains, 'chain')} x {counted(self.draws, 'draw')}",
            "predictions": None if self.forward == "plain" else WORDS[self.forward],
            "log evidence": None if self.evidence is None else _ends(self.evidence),
            "acceptance": None if self.acceptance is None else f"{self.acceptance:.1%}",
            "divergences": None if self.divergences is None else f"{self.divergences:,}",
            "largest R-hat": _listed(self.rhat, ".3f"),
            "smallest ESS": _listed(self.ess, ",.0f"),
            "gradients": None if self.gradients is None else f"{self.gradients:,.0f} over all data",
            "size": None if self.bytes is None else size(self.bytes),
            "made": self.created,
            "folder": self.path,
        }
        return {name: words for name, words in told.items() if words}

    def __str__(self) -> str:
        rows = self.rows()
        width = max(map(len, rows))
        return "\n".join(f"{name:<{width}}  {words}" for name, words in rows.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from html import escape

        rows = (
            f"<tr><th>{escape(name)}</th><td>{escape(words)}</td></tr>" for name, words in self.rows().items()
        )
        return f"<table>{''.join(rows)}</table>"


def _listed(numbers: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{value:{form}} ({name})" for name, value in numbers.items() if not math.isnan(value))


def _evidence(traces: Mapping[str, np.ndarray]) -> list[float] | None:
    return traces["log_evidence"][:, -1].astype(float).tolist() if "log_evidence" in traces else None


def _ends(values: list[float]) -> str:
    """One number, or the smallest and the largest of several chains."""
    low, high = (f"{end:,.1f}" for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _mixed(draws: Draws, stats: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What is compared between chains, each (chain, draw, quantity); nothing of too few draws."""
    if not draws.segments or len(draws) < FEWEST:
        return {}
    # Draws that are keys have the same weights, and one energy.
    moves = "energy" in stats and np.ptp(stats["energy"], axis=1).any()
    found = {"energy": stats["energy"][..., None]} if moves else {}
    weights = some_weights(draws, WEIGHTS)
    changing = (weights != weights[:, :1]).any(axis=(0, 1))
    return found | ({"weights": weights[..., changing]} if changing.any() else {})


def _network(recorded: Mapping[str, Any]) -> str:
    if "inner" in recorded:
        return f"{_network(recorded['inner'])} {ADDED.get(recorded['kind'], 'wrapped')}"
    return str(recorded.get("name") or recorded.get("kind") or recorded.get("module") or "network")


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
