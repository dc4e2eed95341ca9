"""Analysis of runs: how they compare, whether their chains have mixed, and the effect of symmetries."""

from symbayes.analyse.aligned import AlignedRun, align_run
from symbayes.analyse.barriers import Barriers, barriers
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.compactness import Compactness, compactness, held_out
from symbayes.analyse.compare import Comparison, compare
from symbayes.analyse.control import prior_draws
from symbayes.analyse.diagnosis import Diagnosis, diagnose
from symbayes.analyse.distances import LayerDistance, distances
from symbayes.analyse.evidence import Models, climb, models
from symbayes.analyse.few_bits import few_bits
from symbayes.analyse.findings import Findings, investigate
from symbayes.analyse.landscape import Landscape, landscape
from symbayes.analyse.mixing import Mixing, mixing
from symbayes.analyse.pairs import Pair, Trained, align_pair, compare_pair
from symbayes.analyse.pruning import pruned_accuracy
from symbayes.analyse.quality import Quality, quality
from symbayes.analyse.splits import SplitScores
from symbayes.analyse.spread import Spread

__all__ = [
    "AlignedRun",
    "Barriers",
    "Bounds",
    "Compactness",
    "Comparison",
    "Diagnosis",
    "Findings",
    "Landscape",
    "LayerDistance",
    "Mixing",
    "Models",
    "Pair",
    "Quality",
    "SplitScores",
    "Spread",
    "Trained",
    "align_pair",
    "align_run",
    "barriers",
    "climb",
    "compactness",
    "compare",
    "compare_pair",
    "diagnose",
    "distances",
    "few_bits",
    "held_out",
    "investigate",
    "landscape",
    "mixing",
    "models",
    "prior_draws",
    "pruned_accuracy",
    "quality",
]
