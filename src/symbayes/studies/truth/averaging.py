"""The quality of the average prediction against the number of draws and chains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from symbayes.posterior import Predictive
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import Asked, scores

SMALL = 0.1
"""A difference between one chain and many counts as small below this share of the gain from averaging."""


@dataclass(frozen=True)
class Averaging(Asked):
    """The average of the first n draws of one chain, and of n draws spread over all chains."""

    question: ClassVar[str] = "How does the average prediction improve with draws and chains?"
    published: ClassVar[str] = (
        "Averages of HMC draws beat standard training and deep ensembles; a single long chain represents the "
        "posterior about as well as several shorter ones."
    )

    def work(self, desk: Desk) -> Found:
        run, test = self.case.hmc(desk), self.case.dataset().test
        predictive, y = run.predict(test.x), np.asarray(test.y)
        chains, draws = predictive.every.shape[:2]
        counts = [int(n) for n in np.unique(np.geomspace(1, draws, 8).round().astype(int))]
        one = [_mean([scores(_part(predictive, c, n), y) for c in range(chains)]) for n in counts]
        spread = [scores(_spread(predictive, n), y) for n in counts]
        every = [scores(_first(predictive, n), y) for n in counts]
        return {"chains": chains, "draws": counts, "one chain": one, "spread": spread, "all chains": every}

    def answer(self, found: Found) -> str:
        chains, draws = found["chains"], found["draws"][-1]
        single, whole = found["one chain"][0], found["all chains"][-1]
        one, spread = found["one chain"][-1]["NLL"], found["spread"][-1]["NLL"]
        gain = single["NLL"] - whole["NLL"]
        verb = "falls" if gain > 0 else "rises"
        first = (
            f"From one draw to {chains * draws:,} draws the loss {verb} from {single['NLL']:.3f} to "
            f"{whole['NLL']:.3f} nats, and the accuracy goes from {single['accuracy']:.1%} to "
            f"{whole['accuracy']:.1%}."
        )
        if chains == 1:
            return first
        close = abs(one - spread) <= SMALL * abs(gain)
        words = "about as good as" if close else "worse than" if one > spread else "better than"
        return (
            f"{first} With {draws:,} draws in all, one chain is {words} {chains} shorter ones "
            f"({one:.3f} and {spread:.3f} nats)."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        draws, chains = np.array(found["draws"]), found["chains"]
        names = {"one chain": "one chain (mean over chains)", "spread": f"spread over {chains} chains"}
        lines = {told: (draws, _column(found[name])) for name, told in names.items()}
        lines |= {f"all {chains} chains": (chains * draws, _column(found["all chains"]))}
        rows: list[Any] = [
            [n, one["accuracy"], one["NLL"], spread["NLL"], every["accuracy"], every["NLL"]]
            for n, one, spread, every in zip(
                found["draws"], found["one chain"], found["spread"], found["all chains"], strict=True
            )
        ]
        columns = [
            "draws",
            "accuracy, one chain",
            "NLL, one chain",
            "NLL, spread",
            "accuracy, all",
            "NLL, all",
        ]
        return [
            figures.curves(
                lines,
                "draws in the average",
                "loss (nats)",
                f"Loss of the average{self.titled}",
                "The same number of draws, from one chain and spread over all chains. Where the two lines "
                "coincide, one long chain is as good as several chains.",
                log_x=True,
            ),
            Table(
                columns,
                rows,
                f"The average of this number of draws{self.titled}: from one chain, spread over all "
                "chains, and from each of all chains.",
                {name: ".1%" if name.startswith("acc") else ".3f" for name in columns[1:]},
            ),
        ]


def _part(predictive: Predictive, chain: int, draws: int) -> Predictive:
    return predictive.of_draws(lambda array: array[chain : chain + 1, :draws])


def _first(predictive: Predictive, draws: int) -> Predictive:
    return predictive.of_draws(lambda array: array[:, :draws])


def _spread(predictive: Predictive, draws: int) -> Predictive:
    """The first draws of every chain, `draws` in all."""
    chains = predictive.every.shape[0]
    places = np.array([(n % chains, n // chains) for n in range(draws)])
    return predictive.of_draws(lambda array: array[places[:, 0], places[:, 1]][None])


def _mean(rows: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _column(rows: list[dict[str, float]]) -> np.ndarray:
    return np.array([row["NLL"] for row in rows])
