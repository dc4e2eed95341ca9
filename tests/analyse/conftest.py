"""A small HMC run, opened."""

from __future__ import annotations

from pathlib import Path

import pytest

import symbayes as sb
from symbayes.engine import Opened, open_run


@pytest.fixture(scope="session")
def hmc(runs: dict[str, Path]) -> Opened:
    """Two chains of eight draws of a network with six hidden units."""
    return open_run(runs["hmc"])


@pytest.fixture(scope="session")
def hmc_draws(hmc: Opened) -> sb.Draws:
    """All of them, in memory."""
    return hmc.draws.select()
