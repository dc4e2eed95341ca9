"""Numbers about predictions and chains, as pure functions of arrays."""

from symbayes.evaluate.agreement import agreement, total_variation
from symbayes.evaluate.calibration import Reliability, ace, classwise_ace, ece, reliability
from symbayes.evaluate.convergence import classical_rhat, ess_bulk, ess_tail, rhat
from symbayes.evaluate.predictions import accuracy, brier, mixture_nll, nll, rmse
from symbayes.evaluate.streaming import Moments, Predictive, RunningMoments, RunningPredictive
from symbayes.evaluate.uncertainty import entropy, mutual_information

__all__ = [
    "Moments",
    "Predictive",
    "Reliability",
    "RunningMoments",
    "RunningPredictive",
    "accuracy",
    "ace",
    "agreement",
    "brier",
    "classical_rhat",
    "classwise_ace",
    "ece",
    "entropy",
    "ess_bulk",
    "ess_tail",
    "mixture_nll",
    "mutual_information",
    "nll",
    "reliability",
    "rhat",
    "rmse",
    "total_variation",
]
