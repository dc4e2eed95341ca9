"""What is drawn from: likelihood, prior and temperature over a network and its data."""

from symbayes.posterior import likelihoods, priors
from symbayes.posterior.likelihoods import CategoricalPredictive, GaussianPredictive
from symbayes.posterior.posterior import Posterior
from symbayes.posterior.prediction import Predictive

__all__ = [
    "CategoricalPredictive",
    "GaussianPredictive",
    "Posterior",
    "Predictive",
    "likelihoods",
    "priors",
]
