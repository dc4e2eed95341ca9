"""What every method returns: `Draws` in memory or on disk, and the folder of a run."""

from symbayes.draws.draws import Draws
from symbayes.draws.store import Run, RunError

__all__ = ["Draws", "Run", "RunError"]
