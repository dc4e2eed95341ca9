"""How draws are made: one file per method.

`METHODS` is the one table of them: it makes the commands and drives the conformance tests.
"""

from symbayes.engine import Method
from symbayes.methods.adjusted_mclmc import AdjustedMCLMC
from symbayes.methods.ensemble import DeepEnsemble
from symbayes.methods.hmc import HMC
from symbayes.methods.laplace import Laplace
from symbayes.methods.mala import MALA
from symbayes.methods.mclmc import MCLMC
from symbayes.methods.mile import MicrocanonicalEnsemble
from symbayes.methods.nuts import NUTS
from symbayes.methods.sghmc import SGHMC
from symbayes.methods.sgld import SGLD

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        HMC,
        NUTS,
        MALA,
        AdjustedMCLMC,
        MCLMC,
        MicrocanonicalEnsemble,
        SGLD,
        SGHMC,
        DeepEnsemble,
        Laplace,
    )
}

__all__ = [
    "HMC",
    "MALA",
    "MCLMC",
    "METHODS",
    "NUTS",
    "SGHMC",
    "SGLD",
    "AdjustedMCLMC",
    "DeepEnsemble",
    "Laplace",
    "MicrocanonicalEnsemble",
]
