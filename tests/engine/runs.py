"""Small runs of every form: many units in a block, and many blocks in a unit."""

import contextlib
import signal
from pathlib import Path
from typing import Any

import symbayes as sb
from symbayes.draws import journal

HMC = sb.HMC(0.01, trajectory=0.05, burn_in=3, draws=6, chains=2)
ENSEMBLE = sb.DeepEnsemble(0.01, epochs=5, batch=32, chains=2)

FORMS: dict[str, tuple[Any, int]] = {
    "hmc, trajectories in a block": (HMC, 10),
    "hmc, blocks in a trajectory": (HMC, 2),
    "ensemble, epochs in a block": (ENSEMBLE, 8),
    "ensemble, blocks in an epoch": (ENSEMBLE, 2),
}
"""Methods, and the steps of a block."""


def run(method: Any, posterior: sb.Posterior, **options: Any) -> sb.Draws:
    """A run in blocks of two trajectories or epochs, if not told otherwise."""
    blocks = {"block_steps": 10 if isinstance(method, sb.HMC) else 8}
    return sb.run(method, posterior, **(blocks | options))


class Crash(Exception):
    """Stands for whatever ends a process."""


@contextlib.contextmanager
def crash_at(monkeypatch: Any, block: int, committed: bool):
    """End the run at this block, just before or just after its journal line is written."""
    real = journal.append

    def append(path: Path, entry: dict[str, Any], length: int) -> int:
        if entry["block"] == block and not committed:
            raise Crash
        length = real(path, entry, length)
        if entry["block"] == block:
            raise Crash
        return length

    with monkeypatch.context() as patch:
        patch.setattr(journal, "append", append)
        yield


class SignalAt:
    """An observer that sends this process a signal when it has seen some draws."""

    name = "signal"

    def __init__(self, draws: int, number: int = signal.SIGINT) -> None:
        # Private, since when it signals is no part of what it observes.
        self._draws, self._number = draws, number

    def init(self, posterior: Any) -> dict[str, Any]:
        return sb.Moments().init(posterior)

    def look(self, posterior: Any, variables: Any, passes: Any) -> Any:
        return variables

    def update(self, posterior: Any, memory: dict[str, Any], seen: Any) -> dict[str, Any]:
        memory = sb.Moments().update(posterior, memory, seen)
        if memory["count"] == self._draws * HMC.chains:
            signal.raise_signal(self._number)
        return memory

    def finish(self, posterior: Any, memory: dict[str, Any]) -> dict[str, Any]:
        return sb.Moments().finish(posterior, memory)
