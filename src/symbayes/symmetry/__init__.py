"""The weight-space symmetries of a network: found in its program, acted with, counted."""

from symbayes.symmetry.align.align import Alignment as Alignment
from symbayes.symmetry.align.align import align as align
from symbayes.symmetry.align.criteria.activations import Activations as Activations
from symbayes.symmetry.align.criteria.straight_through import StraightThrough as StraightThrough
from symbayes.symmetry.align.criteria.weights import Weights as Weights
from symbayes.symmetry.align.criterion import Criterion as Criterion
from symbayes.symmetry.align.gaussians import GaussianMatch as GaussianMatch
from symbayes.symmetry.align.gaussians import match_gaussians as match_gaussians
from symbayes.symmetry.canonical.canonical import canonical as canonical
from symbayes.symmetry.canonical.minimal_mass import MinimalMass as MinimalMass
from symbayes.symmetry.canonical.minimal_mass import minimal_mass as minimal_mass
from symbayes.symmetry.discovery.discover import discover as discover
from symbayes.symmetry.group.element import Element as Element
from symbayes.symmetry.group.group import Symmetry as Symmetry
from symbayes.symmetry.group.transpositions import transpositions as transpositions
