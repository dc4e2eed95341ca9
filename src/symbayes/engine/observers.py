"""Observers follow a run while it goes, so that a result need not keep every draw.

An observer's memory is a flat dict of arrays.  It is saved with the state of every block, so a
resumed run observes exactly what an undisturbed one does.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from symbayes import evaluate, trees
from symbayes.draws import Draws
from symbayes.posterior import CategoricalPredictive, Posterior
from symbayes.specs import require

Memory = dict[str, np.ndarray]


@runtime_checkable
class Observer(Protocol):
    """Something that is told of every block of draws."""

    @property
    def name(self) -> str: ...

    def init(self, posterior: Posterior) -> Memory:
        """What is remembered before the first draw."""
        ...

    def update(self, memory: Memory, posterior: Posterior, draws: Draws) -> Memory:
        """What is remembered after these further draws."""
        ...

    def finish(self, memory: Memory) -> Memory:
        """The result."""
        ...


@dataclass(frozen=True, eq=False)
class Predictions:
    """The running mean of the predictive probabilities, and of their entropies, at inputs `x`.

    Gives ``probs`` (n, k), ``entropy`` and ``mutual_information`` (n,) in nats.
    """

    x: Any
    name: str = "predictions"

    def init(self, posterior: Posterior) -> Memory:
        outputs = jax.eval_shape(
            lambda key, x: posterior.network.apply(posterior.init(key), x), jax.random.key(0), self.x
        )
        return _memory(evaluate.RunningPredictive.init((len(self.x), outputs.shape[-1])))

    def update(self, memory: Memory, posterior: Posterior, draws: Draws) -> Memory:
        predictive = posterior.predict(draws, self.x)
        require(
            isinstance(predictive, CategoricalPredictive),
            "the observer Predictions follows class probabilities: use it with a categorical likelihood",
        )
        running = evaluate.RunningPredictive(int(memory["count"]), memory["probs"], memory["entropies"])
        return _memory(running.update(predictive.probs))  # type: ignore[union-attr]

    def finish(self, memory: Memory) -> Memory:
        running = evaluate.RunningPredictive(int(memory["count"]), memory["probs"], memory["entropies"])
        return _memory(running.finish())


@dataclass(frozen=True)
class Moments:
    """The running mean and variance of every weight over all chains and draws.

    Gives ``mean/PATH`` and ``variance/PATH`` for every variable.
    """

    name: str = field(default="moments")

    def init(self, posterior: Posterior) -> Memory:
        shapes = trees.shapes(jax.eval_shape(posterior.init, jax.random.key(0)))
        memory = {"count": np.asarray(0)}
        for name, shape in shapes.items():
            memory |= {f"mean/{name}": np.zeros(shape), f"deviation/{name}": np.zeros(shape)}
        return memory

    def update(self, memory: Memory, posterior: Posterior, draws: Draws) -> Memory:
        updated = {"count": np.asarray(memory["count"] + draws.chains * len(draws))}
        for name, block in trees.flatten(draws.variables).items():
            running = self._running(memory, name).update(block)
            updated |= {f"mean/{name}": running.mean, f"deviation/{name}": running.deviation}
        return updated

    def finish(self, memory: Memory) -> Memory:
        result = {"count": memory["count"]}
        for name in [key.removeprefix("mean/") for key in memory if key.startswith("mean/")]:
            moments = self._running(memory, name).finish()
            result |= {f"mean/{name}": moments.mean, f"variance/{name}": moments.variance}
        return result

    @staticmethod
    def _running(memory: Memory, name: str) -> evaluate.RunningMoments:
        return evaluate.RunningMoments(
            int(memory["count"]), memory[f"mean/{name}"], memory[f"deviation/{name}"]
        )


def _memory(value: Any) -> Memory:
    return {key: np.asarray(item) for key, item in dataclasses.asdict(value).items()}
