"""Likelihoods, one file for each law, each beside the predictive that its draws make."""

from symbayes.posterior.likelihoods.categorical import Categorical, CategoricalPredictive
from symbayes.posterior.likelihoods.gaussian import Gaussian
from symbayes.posterior.likelihoods.heteroscedastic import HeteroscedasticGaussian
from symbayes.posterior.likelihoods.learned_noise import LearnedNoise
from symbayes.posterior.likelihoods.likelihood import Likelihood
from symbayes.posterior.likelihoods.normal import GaussianPredictive
from symbayes.posterior.likelihoods.predictive import Predictive, Running, joined

__all__ = [
    "KINDS",
    "Categorical",
    "CategoricalPredictive",
    "Gaussian",
    "GaussianPredictive",
    "HeteroscedasticGaussian",
    "LearnedNoise",
    "Likelihood",
    "Predictive",
    "Running",
    "joined",
]

KINDS: dict[str, type] = {
    kind.__name__: kind for kind in (Categorical, Gaussian, HeteroscedasticGaussian, LearnedNoise)
}
"""What a run may have recorded as its likelihood, by name."""
