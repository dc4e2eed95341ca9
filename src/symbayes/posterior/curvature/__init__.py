"""The curvature of the log density around a mode: which parameters meet which activations, the generalised
Gauss-Newton matrix in several forms, and the evidence."""

from symbayes.posterior.curvature.evidence import FACTORS, Peak, layer_of, prior_scales, validated
from symbayes.posterior.curvature.forms import STRUCTURES
from symbayes.posterior.curvature.products import Product, products
from symbayes.posterior.curvature.structure import Spectrum, Structure

__all__ = [
    "FACTORS",
    "STRUCTURES",
    "Peak",
    "Product",
    "Spectrum",
    "Structure",
    "layer_of",
    "prior_scales",
    "products",
    "validated",
]
