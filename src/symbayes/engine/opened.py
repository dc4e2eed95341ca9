"""A run, opened: its draws, what made them, and what follows from both.

One object for a folder and for draws in memory, so that whatever takes the one takes the other.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from numpy.typing import ArrayLike

from symbayes import data, symmetry
from symbayes.brief import brief, html_table
from symbayes.data.columns import is_table
from symbayes.distributions import Distribution
from symbayes.draws import Draws, Run, RunError
from symbayes.draws.export import to_arviz
from symbayes.engine.predictions import recalled
from symbayes.engine.summary import Summary
from symbayes.networks import Network
from symbayes.posterior import Posterior, Predictive
from symbayes.posterior.forwards import predicting
from symbayes.posterior.likelihoods import Likelihood
from symbayes.posterior.numerics import COMPILED_AT_ONCE
from symbayes.posterior.prediction import log_likelihoods, predict, predictions
from symbayes.posterior.priors import Prior
from symbayes.specs import Recorded
from symbayes.symmetry import Symmetry
from symbayes.trees import Tree


@dataclass(frozen=True, eq=False)
class Opened:
    """The draws of a run, and all that is needed to predict with them.

    Attributes:
        draws: on disk or in memory.
        network: the network whose weights were drawn.
        likelihood: the likelihood of the posterior.
        prior: the prior of the posterior.
        config: the configuration that the run recorded.
        path: the run's folder; None for draws in memory.
        traces: statistics of every unit of the run, whether it ended in a draw or not, each (chain, unit).
        distribution: the distribution that the method fitted, if any: an equal mixture over chains.
    """

    draws: Draws
    network: Network
    likelihood: Likelihood
    prior: Prior
    config: Recorded
    path: Path | None = None
    traces: Mapping[str, np.ndarray] = field(default_factory=dict)
    distribution: Distribution | None = None

    def __repr__(self) -> str:
        name = data.readable(self.about.get("data", "data in memory"))
        return f"Opened({self.method} on {name}: {self.draws!r})"

    def _repr_html_(self) -> str:
        return html_table(self.described().items())

    def described(self) -> dict[str, str]:
        """What the run is, in words; `summary` also has diagnostics."""
        posterior = self.config["posterior"]
        return {
            "method": self.method,
            "network": brief(self.network.spec),
            "likelihood": brief(self.likelihood),
            "prior": brief(self.prior),
            "data": f"{data.readable(self.about.get('data', 'in memory'))}, "
            f"{posterior['train']['examples']:,} examples",
            "draws": repr(self.draws),
        }

    @property
    def method(self) -> str:
        """The name of the method's class."""
        return self.config["method"]["kind"]

    @property
    def about(self) -> Recorded:
        """Notes kept with the run, such as the name of its dataset."""
        return self.config.get("about", {})

    @functools.cached_property
    def preparation(self) -> data.Preparation:
        """How the run's data were made inputs and targets, if the run records that."""
        noted = self.about.get("preparation")
        return data.Preparation() if noted is None else data.Preparation.read(noted)

    @property
    def train_checksum(self) -> str:
        """SHA-256 of the examples that the run was conditioned on."""
        return self.config["posterior"]["train"]["sha256"]

    @functools.cached_property
    def posterior(self) -> Posterior:
        """The posterior; for a folder, the training data are read again by the name that the run records."""
        if self.draws.origin is not None:
            return self.draws.origin.posterior
        name = self.about.get("data")
        if name is None:
            raise RunError(
                f"{self.path} does not tell its dataset: make the posterior from your data, and open the run "
                "with it, as in symbayes.open(folder, posterior=posterior)"
            )
        recorded, train = self.config["posterior"], data.load(name).train
        if train.checksum() != self.train_checksum:
            raise RunError(
                f"{self.path} was conditioned on other examples than those of {data.readable(name)} here"
            )
        names = ("temperature", "tempers", "precision", "augmentation", "copies", "chunk")
        settings = {key: recorded[key] for key in names if key in recorded}
        return Posterior(self.network, self.likelihood, self.prior, train, **settings)

    @functools.cached_property
    def example(self) -> jax.Array:
        """Two blank inputs of the shape and type that the network takes."""
        form = self.config["posterior"]["input"]
        return jnp.zeros((2, *form["shape"]), form["dtype"])

    @functools.cached_property
    def variables(self) -> Tree:
        """Fresh variables of the network."""
        return fresh(self.network, self.example)

    @functools.cached_property
    def group(self) -> Symmetry:
        """The symmetries of the network, found in its program."""
        return group_of(self.network, self.example.shape, self.example.dtype)

    def summary(self) -> Summary:
        """What the run is, whether it has finished, and diagnostics such as R-hat."""
        return Summary.of(self)

    def predict(self, x: ArrayLike | Mapping[str, ArrayLike], *, raw: bool | None = None) -> Predictive:
        """The predictive distribution of every draw; for a run in a folder it is stored for reuse.

        Rows as they were before the training data were prepared are prepared in the same way, and predictions
        at them are in the targets' own units.  Inputs that are prepared already, such as ``data.test.x``, are
        taken as they are, and predictions at them are in the units of ``data.test.y``.

        Args:
            x: a table, of pandas or a mapping, with the columns of the training data; or an array.
            raw: whether an array holds raw rows.  By default it is prepared already, with a warning where it
                certainly is not; a table is always raw.
        """
        if is_table(x) or raw:
            predictive, scaling = self._predict(self._prepared(x)), self.preparation.outputs
            return predictive if scaling is None else predictive.unscaled(scaling)
        inputs = np.asarray(x)
        if raw is None and self.preparation.seems_raw(inputs):
            warnings.warn(
                "these inputs are not prepared as the training data are: predict(x, raw=True) prepares them "
                "and predicts in the targets' own units, and raw=False takes them as they are",
                stacklevel=2,
            )
        return self._predict(inputs)

    def _prepared(self, x: ArrayLike | Mapping[str, ArrayLike]) -> np.ndarray:
        """Inputs of the network for raw rows."""
        if "preparation" not in self.about:
            raise RunError(
                "this run does not tell how its data were prepared: give symbayes.run, or symbayes.open, the "
                "notes of the dataset, as in about=data.about"
            )
        return self.preparation.rows(x).astype(self.config["posterior"]["input"]["dtype"])

    def _predict(self, inputs: np.ndarray) -> Predictive:
        if self.path is None:
            return predict(self.network, self.likelihood, self.draws, inputs)
        values = recalled(
            self.path,
            self.draws,
            self.network,
            self.likelihood,
            inputs,
            lambda: predictions(self.network, self.likelihood, self.draws, inputs),
        )
        return predicting(self.likelihood, self.draws.forward.kind).predictive(values)

    def to_arviz(
        self,
        *,
        log_likelihood: bool = True,
        posterior_predictive: bool = True,
        x: ArrayLike | None = None,
        seed: int = 0,
    ) -> Any:
        """For ArviZ: a DataTree, or InferenceData for versions below 1.0 (extra ``arviz``).

        Beside parameters and statistics it has the training targets, their log likelihood under every draw
        (for ``az.loo``), targets drawn from the predictive at the training inputs, and, where new inputs `x`
        are given, predictions at those.
        """
        groups: dict[str, np.ndarray] = {}
        if log_likelihood or posterior_predictive:
            train = jax.tree.map(np.asarray, self.posterior.train)
            groups["observed_data"] = _of_one_output(train.y, 1)
            if log_likelihood:
                found = log_likelihoods(self.network, self.likelihood, self.draws, train)
                groups["log_likelihood"] = found
            if posterior_predictive:
                groups["posterior_predictive"] = _of_one_output(self.predict(train.x).sample_each(seed), 3)
        if x is not None:
            groups["predictions"] = _of_one_output(self.predict(x).sample_each(seed + 1), 3)
        return to_arviz(self.draws, groups)


def _of_one_output(targets: np.ndarray, axes: int) -> np.ndarray:
    """Targets without their last axis where it has one output only: with the axes of their log likelihood."""
    return targets[..., 0] if targets.ndim > axes and targets.shape[-1] == 1 else targets


@functools.partial(jax.jit, static_argnums=0, compiler_options=COMPILED_AT_ONCE)
def fresh(network: Network, example: jax.Array) -> Tree:
    """Fresh variables of a network, made by one program."""
    return network.init(jax.random.key(0), example)


@functools.lru_cache(maxsize=16)
def group_of(network: Network, shape: tuple[int, ...], dtype: DTypeLike) -> Symmetry:
    """The symmetries of a network for inputs of this form, also where its statistics are computed again; of
    runs of equal networks they are found once.
    """
    example = jnp.zeros(shape, dtype)
    found = symmetry.discover(network.apply, fresh(network, example), example)
    return found.with_statistics_computed()


Source = str | Path | Run | Draws | Opened
"""What can be opened: a run's folder, draws in memory as `run` gave them, or what was opened already."""
