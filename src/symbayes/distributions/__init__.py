"""Distributions over the weights of a network: fitted by methods, or to draws, and what they must beat."""

from symbayes.distributions.baselines import mean_network, stored_draws
from symbayes.distributions.delta import Delta
from symbayes.distributions.distribution import KINDS, Distribution, from_arrays, load, to_arrays
from symbayes.distributions.few_bits import FewBits
from symbayes.distributions.fitting import largest_rank, weight_count
from symbayes.distributions.gaussian import Gaussian
from symbayes.distributions.kronecker import Kronecker
from symbayes.distributions.last_layer import LastLayer
from symbayes.distributions.mixture import Mixture
from symbayes.distributions.pruning import keep_largest, prune

__all__ = [
    "KINDS",
    "Delta",
    "Distribution",
    "FewBits",
    "Gaussian",
    "Kronecker",
    "LastLayer",
    "Mixture",
    "from_arrays",
    "keep_largest",
    "largest_rank",
    "load",
    "mean_network",
    "prune",
    "stored_draws",
    "to_arrays",
    "weight_count",
]
