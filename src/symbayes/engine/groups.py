"""Chains too many for memory are worked on in groups, one after another.

How many chains are worked on at once changes no draw beyond rounding.  It is decided once, before the run,
from what a chain carries and the memory of the device, and kept with the run, which may move to another
machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import jax
from jax.sharding import Mesh

from symbayes import trees
from symbayes.draws import Run
from symbayes.engine.loop import State
from symbayes.engine.phase import Phase
from symbayes.posterior import Posterior
from symbayes.posterior.numerics import memory
from symbayes.specs import MOST, require

STATES, VARIABLES = 3, 6
"""What a chain takes, in units of what it carries and of its network's variables: one block is saved while
the next is made, each with room for draws, and a step has gradients and what is made of them.

For members, averages and samplers it is between 0.85 and 1.4 times what XLA tells of its programs.
"""

BEGIN = 2
"""While no gradients are computed there is twice as much room."""


def cut(chains: int, together: int, devices: int = 1) -> tuple[range, ...]:
    """Groups of at most so many chains: all of one size but for the last, which may be smaller.

    Chains spread over devices, which divide every group.
    """
    places = chains // devices
    number = math.ceil(places / max(1, together // devices))
    size = devices * math.ceil(places / number)
    return tuple(range(first, min(first + size, chains)) for first in range(0, chains, size))


def require_possible(together: int, phases: Iterable[Phase], mesh: Mesh | None) -> None:
    """Refuse to work on only so many chains at once where the method or the mesh does not allow it."""
    require(
        not joint(phases),
        "the chains of this run learn from one another, as about a step size, so all are worked on at once: "
        f"leave out together={together}, or give what would be learnt and turn adaptation off",
    )
    width = 1 if mesh is None else mesh.shape["chain"]
    require(
        together % width == 0,
        f"{together} chains at once do not divide among the {width} devices of the mesh's chain axis: "
        "use a multiple of it, or a mesh of fewer devices",
    )


def joint(phases: Iterable[Phase]) -> bool:
    """Whether chains depend on one another."""
    return any(phase.units and phase.joint for phase in phases)


def recorded(store: str | Path | None) -> int | None:
    """How many chains at most a stored run works on at once, if it has begun."""
    if store is None or not (Path(store) / "config.json").is_file():
        return None
    run = Run(store)
    return run.config.get("together", MOST) if run.blocks else None


def fitting(posterior: Posterior, states: Sequence[State], mesh: Mesh | None) -> int:
    """How many chains fit in memory at once.

    `states` are those with which one chain begins its phases, in shapes and types.
    """
    variables = trees.nbytes(jax.eval_shape(posterior.init, jax.random.key(0)))
    carried = max((trees.nbytes((state.chain, state.flight)) for state in states), default=0)
    along, data = (1, 1) if mesh is None else (mesh.shape["chain"], mesh.shape["data"])
    room = memory.room(along) - along * trees.nbytes(posterior.chunks) / data
    # They begin on one device, which computes no gradients then, and are spread from there.
    begin = BEGIN * memory.room(1) / (carried + variables)
    most = int(min(room / (STATES * carried + VARIABLES * variables), begin))
    return max(along, most // along * along)
