"""One run on many processes: how they connect, and how they end when one of them fails.

The same command is started in every process.  Only process 0 prints messages.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import jax

from symbayes.engine import crew
from symbayes.engine.crew import Crew
from symbayes.specs import require

HEARTBEAT = 30
"""Seconds without a heartbeat after which a process counts as dead, and all others end."""

GOODBYE = 30
"""Seconds that a finished process waits for the others."""


@contextlib.contextmanager
def joined(hosts: str | None, process: str | None) -> Iterator[Crew]:
    """The connected processes of this command; an error in one of them ends all."""
    if hosts is None:
        require(process is None, "--process numbers the processes of --hosts ADDRESS:PORT: give both")
        yield Crew()
        return
    _connect(hosts, process)
    together = crew.everyone()
    try:
        yield together
    except crew.Lost as lost:
        # The usual way out waits for those who are gone, and then prints a trace.
        if together.leads:
            print(f"symbayes: {lost}", file=sys.stderr, flush=True)
        os._exit(1)
    except BaseException as error:
        if not together.alone and not isinstance(error, crew.Elsewhere):
            crew.give_up(error)
        raise


def speaks() -> bool:
    """Whether this process prints messages: it is alone, or the first of many."""
    return not jax.distributed.is_initialized() or jax.process_index() == 0


def _connect(hosts: str, process: str | None) -> None:
    options: Any = {"heartbeat_timeout_seconds": HEARTBEAT, "shutdown_timeout_seconds": GOODBYE}
    if hosts == "auto":
        require(process is None, "--process is for --hosts ADDRESS:PORT; with auto it is detected")
        try:
            jax.distributed.initialize(**options)
        except ValueError as error:
            raise ValueError(
                "no cluster was detected (SLURM, Open MPI, Kubernetes and TPU pods are): give "
                "--hosts ADDRESS:PORT of the first process, and --process 0/4 for the first of four"
            ) from error
        return
    require(
        re.fullmatch(r"[^\s/]+:\d{1,5}", hosts) is not None,
        f"--hosts is auto, or the address and port of the first process as in node0:1234, not {hosts!r}",
    )
    number, count = _numbered(process)
    jax.distributed.initialize(hosts, count, number, cluster_detection_method="deactivate", **options)


def _numbered(process: str | None) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/(\d+)", process or "")
    require(
        found is not None and int(found[1]) < int(found[2]),
        f"--process is the number of this process and of all, from 0/4 to 3/4 for four, not {process!r}",
    )
    assert found is not None
    return int(found[1]), int(found[2])
