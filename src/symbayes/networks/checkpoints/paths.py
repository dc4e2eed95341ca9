"""Which arrays of a checkpoint are which variables of a network, where both have the same paths.

A program in JAX saves a tree: variables alone, or collections of them (``params``, and ``batch_stats`` of
Flax for our ``stats``), or parameters and statistics mixed as in the state of an NNX module, each perhaps
below a name of its own beside the optimiser's state.  Whole numbers are counters and streams of random
numbers, and no variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from symbayes.networks.checkpoints.formats import CheckpointError
from symbayes.networks.checkpoints.layouts import Arrays, Shape

PARAMS, STATS = "params/", "stats/"
THEIR_STATS = (STATS, "batch_stats/")
"""What collections of statistics are called."""
OPTIMISER = "opt_state"
"""What training states of Flax and optimisers of NNX call moments, which have the paths of parameters."""
MANY = 0.5
"""A checkpoint that has this share of the names was meant to be one of the network."""


@dataclass(frozen=True)
class Place:
    """Where in a checkpoint parameters and statistics are: what stands before their paths."""

    params: str
    stats: str

    def theirs(self, name: str) -> str:
        """The path of one of our variables in the checkpoint."""
        prefix, path = (
            (self.stats, name.removeprefix(STATS))
            if name.startswith(STATS)
            else (self.params, name.removeprefix(PARAMS))
        )
        return prefix + path

    @property
    def rank(self) -> tuple[int, bool]:
        """Places that are less deep come first, and ``params`` before other names."""
        return self.params.count("/"), not f"/{self.params}".endswith(f"/{PARAMS}")

    def holds(self, path: str) -> bool:
        """Whether a path is the network's or of one entry with it, where nothing else may be."""
        top = self.params.partition("/")[0]
        return not top or path.startswith((self.params, self.stats)) or path.partition("/")[0] == top


def by_path(arrays: Arrays, wanted: Mapping[str, Shape]) -> dict[str, str] | None:
    """The names of a checkpoint's arrays by those of the variables; None where names or shapes differ."""
    names = _paths(arrays)
    shapes = {path: tuple(arrays[name].shape) for path, name in names.items()}
    fitting = [place for place in _places(names, wanted) if not _problem(place, shapes, wanted)]
    if not fitting:
        return None
    best = min(place.rank for place in fitting)
    rivals = list(dict.fromkeys(place.params for place in fitting if place.rank == best))
    if len(rivals) > 1:
        told = " and ".join(rival.rstrip("/") for rival in rivals)
        raise CheckpointError(f"the checkpoint has several networks of this form, {told}: save one alone")
    place = min(fitting, key=lambda place: place.rank)
    return {name: names[place.theirs(name)] for name in wanted}


def difference(arrays: Arrays, wanted: Mapping[str, Shape]) -> str | None:
    """What is wrong with a checkpoint that has most of the names; None for one that has others."""
    names = _paths(arrays)
    shapes = {path: tuple(arrays[name].shape) for path, name in names.items()}
    found = {place: sum(place.theirs(name) in shapes for name in wanted) for place in _places(names, wanted)}
    likely = max(found, key=lambda place: found[place], default=None)
    if likely is None or found[likely] < MANY * len(wanted):
        return None
    return _problem(likely, shapes, wanted) or None


def _paths(arrays: Arrays) -> dict[str, str]:
    """The names of the arrays that may be variables, by path."""
    paths = {name.replace(".", "/"): name for name, array in arrays.items() if array.dtype.kind not in "iub"}
    return {path: name for path, name in paths.items() if OPTIMISER not in path.split("/")}


def _places(paths: Mapping[str, str], wanted: Mapping[str, Shape]) -> Iterator[Place]:
    """Every place that has some parameter of the network under its path, with the ways to keep statistics."""
    params = [name.removeprefix(PARAMS) for name in wanted if name.startswith(PARAMS)]
    before = {
        path.removesuffix(name): None
        for name in params
        for path in paths
        if path == name or path.endswith(f"/{name}")
    }
    for prefix in before:
        if f"/{prefix}".endswith(f"/{PARAMS}"):
            above = prefix.removesuffix(PARAMS)
            yield from (Place(prefix, f"{above}{collection}") for collection in THEIR_STATS)
        yield Place(prefix, prefix)


def _problem(place: Place, shapes: Mapping[str, Shape], wanted: Mapping[str, Shape]) -> str:
    """How the arrays there differ from the variables, empty where they do not."""
    theirs = {place.theirs(name): shape for name, shape in wanted.items()}
    options = "give the options that the network was trained with"
    missing = [path for path in theirs if path not in shapes]
    if missing and all(name.startswith(STATS) for name in wanted if place.theirs(name) in missing):
        return (
            f"the checkpoint has the parameters of the network but no statistics such as {missing[0]}: "
            "save them with it, as nnx.state(module) or {'params': ..., 'batch_stats': ...} have them"
        )
    if missing:
        return f"the checkpoint has no {_listed(missing)}, which the network has: {options}"
    for path, shape in theirs.items():
        if shapes[path] != shape:
            return (
                f"{path} of the checkpoint has shape {shapes[path]}, where the network has {shape}: {options}"
            )
    surplus = [path for path in shapes if path not in theirs and place.holds(path)]
    return f"the network has no place for {_listed(surplus)} of the checkpoint: {options}" if surplus else ""


def _listed(paths: Sequence[str]) -> str:
    rest = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(paths[:3]) + rest
