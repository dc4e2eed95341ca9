"""What is drawn from: likelihood, prior and temperature over a network and its data."""

from symbayes.posterior import likelihoods, priors
from symbayes.posterior.likelihoods import CategoricalPredictive, GaussianPredictive, Likelihood, Predictive
from symbayes.posterior.posterior import Posterior

__all__ = [
    "CategoricalPredictive",
    "GaussianPredictive",
    "Likelihood",
    "Posterior",
    "Predictive",
    "likelihoods",
    "priors",
]
