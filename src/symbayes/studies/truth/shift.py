"""Accuracy on shifted inputs, and whether a prior with the covariance of the inputs helps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from symbayes.engine import Opened
from symbayes.posterior import priors
from symbayes.posterior.prediction import predict
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found
from symbayes.studies.truth.case import FIRST, Asked, scores

REPAIRED = "hmc, covariance prior"
SILENT = "noise on silent pixels"
SEVERITIES = (1, 2, 3, 4, 5)
MOST_DRAWS = 200
"""The largest number of draws in an average, over all chains."""
NOISE = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Standard deviation of the noise on pixels that hardly change in training, by severity."""
NOTHING = 1.0
"""A loss of less than this many points of accuracy counts as none."""
QUIET = 0.1
"""A pixel is silent if its standard deviation over training images is below this share of the average."""


@dataclass(frozen=True)
class Shift(Asked):
    """Accuracy on images shifted at five severities.

    The data say little about the weights of pixels that hardly change in training, so those weights keep
    their prior, and images that do change there disturb a Bayesian average. A prior that is narrow in these
    directions repairs this.
    """

    question: ClassVar[str] = "How good is the average prediction on shifted inputs?"
    published: ClassVar[str] = (
        "Bayesian averages generalise surprisingly badly under shift, worse than one trained network. A "
        "prior with the covariance of the inputs repairs much of it (Izmailov et al. 2021, Dangers of "
        "Bayesian "
        "model averaging under covariate shift)."
    )

    kinds: tuple[str, ...]
    whitened: float
    """Length of trajectories under the covariance prior, in units of its standard deviations."""
    images: int
    """The largest number of test images that are shifted."""

    def work(self, desk: Desk) -> Found:
        test = self.case.dataset().test
        x, y = np.asarray(test.x)[: self.images], np.asarray(test.y)[: self.images]
        runs = self._runs(desk)
        silent = self._silent()
        found: dict[str, dict[str, list[float]]] = {}
        for kind in (*self.kinds, SILENT):
            desk.tell(f"shifted inputs: {kind}")
            images = [x, *(self._shifted(x, kind, severity, silent) for severity in SEVERITIES)]
            found[kind] = {
                name: [scores(_predicted(run, each, name), y)["accuracy"] for each in images]
                for name, run in runs.items()
            }
        return {"accuracy": found, "silent": int(silent.sum()), "pixels": int(silent.size)}

    def _runs(self, desk: Desk) -> dict[str, Opened]:
        case = self.case
        ensemble = case.drawn(desk, "ensemble", case.ensemble, case.posterior())
        spread = float(np.asarray(case.dataset().train.x).var(axis=0).mean())
        covariance = priors.EmpiricalCovariance(alpha=case.scale**2 / spread, eps=1e-4)
        knowing = priors.PerLayer({FIRST[case.network]: covariance}, rest=priors.Normal(case.scale))
        # Its directions differ in width, so steps are in units of the prior's deviations: found by trial.
        method = replace(case.sweep, step_size=None, trajectory=self.whitened, adapt=True)
        repaired = case.drawn(desk, "covariance-prior", method, case.posterior(prior=knowing))
        return {"hmc": case.hmc(desk), REPAIRED: repaired, "ensemble": ensemble, "one network": ensemble}

    def _silent(self) -> np.ndarray:
        spread = np.asarray(self.case.dataset().train.x).std(axis=0)
        return spread < QUIET * spread.mean()

    def _shifted(self, x: np.ndarray, kind: str, severity: int, silent: np.ndarray) -> np.ndarray:
        if kind != SILENT:
            from symbayes.data import shifts  # which imports Pillow

            return shifts.shift(x, kind, severity)
        noise = np.random.default_rng(0).standard_normal(x.shape, np.float32)
        return np.clip(x + NOISE[severity - 1] * np.abs(noise) * silent, 0, 1).astype(np.float32)

    def answer(self, found: Found) -> str:
        accuracy = found["accuracy"]
        hmc, one = (100 * _lost(accuracy, name) for name in ("hmc", "one network"))
        worst = max(accuracy, key=lambda kind: _lost_by(accuracy[kind], "hmc"))
        before, after = (100 * _lost_by(accuracy[SILENT], name) for name in ("hmc", REPAIRED))
        noise = f"noise on the {found['silent']} of {found['pixels']} pixels that are silent in training"
        if before < NOTHING:
            repair = f"With {noise}, HMC loses no accuracy, so the prior has nothing to repair."
        else:
            verb = "repairs" if after < 0.5 * before else "does not repair"
            repair = (
                f"With {noise}, HMC loses {before:.1f} points, which the covariance prior {verb} "
                f"({after:.1f})."
            )
        return (
            f"At the highest severity HMC loses {hmc:.1f} points of accuracy on average over "
            f"{len(accuracy)} kinds of shift, {'more' if hmc > one else 'no more'} than one trained network "
            f"({one:.1f}), and most under {worst} ({100 * _lost_by(accuracy[worst], 'hmc'):.1f}). {repair}"
        )

    def show(self, found: Found) -> list[Table | Figure]:
        severities = np.arange(len(SEVERITIES) + 1)
        items: list[Table | Figure] = [
            figures.curves(
                {name: (severities, 100 * np.array(values)) for name, values in by_run.items()},
                "severity",
                "accuracy (%)",
                f"{kind[0].upper()}{kind[1:]}{self.titled}",
                "Severity 0 is the unchanged test images.",
            )
            for kind, by_run in found["accuracy"].items()
        ]
        runs = list(next(iter(found["accuracy"].values())))
        clean = next(iter(found["accuracy"].values()))
        rows: list[Any] = [["unchanged", *(clean[name][0] for name in runs)]]
        rows += [[kind, *(by_run[name][-1] for name in runs)] for kind, by_run in found["accuracy"].items()]
        caption = (
            f"Accuracy on test images shifted at the highest severity{self.titled}. {found['silent']} of "
            f"{found['pixels']} pixels are silent: they hardly change in training."
        )
        return [*items, Table(["shift", *runs], rows, caption, dict.fromkeys(runs, ".1%"))]


def _predicted(run: Opened, x: np.ndarray, name: str) -> Any:
    """The average at inputs that are needed once, so predictions are not stored."""
    every = -(-len(run.draws) * run.draws.chains // MOST_DRAWS)
    draws = run.draws.select(draws=slice(None, None, every))
    predictive = predict(run.network, run.likelihood, draws, x)
    return predictive.of_draws(lambda array: array[:1]) if name == "one network" else predictive


def _lost_by(by_run: Mapping[str, list[float]], name: str) -> float:
    return by_run[name][0] - by_run[name][-1]


def _lost(accuracy: Mapping[str, Mapping[str, list[float]]], name: str) -> float:
    return float(np.mean([_lost_by(by_run, name) for by_run in accuracy.values()]))
