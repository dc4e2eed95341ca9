"""Bad input to every row of METRICS and to every public function: an error that names the argument.

`CORRUPTIONS` says what is wrong with each kind of argument; the tables say of which kind arguments are.
"""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from symbayes import evaluate
from symbayes.evaluate import Metric
from symbayes.evaluate.recalibration import MAPS, ConformalIntervals, ConformalSets, conformal_quantile

from .oracles import CASES
from .test_metrics import IDS, ROWS

Corruption = Callable[[np.ndarray], Any]


def first_is(value: float) -> Corruption:
    """The same array with another first number, and for a number that number."""

    def changed(array: np.ndarray) -> Any:
        wrong = np.array(array, np.float64, order="C")
        wrong.reshape(-1)[0] = value
        return wrong

    return changed


def label_is(value: int) -> Corruption:
    return lambda labels: np.concatenate([np.full_like(labels[:1], value), labels[1:]])


NOT_FINITE = {"nan": first_is(np.nan), "infinite": first_is(np.inf)}
EMPTY = {"empty": lambda array: array[:0]}
PROBS = {
    **NOT_FINITE,
    **EMPTY,
    "logits": lambda p: np.log(p + 0.05),
    "do not sum to one": lambda p: 1.01 * p,
    "no classes": lambda p: p[..., :0],
}
CORRUPTIONS: dict[str, dict[str, Corruption]] = {
    "probs": PROBS,
    "labels": {
        **EMPTY,
        "too high": label_is(99),
        "negative": label_is(-1),
        "not whole": lambda labels: labels + 0.5,
    },
    "reals": {**NOT_FINITE, **EMPTY},
    "scale": {**NOT_FINITE, "zero": first_is(0.0), "negative": first_is(-1.0)},
    "scores": {**NOT_FINITE, **EMPTY, "two axes": lambda scores: np.stack([scores, scores])},
    "rungs": {
        "empty": lambda rungs: rungs[:0],
        "empty rung": lambda rungs: [rungs[0][:0], *rungs[1:]],
        "nan": lambda rungs: [first_is(np.nan)(rungs[0]), *rungs[1:]],
        "fewer": lambda rungs: rungs[:-1],
        "one axis": lambda rungs: [rungs[0][0], *rungs[1:]],
    },
    "sd": {**NOT_FINITE, **EMPTY, "negative": first_is(-1.0)},
}


def refused(call: Callable[[], Any], names: set[str], what: str) -> None:
    """One sentence or two that name one of the arguments."""
    try:
        found = call()
    except (ValueError, TypeError) as error:
        text = str(error)
    else:
        pytest.fail(f"{what}: gave {found!r}")
    assert any(re.search(rf"\b{name}\b", text) for name in names), f"{what}: {text!r} names none of {names}"
    assert len(text) < 300, f"{what}: {text!r}"


# Rows of METRICS.

TAKEN = {
    "each": "probs",
    "component_means": "reals",
    "component_scales": "scale",
    **dict.fromkeys(("std", "aleatoric", "epistemic"), "sd"),
    **dict.fromkeys(("doubt", "uncertainty", "information", "energy"), "scores"),
}


def described(row: Metric, kind: str) -> list[tuple[str, str, np.ndarray, tuple[str, int]]]:
    """Of each argument of a row: its name, its kind, good values, and of which examples they are."""
    case = CASES[kind](3, 6, 3, 3, (), 1.0)
    given = row.arguments(case.predictive, case.y, case.reference, case.ood, case.validation)
    own = [TAKEN.get(name, "probs" if kind == "classes" else "reals") for name in row.takes]
    target = "labels" if kind == "classes" else "reals"
    kinds = list(own)
    for need in row.needs:
        kinds += {"targets": [target], "validation": [*own, target], "reference": own, "ood": own}.get(
            need, []
        )
    names = list(inspect.signature(row.function).parameters)
    if names == ["arguments"]:
        assert row.each is not None
        names = list(inspect.signature(row.each).parameters)
    return [
        (name, of, np.asarray(argument.values), (argument.group, argument.axis))
        for name, of, argument in zip(names[: len(given)], kinds, given, strict=True)
    ]


