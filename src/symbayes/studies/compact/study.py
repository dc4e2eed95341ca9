"""A compact representation for Bayesian neural networks by removing permutation symmetry (2023), run again.

The draws of a posterior differ by the order of hidden units.  Once all have the same order, is a single
Gaussian enough?

quick is an MLP on digits; gpu is the paper's 784-512-10 network on MNIST with the prior N(0, 1), two HMC
chains of 500 draws in place of one of 10,000.

Reference: A compact representation for Bayesian neural networks by removing permutation symmetry (2023).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from symbayes.methods import HMC, CheckpointEnsemble, DeepEnsemble, MeanField
from symbayes.studies.compact.case import Case
from symbayes.studies.compact.frontier import Frontier, bought
from symbayes.studies.compact.gaussians import RAW, REBASED, Gaussians
from symbayes.studies.compact.landscape import Interpolation, Transpositions
from symbayes.studies.compact.published import SOURCE
from symbayes.studies.compact.spread import Sigmas
from symbayes.studies.part import Found, Part
from symbayes.studies.study import Study

TINY = Case(
    name="tiny",
    elsewhere="digits:examples=64,test_examples=40, pixels shuffled",
    data="digits:examples=64,test_examples=40",
    hidden=(4,),
    scale=0.5,
    precision="float32",
    hmc=HMC(step_size=0.02, trajectory=0.06, burn_in=2, draws=6, chains=2, adapt=False),
    ensemble=DeepEnsemble(epochs=2, chains=3, batch=32),
    vi=MeanField(epochs=2, draws=6, batch=32),
    training=CheckpointEnsemble(epochs=2, thin=1, draws=2, chains=2, batch=32),
    fitted=6,
    samples=16,
    inputs=32,
)

QUICK = Case(
    name="digits",
    elsewhere="digits, pixels shuffled",
    data="digits",
    hidden=(32,),
    scale=1.0,
    precision="float32",
    hmc=HMC(step_size=8e-3, trajectory=0.64, burn_in=50, draws=150, chains=4),
    ensemble=DeepEnsemble(epochs=100, chains=5, learning_rate=3e-3),
    vi=MeanField(epochs=200, draws=60),
    training=CheckpointEnsemble(epochs=30, thin=1, draws=30, chains=2, schedule="cosine"),
    fitted=200,
    samples=100,
)

GPU = Case(
    name="mnist",
    elsewhere="fashion-mnist",
    data="mnist:validation=0",
    hidden=(512,),
    scale=1.0,
    precision="tf32",
    hmc=HMC(step_size=7e-4, trajectory=0.35, burn_in=80, draws=500, chains=2, adapt=False),
    ensemble=DeepEnsemble(epochs=50, chains=5),
    vi=MeanField(epochs=50, scale=0.05, learning_rate=1e-3, draws=200),
    training=CheckpointEnsemble(epochs=20, thin=1, draws=20, chains=2, schedule="cosine"),
    fitted=250,
    samples=200,
)

DEEP = {
    "quick": replace(
        QUICK,
        name="digits-deep",
        hidden=(16, 16, 16),
        scale=0.5,
        hmc=HMC(step_size=8e-3, trajectory=0.4, burn_in=60, draws=80, chains=4),
        training=None,
    ),
    "gpu": replace(
        GPU,
        name="mnist-deep",
        data="mnist:examples=5000",
        hidden=(64, 64, 64),
        scale=0.2,
        hmc=HMC(step_size=1e-3, trajectory=0.1, burn_in=60, draws=80, chains=4),
        training=None,
    ),
}
"""Networks of three hidden layers."""

CASES = {"tiny": TINY, "quick": QUICK, "gpu": GPU}
SWAPS = {"tiny": (0, 3), "quick": (0, 8, 16, 24, 31), "gpu": (0, 128, 256, 384, 505)}
RUNS = {"tiny": 2, "quick": 5, "gpu": 5}


@dataclass(frozen=True)
class Compact(Study):
    """Is one Gaussian enough once permutations are removed?

    Example: symbayes study compact --preset quick
    """

    name: ClassVar[str] = "compact"
    title: ClassVar[str] = "Is one Gaussian enough once permutations are removed?"
    source: ClassVar[str] = SOURCE

    def parts(self) -> Mapping[str, Part]:
        case, tiny = CASES[self.preset], self.preset == "tiny"
        return {
            "gaussians": Gaussians(case, rank=2 if tiny else 32),
            "sigmas": Sigmas(case),
            "interpolation": Interpolation(case),
            "transpositions": Transpositions(case, SWAPS[self.preset], RUNS[self.preset]),
            "frontier": Frontier(
                case,
                counts=(1, 2) if tiny else (1, 2, 3, 5, 10, 20),
                bits=(2,) if tiny else (2, 3, 4, 6),
                ranks=(0,) if tiny else (0, 4, 32),
            ),
            **({} if tiny else {"deep": Gaussians(DEEP[self.preset], rank=32)}),
        }

    def answer(self, found: Mapping[str, Found]) -> str:
        told = []
        if "gaussians" in found:
            rows = found["gaussians"]["rows"]
            raw, rebased, draws = (rows[name]["agreement"] for name in (RAW, REBASED, "hmc: draws"))
            gained = (rebased - raw) / max(draws - raw, 1e-9)
            told.append(
                f"Removing permutations closes {gained:.0%} of the gap in agreement between one Gaussian "
                f"and the draws that it was fitted to ({raw:.1%}, {rebased:.1%} and {draws:.1%})."
            )
        if "frontier" in found:
            told.append(bought(found["frontier"]))
        return " ".join(told) or "No Gaussian has been fitted yet."
