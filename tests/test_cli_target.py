"""What the options of `sample` make a posterior of, and how they are refused."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from symbayes import data, likelihoods, priors, specs
from symbayes.cli import main
from symbayes.cli.target import LAWS, Target
from symbayes.data import Examples, Scaling


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> data.Dataset:
    """A regression set in the place of digits."""
    x = np.random.default_rng(0).normal(size=(12, 3)).astype(np.float32)
    part = Examples(x, x[:, :2] * 2)
    scaling = Scaling(np.zeros(2), np.ones(2))
    made = replace(
        data.load("digits"), train=part, validation=part[:0], test=part, classes=None, target_scaling=scaling
    )
    monkeypatch.setattr("symbayes.data.load", lambda name, root, **options: made.limited(**options))
    return made


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("normal", priors.Normal(0.3)),
        ("laplace", priors.Laplace(0.3)),
        ("logistic", priors.Logistic(0.3)),
        ("student-t", priors.StudentT(0.3)),
        ("mixture", priors.GaussianMixture((0.3, 0.3 * math.exp(-6)))),
    ],
)
def test_every_law_of_the_prior(name: Any, expected: Any) -> None:
    posterior, _ = Target(examples=20, prior=name, prior_scale=0.3).posterior()
    described = specs.encode(posterior.prior)
    assert described["kind"] == type(expected).__name__
    numbers = {key: value for key, value in specs.encode(expected).items() if key != "kind"}
    for key, value in numbers.items():
        assert described[key] == pytest.approx(value, rel=1e-6)


def test_the_laws_are_tested_as_a_whole() -> None:
    assert set(LAWS) == {"normal", "laplace", "logistic", "student-t", "mixture"}


def test_scales_of_layers() -> None:
    target = Target(examples=20, prior="laplace", prior_scale=2.0, layer_scale=("hidden1/*=0.25", "*/bias=1"))
    prior = specs.encode(target.posterior()[0].prior)
    assert prior["rest"] == {"kind": "Laplace", "scale": 2.0}
    assert prior["layers"] == [
        ["hidden1/*", {"kind": "Laplace", "scale": 0.25}],
        ["*/bias", {"kind": "Laplace", "scale": 1.0}],
    ]


def test_likelihoods_of_regression(table: data.Dataset) -> None:
    known, _ = Target(noise=0.25).posterior()
    assert isinstance(known.likelihood, likelihoods.Gaussian)
    assert float(known.likelihood.scale) == 0.25
    assert known.network.spec.outputs == 2
    learned, dataset = Target(likelihood="heteroscedastic", examples=5).posterior()
    assert isinstance(learned.likelihood, likelihoods.HeteroscedasticGaussian)
    assert learned.network.spec.outputs == 4
    assert learned.size == len(dataset.train) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "0.3"], "--likelihood and --noise are for regression, and digits has classes"),
        (["--likelihood", "gaussian"], "are for regression, and digits has classes"),
        (["--layer-scale", "hidden1"], "write --layer-scale as name=number, not 'hidden1'"),
        (["--layer-scale", "=1"], "write --layer-scale as name=number, not '=1'"),
        (["--layer-scale", "hidden1/*=wide"], "write --layer-scale as name=number, not 'hidden1/*=wide'"),
        (["--layer-scale", "hidden1/*=-1"], "scale must be a positive number, not -1.0"),
        (["--layer-scale", "hiden1/*=1"], "matches no parameter"),
        (["--prior-scale", "0"], "scale must be a positive number, not 0"),
        (["--examples", "0"], "examples must lie in 1..1257, not 0"),
        (["--data", "digits:examples=many"], "a dataset's options are written name:option=number"),
    ],
)
def test_bad_options_are_one_sentence(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sample", "ensemble", *arguments]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("symbayes: ")
    assert message in error
    assert "\n" not in error


def test_whole_numbers_of_a_file_may_be_meant_as_numbers(tmp_path: Path) -> None:
    file = tmp_path / "stars.csv"
    file.write_text("a,stars\n" + "".join(f"{i}.5,{i % 5}\n" for i in range(30)))
    options = {"data": str(file), "target": ("stars",), "noise": 0.1}
    with pytest.raises(ValueError, match=r"and stars has classes: --task regression takes its target"):
        Target(**options).posterior()
    assert Target(**options, task="regression").posterior()[1].classes is None


def test_noise_that_is_learned_is_not_given(table: data.Dataset, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sample", "ensemble", "--likelihood", "heteroscedastic", "--noise", "1"]) == 2
    assert "--noise is for the gaussian likelihood" in capsys.readouterr().err


def test_a_learned_noise_has_its_own_prior():
    posterior, _ = Target(data="digits-halves", likelihood="learned", noise=0.3, noise_spread=0.7).posterior()
    assert float(posterior.likelihood.centre) == pytest.approx(0.3)
    params = posterior.init(jax.random.key(0))["params"]
    deviations = posterior.prior.deviations(params)
    assert float(np.max(deviations["noise"]["log_scale"])) == pytest.approx(0.7)
    with pytest.raises(ValueError, match="--noise-spread is for --likelihood learned"):
        Target(data="digits-halves", noise_spread=0.7).posterior()
