"""Shifts of images: corruptions in five severities (Hendrycks and Dietterich, 2019)."""

from symbayes.data.shifts.shift import KINDS, SEVERITIES, shift

__all__ = ["KINDS", "SEVERITIES", "shift"]
