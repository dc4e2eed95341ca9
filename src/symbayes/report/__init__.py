"""Figures and pages about runs."""

from symbayes.report.runs import Report

__all__ = ["Report"]
