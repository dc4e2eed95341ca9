"""What a run looks like with the symmetries of its network divided out, beside the null control."""

from symbayes.report.symmetry.bounds import Bounds
from symbayes.report.symmetry.findings import Findings, investigate
from symbayes.report.symmetry.section import section

__all__ = ["Bounds", "Findings", "investigate", "section"]
