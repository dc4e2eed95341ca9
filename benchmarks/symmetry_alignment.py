"""Aligning one pair of networks against peers, and many networks against one pair.

All on the same trained networks (see `symmetry_fleet`), with one BLAS thread for all.  Objectives are inner
products of weights as they are, so that peers, which know no scales, climb the same.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from threadpoolctl import threadpool_limits

import symbayes as sb
from benchmarks.symmetry_fleet import HIDDEN, fleet, sizes
from benchmarks.timing import Result
from symbayes import symmetry, trees

PAIRS = 3
LIMITS = {100: 120.0}
"""What so many networks may take at most, in times of one pair."""
LAYERS = ("hidden1", "hidden2", "hidden3", "output")

Flat = dict[str, np.ndarray]


def run() -> list[Result]:
    networks = fleet(max(sizes()))
    example = trees.unflatten({name: leaf[0] for name, leaf in networks.items()})
    apply = sb.networks.mlp(HIDDEN, 10).apply
    group = symmetry.discover(apply, example, np.ones((2, 28, 28, 1), np.float32))
    with threadpool_limits(1, "blas"):
        return [*_pairs(networks, group), *_jointly(networks, group)]


def _member(networks: Flat, number: int) -> Flat:
    return {name: leaf[number] for name, leaf in networks.items()}


def _inner(a: Flat, b: Flat) -> float:
    return sum(float(np.sum(a[name] * b[name], dtype=np.float64)) for name in a)


# ---------------------------------------------------------------------- one pair


def _pairs(networks: Flat, group: symmetry.Symmetry) -> list[Result]:
    """Seconds and objectives of some pairs, each the fewest of three turns; ratios of the sums."""
    work: dict[str, Callable[[Flat, Flat], Flat]] = {"symbayes": _symbayes(group), "plain NumPy": _plain}
    try:
        work["rebasin"] = _rebasin()
    except ImportError:
        print("rebasin is not installed: left out")
    seconds, objectives = dict.fromkeys(work, 0.0), dict.fromkeys(work, 0.0)
    for pair in range(PAIRS):
        a, b = _member(networks, 2 * pair), _member(networks, 2 * pair + 1)
        times: dict[str, list[float]] = {name: [] for name in work}
        for turn in range(4):
            for name, match in work.items():
                begin = time.perf_counter()
                found = match(a, b)
                if turn:  # the first warms up
                    times[name].append(time.perf_counter() - begin)
                # Peers draw their order anew in every turn: the last counts for the objective.
                if turn == 3:
                    objectives[name] += _inner(a, found) / PAIRS
        for name in work:
            seconds[name] += min(times[name]) / PAIRS
    results = []
    for peer in list(work)[1:]:
        detail = {
            f"{name}, {what}": round(values[name], 4)
            for name in ("symbayes", peer)
            for what, values in (("seconds", seconds), ("objective", objectives))
        }
        ratio = seconds["symbayes"] / seconds[peer]
        results.append(Result(f"one pair: symbayes / {peer} time", ratio, 1 / 3, detail))
        gap = objectives[peer] / objectives["symbayes"]
        results.append(Result(f"one pair: {peer} / symbayes objective", gap, 1.0, detail))
    return results


def _symbayes(group: symmetry.Symmetry) -> Callable[[Flat, Flat], Flat]:
    def match(a: Flat, b: Flat) -> Flat:
        draws = trees.unflatten({name: leaf[None] for name, leaf in b.items()})
        found = symmetry.align(draws, group, to=trees.unflatten(a), by=symmetry.Weights(scale=None))
        assert not isinstance(found.draws, sb.Draws)
        return {name: np.asarray(leaf[0]) for name, leaf in trees.flatten(found.draws).items()}

    return match


def _plain(a: Flat, b: Flat) -> Flat:
    """Coordinate ascent as it is usually written: layers in random order, until a sweep gains nothing."""
    rng = np.random.default_rng(0)
    orders = [np.arange(n) for n in HIDDEN]
    kernels = [[network[f"params/{layer}/kernel"] for layer in LAYERS] for network in (a, b)]
    biases = [[network[f"params/{layer}/bias"] for layer in LAYERS] for network in (a, b)]
    gained = True
    while gained:
        gained = False
        for k in rng.permutation(len(orders)):
            incoming, outgoing = kernels[1][k], kernels[1][k + 1]
            if k > 0:
                incoming = incoming[orders[k - 1]]
            if k + 1 < len(orders):
                outgoing = outgoing[:, orders[k + 1]]
            gram = kernels[0][k].T @ incoming + kernels[0][k + 1] @ outgoing.T
            gram += np.outer(biases[0][k], biases[1][k])
            rows, order = linear_sum_assignment(gram, maximize=True)
            new, old = gram[rows, order].sum(), gram[rows, orders[k]].sum()
            gained |= bool(new - old > 1e-6 * abs(new))
            orders[k] = order
    moved = dict(b)
    for k, order in enumerate(orders):
        kernel, bias, following = (
            f"params/{LAYERS[k]}/kernel",
            f"params/{LAYERS[k]}/bias",
            f"params/{LAYERS[k + 1]}/kernel",
        )
        moved |= {
            kernel: moved[kernel][:, order],
            bias: moved[bias][order],
            following: moved[following][order],
        }
    return moved


def _rebasin() -> Callable[[Flat, Flat], Flat]:
    import torch
    from rebasin import PermutationCoordinateDescent

    torch.set_num_threads(1)

    def model(network: Flat) -> Any:
        layers: list[Any] = []
        for layer in LAYERS:
            kernel = network[f"params/{layer}/kernel"]
            linear = torch.nn.Linear(*kernel.shape)
            linear.weight = torch.nn.Parameter(torch.tensor(np.ascontiguousarray(kernel.T)), False)
            linear.bias = torch.nn.Parameter(torch.tensor(network[f"params/{layer}/bias"]), False)
            layers += [linear, torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])

    def match(a: Flat, b: Flat) -> Flat:
        target, moved = model(a), model(b)
        PermutationCoordinateDescent(target, moved, torch.ones(2, 784)).rebasin()
        found = {}
        for number, layer in enumerate(LAYERS):
            found[f"params/{layer}/kernel"] = moved[2 * number].weight.numpy().T
            found[f"params/{layer}/bias"] = moved[2 * number].bias.numpy()
        return found

    return match


# ---------------------------------------------------------------------- many networks


def _jointly(networks: Flat, group: symmetry.Symmetry) -> list[Result]:
    """Joint alignment over one pair's, with the same criterion; a pair is timed before and after each."""

    def pair() -> np.ndarray:
        begin = _clocks()
        symmetry.align(_first(networks, slice(1, 2)), group, to=_first(networks, 0))
        return _clocks() - begin

    symmetry.align(_first(networks, slice(0, 2)), group)
    pair()
    pairs, seconds, busy, detail = [pair()], {}, {}, {}
    for count in sizes():
        begin = _clocks()
        found = symmetry.align(_first(networks, slice(0, count)), group)
        seconds[count], busy[count] = (_clocks() - begin).tolist()
        pairs += [pair() for _ in range(3)]
        detail[f"{count} networks, objective per pair"] = round(
            2 * float(found.objective[-1]) / (count * (count - 1)), 2
        )
        detail[f"{count} networks, sweeps"] = len(found.objective) - 2
    one, one_busy = np.min(pairs, axis=0).tolist()
    detail |= {"one pair, seconds": round(one, 3)}
    detail |= {
        f"{count} networks, ratio of processor time": round(b / one_busy, 1) for count, b in busy.items()
    }
    detail |= {f"{count} networks, seconds": round(value, 1) for count, value in seconds.items()}
    few, most = min(seconds), max(seconds)
    growth = (seconds[most] / most) / (seconds[few] / few)
    return [
        *(
            Result(f"{count} networks jointly / one pair", seconds[count] / one, LIMITS.get(count), detail)
            for count in seconds
        ),
        Result(f"seconds per network: {most} / {few} networks jointly", growth, 1.2, detail),
    ]


def _clocks() -> np.ndarray:
    """Wall-clock seconds, and those of the processor, which other programs do not lengthen."""
    return np.array([time.perf_counter(), time.process_time()])


def _first(networks: Flat, which: Any) -> dict[str, Any]:
    return trees.unflatten({name: leaf[which] for name, leaf in networks.items()})
