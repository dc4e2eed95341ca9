"""The group of a program: what its elements are, how they act, and how they compose."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np

from symbayes import trees
from symbayes.symmetry.group import table
from symbayes.symmetry.group.acting import act_batch, act_rows, in_place
from symbayes.symmetry.group.element import Element, Indices, compose, inverse
from symbayes.symmetry.group.members import Factor, Permutation, Pinned
from symbayes.symmetry.group.sites import Entry, Parts, Site, move, sites_of
from symbayes.symmetry.group.transpositions import Key, random_permutation
from symbayes.symmetry.group.trial import Trial
from symbayes.symmetry.program.evaluation import Evaluation

LARGE = 2**16
"""Bytes of a parameter from which on many networks are moved one by one; smaller ones all at once."""


@dataclass(frozen=True, eq=False, repr=False)
class Symmetry:
    """The maximal group of permutations, signs and positive scalings found in a program.

    `axes` describes each axis of each parameter: a sum of parts, each a product of named
    indices. `invariances` are scalings that would be exact but for the epsilon of a normaliser, with the
    relative change of the outputs under a factor of two: they are reported, but are not part of the group.
    """

    shapes: Mapping[str, tuple[int, ...]]
    axes: Mapping[str, tuple[Parts, ...]]
    indices: Indices
    permutations: tuple[Permutation, ...]
    signs: tuple[Factor, ...]
    scales: tuple[Factor, ...]
    entries: Mapping[str, tuple[Entry, ...]]
    sign_bits: int
    scale_dimension: int
    invariances: tuple[Factor, ...] = ()
    pinned: tuple[Pinned, ...] = ()
    dropped: tuple[str, ...] = ()

    @cached_property
    def log10_permutations(self) -> float:
        """The number of permutations, as a power of ten."""
        return sum(p.copies * math.lgamma(p.size + 1) for p in self.permutations) / math.log(10)

    @cached_property
    def sites(self) -> dict[str, list[Site]]:
        """Where each parameter is moved."""
        return {
            path: sites_of(shape, self.axes[path], self.entries.get(path, ()), self.indices)
            for path, shape in self.shapes.items()
        }

    @cached_property
    def over(self) -> dict[str, tuple[str, ...]]:
        """The indices that each sign and scale runs over, by kind and name."""
        return {f"{factor.kind}/{factor.name}": factor.over for factor in (*self.signs, *self.scales)}

    def __repr__(self) -> str:
        return (
            f"10^{self.log10_permutations:.1f} permutations, {self.sign_bits} sign bits, "
            f"{self.scale_dimension} scale dimensions"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"

    def __str__(self) -> str:
        factors = (*self.signs, *self.scales)
        return table.render(
            repr(self), self.permutations, factors, self.invariances, self.pinned, self.dropped
        )

    def with_statistics_computed(self) -> Symmetry:
        """The group without the scales that move running statistics.

        These keep the outputs while the statistics move along: a kernel in front of a normaliser grows with
        the running mean, and the gain shrinks.  Where statistics are computed again, the normaliser takes out
        the scale of the kernel, and what was done to the gain stays.
        """
        lost = {s for s in self.scales if any(move.path.startswith("stats/") for move in s.moves)}
        names = {factor.name for factor in lost}
        entries = {
            path: tuple(entry for entry in found if entry.kind != "scale" or entry.name not in names)
            for path, found in self.entries.items()
        }
        return replace(
            self,
            scales=tuple(factor for factor in self.scales if factor not in lost),
            entries=entries,
            scale_dimension=self.scale_dimension - sum(factor.size for factor in lost),
        )

    # ------------------------------------------------------------------ elements

    def identity(self) -> Element:
        return jax.tree.map(jnp.asarray, self.unmoved())

    def unmoved(self) -> Element:
        """The identity, in NumPy."""
        return Element(
            {p.name: np.tile(np.arange(p.size), (p.copies, 1)) for p in self.permutations},
            {s.name: np.ones(s.size, np.int8) for s in self.signs},
            {s.name: np.zeros(s.size) for s in self.scales},
        )

    def random_element(
        self,
        key: Key,
        *,
        permutations: bool = True,
        signs: bool = True,
        spread: float = 0.5,
        transpositions: int | Mapping[str, int] | None = None,
    ) -> Element:
        """Uniform permutations and signs, and normal log-scales with standard deviation `spread`.

        `transpositions` asks for permutations that take exactly so many transpositions each, the same
        number for all or by name (those not named are then left in place).
        """
        unknown = set(transpositions) - set(self.indices.over) if isinstance(transpositions, Mapping) else ()
        if unknown:
            raise ValueError(f"no permutation of this group is called {sorted(unknown)[0]!r}")
        drawn = self.identity()
        for n, p in enumerate(self.permutations if permutations else ()):
            distance = (
                transpositions.get(p.name, 0) if isinstance(transpositions, Mapping) else transpositions
            )
            keys = jax.random.split(jax.random.fold_in(key, n), p.copies)
            drawn.permutations[p.name] = jax.vmap(
                lambda k, d=distance, m=p.size: random_permutation(k, m, d)
            )(keys)
        for n, s in enumerate(self.signs if signs else ()):
            k = jax.random.fold_in(key, len(self.permutations) + n)
            drawn.signs[s.name] = jax.random.rademacher(k, (s.size,), jnp.int8)
        for n, s in enumerate(self.scales):
            k = jax.random.fold_in(key, len(self.permutations) + len(self.signs) + n)
            drawn.log_scales[s.name] = spread * jax.random.normal(k, (s.size,))
        return drawn

    def compose(self, a: Element, b: Element) -> Element:
        """The element that acts as b, then a."""
        return compose(self.indices, self.over, a, b)

    def inverse(self, a: Element) -> Element:
        """The element that undoes a."""
        return inverse(self.indices, self.over, a)

    # ------------------------------------------------------------------ acting

    def compile(self, element: Element) -> dict[str, list[tuple[tuple[int, ...], trees.Tree, trees.Tree]]]:
        """For every parameter that moves: groups of axes, each with an index vector and a factor vector (or
        None).
        """
        return {
            path: [(site.axes, *site.compile(self.indices, self.over, element)) for site in sites]
            for path, sites in self.sites.items()
            if sites
        }

    def act(self, element: Element, variables: trees.Tree) -> dict[str, trees.Tree]:
        """The variables moved by an element; under `jax.vmap` a thousand at once."""
        flat = trees.flatten(variables)
        self.expect(flat)
        return trees.like(variables, {path: self.act_on(path, element, leaf) for path, leaf in flat.items()})

    def act_on(self, path: str, element: Element, leaf: trees.Array) -> trees.Array:
        """One parameter moved by an element."""
        for site in self.sites[path]:
            leaf = move(jnp.asarray(leaf), site.axes, *site.compile(self.indices, self.over, element))
        return leaf

    def act_each(self, path: str, elements: Element, leaves: np.ndarray) -> np.ndarray:
        """One parameter of many networks, each moved by its own element."""
        elements = jax.tree.map(np.asarray, elements)
        sites = self.sites[path]
        moves = [(site.axes, *site.compile(self.indices, self.over, elements)) for site in sites]
        if leaves[:1].nbytes >= LARGE and all(in_place(site.axes) for site in sites):
            return act_rows(leaves, moves)
        return act_batch(leaves, moves)

    def expect(self, flat: Mapping[str, trees.Tree]) -> None:
        """Refuse parameters of another network, by name."""
        for path, shape in self.shapes.items():
            if path not in flat:
                raise ValueError(f"the parameter {path!r}, which this group moves, is missing")
            if tuple(flat[path].shape) != shape:
                raise ValueError(f"the parameter {path!r} has shape {tuple(flat[path].shape)}, not {shape}")
        for path in flat:
            if path not in self.shapes:
                raise ValueError(f"the parameter {path!r} is unknown to this group")

    def check(
        self,
        apply: Callable[..., trees.Tree],
        variables: trees.Tree,
        x: trees.Tree,
        *,
        seed: int = 0,
        elements: int = 4,
    ) -> float:
        """``max |f(g w) - f(w)|`` over random elements g, in float64."""
        self.expect(trees.flatten(variables))
        trial = Trial(self, Evaluation.of(apply, variables, x), variables, shake=False)
        (given,) = trial.points
        return max(trial.change(trial.random(seed + n), given) for n in range(elements))
