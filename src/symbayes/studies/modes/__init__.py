"""One mode against many."""

from symbayes.studies.modes.study import Modes

__all__ = ["Modes"]
