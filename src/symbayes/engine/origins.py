"""What draws were made from, where a posterior at hand tells it: draws of another program, read from a file,
or a run whose data have no name."""

from __future__ import annotations

import dataclasses

import jax

from symbayes import specs, trees
from symbayes.draws import Draws, Origin
from symbayes.networks import Network
from symbayes.posterior import Posterior
from symbayes.specs import Record, Recorded, require, require_kind

DECIDE = ("likelihood", "prior", "temperature", "tempers", "augmentation", "copies", "input", "train")
"""What is recorded of a posterior and decides its density, beside the network."""


def made_from(draws: Draws, posterior: Posterior) -> Draws:
    """Draws that do not tell what made them, as draws of this posterior."""
    require_kind("the posterior", posterior, "init", "log_density", example="Posterior(network, ...)")
    wanted = trees.shapes(jax.eval_shape(posterior.init, jax.random.key(0)))
    for name in {**wanted, **draws.shapes}:
        here, there = draws.shapes.get(name, "missing"), wanted.get(name, "missing")
        require(
            here == there,
            f"these are draws of another network than the posterior's: {name} is {here} here and {there} "
            "there",
        )
    config = {
        "format": 2,
        "method": {"kind": type(draws).__name__},
        "notes": [],
        "forward": draws.forward.kind,
        "posterior": posterior.describe(),
        "versions": specs.installed_versions(),
    }
    return dataclasses.replace(draws, origin=Origin(config, posterior))


def require_of(posterior: Posterior, network: Network, config: Recorded, name: str) -> None:
    """Refuse another posterior than that of a run."""
    require(posterior.network == network, f"{name} was drawn with another network than the posterior's")
    recorded, given = (_deciding(one) for one in (config["posterior"], posterior.describe()))
    lines = specs.differences(recorded, given)
    require(not lines, f"{name} was drawn from another posterior ({'; '.join(lines[:3])})")


def _deciding(recorded: Recorded) -> Record:
    return {key: recorded.get(key) for key in DECIDE}
