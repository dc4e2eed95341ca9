"""The posterior to draw from, as options of the command line: network, likelihood, prior and data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from jax.sharding import Mesh

from symbayes import data, networks
from symbayes.cli.options import default, some_words
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.posterior import COPIES, Precision, Tempers
from symbayes.posterior.priors import Prior
from symbayes.specs import require, require_positive

Law = Literal["normal", "laplace", "logistic", "student-t", "mixture"]
Task = Literal["regression", "classification"]
Noise = Literal["gaussian", "learned", "heteroscedastic"]

LAWS: dict[Law, Callable[[float], Prior]] = {
    "normal": priors.Normal,
    "laplace": priors.Laplace,
    "logistic": priors.Logistic,
    "student-t": priors.StudentT,
    "mixture": lambda scale: priors.GaussianMixture((scale, scale * math.exp(-6))),
}

NOISE, SPREAD = 0.1, 1.0


@dataclass(frozen=True)
class Target:
    """The posterior to draw from: a network with a prior on its weights, given a dataset.

    Attributes:
        data: name of the dataset; `symbayes data list` shows them. Options follow a colon, as in
            imdb:length=200 or uci-yacht:split=3. Or a .csv, .npz or .parquet file of your own.
        target: the column of that file to predict, or several; the other columns are the inputs.
        drop: columns of that file that are not inputs, such as row numbers or names.
        task: whether that column holds numbers (regression) or labels (classification), where it is unclear.
        examples: use only the first training examples, this many.
        network: mlp, lenet, cnn, resnet20-frn, resnet18, alexnet, cnn-lstm, transformer, or one of your own
            as module:attribute.
        hidden: widths of the hidden layers of an mlp, as in --hidden 64 64; none gives a linear model.
        option: further options of the network, each as name=value, as in --option activation=tanh.
        prior: prior distribution of every weight and bias: normal, laplace, logistic, student-t with 4
            degrees of freedom, or an even mixture of two normals of which one is exp(-6) times as wide.
        prior_scale: scale of the prior; for normal it is the standard deviation, for a mixture that of its
            wider part.
        layer_scale: another scale for some parameters, each as name=value; the name is as `symbayes
            symmetries` shows it, without params/, or a shell pattern, as in 'hidden1/*=0.1' '*/bias=1'.
        likelihood: noise of the targets, for regression: gaussian, with a known standard deviation; learned,
            where the standard deviation is a parameter too; or heteroscedastic, where the network also
            predicts the noise of each target.
        noise: standard deviation of the gaussian noise, in units of the targets' own standard deviation
            where the dataset is standardised, as the uci sets are; of a learned noise, the centre of its
            log-normal prior.
        noise_spread: standard deviation of the logarithm of a learned noise under that prior.
        temperature: one is the Bayes posterior, below one a cold posterior.
        tempers: what the temperature divides: the whole log posterior, or the log likelihood only.
        augment: random changes of training images, applied in this order: flip (left to right), crop (from
            the image with a black margin), shift (with the edge repeated). Every mini-batch draws new ones.
        copies: number of augmented forms of every image in a gradient over all data.
        precision: precision of the matrix products in gradients, where the hardware has a choice.
        chunk: number of examples in memory at once in a full-batch gradient.
    """

    data: str = "digits"
    target: Annotated[tuple[str, ...], some_words("COLUMN")] = ()
    drop: Annotated[tuple[str, ...], some_words("COLUMN")] = ()
    task: Annotated[Task | None, default("labels are words, and whole numbers of at most 20 values")] = None
    examples: Annotated[int | None, default("all")] = None
    network: str = "mlp"
    hidden: Annotated[tuple[int, ...] | None, default("32", "INT [INT ...]")] = None
    option: Annotated[tuple[str, ...], some_words("NAME=VALUE")] = ()
    prior: Law = "normal"
    prior_scale: float = 0.5
    layer_scale: Annotated[tuple[str, ...], some_words("NAME=VALUE")] = ()
    likelihood: Annotated[Noise | None, default("gaussian")] = None
    noise: Annotated[float | None, default(f"{NOISE}")] = None
    noise_spread: Annotated[float | None, default(f"{SPREAD}")] = None
    temperature: float = 1.0
    tempers: Tempers = "posterior"
    augment: Annotated[tuple[str, ...], some_words("NAME")] = ()
    copies: int = COPIES
    precision: Precision = "float32"
    chunk: Annotated[int | None, default("what fits")] = None

    def posterior(self, mesh: Mesh | None = None) -> tuple[Posterior, data.Dataset]:
        """The posterior, on a mesh if there is one, and the dataset that its training part comes from."""
        dataset = self.dataset()
        require(
            len(dataset.train) > 0,
            f"{data.readable(dataset.name)} has only a test part and no training examples",
        )
        likelihood, sizes = self._likelihood(dataset)
        options = sizes | dict(network_option(text) for text in self.option)
        if self.hidden is not None:
            options["hidden"] = self.hidden
        network = networks.make(self.network, **options)
        posterior = Posterior(
            networks.with_noise(network) if self.likelihood == "learned" else network,
            likelihood,
            self._prior(),
            dataset.train,
            dataset.validation if len(dataset.validation) else None,
            temperature=self.temperature,
            tempers=self.tempers,
            precision=self.precision,
            augmentation=self.augment,
            copies=self.copies,
            chunk=self.chunk,
            mesh=mesh,
        )
        return posterior, dataset

    def dataset(self) -> data.Dataset:
        """The dataset that the posterior is conditioned on."""
        options = {
            "examples": self.examples,
            "target": self.target or None,
            "drop": self.drop or None,
            "task": self.task,
        }
        given = {name: value for name, value in options.items() if value is not None}
        require(
            data.names_a_file(self.data) or not {"target", "drop", "task"} & set(given),
            f"--target, --drop and --task are for files, and {self.data} has its own target",
        )
        return data.load(self.data, None, **given)

    def _likelihood(self, dataset: data.Dataset) -> tuple[Likelihood, dict[str, Any]]:
        """The likelihood, and the sizes of the network that it needs."""
        if dataset.classes is not None:
            hint = ": --task regression takes its target as numbers" if data.names_a_file(self.data) else ""
            require(
                self.likelihood is None and self.noise is None,
                f"--likelihood and --noise are for regression, and {dataset.short_name} has classes{hint}",
            )
            return likelihoods.Categorical(), dataset.sizes
        if self.likelihood == "heteroscedastic":
            require(
                self.noise is None, "--noise is for the gaussian likelihood: a heteroscedastic one learns it"
            )
            sizes = dataset.sizes
            outputs = sizes["outputs"]
            twice = 2 * outputs if isinstance(outputs, int) else (*outputs[:-1], 2 * outputs[-1])
            return likelihoods.HeteroscedasticGaussian(), sizes | {"outputs": twice}
        noise = NOISE if self.noise is None else self.noise
        require_positive(noise=noise)
        kind = likelihoods.LearnedNoise if self.likelihood == "learned" else likelihoods.Gaussian
        return kind(noise), dataset.sizes

    def _prior(self) -> Prior:
        law = LAWS[self.prior]
        require_positive(prior_scale=self.prior_scale)
        rest = law(self.prior_scale)
        layers = [_layer(text, law) for text in self.layer_scale]
        require(
            self.noise_spread is None or self.likelihood == "learned",
            "--noise-spread is for --likelihood learned",
        )
        if self.likelihood == "learned":
            spread = SPREAD if self.noise_spread is None else self.noise_spread
            require_positive(noise_spread=spread)
            layers.append(("noise/*", priors.Normal(spread)))
        return priors.PerLayer(layers, rest) if layers else rest


def _layer(text: str, law: Callable[[float], Prior]) -> tuple[str, Prior]:
    """A pattern and its prior from ``name=value``."""
    pattern, _, value = text.rpartition("=")
    try:
        scale = float(value)
    except ValueError:
        scale = math.nan
    require(bool(pattern) and math.isfinite(scale), f"write --layer-scale as name=number, not {text!r}")
    return pattern, law(scale)


def network_option(text: str) -> tuple[str, Any]:
    """A network's option from ``name=value``, where the value is JSON or else a plain word."""
    name, equals, value = text.partition("=")
    require(bool(name and equals), f"write an option as name=value, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
