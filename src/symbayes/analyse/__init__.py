"""What is learnt from runs: how they compare, and whether their chains have mixed."""

from symbayes.analyse.compare import Comparison, compare
from symbayes.analyse.mixing import Mixing, mixing

__all__ = ["Comparison", "Mixing", "compare", "mixing"]
