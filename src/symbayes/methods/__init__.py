"""How draws are made: one file per method.

`METHODS` is the one table of them: it makes the commands and drives the conformance tests.
"""

from symbayes.engine import Method
from symbayes.methods.ensemble import DeepEnsemble
from symbayes.methods.hmc import HMC
from symbayes.methods.mala import MALA
from symbayes.methods.sghmc import SGHMC
from symbayes.methods.sgld import SGLD

METHODS: dict[str, type[Method]] = {method.name: method for method in (HMC, MALA, SGLD, SGHMC, DeepEnsemble)}

__all__ = ["HMC", "MALA", "METHODS", "SGHMC", "SGLD", "DeepEnsemble"]
