"""The engine: what a method is, how it is run, resumed and extended, what follows it, and where it runs."""

from symbayes.engine.cost import Cost, estimate
from symbayes.engine.course import Diverged
from symbayes.engine.crew import Elsewhere
from symbayes.engine.joining import join
from symbayes.engine.method import Method, method
from symbayes.engine.observers import Moments, Observer, Predictions
from symbayes.engine.opened import Opened, Source
from symbayes.engine.opening import open_run
from symbayes.engine.phase import Left, Phase, Position, Tick, phase, static
from symbayes.engine.placement import make_mesh, use_cores
from symbayes.engine.run import Stopped, run

__all__ = [
    "Cost",
    "Diverged",
    "Elsewhere",
    "Left",
    "Method",
    "Moments",
    "Observer",
    "Opened",
    "Phase",
    "Position",
    "Predictions",
    "Source",
    "Stopped",
    "Tick",
    "estimate",
    "join",
    "make_mesh",
    "method",
    "open_run",
    "phase",
    "run",
    "static",
    "use_cores",
]
