"""Whatever takes a run takes it in every form: a folder, its path, draws in memory, or opened."""

import inspect
import pathlib
from collections.abc import Callable
from typing import Any, get_type_hints

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import analyse, trees
from symbayes.engine import Opened


def test_no_function_of_the_analysis_asks_for_an_opened_run() -> None:
    asked = []
    for name in analyse.__all__:
        if inspect.isfunction(function := getattr(analyse, name)):
            asked += [name for hint in get_type_hints(function).values() if hint is Opened]
    assert asked == []


FUNCTIONS: dict[str, Callable[[Any, sb.Draws, sb.data.Dataset], Any]] = {
    "prior_draws": lambda run, draws, data: analyse.prior_draws(run, draws).variables,
    "few_bits": lambda run, draws, data: (
        analyse.few_bits(run, draws, data.train.x[:20], 4.0, 2).draws.variables
    ),
    "barriers": lambda run, draws, data: (
        analyse.barriers(run, draws, draws, {"train": data.train[:50], "test": data.test}, 1, 3).loss
    ),
    "compactness": lambda run, draws, data: [
        row.scores
        for row in analyse.compactness(run, {"raw": draws}, draws, data.test, ranks=(0,), samples=2).rows
    ],
    "pruned_accuracy": lambda run, draws, data: analyse.pruned_accuracy(
        run,
        sb.distributions.Gaussian.fit(draws),
        trees.index(draws.variables, (0, 0)),
        data.test,
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_run_in_any_form_gives_the_same(
    name: str, hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset
) -> None:
    assert isinstance(hmc.path, pathlib.Path)
    memory = sb.open(hmc_draws, posterior=hmc.posterior)
    expected = FUNCTIONS[name](hmc, hmc_draws, digits)
    for form in (hmc.path, str(hmc.path), memory, memory.draws):
        jax.tree.map(np.testing.assert_array_equal, FUNCTIONS[name](form, hmc_draws, digits), expected)
