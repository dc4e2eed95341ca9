"""Running a method block by block, as the engine does, with every step in the open."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import symbayes as sb
from symbayes.engine import Method, State, states

Between = Callable[[State, State], State]


@dataclass(frozen=True)
class Played:
    """What a run gave: its draws by name, (chain, draw) first, the last state, and the blocks."""

    draws: dict[str, np.ndarray]
    state: dict[str, np.ndarray]
    blocks: int


def play(
    method: Method, posterior: sb.Posterior, seed: int = 0, start: Any = None, between: Between | None = None
) -> Played:
    """All blocks of a run; `between` may replace the state after each, given the shapes it has."""
    method = method.resolve(posterior)
    key = jax.random.key(seed)
    state = method.init(posterior, key, start)
    like = jax.eval_shape(lambda: state)
    parts = []
    for block in range(method.blocks(posterior)):
        state, made = method.advance(posterior, state, block)
        if between is not None:
            state = between(state, like)
        if made.kept:
            kept = slice(made.kept.start, made.kept.stop)
            parts.append({n: a[:, kept] for n, a in states.to_arrays((made.variables, made.stats)).items()})
    draws = {name: np.concatenate([part[name] for part in parts], axis=1) for name in parts[0]}
    return Played(draws, states.to_arrays(state), method.blocks(posterior))


def through_arrays(state: State, like: State) -> State:
    """The state as a resumed run gets it: written as named arrays, and read back."""
    return states.from_arrays({name: array.copy() for name, array in states.to_arrays(state).items()}, like)
