"""One Gaussian after removing permutations: the paper's table and figures, and what compact buys."""

from symbayes.studies.compact.study import Compact

__all__ = ["Compact"]
