"""What every method returns: `Draws` in memory or on disk, and the folder of a run."""

from symbayes.draws.draws import Draws, Origin
from symbayes.draws.store import Run, RunError
from symbayes.draws.writing import Writer

__all__ = ["Draws", "Origin", "Run", "RunError", "Writer"]
