"""The one protocol of all methods.

A method is a frozen dataclass of hyper-parameters.  It starts with `init`, does `blocks` bounded
pieces of work with `advance`, and may end with a closed-form distribution from `finish`.

What keeps a run exact and fast is asked of every method, and checked for each by the conformance
tests:

- `advance` calls one module-level jitted function, with hyper-parameters as float32 arrays.
- Randomness is ``fold_in(fold_in(key, chain), step)``, so the size of a block changes no draw.
- A `State` is all that is needed to go on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax

from symbayes.posterior import Posterior

LOOPS_ON_DEVICE: Any = {
    "xla_gpu_enable_command_buffer": (
        "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
    )
}
"""Compiler options for a method's jitted function: a GPU then runs loops of traced length by itself, where it
would else ask the host before every step.  Other devices do not look at them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    """What a method carries from block to block.

    Every leaf of `chains` has a leading chain axis, and is spread over the mesh's ``chain`` axis;
    `shared` belongs to all chains.  `key` is the run's key as plain data, which can be stored.
    """

    key: Any
    chains: Any
    shared: Any = None


@dataclass(frozen=True)
class Block:
    """What one call of `advance` made; a block may hold no draws.

    `variables` and `stats` have leading axes (chain, draw), of which those in `kept` are draws (they are
    cut on the host, where that needs no compiling), and `first` is the number of the first draw within
    the run.  `metrics` are a few numbers about the block, shown with the progress; `traces` have axes
    (chain, step), of which the first `done` steps count, draws or not.  Both are kept with the run.
    """

    variables: Any = None
    stats: Mapping[str, Any] = field(default_factory=dict)
    kept: range = range(0)
    first: int = 0
    metrics: Mapping[str, Any] = field(default_factory=dict)
    traces: Mapping[str, Any] = field(default_factory=dict)
    done: int = 0


@runtime_checkable
class Method(Protocol):
    """How draws are made."""

    name: ClassVar[str]
    remedy: ClassVar[str]
    """What to do when numbers stop being finite."""

    @property
    def chains(self) -> int: ...

    def resolve(self, posterior: Posterior) -> Method:
        """The same method with everything that was left open filled in from the posterior."""
        ...

    def init(self, posterior: Posterior, key: jax.Array, start: Any = None) -> State:
        """The first state; `start` is variables, or draws of another run."""
        ...

    def blocks(self, posterior: Posterior) -> int:
        """How many blocks the run has."""
        ...

    def advance(self, posterior: Posterior, state: State, block: int) -> tuple[State, Block]:
        """Do block number `block`."""
        ...

    def finish(self, posterior: Posterior, state: State) -> Any:
        """The closed-form distribution that the method fits, or None."""
        ...

    def gradients(self, posterior: Posterior) -> float:
        """The cost of one chain, in gradients over all data."""
        ...

    def kept(self) -> int:
        """How many draws of each chain the run gives."""
        ...

    def review(self, metrics: Sequence[Mapping[str, Any]]) -> list[str]:
        """What a user should be warned of, given all blocks' metrics."""
        ...


def chain_keys(key: jax.Array, chains: int) -> jax.Array:
    """One key per chain."""
    return jax.vmap(lambda chain: jax.random.fold_in(key, chain))(jax.numpy.arange(chains))
