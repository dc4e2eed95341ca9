"""Simple distributions over weights, fitted to draws, and what they must beat at equal numbers of floats."""

from symbayes.compact.baselines import mean_network, stored_draws
from symbayes.compact.gaussian import Gaussian

__all__ = ["Gaussian", "mean_network", "stored_draws"]
