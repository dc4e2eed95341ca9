"""A diagnosis of a run: whether its chains sample one distribution, its effective sample size, and advice.

R-hat and effective sample sizes (Vehtari et al. 2021) are computed for predictions, for weights, and for
weights after alignment.  Since alignment makes chains of pure noise agree too, they are also computed for
aligned draws of the prior.  Each is given across all chains and within modes: chains that began at the same
network are compared with one another, and a chain that began alone is compared with itself, by its halves.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from symbayes import symmetry
from symbayes.analyse.aligned import movable
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.control import prior_draws
from symbayes.analyse.mixing import FEWEST_DRAWS, FORMATS, Mixing
from symbayes.analyse.progress import Tell, silent
from symbayes.analyse.verdict import SAME_DRAWS, Verdict, verdict
from symbayes.brief import html_table
from symbayes.draws import Draws
from symbayes.draws.columns import some_columns, some_weights
from symbayes.engine import Opened, Source, open_run
from symbayes.specs import Record, require

PREDICTED = 2**25
"""The most numbers in the predictions of all draws together; it bounds the number of inputs."""


@dataclass(frozen=True, eq=False)
class Within(Mixing):
    """The mixing of the chains of each mode by themselves; effective sample sizes are summed over modes."""

    modes: np.ndarray

    def _each(self, values: str) -> np.ndarray:
        parts = [Mixing(self.values[self.modes == mode]) for mode in np.unique(self.modes)]
        return np.stack([getattr(part, values) for part in parts])

    @functools.cached_property
    def rhat(self) -> np.ndarray:
        """R-hat of every quantity, in every mode."""
        return self._each("rhat").ravel()

    @functools.cached_property
    def ess_bulk(self) -> np.ndarray:
        return self._each("ess_bulk").sum(axis=0)

    @functools.cached_property
    def ess_tail(self) -> np.ndarray:
        return self._each("ess_tail").sum(axis=0)


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis:
    """The diagnosis of one run; `print` shows the table and the verdict.

    Attributes:
        chains: the number of chains.
        draws: the number of draws of each chain.
        modes: the number of different networks at which chains began.
        across: the mixing of all chains, for ``predictions``, ``weights``, ``aligned weights`` and, as a
            control, the ``prior, aligned``; where not all draws were aligned, also for the ``weights, same
            draws``, those that were.  Entries that do not apply are left out.
        within: the same for the chains of each mode by themselves.
        acceptance: the mean acceptance probability over draws, or None.
        divergences: the number of draws whose trajectory diverged, or None.
        aligned_draws: the number of draws of each chain that were aligned.
        inputs: the number of inputs at which predictions were compared.
    """

    chains: int
    draws: int
    modes: int
    across: Mapping[str, Mixing]
    within: Mapping[str, Mixing]
    acceptance: float | None
    divergences: int | None
    aligned_draws: int
    inputs: int

    @classmethod
    def of(
        cls, draws: Draws, values: Mapping[str, np.ndarray], aligned_draws: int = 0, inputs: int = 0
    ) -> Diagnosis:
        """The diagnosis from the quantities of every space, each of shape (chain, draw, quantity)."""
        stats = draws.stats
        modes = stats["mode"][:, -1] if "mode" in stats else np.arange(draws.chains)
        within: dict[str, Mixing] = {space: Within(found, modes) for space, found in values.items()}
        together = {space: Mixing(found) for space, found in values.items()}
        return cls(
            chains=draws.chains,
            draws=len(draws),
            modes=len(np.unique(modes)),
            across=together if draws.chains > 1 else within,
            within=within,
            acceptance=float(stats["acceptance"].mean()) if "acceptance" in stats else None,
            divergences=int(stats["divergent"].sum()) if "divergent" in stats else None,
            aligned_draws=aligned_draws,
            inputs=inputs,
        )

    @property
    def mixed(self) -> bool | None:
        """Whether the chains sample one distribution of functions; None where that is not known."""
        return self.told.mixed

    @functools.cached_property
    def told(self) -> Verdict:
        """The verdict, as an answer and in sentences."""
        numbers = {
            name: {space: mixing.numbers() for space, mixing in found.items()}
            for name, found in (("across", self.across), ("within", self.within))
        }
        return verdict(
            numbers["across"], numbers["within"], self.chains, self.draws, self.acceptance, self.divergences
        )

    @property
    def verdict(self) -> Sequence[str]:
        """Sentences: whether chains have mixed, effective sample size, the effect of symmetries, advice."""
        return self.told.sentences

    def rows(self) -> dict[str, dict[str, float]]:
        """The numbers of every space, across chains and within modes."""
        across = {space: mixing.numbers() for space, mixing in self.across.items()}
        if self.modes == 1:
            return across
        return across | {f"{space}, within modes": m.numbers() for space, m in self.within.items()}

    def numbers(self) -> Record:
        """Everything as plain numbers and words, for JSON."""
        return {
            "chains": self.chains,
            "draws": self.draws,
            "modes": self.modes,
            "mixed": self.mixed,
            "acceptance": self.acceptance,
            "divergences": self.divergences,
            "aligned_draws": self.aligned_draws,
            "inputs": self.inputs,
            "spaces": self.rows(),
            "verdict": list(self.verdict),
        }

    def _cells(self) -> list[list[str]]:
        return [
            [space, *(format(numbers[name], form) for name, form in FORMATS.items())]
            for space, numbers in self.rows().items()
        ]

    def __str__(self) -> str:
        table = [["", *FORMATS], *self._cells()] if self.across else []
        widths = [max(len(row[i]) for row in table) for i in range(len(FORMATS) + 1)] if table else []
        lines = [
            "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in table
        ]
        return "\n".join([*lines, *([""] if lines else []), *self.verdict])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        words = "".join(f"<p>{sentence}</p>" for sentence in self.verdict)
        return html_table(self._cells(), ["", *FORMATS]) + words if self.across else words


def diagnose(
    run: Source,
    x: ArrayLike | None = None,
    *,
    aligned: bool = True,
    bounds: Bounds | None = None,
    tell: Tell = silent,
) -> Diagnosis:
    """Find out whether the chains of a run have mixed, in functions and in weights, and what to do if not.

    Args:
        run: the folder of a run, or draws in memory as `run` gave them.
        x: inputs at which functions are compared; without them only weights are compared.
        aligned: whether to compare weights after alignment too, which takes the longest.
        bounds: limits on the weights, the draws to align and the inputs.
        tell: receives short messages about progress.
    """
    opened, bounds = open_run(run), bounds or Bounds()
    draws = opened.draws
    require(bool(draws.segments), "there are no draws to diagnose: the run kept none")
    if len(draws) < FEWEST_DRAWS:
        return Diagnosis.of(draws, {})
    return Diagnosis.of(draws, *_values(opened, x, aligned, bounds, tell))


def _values(
    run: Opened, x: Any, aligned: bool, bounds: Bounds, tell: Tell
) -> tuple[dict[str, np.ndarray], int, int]:
    """The quantities of every space, (chain, draw, quantity); the numbers of aligned draws and of inputs."""
    values, inputs = {}, 0
    if x is not None:
        predicted = _some_inputs(run, np.asarray(x))
        inputs = len(predicted)
        tell(f"predicting at {inputs:,} inputs")
        values["predictions"] = some_columns(run.predict(predicted).quantities, bounds.weights)
    tell("weights")
    values["weights"] = some_weights(run.draws, bounds.weights)
    some = bounds.some_draws(run.draws)
    every_chain = some.chains == run.draws.chains and len(some) >= FEWEST_DRAWS
    aligned = aligned and run.draws.forward.plain
    if not aligned or not every_chain or not movable(run.group):
        return values, 0, inputs
    if len(some) < len(run.draws):
        # R-hat and effective sizes of fewer draws differ by themselves: like is compared with like.
        values[SAME_DRAWS] = some_weights(some, bounds.weights)
    noise = prior_draws(run, some)
    for space, form, what in (("aligned weights", some, ""), ("prior, aligned", noise, " of the prior")):
        tell(f"aligning {some.chains * len(some):,} draws{what}")
        moved = symmetry.align(form, run.group).draws
        assert isinstance(moved, Draws)
        values[space] = some_weights(moved, bounds.weights)
    return values, len(some), inputs


def _some_inputs(run: Opened, x: np.ndarray) -> np.ndarray:
    """As many inputs as leave the predictions of all draws within bounds, chosen at random."""
    each = run.predict(x[:1]).every[0, 0].size * run.draws.chains * len(run.draws)
    most = max(1, PREDICTED // each)
    if len(x) <= most:
        return x
    return x[np.sort(np.random.default_rng(0).permutation(len(x))[:most])]
