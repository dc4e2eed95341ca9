"""Where chains on the tiny posterior begin, so that few programs make fresh variables."""

from typing import Any

import jax
import pytest

import symbayes as sb


@pytest.fixture(scope="session")
def begin(tiny: sb.Posterior) -> dict[str, Any]:
    return jax.jit(lambda posterior, key: posterior.init(key))(tiny, jax.random.key(0))
