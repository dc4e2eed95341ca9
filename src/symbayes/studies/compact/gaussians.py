"""The paper's table: Gaussians fitted to raw draws, and to draws whose permutations are removed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from symbayes.analyse import prior_draws
from symbayes.analyse.compare import measure
from symbayes.analyse.predictions import predictive_of, sampled_predictive
from symbayes.distributions import Gaussian
from symbayes.draws import Draws
from symbayes.engine import Opened
from symbayes.posterior import Predictive
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.compact.case import Case
from symbayes.studies.compact.published import TABLE
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part

COLUMNS = {"agreement": ".1%", "TV": ".3f", "accuracy": ".1%", "of the mean": ".1%"}
BESIDE = "The paper has one hidden layer."
BEYOND = (
    "The published numbers are for MNIST, and for agreement with the same draws that were fitted. Joint "
    "alignment, removed scales, low rank, several chains and the control are not in the paper."
)
SEEN = "measured with the same draws that were fitted"
RAW, REBASED = "hmc: Gaussian, raw", "hmc: Gaussian, rebased"
CONTROL = "control: Gaussian, raw", "control: Gaussian, rebased"


@dataclass(frozen=True)
class Gaussians(Part):
    """Agreement and total variation with held-out HMC draws, accuracy of draws and of the mean network."""

    question: ClassVar[str] = "Is one Gaussian enough after removing permutations?"
    published: ClassVar[str] = (
        "Rebasing lifts the agreement of a Gaussian with HMC from 12% to 82%, and of one fitted to an "
        "ensemble from 52% to 99%, about that of variational inference."
    )

    case: Case
    rank: int

    @property
    def of(self) -> str:
        return self.case.words

    def work(self, desk: Desk) -> Found:
        case, rows = self.case, {}
        hmc = case.drawn(desk, "hmc", case.hmc)
        test = case.dataset().test
        fit, rest = case.halves(hmc)
        early, late = case.early_and_late(hmc)
        held = {"another chain": rest, "the end of all chains": late}

        def measured(predictive: Predictive, of: str, mean: Any) -> dict[str, float]:
            target = desk.once(
                f"predictions of {case.name} by {of}", lambda: predictive_of(hmc, held[of], test.x)
            )
            numbers = measure(predictive, np.asarray(test.y), reference=target)
            row = {column: numbers[column] for column in ("agreement", "TV", "accuracy")}
            if mean is not None:
                alone = measure(predictive_of(hmc, mean, test.x), np.asarray(test.y))
                row["of the mean"] = alone["accuracy"]
            return row

        def judged(
            name: str, predict: Callable[[], Predictive], of: str = "another chain", mean: Any = None
        ) -> None:
            rows[name] = desk.step(name, lambda: measured(predict(), of, mean))

        def fitted(name: str, some: Callable[[], Draws], of: str = "another chain", rank: int = 0) -> None:
            def row() -> dict[str, float]:
                draws = some()
                gaussian = Gaussian.fit(draws, min(rank, draws.chains * len(draws) - 1))
                return measured(sampled_predictive(hmc, gaussian, test.x, case.samples), of, gaussian.mean)

            rows[name] = desk.step(name, row)

        ensemble = case.drawn(desk, "ensemble", case.ensemble)
        for source, run, draws in (("hmc", hmc, fit), ("ensemble", ensemble, ensemble.draws.select())):
            what = "draws" if source == "hmc" else "the ensemble"
            joint = partial(case.joint, desk, run, draws, what)
            judged(f"{source}: draws", partial(predictive_of, run, draws, test.x))
            fitted(f"{source}: Gaussian, raw", lambda draws=draws: draws)
            fitted(f"{source}: Gaussian, rebased", partial(case.rebased, desk, run, draws, what))
            fitted(f"{source}: Gaussian, aligned jointly", joint)
            fitted(f"{source}: Gaussian, scales removed too", partial(joint, "minimal-mass"))
            fitted(f"{source}: Gaussian of rank {self.rank}, aligned jointly", joint, rank=self.rank)
        vi: Opened = case.drawn(desk, "vi", case.vi)
        assert vi.distribution is not None
        judged("vi", partial(vi.predict, test.x), mean=vi.distribution.mean if vi.draws.chains == 1 else None)
        counts = {"fitted": fit.chains * len(fit), "held_out": rest.chains * len(rest)}
        noise, prior = prior_draws(hmc, fit).select(), "draws of the prior"
        fitted(CONTROL[0], lambda: noise)
        fitted(CONTROL[1], partial(case.rebased, desk, hmc, noise, prior))
        fitted("control: Gaussian, aligned jointly", partial(case.joint, desk, hmc, noise, prior))
        # All chains give to the fit here, so that those which judge are the later draws of all of them.
        ends, every = "the end of all chains", "draws of all chains"
        judged("all chains: draws", partial(predictive_of, hmc, early, test.x), ends)
        fitted("all chains: Gaussian, raw", lambda: early, ends)
        fitted("all chains: Gaussian, aligned jointly", partial(case.joint, desk, hmc, early, every), ends)
        return {"rows": rows, "chains": hmc.draws.chains, **counts}

    def answer(self, found: Found) -> str:
        rows = found["rows"]
        raw, rebased, draws = (rows[name]["agreement"] for name in (RAW, REBASED, "hmc: draws"))
        best = max(
            (name for name in rows if name.startswith("hmc: Gaussian")),
            key=lambda name: rows[name]["agreement"],
        )
        enough = "is" if rows[best]["agreement"] >= draws - 0.01 else "is not"
        lifts = "lifts" if rebased > raw else "does not lift"
        paper = ""
        if self._published and self.case.data.startswith("mnist"):
            agreed = (TABLE[name]["agreement"] for name in (RAW, REBASED))
            paper = f" The published numbers are {' and '.join(f'{a:.1%}' for a in agreed)}, {SEEN}."
        before, after = (rows[name]["agreement"] for name in CONTROL)
        return (
            f"Rebasing {lifts} the agreement of a Gaussian with held-out HMC draws from {raw:.1%} to "
            f"{rebased:.1%} (total variation {rows[RAW]['TV']:.3f} to {rows[REBASED]['TV']:.3f}), and that "
            f"of a Gaussian of pure noise from {before:.1%} to {after:.1%}. One "
            f"Gaussian {enough} enough: the best ({best.removeprefix('hmc: ')}) agrees on "
            f"{rows[best]['agreement']:.1%}, and the draws that it was fitted to on {draws:.1%}.{paper}"
        )

    def show(self, found: Found) -> list[Table | Figure]:
        rows = found["rows"]
        beside = {f"{column}, paper": form for column, form in COLUMNS.items()}
        table: list[Any] = [
            [
                _short(name),
                *(row.get(column) for column in COLUMNS),
                *(TABLE.get(name, {}).get(column) for column in COLUMNS),
            ]
            for name, row in rows.items()
        ]
        agreement, paper = (
            {_short(name): row["agreement"] for name, row in each.items()} for each in (rows, TABLE)
        )
        dots = {"ours": agreement} | ({"published": paper} if self._published else {})
        if not self._published:
            table, beside = [row[: 1 + len(COLUMNS)] for row in table], {}
        return [
            figures.dots(
                dots,
                "agreement with HMC",
                f"Agreement of Gaussians with HMC: {self.of}",
                "Ours is agreement with HMC draws that no Gaussian was fitted to.",
            ),
            Table(
                ["posterior", *COLUMNS, *beside],
                table,
                f"A network of {self.of}, compared with {found['held_out']:,} HMC draws of chains that "
                f"were not fitted; {found['fitted']:,} draws were fitted. "
                + (BEYOND if self._published else BESIDE),
                COLUMNS | beside,
                notes={
                    "accuracy": "of the average over draws",
                    "of the mean": "accuracy of the mean network",
                    "raw": "fitted to draws as they are, without alignment",
                    "rebased": "activations matched to the first draw, as in the paper",
                    "jointly": "all draws aligned to one another by their weights",
                    "control": "as many draws of the prior, aligned in the same way: what alignment does to "
                    "pure noise",
                    "all chains": "fitted to the first half of every chain, and compared with the second "
                    "half",
                },
            ),
        ]

    @property
    def _published(self) -> bool:
        """The paper has one hidden layer."""
        return len(self.case.hidden) == 1


def _short(name: str) -> str:
    """The name of a row, short enough for a figure."""
    return (
        name.replace("Gaussian, ", "").replace("Gaussian of ", "").replace(", aligned jointly", ", jointly")
    )
