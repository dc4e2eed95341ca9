"""The weight-space symmetries of a network: found in its program, acted with, counted."""

from symbayes.symmetry.activations import Activations as Activations
from symbayes.symmetry.align import Alignment as Alignment
from symbayes.symmetry.align import align as align
from symbayes.symmetry.canonical import canonical as canonical
from symbayes.symmetry.criterion import Criterion as Criterion
from symbayes.symmetry.discover import discover as discover
from symbayes.symmetry.element import Element as Element
from symbayes.symmetry.gaussians import GaussianMatch as GaussianMatch
from symbayes.symmetry.gaussians import match_gaussians as match_gaussians
from symbayes.symmetry.group import Symmetry as Symmetry
from symbayes.symmetry.minimal_mass import MinimalMass as MinimalMass
from symbayes.symmetry.minimal_mass import minimal_mass as minimal_mass
from symbayes.symmetry.straight_through import StraightThrough as StraightThrough
from symbayes.symmetry.transpositions import transpositions as transpositions
from symbayes.symmetry.weights import Weights as Weights
