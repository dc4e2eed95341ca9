"""Closeness to the posterior against the bits that are stored.

Gaussians are compared with k stored draws, an ensemble of k, the mean network, and draws in few bits around
the aligned mean: every weight's deviation from the mean is rounded to one of 2^b levels, evenly spaced
within c standard deviations of its array.  They take ``32 (weights + arrays) + k b weights`` bits.  Networks
"in few bits" are rounded with compensation and chosen by what they predict (`analyse/few_bits.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import jax
import numpy as np

from symbayes import evaluate
from symbayes.analyse import compactness
from symbayes.analyse.bounds import evenly
from symbayes.analyse.compactness import Row, diversity
from symbayes.analyse.compare import measure
from symbayes.analyse.few_bits import few_bits
from symbayes.analyse.predictions import predictive_of
from symbayes.distributions import mean_network, stored_draws
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import Predictive
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.report.words import listed
from symbayes.studies.compact.attempts import Attempt, Attempts
from symbayes.studies.compact.case import Case
from symbayes.studies.desk import Desk
from symbayes.studies.elsewhere import elsewhere
from symbayes.studies.part import Found, Part

FLOAT = 32
SCORES = ("agreement", "TV", "MI in", "MI out")
INPUTS = 2000
"""The largest number of training inputs at which draws and noise are chosen."""
DRAWN = ("few bits", "draws of 4 bits", "chosen draws", "stored draws", "ensemble", "Gaussian, aligned")
"""The families in the figures; the table has all."""
FAR = 0.5
"""A form whose total variation is larger than this is not counted, however few bits it takes."""
PER_WEIGHT = 2.5
"""The bits per weight of networks in few bits."""

REACH = {1: 1.596, 2: 1.991, 3: 2.344, 4: 2.682, 6: 3.331, 8: 3.942}
"""Standard deviations within which the levels of b bits lie: the best for a normal law (Max 1960, Quantizing
for minimum distortion)."""


@dataclass(frozen=True)
class Frontier(Part):
    """Total variation to held-out draws, and diversity out of distribution, against bits."""

    question: ClassVar[str] = "How few bits suffice to predict like all draws?"

    case: Case
    counts: tuple[int, ...]
    bits: tuple[int, ...]
    ranks: tuple[int, ...]

    def work(self, desk: Desk) -> Found:
        case = self.case
        run, test, train = case.drawn(desk, "hmc", case.hmc), case.dataset().test, case.dataset().train
        far = elsewhere(case.elsewhere)
        fit, rest = case.halves(run)
        forms = {"raw": fit, "aligned": case.joint(desk, run, fit, "draws")}
        target, y = predictive_of(run, rest, test.x), np.asarray(test.y)
        attempts = Attempts(
            run,
            fit,
            forms["aligned"],
            np.asarray(train.x)[evenly(len(train), INPUTS)],
            case.scale,
            case.samples,
        )
        ensemble = case.drawn(desk, "ensemble", case.ensemble).draws

        def fitted() -> list[dict[str, Any]]:
            found = compactness(run, forms, rest, test, self.ranks, case.samples, desk.tell, elsewhere=far)
            return [_row(row) for row in found.rows]

        def judged(some: Iterator[Attempt]) -> list[dict[str, Any]]:
            return [
                {
                    "family": one.family,
                    "name": one.name,
                    "bits": one.bits,
                    **_scores(one, test.x, far, target, y),
                }
                for one in some
            ]

        families: dict[str, Iterator[Attempt]] = {
            "networks in few bits": self._few_bits(attempts, np.asarray(train.x), desk),
            "draws of few bits": self._rounded(attempts),
            "ensembles": self._ensembles(run, ensemble),
            "informed weights": attempts.informed(),
            "cluster centres": attempts.centred(attempts.possible(self.counts)),
            "chosen draws": attempts.chosen(attempts.possible(self.counts)),
        }
        rows = desk.step("Gaussians and stored draws", fitted)
        for name, some in families.items():
            rows = rows + desk.step(name, partial(judged, some))
        held = desk.step("held-out draws", lambda: diversity(target, predictive_of(run, rest, far)))
        return {"rows": rows, "elsewhere": case.elsewhere, "held out": held}

    def _few_bits(self, of: Attempts, x: np.ndarray, desk: Desk) -> Iterator[Attempt]:
        """Networks that are rounded with compensation, and chosen by what they predict."""
        counts = of.possible(self.counts)
        found = few_bits(of.run, of.draws, x, PER_WEIGHT, max(counts), tell=desk.tell)
        for k in counts:
            some = found.first(k)
            name = f"{k} network{'' if k == 1 else 's'} in few bits"
            yield Attempt("few bits", name, some.bits, partial(predictive_of, of.run, some.draws))

    def _rounded(self, of: Attempts) -> Iterator[Attempt]:
        """Draws whose deviations from the mean have few levels."""
        mean, draws = mean_network(of.aligned), of.aligned
        for k in of.possible(self.counts):
            chosen = stored_draws(draws, k * of.size)
            for b in self.bits:
                taken = FLOAT * (of.size + len(draws.shapes)) + k * b * of.size
                yield Attempt(
                    f"draws of {b} bits",
                    f"{k} draw{'' if k == 1 else 's'} of {b} bits",
                    taken,
                    partial(predictive_of, of.run, rounded(chosen, mean, b)),
                )

    def _ensembles(self, run: Opened, ensemble: Draws) -> Iterator[Attempt]:
        size = sum(int(np.prod(shape)) for shape in ensemble.shapes.values())
        for k in (k for k in self.counts if k <= ensemble.chains):
            some = ensemble.select(chains=np.arange(k))
            yield Attempt("ensemble", f"ensemble of {k}", FLOAT * k * size, partial(predictive_of, run, some))

    def answer(self, found: Found) -> str:
        best = _best(found["rows"])
        names = listed(list(dict.fromkeys(row["family"] for row in best)))
        gaussian = any(row["family"].startswith("Gaussian") for row in best)
        none = "" if gaussian else ", and no Gaussian"
        told = (
            f"On the frontier of total variation against bits are the families {names}{none}. {bought(found)}"
        )
        return f"{told} {kept(found)}".rstrip()

    def show(self, found: Found) -> list[Table | Figure]:
        ordered = sorted(found["rows"], key=lambda row: row["bits"])
        families: dict[str, list[Any]] = {}
        for row in ordered:
            families.setdefault(row["family"], []).append(row)

        def lines(column: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
            return {
                name: (
                    np.array([r["bits"] / 1e3 for r in families[name]]),
                    np.array([r[column] for r in families[name]]),
                )
                for name in DRAWN
                if name in families
            }

        columns = {"kbit": ",.0f", "agreement": ".1%", "TV": ".3f", "MI in": ".3f", "MI out": ".3f"}
        on = {row["name"] for row in _best(found["rows"])}
        table: list[Any] = [
            [
                row["name"],
                row["bits"] / 1e3,
                *(row[name] for name in SCORES),
                "yes" if row["name"] in on else "",
            ]
            for row in ordered
        ]
        held = found["held out"]
        return [
            figures.curves(
                lines("TV"),
                "kbit stored",
                "total variation",
                "Closeness against size",
                "The total variation is to held-out draws. Lower is closer, and further left takes fewer "
                "bits.",
                log_y=True,
                log_x=True,
            ),
            figures.curves(
                lines("MI out"),
                "kbit stored",
                "MI (nats)",
                "Diversity out of distribution against size",
                f"Mutual information at {found['elsewhere']}. Held-out draws have {held['MI out']:.3f} nats "
                f"there and {held['MI in']:.3f} on test data.",
                log_x=True,
            ),
            Table(
                ["posterior", *columns, "on the frontier"],
                table,
                "Every form is made from one half of the HMC draws and compared with the other half. MI in "
                "and MI out are the mutual information in nats on test data and at "
                f"{found['elsewhere']}, where held-out draws have {held['MI in']:.3f} and "
                f"{held['MI out']:.3f}. A form is on the frontier if no other takes as few bits and "
                "is closer.",
                columns,
            ),
        ]


def bought(found: Found) -> str:
    """The bits that networks in few bits and stored draws need to be equally close, and the closest of all.

    They are compared at the closeness that the closest of both families reach.
    """
    few = [row for row in found["rows"] if row["family"] == "few bits"]
    stored = [row for row in found["rows"] if row["family"] in ("stored draws", "chosen draws")]
    if not few or not stored:
        return ""
    reached = max(min(row["TV"] for row in some) for some in (few, stored))
    small, large = (
        min((row for row in some if row["TV"] <= reached), key=lambda row: row["bits"])
        for some in (few, stored)
    )
    told = (
        f"At a total variation of {reached:.3f}, the closest that both reach, networks in few bits "
        f"take {small['bits'] / large['bits']:.0%} of the bits of stored draws: {_sized(small)}, and "
        f"{_sized(large)}."
    )
    best = min(few + stored, key=lambda row: row["TV"])
    return told if best in (small, large) else f"{told} Closest of all are {_sized(best)}."


def _sized(row: Any) -> str:
    return f"{row['name']} ({row['TV']:.3f} with {row['bits'] / 1e3:,.0f} kbit)"


def kept(found: Found) -> str:
    """The share of the out-of-distribution mutual information that the largest of some families keep."""
    whole = found.get("held out", {}).get("MI out", 0.0)
    largest = {row["family"]: row for row in sorted(found["rows"], key=lambda row: row["bits"])}
    some = [largest[name] for name in ("few bits", "ensemble", "stored draws") if name in largest]
    if not some or not whole > 0:
        return ""
    shares = [f"{row['name']} have {row['MI out'] / whole:.0%}" for row in some]
    return f"Of the mutual information of held-out draws at {found['elsewhere']}, {listed(shares)}."


def _row(row: Row) -> dict[str, Any]:
    family = f"{row.family}, {row.form}" if row.form else row.family
    scores = {column: row.scores[column] for column in SCORES}
    return {"family": family, "name": row.name, "bits": row.bits, **scores}


def _scores(one: Attempt, x: Any, far: Any, target: Predictive, y: np.ndarray) -> dict[str, float]:
    predictive = one.predict(x)
    if one.weights is None:
        numbers = measure(predictive, y, reference=target)
        closeness = {name: numbers[name] for name in ("agreement", "TV")}
        return closeness | diversity(predictive, one.predict(far))
    here, there = (weighted(each.each, one.weights) for each in (predictive, one.predict(far)))
    return {
        "agreement": evaluate.agreement(here[0], target.mean),
        "TV": evaluate.total_variation(here[0], target.mean),
        "MI in": here[1],
        "MI out": there[1],
    }


def weighted(probs: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """The weighted mean of predictions (network, ..., class), and their mutual information."""
    mean = np.tensordot(weights, np.asarray(probs, np.float64), 1)
    each = np.stack([evaluate.entropy(one).mean() for one in np.asarray(probs, np.float64)])
    return mean, float(evaluate.entropy(mean).mean() - weights @ each)


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


def _best(rows: Sequence[Any]) -> list[Any]:
    """The frontier: forms that no other form with at most as many bits is closer than.

    The ceiling does not count, nor do forms further than `FAR`.
    """
    stored = [row for row in rows if row["family"] != "ceiling" and row["TV"] <= FAR]
    return [
        row
        for row in sorted(stored, key=lambda row: row["bits"])
        if not any(o["bits"] <= row["bits"] and o["TV"] < row["TV"] for o in stored)
    ]
