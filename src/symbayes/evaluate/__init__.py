"""Numbers about predictions, chains and landscapes, as pure functions of arrays and callables."""

from symbayes.evaluate.agreement import agreement, total_variation
from symbayes.evaluate.batches import RunningMetrics
from symbayes.evaluate.calibration import Reliability, ace, classwise_ace, debiased_ce, ece, reliability
from symbayes.evaluate.convergence import classical_rhat, ess_bulk, ess_tail, rhat
from symbayes.evaluate.curvature import Eigenvalues, top_eigenvalues
from symbayes.evaluate.decomposition import BrierParts, brier_decomposition
from symbayes.evaluate.detection import Roc, aupr_in, aupr_out, auroc, fpr, roc
from symbayes.evaluate.distances import Distances, distances
from symbayes.evaluate.evidence import (
    Evidence,
    Rungs,
    ladder,
    laplace_evidence,
    rungs,
    stepping_stones,
    thermodynamic_integration,
)
from symbayes.evaluate.exchangeable import UnitTest, unit_test
from symbayes.evaluate.hexagons import Hexagons, hexagons
from symbayes.evaluate.intervals import Interval
from symbayes.evaluate.landscape import Path, accuracy_drop, barrier, path
from symbayes.evaluate.leave_one_out import LeaveOneOut, loo, waic
from symbayes.evaluate.metrics import FORMATS, METRICS, Metric
from symbayes.evaluate.mixtures import mean_distance, mixture_total_variation
from symbayes.evaluate.mmd import Kernels, PermutationTest, chain_test, mmd
from symbayes.evaluate.pairwise import (
    Dispersion,
    dispersion,
    mean_pairwise_mutual_information,
    pair_correlation,
    pairs_of,
    pairwise_mutual_information,
)
from symbayes.evaluate.plane import Plane, plane
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
from symbayes.evaluate.statistics import Statistics
from symbayes.evaluate.stein import function_ksd, function_stein_kernel, ksd, stein_kernel
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
from symbayes.evaluate.wasserstein import sliced_wasserstein

__all__ = [
    "FORMATS",
    "METRICS",
    "BrierParts",
    "ClassMaps",
    "Dispersion",
    "Distances",
    "Eigenvalues",
    "Evidence",
    "Hexagons",
    "Interval",
    "Kernels",
    "LeaveOneOut",
    "Metric",
    "Mixture",
    "Moments",
    "Path",
    "PermutationTest",
    "Plane",
    "Predictive",
    "RealMaps",
    "Reliability",
    "RiskCoverage",
    "Roc",
    "Rungs",
    "RunningMetrics",
    "RunningMixture",
    "RunningMoments",
    "RunningPredictive",
    "Statistics",
    "UnitTest",
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
    "chain_test",
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
    "dispersion",
    "distances",
    "ece",
    "entropy",
    "ess_bulk",
    "ess_tail",
    "fpr",
    "function_ksd",
    "function_stein_kernel",
    "hexagons",
    "ksd",
    "ladder",
    "laplace_evidence",
    "loo",
    "mean_distance",
    "mean_entropy",
    "mean_iou",
    "mean_mutual_information",
    "mean_pairwise_mutual_information",
    "mixture_cdf",
    "mixture_log_density",
    "mixture_nll",
    "mixture_quantile",
    "mixture_total_variation",
    "mmd",
    "mutual_information",
    "nll",
    "pair_correlation",
    "pairs_of",
    "pairwise_mutual_information",
    "path",
    "pit_histogram",
    "plane",
    "quantile_error",
    "real_maps",
    "reliability",
    "rhat",
    "risk_coverage",
    "risk_coverage_of",
    "rmse",
    "roc",
    "rungs",
    "sliced_wasserstein",
    "smooth_ece",
    "stein_kernel",
    "stepping_stones",
    "thermodynamic_integration",
    "top_eigenvalues",
    "top_k",
    "total_variation",
    "unit_test",
    "waic",
    "width",
]
