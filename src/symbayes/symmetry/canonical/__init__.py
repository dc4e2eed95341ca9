"""Canonical forms: scales of unit norm or smallest mass, signs, and order."""
