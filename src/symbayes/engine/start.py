"""Where chains begin: fresh variables, given variables, or draws of another run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.draws import Draws, Run
from symbayes.engine import states
from symbayes.engine.loop import fresh_variables, initialised
from symbayes.engine.method import Method
from symbayes.engine.opened import Opened, Source
from symbayes.engine.phase import Left
from symbayes.posterior import Posterior
from symbayes.specs import require
from symbayes.trees import Tree


@dataclass(frozen=True, eq=False)
class Start:
    """Seed, chains, and where they begin: `given` is variables, draws of another run, or None."""

    posterior: Posterior
    seed: int
    chains: int
    given: Draws | Mapping[str, Any] | None = None
    method: str = ""
    """The class of the method that is run: what another one found is not taken over."""
    key: np.ndarray = field(init=False)
    """The run's key as plain data, which can be stored."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", np.asarray(jax.random.key_data(jax.random.key(self.seed))))

    def left(self, group: range) -> Left:
        """What the first phase finds of these chains."""
        return Left(self._variables(group), found=self.found or None)

    def form(self, group: range) -> Left:
        """The same in shapes and types alone."""
        return Left(jax.eval_shape(lambda: self._variables(group, initialised)), found=self.found or None)

    @cached_property
    def found(self) -> Mapping[str, np.ndarray]:
        """What the chains of the run whose draws are given had in common, if it was of the same method."""
        if not isinstance(self.given, Draws):
            return {}
        if (made := self.given.origin) is not None and made.found:
            return made.found if made.config["method"]["kind"] == self.method else {}
        if self.given.path is None or not (self.given.path / "config.json").is_file():
            return {}
        earlier = Run(self.given.path)
        stored = any(entry["state"] for entry in earlier.entries)
        same = stored and earlier.config.get("method", {}).get("kind") == self.method
        return states.shared(earlier.state()) if same else {}

    @cached_property
    def modes(self) -> np.ndarray:
        """The mode that each chain is in: its own where it begins afresh, else that of where it begins."""
        own = np.arange(self.chains, dtype=np.int32)
        if isinstance(self.given, Draws):
            known = self.given.stats.get("mode")
            before = own[: self.given.chains] if known is None else known[:, -1]
            return np.asarray(before, np.int32)[own % self.given.chains]
        together = isinstance(self.given, Mapping) and not _stacked(self.posterior, self.chains, self.given)
        return np.zeros_like(own) if together else own

    def _variables(self, group: range, fresh: Any = fresh_variables) -> Any:
        key = jax.random.key(self.seed)
        return start_variables(self.posterior, key, self.chains, self.given, fresh, group)


def begun(start: Source | Tree | None, posterior: Posterior, method: Method) -> Draws | Tree | None:
    """A given start as draws or variables; where none is given, that of the posterior's network, if any."""
    if start is None:
        start = getattr(posterior.network, "start", None)
        if start is not None and method.trains and method.chains > 1:
            warnings.warn(
                f"all {method.chains} members of this {type(method).__name__} begin at the weights of one "
                "trained module and end near it: for members trained from scratch, make the network of the "
                "module's class, as in from_equinox(Net, width=16); for several around this one, give "
                "start=network.start",
                stacklevel=3,
            )
        return start
    if isinstance(start, str | Path):
        start = Run(start)
    given = start.draws if isinstance(start, Run | Opened) else start
    require(
        isinstance(given, Draws | Mapping),
        "the start is variables, or a run: its folder, its draws, or what symbayes.open gave; "
        f"not a value of type {type(given).__name__}",
    )
    return given


def start_variables(
    posterior: Posterior,
    key: jax.Array,
    chains: int,
    start: Any = None,
    fresh: Any = fresh_variables,
    group: range | None = None,
) -> Any:
    """Variables with a leading chain axis, of all chains or of a group of them.

    Nothing given: every chain gets fresh variables.  Draws: chain c takes the last draw of chain
    ``c mod chains``.  Variables: every chain begins there; with a leading axis, each at its own.
    """
    group = range(chains) if group is None else group
    if start is None:
        return fresh(posterior, key, len(group), np.uint32(group.start))
    if isinstance(start, Draws):
        last = start.select(np.arange(chains)[group.start : group.stop] % start.chains, [len(start) - 1])
        start, chains, group = trees.index(last.variables, (slice(None), 0)), len(group), range(len(group))
    wanted = trees.shapes(jax.eval_shape(posterior.init, key))
    given = trees.shapes(start)
    require(
        wanted.keys() == given.keys(),
        "the start holds the variables of another network: "
        f"it differs in {', '.join(sorted(wanted.keys() ^ given.keys())[:4])}",
    )
    start = {"stats": {}, **start}
    stacked = {name: (chains, *shape) for name, shape in wanted.items()}
    closest = max((wanted, stacked), key=lambda shapes: sum(shapes[name] == given[name] for name in given))
    for name, shape in given.items():
        require(
            shape == closest[name],
            f"the start has {name} of shape {shape}, but the network's is {closest[name]}",
        )
    if given == stacked:
        return jax.tree.map(lambda leaf: jnp.asarray(leaf[group.start : group.stop]), start)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(group), *leaf.shape)), start)


def _stacked(posterior: Posterior, chains: int, given: Mapping[str, Any]) -> bool:
    """Whether given variables have a leading axis over chains."""
    wanted = trees.shapes(jax.eval_shape(posterior.init, jax.random.key(0)))
    return trees.shapes(given) == {name: (chains, *shape) for name, shape in wanted.items()}
