"""How far the draws of a run are from those of a reference: raw and canonical weights, functions, and units.

The reference is split into two halves, by chains where it has several.  The run is compared with the first.
The floor is the distance of the second half from the first, with the same number of draws.  Symmetries are
removed by the canonical form of every draw, which does not depend on other draws, so that the test over
chains stays exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from symbayes import evaluate, symmetry, trees
from symbayes.analyse.aligned import movable
from symbayes.analyse.bounds import Bounds, evenly
from symbayes.analyse.predictions import predictive_of
from symbayes.analyse.progress import Tell, silent
from symbayes.analyse.stein import stein_discrepancies
from symbayes.brief import briefly
from symbayes.draws import Draws
from symbayes.engine import Source, open_run
from symbayes.evaluate import Distances, Kernels, UnitTest
from symbayes.evaluate.metrics import chosen
from symbayes.evaluate.mmd import PERMUTATIONS, unbiased
from symbayes.posterior import Predictive
from symbayes.specs import Record, require

EVERYTHING = "all"
INPUTS = 64
"""The number of inputs of each layer by which its units are compared, chosen at random."""
EXAMPLES = 200
"""The number of inputs at which functions are compared."""


@dataclass(frozen=True)
class Apart:
    """How far the run is from the first half of the reference, and the floor.

    Attributes:
        mmd: unbiased squared maximum mean discrepancy of the run.
        floor: the same for the reference's second half.
        p_value: p-value of the test that permutes chains, where longer chains are thinned to the length of
            the shortest; None where that leaves a single draw of either.
        smallest: the smallest p-value that is possible with this number of chains; None without a test.
        wasserstein: sliced Wasserstein distance of order 2 of the run.
        wasserstein_floor: the same for the reference's second half.
    """

    mmd: float
    floor: float
    p_value: float | None
    smallest: float | None
    wasserstein: float
    wasserstein_floor: float


@briefly
@dataclass(frozen=True, eq=False)
class Quality:
    """How far a run is from a reference.

    Attributes:
        weights: distances between weights, by form (raw, canonical) and layer, at last of all weights.
        functions: distances between predictions at some inputs; None without inputs.
        closeness: closeness of the mean predictions to those of the first half of the reference, by metric:
            that of the run, and the ceiling, that of the second half.
        stein: squared kernel Stein discrepancy of the run and of the reference from the density, by weights
            and by functions.
        units: for each permuted layer, a test whether its units have the same marginal distribution in the
            chains of the run.
        draws: the number of draws in each of the three sets.
    """

    weights: Mapping[str, Mapping[str, Apart]]
    functions: Apart | None
    closeness: Mapping[str, tuple[float, float]]
    stein: Mapping[str, Mapping[str, float]]
    units: Mapping[str, UnitTest]
    draws: int

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        return {
            "draws": self.draws,
            "weights": {
                form: {name: asdict(one) for name, one in rows.items()} for form, rows in self.weights.items()
            },
            "functions": None if self.functions is None else asdict(self.functions),
            "closeness": {
                name: {"run": run, "ceiling": ceiling} for name, (run, ceiling) in self.closeness.items()
            },
            "stein": {of: dict(found) for of, found in self.stein.items()},
            "units": {name: asdict(one) for name, one in self.units.items()},
        }


def quality(
    source: Source,
    reference: Source,
    x: ArrayLike | None = None,
    bounds: Bounds | None = None,
    permutations: int = PERMUTATIONS,
    tell: Tell = silent,
) -> Quality:
    """Compare a run with a reference of the same network.

    Functions are compared at some of the inputs `x`, if they are given.
    """
    run, other = open_run(source), open_run(reference)
    require(
        run.draws.shapes == other.draws.shapes,
        "the run and the reference are of different networks: compare draws of one network",
    )
    for one in (run, other):
        require(one.draws.forward.plain, "a comparison takes draws that predict by their weights alone")
    bounds = bounds or Bounds()
    first, second = halves(other.draws)
    sets = [bounds.some_draws(draws) for draws in (run.draws, first, second)]
    total = min(draws.chains * len(draws) for draws in sets)
    require(total >= 2, "a comparison takes at least two draws of the run and four of the reference")
    forms = {"raw": sets}
    if movable(run.group):
        tell("canonical form of every draw")
        forms["canonical"] = [_canonical(draws, run.group) for draws in sets]
    weights = {}
    for form, of_form in forms.items():
        tell(f"distances between weights, {form}")
        weights[form] = _weights_apart(of_form, total, permutations)
    functions, closeness = None, {}
    if x is not None:
        tell("distances between functions")
        inputs = np.asarray(x)
        inputs = inputs[evenly(len(inputs), EXAMPLES)]
        predictives = [predictive_of(run, draws, inputs) for draws in sets]
        functions = _functions_apart(predictives, sets, total, permutations)
        closeness = _closeness(predictives)
    tell("kernel Stein discrepancies")
    compared = {"run": sets[0], "reference": sets[1]}
    stein = stein_discrepancies(other, compared, total, None if x is None else np.asarray(x))
    tell("units of each layer")
    return Quality(weights, functions, closeness, stein, unit_tests(run.draws, run.group), total)


def _canonical(draws: Draws, group: symmetry.Symmetry) -> Draws:
    found = symmetry.canonical(draws, group)
    assert isinstance(found, Draws)
    return found


def halves(draws: Draws) -> tuple[Draws, Draws]:
    """Two halves: every other chain or, for a single chain, the first and the last draws."""
    if draws.chains > 1:
        even = draws.chains - draws.chains % 2
        return draws.select(slice(0, even, 2)), draws.select(slice(1, even, 2))
    middle = len(draws) // 2
    require(middle >= 1, "a reference of one chain needs at least two draws")
    return draws.select(draws=slice(0, middle)), draws.select(draws=slice(middle, 2 * middle))


def layers(draws: Draws) -> dict[str, list[str]]:
    """The parameters of each layer, by its name."""
    found: dict[str, list[str]] = {}
    for name in draws.shapes:
        kind, *path = name.split("/")
        if kind == "params":
            found.setdefault("/".join(path[:-1]) or path[-1], []).append(name)
    return found


def _weights_apart(sets: list[Draws], total: int, permutations: int) -> dict[str, Apart]:
    """The distances of each layer and of all weights."""
    points = [{name: _matrix(draws, names) for name, names in layers(draws).items()} for draws in sets]
    between = {name: evaluate.distances(np.concatenate([p[name] for p in points])) for name in points[0]}
    found = {
        name: _apart(of_layer, [p[name] for p in points], sets, total, permutations)
        for name, of_layer in between.items()
    }
    if len(between) > 1:
        whole = sum(between.values(), start=Distances(np.zeros(()), np.zeros(())))
        joined = [np.concatenate(list(p.values()), axis=1) for p in points]
        found[EVERYTHING] = _apart(whole, joined, sets, total, permutations)
    return found


def _matrix(draws: Draws, names: list[str]) -> np.ndarray:
    flat = trees.flatten(draws.variables)
    count = draws.chains * len(draws)
    return np.concatenate([np.asarray(flat[name]).reshape(count, -1) for name in names], axis=1)


def _functions_apart(
    predictives: list[Predictive], sets: list[Draws], total: int, permutations: int
) -> Apart:
    points = [one.each.reshape(one.count, -1) for one in predictives]
    return _apart(evaluate.distances(np.concatenate(points)), points, sets, total, permutations)


def _closeness(predictives: list[Predictive]) -> dict[str, tuple[float, float]]:
    """The closeness by every metric that takes a reference and nothing else."""
    run, first, second = predictives
    rows = [row for row in chosen(run.kind, None, ["reference"]) if row.needs == ("reference",)]
    return {row.name: (row.of(run, reference=first), row.of(second, reference=first)) for row in rows}


def _apart(
    between: Distances, points: list[np.ndarray], sets: list[Draws], total: int, permutations: int
) -> Apart:
    """From the distances between all draws of the run, of the first half and of the second, in this order."""
    starts = np.cumsum([0, *(len(each) for each in points)])
    run, first, second = (
        evenly(len(each), total) + start for each, start in zip(points, starts, strict=False)
    )
    all_first = np.arange(starts[1], starts[2])
    kernels = Kernels.of(between.part(all_first, all_first))
    kernel = kernels(between)

    def discrepancy(rows: np.ndarray) -> float:
        parts = kernel[np.ix_(rows, rows)], kernel[np.ix_(first, first)], kernel[np.ix_(rows, first)]
        return unbiased(*parts)

    def sliced(number: int) -> float:
        a, b = (points[k][evenly(len(points[k]), total)] for k in (number, 1))
        return evaluate.sliced_wasserstein(a, b)

    rows, chains = np.arange(starts[2]), (sets[0].chains, sets[1].chains)
    lengths = [len(draws) for draws in sets[:2] for _ in range(draws.chains)]
    p_value = smallest = None
    if min(chains) * min(lengths) > 1:
        test = evaluate.chain_test(kernel[np.ix_(rows, rows)], chains, permutations, lengths=lengths)
        p_value, smallest = test.p_value, test.smallest
    return Apart(discrepancy(run), discrepancy(second), p_value, smallest, sliced(0), sliced(2))


def unit_tests(draws: Draws, group: symmetry.Symmetry, seed: int = 0) -> dict[str, UnitTest]:
    """For each permuted layer, test whether its units have the same marginal; empty for a single chain.

    Units are compared by their incoming weights: the layer's largest parameter with units on the last axis.
    """
    found: dict[str, UnitTest] = {}
    if draws.chains < 2:
        return found
    flat = trees.flatten(draws.variables)
    for permutation in group.permutations:
        into = [
            move.path
            for move in permutation.moves
            if permutation.copies == 1 and move.axes == (len(group.shapes[move.path]) - 1,)
            if group.shapes[move.path][-1] == permutation.size and move.path.startswith("params/")
        ]
        if permutation.size < 2 or not into:
            continue
        weights = np.asarray(flat[max(into, key=lambda path: np.prod(group.shapes[path]))])
        weights = weights.reshape(*weights.shape[:2], -1, permutation.size)
        rng = np.random.default_rng(seed)
        some = np.sort(rng.permutation(weights.shape[2])[:INPUTS])
        found[permutation.name] = evaluate.unit_test(weights[:, :, some], seed=seed)
    return found
