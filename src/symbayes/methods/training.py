"""Options that all methods have which train networks, and the phase that they make."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import jax
import numpy as np

from symbayes.engine.method import Method, method
from symbayes.methods.phases.schedules import Rate, Schedule
from symbayes.methods.phases.stopping import StoppedTraining
from symbayes.methods.phases.train import Optimizer, Train
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import Chunks
from symbayes.specs import Amount, Count, Natural, Part, Positive, require

T = TypeVar("T", bound=Train)

REMEDY = "use a smaller learning_rate, and inputs of the order of one"


@method
class Training(Method):
    """What methods that train have in common.

    Attributes:
        learning_rate: learning rate of the optimiser, for the mean loss per example.
        epochs: passes over the training data.
        batch: examples in a mini-batch; what is left of an epoch is dropped, another part each time.
        chains: members, each trained from a start of its own.
        optimizer: adam; adamw, where the prior is weight decay that Adam does not rescale; sgd with momentum;
            or nesterov, the same with Nesterov's.
        schedule: the learning rate stays constant, falls to zero linearly or along a cosine, or in steps to a
            tenth at half of the training and to a hundredth at three quarters.
        warmup: share of the training in which the learning rate first rises from zero.
        momentum: share of the velocity that a step of sgd or nesterov keeps.
        clip: largest norm of the gradient of all weights; 0 for no limit.
    """

    learning_rate: Positive = 1e-3
    epochs: Count = 50
    batch: Count = 100
    chains: Count = 5
    optimizer: Optimizer = "adam"
    schedule: Schedule = "cosine"
    warmup: Part = 0.0
    momentum: Part = 0.9
    clip: Amount = 0.0

    def check(self) -> None:
        require(self.warmup < 1, "warmup is a part of the training, below 1")
        require(self.momentum < 1, "momentum is the share of the velocity that a step keeps, below 1")

    def resolve(self, posterior: Posterior) -> Training:
        return dataclasses.replace(self, batch=min(self.batch, posterior.size))

    def training(self, posterior: Posterior, kind: type[T] = Train, **changes: Any) -> T:
        """The phase that trains, without draws, or another that does; `changes` are other settings of it."""
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

    def rate(self, **changes: Any) -> Rate:
        """The learning rate of every step; `changes` are other settings of it."""
        settings: dict[str, Any] = {
            "peak": self.learning_rate,
            "schedule": self.schedule,
            "span": max(1, self.epochs),
            "warmup": self.warmup,
        }
        return Rate.of(**(settings | changes))


@method
class StoppableTraining(Training):
    """What methods have in common that train to an end which validation data may bring earlier.

    Not so those whose draws come from along the training, or are averages of it, or are fitted to a bound.

    Attributes:
        patience: epochs without a lower loss on validation data after which a member stops, and is what it
            was at its best; 0 trains to the end.
    """

    patience: Natural = 0

    def resolve(self, posterior: Posterior) -> Training:
        require(
            self.patience == 0 or posterior.validation is not None,
            "patience is with validation data: make the posterior with some, or leave patience at 0",
        )
        return super().resolve(posterior)

    def stoppable(self, posterior: Posterior, **changes: Any) -> Train:
        """The phase that trains, without draws, and stops early if there is patience."""
        if not self.patience:
            return self.training(posterior, **changes)
        examples = posterior.validation
        assert examples is not None, "resolve the method first"
        chunks = Chunks.cut(np.asarray(examples.x), np.asarray(examples.y), posterior.chunk)
        validation = jax.tree.map(np.asarray, chunks)
        watched = {"validation": validation, "patience": self.patience}
        return self.training(posterior, StoppedTraining, **watched, **changes)
