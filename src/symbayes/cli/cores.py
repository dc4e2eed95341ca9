"""A device for each core of a CPU, over which a command's runs spread their chains.

``SYMBAYES_CORES`` is another number of cores; 1 leaves all chains to one device.  Settings of JAX itself go
first.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from symbayes.cores import available_cores

FORCED = "xla_force_host_platform_device_count"


def use_all_cores(arguments: Sequence[str]) -> None:
    """Tell JAX, before it is imported.  Not one of many processes: they may share a machine."""
    told = os.environ.get("SYMBAYES_CORES", "")
    set_already = "JAX_NUM_CPU_DEVICES" in os.environ or FORCED in os.environ.get("XLA_FLAGS", "")
    if set_already or "jax" in sys.modules or "--hosts" in arguments:
        return
    cores = int(told) if told.isdecimal() and int(told) > 0 else available_cores()
    os.environ["JAX_NUM_CPU_DEVICES"] = str(cores)
