"""symbayes draws from the posterior of a neural network, divides out its weight-space symmetries,
and measures what is left.

    data -> posterior -> method -> draws -> symmetry -> distributions -> evaluate -> report

Names are imported when they are first used: importing the package alone imports no JAX.
"""

from typing import TYPE_CHECKING

from symbayes.lazy import lazily
from symbayes.version import __version__

if TYPE_CHECKING:
    from symbayes import analyse, data, distributions, evaluate, networks, symmetry, trees
    from symbayes.analyse import compare, diagnose
    from symbayes.draws import Draws, Run, RunError
    from symbayes.engine import (
        Diverged,
        Elsewhere,
        Moments,
        Opened,
        Predictions,
        Stopped,
        estimate,
        join,
        make_mesh,
        run,
    )
    from symbayes.engine import open_run as open  # as in symbayes.open(folder)
    from symbayes.methods import (
        EMA,
        HMC,
        IVON,
        MALA,
        MCLMC,
        METHODS,
        NUTS,
        SGHMC,
        SGLD,
        SWA,
        SWAG,
        AdjustedMCLMC,
        CheckpointEnsemble,
        DeepEnsemble,
        Laplace,
        MeanField,
        MicrocanonicalEnsemble,
        SnapshotEnsemble,
    )
    from symbayes.posterior import Posterior, likelihoods, priors
    from symbayes.report import Report, plot

__getattr__, __dir__ = lazily(
    __name__,
    {
        "EMA": "symbayes.methods:EMA",
        "SWA": "symbayes.methods:SWA",
        "SWAG": "symbayes.methods:SWAG",
        "CheckpointEnsemble": "symbayes.methods:CheckpointEnsemble",
        "SnapshotEnsemble": "symbayes.methods:SnapshotEnsemble",
        "HMC": "symbayes.methods:HMC",
        "IVON": "symbayes.methods:IVON",
        "MALA": "symbayes.methods:MALA",
        "MCLMC": "symbayes.methods:MCLMC",
        "METHODS": "symbayes.methods:METHODS",
        "NUTS": "symbayes.methods:NUTS",
        "SGHMC": "symbayes.methods:SGHMC",
        "SGLD": "symbayes.methods:SGLD",
        "AdjustedMCLMC": "symbayes.methods:AdjustedMCLMC",
        "DeepEnsemble": "symbayes.methods:DeepEnsemble",
        "Diverged": "symbayes.engine:Diverged",
        "Draws": "symbayes.draws:Draws",
        "Elsewhere": "symbayes.engine:Elsewhere",
        "MeanField": "symbayes.methods:MeanField",
        "Laplace": "symbayes.methods:Laplace",
        "MicrocanonicalEnsemble": "symbayes.methods:MicrocanonicalEnsemble",
        "Moments": "symbayes.engine:Moments",
        "Opened": "symbayes.engine:Opened",
        "Posterior": "symbayes.posterior:Posterior",
        "Predictions": "symbayes.engine:Predictions",
        "Report": "symbayes.report:Report",
        "Run": "symbayes.draws:Run",
        "RunError": "symbayes.draws:RunError",
        "Stopped": "symbayes.engine:Stopped",
        "analyse": "symbayes.analyse",
        "compare": "symbayes.analyse:compare",
        "data": "symbayes.data",
        "diagnose": "symbayes.analyse:diagnose",
        "distributions": "symbayes.distributions",
        "estimate": "symbayes.engine:estimate",
        "evaluate": "symbayes.evaluate",
        "join": "symbayes.engine:join",
        "likelihoods": "symbayes.posterior.likelihoods",
        "make_mesh": "symbayes.engine:make_mesh",
        "networks": "symbayes.networks",
        "open": "symbayes.engine:open_run",
        "plot": "symbayes.report.plot",
        "priors": "symbayes.posterior.priors",
        "run": "symbayes.engine:run",
        "symmetry": "symbayes.symmetry",
        "trees": "symbayes.trees",
    },
)

__all__ = [
    "EMA",
    "HMC",
    "IVON",
    "MALA",
    "MCLMC",
    "METHODS",
    "NUTS",
    "SGHMC",
    "SGLD",
    "SWA",
    "SWAG",
    "AdjustedMCLMC",
    "CheckpointEnsemble",
    "DeepEnsemble",
    "Diverged",
    "Draws",
    "Elsewhere",
    "Laplace",
    "MeanField",
    "MicrocanonicalEnsemble",
    "Moments",
    "Opened",
    "Posterior",
    "Predictions",
    "Report",
    "Run",
    "RunError",
    "SnapshotEnsemble",
    "Stopped",
    "__version__",
    "analyse",
    "compare",
    "data",
    "diagnose",
    "distributions",
    "estimate",
    "evaluate",
    "join",
    "likelihoods",
    "make_mesh",
    "networks",
    "open",
    "plot",
    "priors",
    "run",
    "symmetry",
    "trees",
]
