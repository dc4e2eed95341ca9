"""What numbers of mixing mean, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from symbayes.analyse.mixing import GOOD

Numbers = Mapping[str, Mapping[str, float]]
"""The numbers of `Mixing`, by space."""

NEARLY_ALL = 0.99
"""The share of quantities whose R-hat is good where chains have mixed."""

SAME_DRAWS = "weights, same draws"
"""The space of the weights of those draws that were aligned, where these are not all."""

LOW_ACCEPTANCE = 0.4
CORRELATED = 0.1
"""Independent draws per draw below which draws are worth little."""


@dataclass(frozen=True)
class Verdict:
    """An answer and its reasons.

    Attributes:
        mixed: whether chains sample one law; None where it cannot be told.
        sentences: the answer, what the draws are worth, what symmetries hide, and what to change.
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
    """The verdict about a run of so many chains and draws of each."""
    if not across:
        words = f"{_counted(chains, 'chain')} of {_counted(draws, 'draw')} can be compared with nothing"
        sentence = f"It cannot be told whether chains have mixed: {words}; four draws are the fewest."
        return Verdict(None, (sentence,))
    space = "predictions" if "predictions" in across else "weights"
    where = "function space" if space == "predictions" else "weight space"
    share = across[space]["below 1.1"]
    mixed = None if np.isnan(share) else bool(share >= NEARLY_ALL)
    sentences = [
        f"{'Mixed' if mixed else 'Not mixed'} in {where}: R-hat is below {GOOD} for {share:.1%} of "
        f"the {space}, median {across[space]['R-hat, median']:.3f}."
        if mixed is not None
        else f"It cannot be told whether chains have mixed: no {space} change."
    ]
    worth = across[space]["ESS bulk, median"]
    if not np.isnan(worth):
        sentences.append(
            f"{chains * draws:,} draws are worth about {worth:,.0f} independent ones "
            f"(median over the {space})."
        )
    sentences += _symmetries(across)
    sentences += _changes(mixed, within[space]["below 1.1"], worth / (chains * draws), chains)
    sentences += _steps(chains * draws, acceptance, divergences)
    return Verdict(mixed, tuple(sentences))


def _symmetries(across: Numbers) -> list[str]:
    """What alignment changes, beside what it does to noise."""
    if "aligned weights" not in across:
        return []
    unaligned = SAME_DRAWS if SAME_DRAWS in across else "weights"
    raw, aligned, noise = (
        across[space]["R-hat, median"] for space in (unaligned, "aligned weights", "prior, aligned")
    )
    of = "weights" if unaligned == "weights" else "weights of the aligned draws"
    told = f"The median R-hat of {of} is {raw:.3f}, aligned {aligned:.3f} (draws of the prior: {noise:.3f})"
    if raw < GOOD:
        return [f"{told}: symmetries keep no chains apart."]
    if aligned < GOOD:
        return [f"{told}: chains lie apart by symmetries of the network alone."]
    return [f"{told}: chains lie apart by more than symmetries."]


def _changes(mixed: bool | None, share_within: float, worth: float, chains: int) -> list[str]:
    """What to do next."""
    if mixed is False and share_within < NEARLY_ALL:
        return ["Single chains still drift: use more burn-in and more draws, or begin at trained networks."]
    if mixed is False:
        return [
            "Every chain has settled by itself, each in a place of its own: average over chains, and use "
            "more of them; more draws of the same ones will not bring them together."
        ]
    if worth < CORRELATED:
        return ["Draws are strongly correlated: longer trajectories give more for the same gradients."]
    if mixed and chains == 1:
        return ["One chain alone does not see other modes: run more of them."]
    return []


def _steps(count: int, acceptance: float | None, divergences: int | None) -> list[str]:
    told = []
    if divergences:
        told.append(f"{divergences:,} of {count:,} trajectories diverged: use smaller steps.")
    if acceptance is not None and acceptance < LOW_ACCEPTANCE:
        told.append(f"Only {acceptance:.0%} of proposals are accepted: use smaller steps.")
    return told


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