@pytest.mark.parametrize(("row", "kind"), ROWS, ids=IDS)
def test_every_row_refuses_every_wrong_argument(row: Metric, kind: str) -> None:
    arguments = described(row, kind)
    values = [value for _, _, value, _ in arguments]
    row.function(*values)

    def told(place: int, wrong: Any) -> Callable[[], Any]:
        return partial(row.function, *values[:place], wrong, *values[place + 1 :])

    for place, (name, of, value, (group, axis)) in enumerate(arguments):
        for what, corrupt in CORRUPTIONS[of].items():
            refused(told(place, corrupt(value)), {name}, f"{name} {what}")
        together = {other for other, *_, where in arguments if where[0] == group}
        if group == "ood" or len(together) == 1 or of == "scores":
            continue
        shorter = np.take(value, range(value.shape[axis] - 1), axis)
        refused(told(place, shorter), together, f"{name} has fewer examples")


# Public functions.

RNG = np.random.default_rng(0)
P, Q = RNG.dirichlet(np.ones(3), size=(2, 8))
EACH = RNG.dirichlet(np.ones(3), size=(4, 8))
Y = RNG.integers(0, 3, size=8)
MEANS, OTHER, T = RNG.normal(size=(4, 8, 2)), RNG.normal(size=(4, 8, 2)), RNG.normal(size=(8, 2))
W, V, SCORES = RNG.normal(size=(3, 10, 4))
LOG = RNG.normal(size=(2, 20, 8))
KERNEL = np.exp(-((W[:8, :1] - W[:8, 0]) ** 2))
PAIRS = RNG.random((5, 5))
CHAINS = RNG.normal(size=(4, 8, 3))

Given = dict[str, tuple[str, Any]]
LABELLED: Given = {"probs": ("probs", P), "y": ("labels", Y)}
DRAWS: Given = {"probs": ("probs", EACH)}
TWO: Given = {"p": ("probs", P), "q": ("probs", Q)}
MIXTURE: Given = {"means": ("reals", MEANS), "scale": ("scale", np.full(2, 0.5))}
TARGETED: Given = {**MIXTURE, "y": ("reals", T)}
BOTH: Given = {**MIXTURE, "other_means": ("reals", OTHER), "other_scale": ("scale", np.full(2, 0.5))}
DETECTED: Given = {"inside": ("scores", W[:, 0]), "outside": ("scores", V[:, 0])}
QUANTITIES: Given = {"x": ("reals", CHAINS)}
POINTWISE: Given = {"log_likelihood": ("reals", LOG)}
POINTS: Given = {"x": ("reals", W), "y": ("reals", V)}
STEIN: Given = {"x": ("reals", W), "scores": ("reals", SCORES)}
FUNCTIONS: Given = {
    "values": ("reals", W[:, :2]),
    "jacobians": ("reals", RNG.normal(size=(10, 2, 4))),
    "scores": ("reals", SCORES),
}
LADDER: Given = {
    "powers": ("reals", np.array([0, 0.5, 1])),
    "log_likelihoods": ("rungs", [*LOG.transpose(2, 0, 1)[:3]]),
}

MEAN: Given = {"probs": ("probs", P)}
MATRIX: Given = {"matrix": ("reals", PAIRS)}
UNPAIRED = (DETECTED, LADDER, MIXTURE, POINTS)
"""Whose arguments need not be of equally many examples."""

