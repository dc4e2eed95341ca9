"""The verdict about the mixing of chains, in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symbayes.analyse.mixing import GOOD
from symbayes.brief import counted

Numbers = Mapping[str, Mapping[str, float]]
"""The numbers of `Mixing`, by space."""

NEARLY_ALL = 0.99
"""Chains have mixed if at least this share of the quantities has an R-hat below the limit."""

SAME_DRAWS = "weights, same draws"
"""The space of the raw weights of only those draws that were aligned, where these are not all."""

LOW_ACCEPTANCE = 0.4
CORRELATED = 0.1
"""Draws are called strongly correlated if the effective sample size per draw is below this."""


@dataclass(frozen=True)
class Verdict:
    """An answer and its reasons.

    Attributes:
        mixed: whether chains sample one distribution; None where that is not known.
        sentences: the answer, the effective sample size, the effect of symmetries, and advice.
    """

    mixed: bool | None
    sentences: tuple[str, ...]


def verdict(
    across: Numbers,
    within: Numbers,
    chains: int,
    draws: int,
    acceptance: float | None = None,
    divergences: int | None = None,
) -> Verdict:
    """The verdict about a run with this number of chains and of draws in each."""
    if not across:
        words = f"{counted(chains, 'chain')} of {counted(draws, 'draw')}"
        sentence = (
            f"Whether chains have mixed is not known: {words} cannot be compared, which takes four draws."
        )
        return Verdict(None, (sentence,))
    space = "predictions" if "predictions" in across else "weights"
    where = "function space" if space == "predictions" else "weight space"
    share = across[space]["below 1.1"]
    mixed = None if np.isnan(share) else bool(share >= NEARLY_ALL)
    sentences = [
        f"{'Mixed' if mixed else 'Not mixed'} in {where}: R-hat is below {GOOD} for {share:.1%} of "
        f"the {space}, median {across[space]['R-hat, median']:.3f}."
        if mixed is not None
        else f"Whether chains have mixed is not known: no {space} change between draws."
    ]
    worth = across[space]["ESS bulk, median"]
    if not np.isnan(worth):
        sentences.append(
            f"{chains * draws:,} draws are worth about {worth:,.0f} independent ones "
            f"(median effective sample size of the {space})."
        )
    sentences += _symmetries(across)
    sentences += _changes(mixed, within[space]["below 1.1"], worth / (chains * draws), chains)
    sentences += _steps(chains * draws, acceptance, divergences)
    return Verdict(mixed, tuple(sentences))


def _symmetries(across: Numbers) -> list[str]:
    """The effect of alignment on R-hat, compared with its effect on noise."""
    if "aligned weights" not in across:
        return []
    unaligned = SAME_DRAWS if SAME_DRAWS in across else "weights"
    raw, aligned, noise = (
        across[space]["R-hat, median"] for space in (unaligned, "aligned weights", "prior, aligned")
    )
    of = "weights" if unaligned == "weights" else "weights of the aligned draws"
    told = (
        f"The median R-hat of {of} is {raw:.3f} before alignment and {aligned:.3f} after it "
        f"(aligned draws of the prior: {noise:.3f})"
    )
    if raw < GOOD:
        return [f"{told}: symmetries do not keep chains apart."]
    if aligned < GOOD:
        return [f"{told}: chains differ by symmetries of the network alone."]
    return [f"{told}: chains differ by more than symmetries."]


def _changes(mixed: bool | None, share_within: float, worth: float, chains: int) -> list[str]:
    """What to do next."""
    if mixed is False and share_within < NEARLY_ALL:
        return ["Single chains still drift: use more burn-in and more draws, or start at trained networks."]
    if mixed is False:
        return [
            "Every chain has converged, but to a different place: average over chains, and use more of "
            "them. More draws of the same chains will not bring them together."
        ]
    if worth < CORRELATED:
        return ["Draws are strongly correlated: longer trajectories use the same gradients better."]
    if mixed and chains == 1:
        return ["A single chain does not show whether there are other modes: run more chains."]
    return []


def _steps(count: int, acceptance: float | None, divergences: int | None) -> list[str]:
    told = []
    if divergences:
        told.append(f"{divergences:,} of {count:,} trajectories diverged: use smaller steps.")
    if acceptance is not None and acceptance < LOW_ACCEPTANCE:
        told.append(f"Only {acceptance:.0%} of proposals are accepted: use smaller steps.")
    return told
