"""What every file of results says of its origin."""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
import sys
import time
from typing import Any

import jax


def origin(module: str) -> dict[str, Any]:
    """Command, commit, hardware, versions and date."""
    return {
        "command": shlex.join(["python", "-m", module, *sys.argv[1:]]),
        "commit": _commit(),
        "hardware": f"{jax.devices()[0].device_kind}, {os.cpu_count()} cores, {platform.machine()}",
        "versions": {"python": platform.python_version(), "jax": jax.__version__},
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _commit() -> str:
    """The commit that is measured; the environment names it where the files came without their history."""
    if named := os.environ.get("SYMBAYES_COMMIT"):
        return named
    answer = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or "unknown"
