"""Where a page comes from: command, versions, hardware, time and folders."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import jax

from symbayes.engine import Opened
from symbayes.specs import installed_versions


def provenance(runs: Mapping[str, Opened]) -> dict[str, str]:
    """The command, versions, hardware, time and folders that made a page."""
    return {
        "command": shlex.join([_program(Path(sys.argv[0])), *sys.argv[1:]]),
        "versions": ", ".join(f"{name} {number}" for name, number in installed_versions().items()),
        "hardware": f"{jax.device_count()} x {jax.devices()[0].device_kind}, {platform.machine()}",
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        **{f"run {name}": str(run.path) for name, run in runs.items() if run.path},
    }


def _program(path: Path) -> str:
    """How the program is called: ``python -m symbayes`` is the command too."""
    return "symbayes" if path.name == "__main__.py" and path.parent.name == "symbayes" else path.name
