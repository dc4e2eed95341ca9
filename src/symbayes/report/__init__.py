"""Figures and the page: what a person sees of a run."""
