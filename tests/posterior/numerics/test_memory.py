"""How much is computed at once: the most within the budget of the device that computes."""

import math

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.posterior.numerics import memory

NETWORK = sb.networks.mlp(hidden=(512,), outputs=10)
X = np.zeros((300, 28, 28, 1), np.float32)
EACH = 4 * (3 * (512 + 10) + 784)


@given(st.floats(1, 1e9))
def test_a_chunk_is_the_largest_within_the_budget(budget):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "CPU_BUDGET", budget)
        chunk = memory.fitting_chunk(NETWORK, X)
    assert chunk == min(300, max(1, math.floor(budget / EACH)))


@given(st.integers(1, 1000), st.floats(1e4, 1e9))
def test_chains_together_have_a_budget_too(examples, budget):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "CPU_BUDGET", budget)
        chains = memory.fitting_chains(NETWORK, X.shape[1:], X.dtype, examples)
    assert chains == max(1, math.floor(4 * budget / (examples * EACH)))


class _Device:
    def __init__(self, limit: int | None) -> None:
        self.limit = limit

    def memory_stats(self) -> dict[str, int]:
        if self.limit is None:
            raise RuntimeError("memory_stats is only supported for addressable devices")
        return {"bytes_limit": self.limit}


def test_the_memory_is_that_of_a_device_of_this_process(monkeypatch):
    """Where several processes share the work, the first of all devices may be another's."""
    monkeypatch.setattr(jax, "devices", lambda: [_Device(None)])
    monkeypatch.setattr(jax, "local_devices", lambda: [_Device(8 * 7 * EACH)])
    assert memory.fitting_chunk(NETWORK, X) == 7
