"""Priors over parameters: independent laws, correlated inputs of the first layer, and one law per layer.

Each is a frozen dataclass and a pytree: its kind is static, its scales are leaves, so another scale
never compiles again.
"""

from symbayes.posterior.priors.empirical_covariance import EmpiricalCovariance
from symbayes.posterior.priors.laplace import Laplace
from symbayes.posterior.priors.logistic import Logistic
from symbayes.posterior.priors.mixture import GaussianMixture
from symbayes.posterior.priors.normal import Normal
from symbayes.posterior.priors.per_layer import PerLayer, normal_scales
from symbayes.posterior.priors.prior import Prior
from symbayes.posterior.priors.student_t import StudentT

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (Normal, Laplace, Logistic, StudentT, GaussianMixture, EmpiricalCovariance, PerLayer)
}
"""What a run may have recorded as its prior, by name."""

__all__ = [
    "KINDS",
    "EmpiricalCovariance",
    "GaussianMixture",
    "Laplace",
    "Logistic",
    "Normal",
    "PerLayer",
    "Prior",
    "StudentT",
    "normal_scales",
]
