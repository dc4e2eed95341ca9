"""Observers follow a run while it goes, so that a result need not keep every draw.

An observer's memory is a flat dict of arrays.  It is saved with the state of every block, so a
resumed run observes exactly what an undisturbed one does.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from symbayes import evaluate, trees
from symbayes.posterior import Posterior
from symbayes.posterior.forwards import Passes
from symbayes.posterior.likelihoods import Running
from symbayes.posterior.prediction import joined, outputs
from symbayes.trees import Array, Tree

Memory = dict[str, np.ndarray]


@runtime_checkable
class Observer(Protocol):
    """Something that is shown every block of draws.

    `look` is called as soon as a block is under way, with arrays that are still being computed; it
    should only start computations, so that the device never waits for an observer.
    """

    @property
    def name(self) -> str: ...

    def init(self, posterior: Posterior) -> Memory:
        """What is remembered before the first draw."""
        ...

    def look(self, posterior: Posterior, variables: Tree, passes: Passes) -> Tree:
        """What is needed of a block: a pytree of arrays with leading axes (chain, draw).

        `passes` says how these variables predict.
        """
        ...

    def update(self, posterior: Posterior, memory: Memory, seen: Tree) -> Memory:
        """What is remembered after `look` has given `seen`, now as numpy arrays of draws only."""
        ...

    def finish(self, posterior: Posterior, memory: Memory) -> Memory:
        """The result."""
        ...


@dataclass(frozen=True, eq=False)
class Predictions:
    """The running mean of the predictions at inputs `x`, and their uncertainty.

    For classes it gives ``probs`` (n, ..., k), ``entropy`` and ``mutual_information`` (n, ...) in nats; for
    real targets ``mean``, ``std``, ``aleatoric`` and ``epistemic`` (n, ..., d).
    """

    x: Array
    name: str = "predictions"

    def init(self, posterior: Posterior) -> Memory:
        return _memory(self._begun(posterior))

    def look(self, posterior: Posterior, variables: Tree, passes: Passes) -> list[jax.Array]:
        return outputs(posterior.network, posterior.likelihood, variables, self.x, passes)

    def update(self, posterior: Posterior, memory: Memory, seen: list[np.ndarray]) -> Memory:
        block = joined(seen, len(self.x))
        running = _remembered(posterior.likelihood.running(block.shape[2:]), memory)
        return _memory(running.update(block))

    def finish(self, posterior: Posterior, memory: Memory) -> Memory:
        return _memory(_remembered(self._begun(posterior), memory).finish())

    def _begun(self, posterior: Posterior) -> Running:
        """The running form before the first draw."""
        shape = jax.eval_shape(
            lambda key, x: posterior.likelihood.predict(posterior.network.apply(posterior.init(key), x)),
            jax.random.key(0),
            self.x,
        ).shape
        return posterior.likelihood.running(shape)


@dataclass(frozen=True)
class Moments:
    """The running mean and variance of every weight over all chains and draws.

    Gives ``mean/PATH`` and ``variance/PATH`` for every variable; a single draw has a variance of NaN.
    """

    name: str = "moments"

    def init(self, posterior: Posterior) -> Memory:
        shapes = trees.shapes(jax.eval_shape(posterior.init, jax.random.key(0)))
        memory = {"count": np.asarray(0)}
        for name, shape in shapes.items():
            memory |= {f"mean/{name}": np.zeros(shape), f"deviation/{name}": np.zeros(shape)}
        return memory

    def look(self, posterior: Posterior, variables: Tree, passes: Passes) -> Tree:
        return variables

    def update(self, posterior: Posterior, memory: Memory, seen: Tree) -> Memory:
        blocks = trees.flatten(seen)
        chains, count = next(iter(blocks.values())).shape[:2]
        updated = {"count": np.asarray(memory["count"] + chains * count)}
        for name, block in blocks.items():
            running = self._running(memory, name).update(block)
            updated |= {f"mean/{name}": running.mean, f"deviation/{name}": running.deviation}
        return updated

    def finish(self, posterior: Posterior, memory: Memory) -> Memory:
        result = {"count": memory["count"]}
        for name in [key.removeprefix("mean/") for key in memory if key.startswith("mean/")]:
            running = self._running(memory, name)
            several = running.count > 1
            variance = running.finish().variance if several else np.full_like(running.mean, np.nan)
            result |= {f"mean/{name}": running.mean, f"variance/{name}": variance}
        return result

    @staticmethod
    def _running(memory: Memory, name: str) -> evaluate.RunningMoments:
        return evaluate.RunningMoments(
            int(memory["count"]), memory[f"mean/{name}"], memory[f"deviation/{name}"]
        )


def _memory(value: Any) -> Memory:
    return {key: np.asarray(item) for key, item in dataclasses.asdict(value).items()}


def _remembered(begun: Running, memory: Memory) -> Running:
    """The running form that this is the memory of."""
    plain = {name: value.item() if value.ndim == 0 else value for name, value in memory.items()}
    return dataclasses.replace(begun, **plain)
