"""Numbers about predictions, chains and landscapes, as pure functions of arrays and callables."""

from symbayes.evaluate.agreement import agreement, total_variation
from symbayes.evaluate.calibration import Reliability, ace, classwise_ace, debiased_ce, ece, reliability
from symbayes.evaluate.convergence import classical_rhat, ess_bulk, ess_tail, rhat
from symbayes.evaluate.decomposition import BrierParts, brier_decomposition
from symbayes.evaluate.detection import Roc, aupr_in, aupr_out, auroc, fpr, roc
from symbayes.evaluate.landscape import Path, accuracy_drop, barrier, path
from symbayes.evaluate.metrics import FORMATS, METRICS, Metric
from symbayes.evaluate.mixtures import mean_distance, mixture_total_variation
from symbayes.evaluate.positions import (
    ClassMaps,
    RealMaps,
    class_iou,
    class_maps,
    confusion,
    mean_iou,
    real_maps,
)
from symbayes.evaluate.predictions import accuracy, brier, nll, top_k
from symbayes.evaluate.quantiles import crps, pit_histogram, quantile_error
from symbayes.evaluate.regression import (
    coverage,
    mixture_cdf,
    mixture_log_density,
    mixture_nll,
    mixture_quantile,
    rmse,
    width,
)
from symbayes.evaluate.selection import (
    RiskCoverage,
    augrc,
    aurc,
    coverage_at_risk,
    risk_coverage,
    risk_coverage_of,
)
from symbayes.evaluate.smooth import smooth_ece
from symbayes.evaluate.streaming import (
    Mixture,
    Moments,
    Predictive,
    RunningMixture,
    RunningMoments,
    RunningPredictive,
)
from symbayes.evaluate.uncertainty import (
    aleatoric_entropy,
    disagreement,
    entropy,
    mean_entropy,
    mean_mutual_information,
    mutual_information,
)

__all__ = [
    "FORMATS",
    "METRICS",
    "BrierParts",
    "ClassMaps",
    "Metric",
    "Mixture",
    "Moments",
    "Path",
    "Predictive",
    "RealMaps",
    "Reliability",
    "RiskCoverage",
    "Roc",
    "RunningMixture",
    "RunningMoments",
    "RunningPredictive",
    "accuracy",
    "accuracy_drop",
    "ace",
    "agreement",
    "aleatoric_entropy",
    "augrc",
    "aupr_in",
    "aupr_out",
    "aurc",
    "auroc",
    "barrier",
    "brier",
    "brier_decomposition",
    "class_iou",
    "class_maps",
    "classical_rhat",
    "classwise_ace",
    "confusion",
    "coverage",
    "coverage_at_risk",
    "crps",
    "debiased_ce",
    "disagreement",
    "ece",
    "entropy",
    "ess_bulk",
    "ess_tail",
    "fpr",
    "mean_distance",
    "mean_entropy",
    "mean_iou",
    "mean_mutual_information",
    "mixture_cdf",
    "mixture_log_density",
    "mixture_nll",
    "mixture_quantile",
    "mixture_total_variation",
    "mutual_information",
    "nll",
    "path",
    "pit_histogram",
    "quantile_error",
    "real_maps",
    "reliability",
    "rhat",
    "risk_coverage",
    "risk_coverage_of",
    "rmse",
    "roc",
    "smooth_ece",
    "top_k",
    "total_variation",
    "width",
]
