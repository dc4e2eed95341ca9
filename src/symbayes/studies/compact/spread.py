"""The spread of weights before and after alignment, and which weights are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from symbayes import trees
from symbayes.analyse import Spread, prior_draws, pruned_accuracy
from symbayes.distributions import Gaussian
from symbayes.report import figures
from symbayes.report.contents import Figure, Table
from symbayes.studies.compact.case import Case
from symbayes.studies.desk import Desk
from symbayes.studies.part import Found, Part

MOST = 2000
"""The number of weights whose sigma is stored for the histogram."""
CLOSE = 0.01
"""A pruned network counts as good as the whole one if its accuracy is lower by at most this."""
BY_SIGMA = "mean, by sigma"


@dataclass(frozen=True)
class Sigmas(Part):
    """Histograms of sigma, also of aligned noise; accuracy when the weights of high sigma are pruned."""

    question: ClassVar[str] = (
        "Does alignment lower the spread (sigma) of weights, and can weights of high sigma be pruned?"
    )
    published: ClassVar[str] = (
        "Sigmas shrink after rebasing, and the mean network keeps its accuracy when only the weights of the "
        "lowest sigma are kept."
    )

    case: Case

    def work(self, desk: Desk) -> Found:
        case = self.case
        run = case.drawn(desk, "hmc", case.hmc)
        fit, _ = case.halves(run)
        noise = prior_draws(run, fit).select()
        forms = {
            "raw": fit,
            "aligned": case.joint(desk, run, fit, "draws"),
            "prior, raw": noise,
            "prior, aligned": case.joint(desk, run, noise, "draws of the prior"),
        }
        sigmas = {form: Spread.of(draws, MOST).sigma for form, draws in forms.items()}
        gaussian = Gaussian.fit(forms["aligned"])
        draw = trees.index(forms["aligned"].select([0], [len(fit) - 1]).variables, (0, 0))
        curves = pruned_accuracy(run, gaussian, draw, case.dataset().test)
        return {
            "sigma": {form: np.round(sigma, 5) for form, sigma in sigmas.items()},
            "median": {form: float(np.median(sigma)) for form, sigma in sigmas.items()},
            "pruned": {
                name: {"kept": kept, "accuracy": accuracy} for name, (kept, accuracy) in curves.items()
            },
        }

    def answer(self, found: Found) -> str:
        median, curve = found["median"], found["pruned"][BY_SIGMA]
        ours, noise = (
            100 * (1 - median[a] / median[b])
            for a, b in (("aligned", "raw"), ("prior, aligned", "prior, raw"))
        )
        whole = curve["accuracy"][0]
        enough = [k for k, a in zip(curve["kept"], curve["accuracy"], strict=True) if a >= whole - CLOSE]
        fewest, (next_kept, lower) = min(enough), (curve[name][1] for name in ("kept", "accuracy"))
        shrinks = "more than" if ours > noise else "no more than"
        pruned = (
            f"and stays within one point of it with the {fewest:.0%} of its weights of lowest sigma"
            if fewest < 1
            else f"and of {lower:.1%} when only the {next_kept:.0%} of its weights of lowest sigma are left"
        )
        return (
            f"Alignment shrinks the median sigma by {ours:.1f}%, {shrinks} that of pure noise "
            f"({noise:.1f}%). The mean network has an accuracy of {whole:.1%} {pruned}."
        )

    def show(self, found: Found) -> list[Table | Figure]:
        curves = {
            name: (np.array(curve["kept"]), np.array(curve["accuracy"]))
            for name, curve in found["pruned"].items()
        }
        return [
            figures.sigma_histograms({form: np.array(sigma) for form, sigma in found["sigma"].items()}),
            figures.pruning_curve(curves),
        ]
