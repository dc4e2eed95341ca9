"""Figures and the page: what a person sees of a run."""

from symbayes.report.compare import Comparison, compare
from symbayes.report.runs import Report

__all__ = ["Comparison", "Report", "compare"]
