"""Figures and the page: what a person sees of a run."""

from symbayes.report.runs import Report

__all__ = ["Report"]
