"""symbayes draws from the posterior of a neural network, divides out its weight-space symmetries,
and measures what is left.

    data -> posterior -> method -> draws -> symmetry -> distributions -> evaluate -> report
"""

from symbayes import analyse, data, distributions, evaluate, networks, symmetry, trees
from symbayes.analyse import compare
from symbayes.draws import Draws, Run, RunError
from symbayes.engine import Diverged, Moments, Opened, Predictions, Stopped, estimate, make_mesh, run
from symbayes.engine import open_run as open  # as in symbayes.open(folder)
from symbayes.methods import HMC, MALA, METHODS, SGHMC, SGLD, DeepEnsemble
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.report import Report

__all__ = [
    "HMC",
    "MALA",
    "METHODS",
    "SGHMC",
    "SGLD",
    "DeepEnsemble",
    "Diverged",
    "Draws",
    "Moments",
    "Opened",
    "Posterior",
    "Predictions",
    "Report",
    "Run",
    "RunError",
    "Stopped",
    "analyse",
    "compare",
    "data",
    "distributions",
    "estimate",
    "evaluate",
    "likelihoods",
    "make_mesh",
    "networks",
    "open",
    "priors",
    "run",
    "symmetry",
    "trees",
]
