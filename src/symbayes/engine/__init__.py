"""The engine: what a method is, how it is run and resumed, what follows it, and where it runs."""

from symbayes.engine.cost import Cost, estimate
from symbayes.engine.observers import Moments, Observer, Predictions
from symbayes.engine.opened import Opened, Source, open_run
from symbayes.engine.placement import make_mesh
from symbayes.engine.protocol import Block, Method, State
from symbayes.engine.run import Diverged, Stopped, run

__all__ = [
    "Block",
    "Cost",
    "Diverged",
    "Method",
    "Moments",
    "Observer",
    "Opened",
    "Predictions",
    "Source",
    "State",
    "Stopped",
    "estimate",
    "make_mesh",
    "open_run",
    "run",
]
