"""What compact buys: closeness to the posterior against the bits that are stored.

Beside Gaussians stand k stored draws, an ensemble of k, the mean network, and draws in few bits around the
aligned mean: every weight's deviation from the mean is rounded to one of 2^b levels, evenly spaced within c
standard deviations of its array.  They take ``32 (weights + arrays) + k b weights`` bits.  Networks "in few
bits" are rounded with compensation and chosen by what they predict (`analyse/few_bits.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import numpy as np

from symbayes.analyse import compactness
from symbayes.analyse.compare import measure
from symbayes.analyse.predictions import predictive_of
from symbayes.distributions import mean_network, stored_draws
from symbayes.draws import Draws
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.report.words import listed
from symbayes.studies.compact.case import Case
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part

FLOAT = 32
PER_WEIGHT = 2.5
"""Bits of a weight of networks in few bits."""

REACH = {1: 1.596, 2: 1.991, 3: 2.344, 4: 2.682, 6: 3.331, 8: 3.942}
"""Standard deviations within which the levels of b bits lie: the best for a normal law (Max 1960, Quantizing
for minimum distortion)."""


@dataclass(frozen=True)
class Frontier(Part):
    """Total variation to held-out draws against bits."""

    question: ClassVar[str] = "What does a compact posterior buy for its bits?"

    case: Case
    counts: tuple[int, ...]
    bits: tuple[int, ...]
    ranks: tuple[int, ...]

    def work(self, desk: Desk) -> Found:
        case = self.case
        run, test = case.drawn(desk, "hmc", case.hmc), case.dataset().test
        fit, rest = case.halves(run)
        forms = {"raw": fit, "aligned": case.joint(run, fit)}
        few_bits: Any = {"bits": PER_WEIGHT, "networks": max(self.counts), "train": case.dataset().train}
        found = compactness(run, forms, rest, test, self.ranks, case.samples, desk.tell, **few_bits)
        rows = [
            {
                "family": f"{row.family}, {row.form}" if row.form else row.family,
                "name": row.name,
                "bits": row.bits,
                "agreement": row.scores["agreement"],
                "TV": row.scores["TV"],
            }
            for row in found.rows
        ]
        target, y = predictive_of(run, rest, test.x), np.asarray(test.y)

        def judged(family: str, name: str, bits: int, draws: Draws) -> None:
            numbers = measure(predictive_of(run, draws, test.x), y, reference=target)
            rows.append(
                {
                    "family": family,
                    "name": name,
                    "bits": bits,
                    "agreement": numbers["agreement"],
                    "TV": numbers["TV"],
                }
            )

        size = sum(int(np.prod(shape)) for shape in fit.shapes.values())
        ensemble = case.drawn(desk, "ensemble", case.ensemble).draws
        for k in (k for k in self.counts if k <= ensemble.chains):
            judged("ensemble", f"ensemble of {k}", FLOAT * k * size, ensemble.select(chains=np.arange(k)))
        for k in (k for k in self.counts if k <= fit.chains * len(fit)):
            chosen = stored_draws(forms["aligned"], k * size)
            for b in self.bits:
                desk.tell(f"{k} draws of {b} bits")
                taken = FLOAT * (size + len(fit.shapes)) + k * b * size
                few = rounded(chosen, mean_network(forms["aligned"]), b)
                judged(f"draws of {b} bits", f"{k} draws of {b} bits", taken, few)
        return {"rows": rows}

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        best = _best(rows)
        names = listed(list(dict.fromkeys(row["family"] for row in best)))
        gaussian = any(row["family"].startswith("Gaussian") for row in best)
        told = (
            f"On the frontier of total variation against bits lie {names}"
            f"{'' if gaussian else ', and no Gaussian'}."
        )
        few = [row for row in rows if row["family"].startswith(("draws of", "few bits"))]
        stored = [row for row in rows if row["family"] == "stored draws"]
        cheaper = [(row, whole) for whole in stored for row in few if _cheaper(row, whole)]
        if not cheaper:
            return f"{told} Draws in few bits are nowhere as close as stored draws of more bits."
        row, whole = min(cheaper, key=lambda pair: pair[0]["bits"] / pair[1]["bits"])
        return (
            f"{told} Draws in few bits do better than stored draws: {row['name']} reach {row['TV']:.3f} with "
            f"{row['bits'] / 1e3:,.0f} kbit, where {whole['name']} reach {whole['TV']:.3f} with "
            f"{whole['bits'] / 1e3:,.0f}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        families: dict[str, list[Any]] = {}
        for row in sorted(found["rows"], key=lambda row: row["bits"]):
            families.setdefault(row["family"], []).append(row)
        lines = {
            family: (np.array([r["bits"] / 1e3 for r in rows]), np.array([r["TV"] for r in rows]))
            for family, rows in families.items()
        }
        columns = {"kbit": ",.0f", "agreement": ".1%", "TV": ".3f"}
        on = {row["name"] for row in _best(found["rows"])}
        table: list[Any] = [
            [row["name"], row["bits"] / 1e3, row["agreement"], row["TV"], "yes" if row["name"] in on else ""]
            for row in sorted(found["rows"], key=lambda row: row["bits"])
        ]
        return [
            figures.curves(
                lines,
                "kbit stored",
                "total variation",
                "Closeness against size",
                "To held-out draws, lower is closer; what lies below and to the left is better.",
                log_y=True,
                log_x=True,
            ),
            Table(
                ["posterior", *columns, "on the frontier"],
                table,
                "Everything is made from one half of the HMC draws and judged by the other.",
                columns,
            ),
        ]


def rounded(draws: Draws, mean: Any, bits: int) -> Draws:
    """Draws whose deviations from a mean take 2^bits levels in every array."""
    levels, reach = 2**bits, REACH[bits]

    def one(leaf: np.ndarray, centre: np.ndarray) -> np.ndarray:
        away = np.asarray(leaf, np.float64) - centre
        width = 2 * reach * np.sqrt(np.mean(away**2)) / levels
        if width == 0:
            return np.asarray(leaf)
        level = np.clip(np.floor(away / width), -levels // 2, levels // 2 - 1) + 0.5
        return (centre + level * width).astype(np.float32)

    return Draws.from_variables(jax.tree.map(one, draws.variables, mean))


def _cheaper(row: Any, whole: Any) -> bool:
    """Whether it is as close as stored draws and takes fewer bits."""
    return row["TV"] <= whole["TV"] and row["bits"] < whole["bits"]


def _best(rows: Sequence[Any]) -> list[Any]:
    """Those that nothing of at most their bits is closer than; the ceiling does not count."""
    stored = [row for row in rows if row["family"] != "ceiling"]
    return [
        row
        for row in sorted(stored, key=lambda row: row["bits"])
        if not any(o["bits"] <= row["bits"] and o["TV"] < row["TV"] for o in stored)
    ]
