"""One Gaussian after removing permutations: the paper's table and figures, and closeness against size."""

from symbayes.studies.compact.study import Compact

__all__ = ["Compact"]
