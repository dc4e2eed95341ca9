"""What a compact distribution has to beat: some stored draws, and the mean network."""

from __future__ import annotations

import numpy as np

from symbayes import trees
from symbayes.distributions.layout import Layout
from symbayes.distributions.moments import moments
from symbayes.draws import Draws
from symbayes.specs import require
from symbayes.trees import Tree


def stored_draws(draws: Draws, floats: int) -> Draws:
    """As many evenly spaced draws as fit into so many floats, as one chain; all where all fit."""
    layout = Layout(draws.shapes)
    total = draws.chains * len(draws)
    count = min(floats // layout.size, total)
    require(count > 0, f"{floats:,} floats do not hold one draw of {layout.size:,} numbers: allow for more")
    # The middles of equal stretches of all chains, laid end to end.
    picks = (2 * np.arange(count) + 1) * total // (2 * count)
    parts = [draws.select([pick // len(draws)], [pick % len(draws)]) for pick in picks.tolist()]
    flat = [trees.flatten(part.variables) for part in parts]
    variables = {name: np.concatenate([one[name] for one in flat], axis=1) for name in layout.shapes}
    stats = {name: np.concatenate([part.stats[name] for part in parts], axis=1) for name in parts[0].stats}
    return Draws.from_variables(trees.unflatten(variables), stats)


def mean_network(draws: Draws, max_bytes: int = 2**26) -> dict[str, Tree]:
    """The mean of all draws of all chains, as variables; one pass, `max_bytes` at a time."""
    layout = Layout(draws.shapes)
    found = moments(draws, layout, max_bytes)
    return layout.tree(found.mean.astype(found.dtype))
