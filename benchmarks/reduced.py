"""What gradients in reduced precision cost HMC on real data: their error, and the acceptance of trajectories.

A network is trained for a few epochs.  There, the gradient over all data is compared with the one in float32,
and a few trajectories of HMC are flown from the same place with the same momenta, with gradients in each
precision.  The step size is the largest of a sequence of halves at which float32 accepts `ACCEPTED` on
average.  The accept step is float32 throughout, so draws are exact whatever the precision is.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import symbayes as sb
from benchmarks.timing import Result
from symbayes import trees
from symbayes.engine.loop import LOOPS_ON_DEVICE
from symbayes.engine.phase import Tick
from symbayes.methods.phases.adaptation import DualAveraging
from symbayes.methods.phases.resting import rest
from symbayes.methods.phases.trajectories import Trajectories
from symbayes.networks import Network
from symbayes.posterior.numerics import COMPILED_SOON
from symbayes.posterior.posterior import Precision

ACCEPTED = 0.6
FLOWN, STEPS = 4, 10
"""Trajectories for each precision, and their leapfrog steps."""
SCALE = math.sqrt(0.2)
"""The standard deviation of the prior, as in the paper whose network it is (Izmailov et al. 2021)."""
HALVES = 8
"""How often the step size is halved at most."""


@dataclass(frozen=True)
class Posed:
    """What is compared.

    Attributes:
        data: name of the dataset.
        examples: the most training examples.
        epochs: of training.
        step_size: the largest one that is tried.
        precisions: of gradients, beside float32.
    """

    name: str
    network: Network
    data: str
    examples: int
    epochs: int
    step_size: float
    precisions: tuple[Precision, ...]


ON_CPU = Posed("64-32-10", sb.networks.mlp((32,), 10), "digits", 1_257, 20, 4e-2, ("bf16",))
ON_ACCELERATOR = Posed(
    "ResNet-20-FRN", sb.networks.resnet20_frn(), "cifar10", 10_000, 5, 1.6e-4, ("bf16", "tf32")
)


def run(data: str | None = None) -> Iterator[Result]:
    """On the given dataset instead of the usual one; it may be a file."""
    posed = ON_CPU if jax.default_backend() == "cpu" else ON_ACCELERATOR
    posed = posed if data is None else dataclasses.replace(posed, data=data)
    try:
        train = sb.data.load(posed.data, validation=0).train[: posed.examples]
    except FileNotFoundError:
        print(f"{posed.data} is not installed: left out")
        return
    posterior = sb.Posterior(posed.network, sb.likelihoods.Categorical(), sb.priors.Normal(SCALE), train)
    yield from _compared(posed, posterior)


def _compared(posed: Posed, posterior: sb.Posterior) -> Iterator[Result]:
    variables, size = _trained(posterior, posed.epochs), posed.step_size
    gradient, accepted = _flown(posterior, variables, size)
    for _ in range(HALVES):
        if accepted >= ACCEPTED:
            break
        size /= 2
        gradient, accepted = _flown(posterior, variables, size)
    for precision in posed.precisions:
        low = copy.copy(posterior)
        low.precision = precision
        reduced, acceptance = _flown(low, variables, size)
        off = trees.norm(jax.tree.map(jnp.subtract, reduced, gradient)) / trees.norm(gradient)
        detail = {
            "examples": posterior.size,
            "chunk": posterior.chunk,
            "relative error of the gradient": float(f"{off:.3g}"),
            "step size": float(f"{size:.3g}"),
            "steps": STEPS,
            "acceptance": round(acceptance, 3),
            "acceptance in float32": round(accepted, 3),
        }
        name = f"{posed.name} on {Path(posed.data).stem}: acceptance with gradients in {precision} / float32"
        yield Result(name, acceptance / accepted, None, detail)


def _trained(posterior: sb.Posterior, epochs: int) -> Any:
    """Variables of one network after a few epochs."""
    method = sb.DeepEnsemble(epochs=epochs, chains=1, batch=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        drawn = sb.run(method, posterior, progress=False)
    return jax.tree.map(lambda leaf: jnp.asarray(leaf)[0, -1], drawn.variables)


@functools.partial(jax.jit, compiler_options={**LOOPS_ON_DEVICE, **COMPILED_SOON})
def _trajectories(posterior: sb.Posterior, variables: Any, step_size: jax.Array, count: jax.Array) -> Any:
    """The gradient of the log density, and the mean acceptance of so many trajectories."""
    here, shared = rest(posterior, variables), DualAveraging.start(step_size)
    flying = Trajectories(
        units=1,
        step_size=step_size,
        trajectory=STEPS * step_size,
        target_accept=ACCEPTED,
        longest=STEPS,
        adapting=False,
        keeps=False,
    )

    def add(number: jax.Array, total: jax.Array) -> jax.Array:
        tick = Tick(jax.random.key(number), number)
        flight = flying.open(posterior, shared, here, tick)
        flight = jax.lax.fori_loop(
            0, STEPS, lambda _, flight: flying.step(posterior, shared, flight, tick), flight
        )
        return total + flying.close(posterior, shared, here, flight, tick)[1]["acceptance"]

    return here.gradient, jax.lax.fori_loop(0, count, add, 0.0) / count


def _flown(posterior: sb.Posterior, variables: Any, step_size: float) -> tuple[Any, float]:
    gradient, acceptance = _trajectories(posterior, variables, jnp.float32(step_size), FLOWN)
    return gradient, float(acceptance)
