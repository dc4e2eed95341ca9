"""Options of all methods that train networks, and their phase of training."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases.schedules import Rate, Schedule
from symbayes.methods.phases.sharing import Together
from symbayes.methods.phases.stopping import Stopped
from symbayes.methods.phases.train import Optimizer, Train
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import Chunks
from symbayes.specs import Amount, Count, Natural, Part, Positive, require

T = TypeVar("T", bound=Train)
P = TypeVar("P", Train, Together)

REMEDY = "use a smaller learning_rate, and inputs of the order of one"

ADAPTIVE, PLAIN = 1e-3, 0.05
"""Learning rates of optimisers that rescale gradients, and of those that do not."""


def usual_rate(posterior: Posterior, optimizer: Optimizer) -> float:
    """The learning rate where none is given: for plain gradients it follows from the likelihood."""
    return ADAPTIVE if optimizer in ("adam", "adamw") else gentle(PLAIN, posterior)


def gentle(rate: float, posterior: Posterior) -> float:
    """A learning rate of plain gradients for this likelihood, from that of a classification of examples.

    Plain gradients are as large as the likelihood is steep, so a regression with little noise needs a smaller
    rate.  The measure is the trace of its second derivative in the outputs, where these are zero; it is below
    one in the classification of examples.
    """
    form = jax.eval_shape(
        lambda key, x: posterior.network.apply(posterior.init(key), x),
        jax.random.key(0),
        posterior.chunks.x[0, :1],
    )
    root = jax.jit(lambda likelihood: likelihood.curvature_root(jnp.zeros(form.shape)))(posterior.likelihood)
    return float(f"{rate / max(1.0, float(np.sum(np.square(root)))):.3g}")


@method
class Training(Method):
    """Base of methods that train networks.

    Attributes:
        learning_rate: learning rate of the optimiser, for the mean loss per example; by default 1e-3 for adam
            and adamw, and for sgd and nesterov 0.05, or less where the likelihood is steep.
        epochs: passes over the training data.
        batch: examples in a mini-batch; examples that do not fill the last one are left out, different ones
            in each epoch.
        chains: members, each trained from its own initialisation.
        optimizer: adam; adamw, where the prior is weight decay that Adam does not rescale; sgd with momentum;
            or nesterov, sgd with Nesterov momentum.
        schedule: the learning rate is constant, falls to zero linearly or along a cosine, or falls in steps:
            to a tenth after half of the training and to a hundredth after three quarters.
        warmup: share of the training in which the learning rate first rises from zero.
        momentum: share of the velocity that a step of sgd or nesterov keeps.
        clip: largest norm of the gradient of all weights; 0 for no limit.
    """

    trains: ClassVar[bool] = True

    learning_rate: Positive | None = None
    epochs: Count = 50
    batch: Count = 100
    chains: Count = 5
    optimizer: Optimizer = "adam"
    schedule: Schedule = "cosine"
    warmup: Part = 0.0
    momentum: Part = 0.9
    clip: Amount = 0.0

    def check(self) -> None:
        require(self.warmup < 1, "warmup is a share of the training, below 1")
        require(self.momentum < 1, "momentum is the share of the velocity that a step keeps, below 1")

    def resolve(self, posterior: Posterior) -> Training:
        rate = self.learning_rate or usual_rate(posterior, self.optimizer)
        return dataclasses.replace(self, learning_rate=rate, batch=min(self.batch, posterior.size))

    def training(self, posterior: Posterior, kind: type[T] = Train, **changes: Any) -> T:
        """A phase of training, by default without draws; `changes` override its settings."""
        settings: dict[str, Any] = {
            "units": self.epochs,
            "rate": self.rate(),
            "momentum": self.momentum,
            "clip": self.clip or None,
            "draws": 0,
            "thin": 1,
            "grows": False,
            "batch": self.batch,
            "optimizer": self.optimizer,
        }
        return kind(**(settings | changes))

    def rate(self, share: float = 1.0, **changes: Any) -> Rate:
        """The learning rate of every step, a share of the one that was given; `changes` override its other
        settings."""
        assert self.learning_rate is not None, "resolve the method first"
        settings: dict[str, Any] = {
            "schedule": self.schedule,
            "span": max(1, self.epochs),
            "warmup": self.warmup,
        }
        return Rate.of(share * self.learning_rate, **(settings | changes))


@method
class StoppableTraining(Training):
    """Base of methods whose training can stop early, by the loss on validation data.

    Methods whose draws are checkpoints or cycles of the training, or that fit to a bound, cannot stop early.

    Attributes:
        patience: epochs without a lower loss on validation data after which a chain stops; what it was at its
            best is kept.  0 trains to the end.
    """

    patience: Natural = 0

    def resolve(self, posterior: Posterior) -> Training:
        require(
            self.patience == 0 or posterior.validation is not None,
            "patience needs validation data: give some to the posterior, or leave patience at 0",
        )
        return super().resolve(posterior)

    def stoppable(self, posterior: Posterior, training: P) -> P | Stopped:
        """A phase of training, which stops early if `patience` is set."""
        if not self.patience:
            return training
        examples = posterior.validation
        assert examples is not None, "resolve the method first"
        chunks = Chunks.cut(np.asarray(examples.x), np.asarray(examples.y), posterior.chunk)
        return Stopped(training, jax.tree.map(np.asarray, chunks), self.patience)
