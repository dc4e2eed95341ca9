"""The two small runs, with the group of their network."""

from __future__ import annotations

from pathlib import Path

import pytest

import symbayes as sb
from symbayes.engine import open_run
from symbayes.report.symmetry.subject import Subject


@pytest.fixture(scope="session")
def subject(runs: dict[str, Path], digits: sb.data.Dataset) -> Subject:
    """The HMC run: two chains of eight draws of a network with six hidden units."""
    return Subject.of(open_run(runs["hmc"]), digits.test.x)


@pytest.fixture(scope="session")
def hmc_draws(subject: Subject) -> sb.Draws:
    return subject.run.draws.select()
