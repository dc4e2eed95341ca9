"""What are Bayesian neural network posteriors really like?  The questions of that paper, each a part."""

from symbayes.studies.truth.study import Truth

__all__ = ["Truth"]
