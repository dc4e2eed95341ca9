"""symbayes draws from the posterior of a neural network, divides out its weight-space symmetries,
and measures what is left.

    data -> posterior -> method -> draws -> symmetry -> compact -> evaluate -> report
"""

from symbayes import compact, data, evaluate, networks, symmetry, trees
from symbayes.draws import Draws, Run, RunError
from symbayes.engine import Diverged, Moments, Predictions, Stopped, estimate, make_mesh, run
from symbayes.methods import HMC, METHODS, DeepEnsemble
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.report import Report, compare

__all__ = [
    "HMC",
    "METHODS",
    "DeepEnsemble",
    "Diverged",
    "Draws",
    "Moments",
    "Posterior",
    "Predictions",
    "Report",
    "Run",
    "RunError",
    "Stopped",
    "compact",
    "compare",
    "data",
    "estimate",
    "evaluate",
    "likelihoods",
    "make_mesh",
    "networks",
    "priors",
    "run",
    "symmetry",
    "trees",
]
