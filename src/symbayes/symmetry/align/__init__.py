"""Alignment: one element for every draw, so that draws lie near a reference or near one another."""
