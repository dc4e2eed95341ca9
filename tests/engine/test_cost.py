import dataclasses
import math
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

import symbayes as sb
from symbayes.engine import cost as costs
from symbayes.engine.cost import Cost
from symbayes.engine.words import duration, size

from .runs import ENSEMBLE, HMC, run

NUMBERS = 64 * 6 + 6 + 6 * 10 + 10


def test_the_cost_of_hmc_is_counted(tiny):
    cost = sb.estimate(HMC, tiny)
    assert cost.gradients == 9 * 5 * 2
    assert cost.disk == HMC.draws * HMC.chains * NUMBERS * 4
    assert 0 < cost.seconds < 60


def test_the_cost_of_an_ensemble_is_counted(tiny):
    cost = sb.estimate(ENSEMBLE, tiny)
    assert cost.gradients == 5 * 2
    assert cost.disk == 2 * NUMBERS * 4
    assert 0 < cost.seconds < 60


def test_seconds_are_those_of_a_block_that_is_compiled_already(tiny, monkeypatch):
    """Once for both phases of HMC, which run one program: blocks of two trajectories of five steps."""
    clock = iter([0.0, 100.0, 100.0, 103.0])
    monkeypatch.setattr(costs, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    assert sb.estimate(HMC, tiny, block_steps=10).seconds == pytest.approx(3.0 / 10 * 9 * 5)


@pytest.mark.parametrize(("method", "block_steps", "steps"), [(HMC, 2, 45 * 3 / 5), (ENSEMBLE, 3, 20 / 2)])
def test_seconds_are_those_of_all_pieces(tiny, monkeypatch, method, block_steps, steps):
    """Five leapfrog steps in three pieces, four optimiser steps in two."""
    clock = iter([0.0, 100.0, 100.0, 103.0])
    monkeypatch.setattr(costs, "time", types.SimpleNamespace(perf_counter=lambda: next(clock)))
    assert sb.estimate(method, tiny, block_steps).seconds == pytest.approx(3.0 * steps)


def test_the_default_trajectory_is_a_quarter_of_the_priors_period(tiny):
    assert sb.estimate(sb.HMC(1e-3, burn_in=1, draws=1, chains=2), tiny).gradients == 2 * 2 * math.ceil(
        math.pi / 2 * 0.5 / 1e-3
    )


def test_the_disk_is_what_the_draws_take(tiny, tmp_path):
    cost = sb.estimate(HMC, tiny)
    run(HMC, tiny, store=tmp_path / "run")
    taken = sum(path.stat().st_size for path in (tmp_path / "run/draws").iterdir())
    assert cost.disk <= taken < 1.3 * cost.disk + 5 * 2000  # and per shard a header and the statistics


def test_a_cost_reads_as_a_sentence():
    text = str(Cost(gradients=1_234_567.0, seconds=7200.0, disk=16_000_000_000))
    assert text == "1,234,567 full-data gradients, about 2.0 h, 16 GB of draws"
    text = str(Cost(gradients=1_234_567.0, seconds=7200.0, disk=16_000_000_000, adapts=True))
    assert text.startswith("about 1,234,567 full-data gradients, about 2.0 h unless adaptation changes it, ")


def test_a_cost_that_adaptation_may_change_says_so(tiny):
    assert sb.estimate(HMC, tiny).adapts
    assert not sb.estimate(dataclasses.replace(HMC, adapt=False), tiny).adapts
    assert not sb.estimate(ENSEMBLE, tiny).adapts


DURATIONS = {0: "0 s", 12.3: "12 s", 89: "89 s", 90: "2 min", 240: "4 min", 5399: "90 min"}
DURATIONS |= {12_600: "3.5 h", 172_799: "48.0 h", 181_440: "2.1 days"}
SIZES = {0: "0 B", 999: "999 B", 1000: "1 kB", 12_345: "12.3 kB", 999_499: "999 kB", 999_500: "1 MB"}
SIZES |= {3_400_000: "3.4 MB", 16 * 10**9: "16 GB", 2 * 10**12: "2 TB"}


@pytest.mark.parametrize(("seconds", "text"), DURATIONS.items())
def test_durations_read_as_a_person_says_them(seconds, text):
    assert duration(float(seconds)) == text


@pytest.mark.parametrize(("count", "text"), SIZES.items())
def test_sizes_read_as_a_person_says_them(count, text):
    assert size(count) == text


@given(st.integers(0, 10**14))
def test_sizes_are_right_to_three_digits(count):
    number, unit = size(count).split()
    factor = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
    assert float(number) * factor == pytest.approx(count, rel=6e-3)
    assert "e" not in number
