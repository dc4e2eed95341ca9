"""What is learnt from runs: how they look with symmetries removed, and how little of them is enough."""

from symbayes.analyse.aligned import AlignedRun, align_run
from symbayes.analyse.barriers import Barriers, barriers
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compactness import Compactness, compactness, held_out
from symbayes.analyse.control import prior_draws
from symbayes.analyse.distances import LayerDistance, distances
from symbayes.analyse.findings import Findings, investigate
from symbayes.analyse.pruning import pruned_accuracy
from symbayes.analyse.spread import Spread

__all__ = [
    "AlignedRun",
    "Barriers",
    "Bounds",
    "Compactness",
    "Findings",
    "LayerDistance",
    "Spread",
    "align_run",
    "barriers",
    "compactness",
    "distances",
    "held_out",
    "investigate",
    "prior_draws",
    "pruned_accuracy",
]
