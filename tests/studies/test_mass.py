"""The study of mass: it runs at a tiny size, measures what it says, and its answer follows its numbers."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import symmetry, trees
from symbayes.studies import mass
from symbayes.studies.mass import Mass, gradient_noise, tangents

PART = Mass("tiny").parts()["digits.profiles"]


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    page = Mass("tiny", tmp_path_factory.mktemp("mass"))()
    return page, json.loads((page.parent / "results.json").read_text())


@pytest.fixture(scope="module")
def run(done: tuple[Path, dict[str, Any]]) -> sb.Opened:
    return sb.open(done[0].parent / "runs" / "digits" / "decay-0.1")


def test_profiles_of_every_weight_decay(done: tuple[Path, dict[str, Any]], run: sb.Opened) -> None:
    found = done[1]["parts"]["digits.profiles"]["found"]
    assert found["epochs"] == [2, 3]
    assert list(found["decays"]) == ["0.001", "0.1"]
    one = found["decays"]["0.1"]
    weights = np.asarray(trees.ravel(run.draws.variables["params"], 2), np.float64)
    np.testing.assert_allclose(one["mass"], (weights**2).sum(-1).mean(0), rtol=1e-5)
    assert all(ratio > 1 for ratio in one["ratio"])
    assert all(0 < value < 2 for value in one["distance"])
    # The weight decay of the prior is the one that the study names.
    assert run.config["posterior"]["prior"]["scale"] == pytest.approx((0.1 * 64) ** -0.5)


def test_the_tangent_leads_down_and_keeps_the_function(run: sb.Opened) -> None:
    draws = run.draws.select([0], [0])
    least = symmetry.minimal_mass(draws, run.group)
    (way,) = tangents(draws, least.elements, run.group).reshape(1, -1)
    variables = trees.index(draws.variables, (0, 0))
    flat, unravel = jax.flatten_util.ravel_pytree(variables["params"])
    # The order of `trees.ravel` is that of names, here the same as JAX's.
    assert np.asarray(trees.ravel(variables["params"])).tolist() == np.asarray(flat).tolist()
    assert float(np.asarray(flat) @ way) < 0

    def outputs(w: Any) -> Any:
        return run.network.apply({**variables, "params": unravel(w)}, jax.numpy.ones((3, 8, 8, 1)))

    change = jax.jvp(outputs, (flat,), (jax.numpy.asarray(way, flat.dtype),))[1]
    across = jax.jvp(outputs, (flat,), (jax.numpy.asarray(np.roll(way, 1), flat.dtype),))[1]
    assert np.abs(change).max() < 1e-3 * np.abs(across).max()


def test_the_noise_of_a_batch_falls_with_its_size(run: sb.Opened) -> None:
    draws = run.draws.select([0], [0])
    small, large = (float(gradient_noise(draws, run.posterior, batch)[0, 0]) for batch in (4, 32))
    # Of n out of N = 64 without replacement: proportional to the root of (N - n) / n.
    assert small / large == pytest.approx(np.sqrt((60 / 4) / (32 / 32)), rel=0.4)


def test_the_noise_of_a_linear_model_is_that_of_its_residuals(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    x, y, size, batch, scale = rng.normal(size=(24, 3)), rng.normal(size=(24, 1)), 24, 6, 0.5
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1, bias=False),
        sb.likelihoods.Gaussian(scale=scale),
        sb.priors.Normal(1.0),
        sb.data.Examples(x.astype(np.float32), y.astype(np.float32)),
    )
    w = rng.normal(size=(1, 1, 3, 1)).astype(np.float32)
    draws = sb.Draws.from_variables({"params": {"output": {"kernel": w}}, "stats": {}})
    # Of one example g = (x w - y) x / s^2; of n out of N without replacement, the mean's summed variances are
    # sum |g - mean g|^2 / (N - 1) (1 / n - 1 / N).
    slopes = (x @ w[0, 0] - y) * x / scale**2
    expected = np.sqrt(slopes.var(axis=0, ddof=1).sum() * (1 / batch - 1 / size))
    monkeypatch.setattr(mass, "BATCHES", 4000)
    assert gradient_noise(draws, posterior, batch)[0, 0] == pytest.approx(expected, rel=0.04)


def test_weight_decay_lets_the_imbalance_of_a_unit_fall_exponentially() -> None:
    """Small steps of gradient descent on w = a b, a unit of one weight into it and one out of it."""
    a, b, decay, rate = 1.5, 0.4, 0.3, 1e-4
    before, steps = a**2 - b**2, 10_000
    for _ in range(steps):
        slope = a * b - 1.0
        a, b = a - rate * (slope * b + decay * a), b - rate * (slope * a + decay * b)
    assert (a**2 - b**2) / before == pytest.approx(mass.left(str(decay), rate * steps), rel=1e-3)


def test_the_answer_follows_the_numbers(done: tuple[Path, dict[str, Any]]) -> None:
    found = deepcopy(done[1]["parts"]["digits.profiles"]["found"])
    for decay, ratio in (("0.001", 1.5), ("0.1", 1.2)):
        found["decays"][decay] |= {"ratio": [2.0, ratio], "pull": [1e-3, 1e-4], "noise": [1.0, 0.5]}
    told = PART.answer(found)
    assert told.startswith("No training ends within 1%")
    assert "1.200 times the minimum at weight decay 0.1 and 1.500 times at 0.001" in told
    assert "at most 0.001 times the noise" in told
    found["time"] = 5.0
    assert "alone would leave 37% and 99% of the imbalance" in PART.answer(found)
    found["decays"]["0.1"]["ratio"] = [2.0, 1.001]
    assert PART.answer(found).startswith("Trainings with weight decay 0.1 end within 1%")