PUBLIC: dict[str, Given] = {
    **dict.fromkeys(
        (
            *("accuracy", "ace", "augrc", "aurc", "brier", "brier_decomposition", "class_maps"),
            *("classwise_ace", "confusion", "coverage_at_risk", "debiased_ce", "ece", "mean_iou", "nll"),
            *("reliability", "risk_coverage_of", "smooth_ece", "top_k"),
        ),
        LABELLED,
    ),
    **dict.fromkeys(("agreement", "total_variation"), TWO),
    **dict.fromkeys(
        (
            *("aleatoric_entropy", "disagreement", "mean_mutual_information", "mutual_information"),
            *("mean_pairwise_mutual_information", "pairwise_mutual_information"),
        ),
        DRAWS,
    ),
    **dict.fromkeys(("entropy", "mean_entropy"), MEAN),
    **dict.fromkeys(("aupr_in", "aupr_out", "auroc", "fpr", "roc"), DETECTED),
    **dict.fromkeys(("mixture_quantile", "width"), MIXTURE),
    **dict.fromkeys(
        (
            *("coverage", "crps", "mixture_cdf", "mixture_log_density", "mixture_nll", "pit_histogram"),
            *("quantile_error", "real_maps"),
        ),
        TARGETED,
    ),
    **dict.fromkeys(("mean_distance", "mixture_total_variation"), BOTH),
    **dict.fromkeys(("classical_rhat", "ess_bulk", "ess_tail", "rhat"), QUANTITIES),
    **dict.fromkeys(("loo", "waic"), POINTWISE),
    **dict.fromkeys(("distances", "mmd", "sliced_wasserstein"), POINTS),
    **dict.fromkeys(("ksd", "stein_kernel"), STEIN),
    **dict.fromkeys(("function_ksd", "function_stein_kernel"), FUNCTIONS),
    **dict.fromkeys(("rungs", "stepping_stones", "thermodynamic_integration"), LADDER),
    **dict.fromkeys(("dispersion", "pairs_of"), MATRIX),
    "pair_correlation": {"first": ("reals", PAIRS), "second": ("reals", PAIRS)},
    "accuracy_drop": {"values": ("reals", W[:, 0])},
    "barrier": {"values": ("reals", W[:, 0])},
    "chain_test": {"kernel": ("reals", KERNEL)},
    "class_iou": {"counts": ("reals", np.ones((3, 3)))},
    "hexagons": {"points": ("reals", W[:, :2])},
    "laplace_evidence": {"hessian": ("reals", np.eye(3))},
    "risk_coverage": {"doubt": ("scores", W[:, 0]), "losses": ("scores", V[:, 0])},
    "rmse": {"mean": ("reals", T), "y": ("reals", T)},
    "unit_test": {"weights": ("reals", CHAINS)},
}
BESIDE: dict[str, dict[str, Any]] = {
    "chain_test": {"chains": (1, 1)},
    "laplace_evidence": {"log_joint": 0.0},
    "hexagons": {"width": 0.5},
    "mixture_quantile": {"q": 0.5},
}
OF_FUNCTIONS = {"path", "plane", "top_eigenvalues", "ladder"}
"""Those take a function, or a number alone; tests of their own show what they refuse."""


def test_the_table_has_every_public_function() -> None:
    public = {name for name in evaluate.__all__ if inspect.isfunction(getattr(evaluate, name))}
    assert public == {*PUBLIC, *OF_FUNCTIONS}


def refuses(function: Callable[..., Any], given: Given, beside: dict[str, Any]) -> None:
    good = {name: value for name, (_, value) in given.items()} | beside
    function(**good)
    for name, (kind, value) in given.items():
        for what, corrupt in CORRUPTIONS[kind].items():
            refused(partial(function, **good | {name: corrupt(value)}), {name}, f"{name} {what}")
        if len(given) > 1 and kind != "scale" and not any(given is one for one in UNPAIRED):
            axis = 1 if value.shape == MEANS.shape else 0
            shorter = np.take(value, range(value.shape[axis] - 1), axis)
            refused(partial(function, **good | {name: shorter}), {*given}, f"{name} is shorter")


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_function_refuses_every_wrong_argument(name: str) -> None:
    refuses(getattr(evaluate, name), PUBLIC[name], BESIDE.get(name, {}))


@pytest.mark.parametrize("name", sorted(MAPS))
def test_every_map_refuses_every_wrong_argument(name: str) -> None:
    refuses(MAPS[name].fit, LABELLED, {})
    refuses(MAPS[name].fit(P, Y).apply, {"probs": ("probs", P)}, {})


def test_conformal_sets_and_intervals_refuse_every_wrong_argument() -> None:
    refuses(ConformalSets.fit, LABELLED, {})
    refuses(ConformalSets.fit(P, Y).sets, {"probs": ("probs", P)}, {})
    ends: Given = {"lower": ("reals", T - 1), "upper": ("reals", T + 1)}
    refuses(ConformalIntervals.fit, {**ends, "y": ("reals", T)}, {})
    refuses(ConformalIntervals.fit(T - 1, T + 1, T).apply, ends, {})
    refuses(conformal_quantile, {"scores": ("reals", T)}, {"level": 0.9})
