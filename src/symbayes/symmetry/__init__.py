"""The weight-space symmetries of a network: found in its program, acted with, counted."""

from symbayes.symmetry.discover import discover as discover
from symbayes.symmetry.element import Element as Element
from symbayes.symmetry.group import Symmetry as Symmetry
from symbayes.symmetry.transpositions import transpositions as transpositions
