"""Numbers about predictions, chains and landscapes, as pure functions of arrays and callables."""

from symbayes.evaluate.agreement import agreement, total_variation
from symbayes.evaluate.calibration import Reliability, ace, classwise_ace, ece, reliability
from symbayes.evaluate.convergence import classical_rhat, ess_bulk, ess_tail, rhat
from symbayes.evaluate.landscape import Path, accuracy_drop, barrier, path
from symbayes.evaluate.predictions import accuracy, brier, nll
from symbayes.evaluate.regression import coverage, mixture_cdf, mixture_log_density, mixture_nll, rmse
from symbayes.evaluate.streaming import Moments, Predictive, RunningMoments, RunningPredictive
from symbayes.evaluate.uncertainty import entropy, mutual_information

__all__ = [
    "Moments",
    "Path",
    "Predictive",
    "Reliability",
    "RunningMoments",
    "RunningPredictive",
    "accuracy",
    "accuracy_drop",
    "ace",
    "agreement",
    "barrier",
    "brier",
    "classical_rhat",
    "classwise_ace",
    "coverage",
    "ece",
    "entropy",
    "ess_bulk",
    "ess_tail",
    "mixture_cdf",
    "mixture_log_density",
    "mixture_nll",
    "mutual_information",
    "nll",
    "path",
    "reliability",
    "rhat",
    "rmse",
    "total_variation",
]
