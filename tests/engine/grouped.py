"""Methods whose chains go in groups, and how their runs are compared."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import symbayes as sb
from symbayes.draws import Run

CHAINS, TOGETHER = 5, 2
"""Groups of two, two and one."""

ENSEMBLE = sb.DeepEnsemble(0.01, epochs=4, batch=32, chains=CHAINS, optimizer="adam")
HMC = sb.HMC(0.01, trajectory=0.05, burn_in=2, draws=5, chains=CHAINS, adapt=False)
SWAG = sb.SWAG(0.01, epochs=1, collect=2, rank=2, draws=3, batch=32, chains=CHAINS)
METHODS: dict[str, Any] = {
    "ensemble": ENSEMBLE,
    "hmc": HMC,
    "swag": SWAG,
    "sghmc": sb.SGHMC(burn_in=1, thin=1, draws=3, batch=32, chains=CHAINS),
    "laplace": sb.Laplace(epochs=1, batch=32, draws=2, chains=CHAINS),
}
ROUNDING: Any = {"rtol": 1e-3, "atol": 1e-4}


def named(tree: Any, name: str = "") -> dict[str, np.ndarray]:
    """Arrays in nested mappings, by their path."""
    if not isinstance(tree, Mapping):
        return {name: np.asarray(tree)}
    return {path: leaf for key, part in tree.items() for path, leaf in named(part, f"{name}/{key}").items()}


def assert_close(actual: Any, expected: Any) -> None:
    flat, wanted = named(actual), named(expected)
    assert flat.keys() == wanted.keys()
    for name, array in wanted.items():
        assert flat[name].shape == array.shape, name
        assert flat[name].dtype == array.dtype, name
        np.testing.assert_allclose(flat[name], array, err_msg=name, **ROUNDING)


def made(draws: sb.Draws) -> Any:
    assert draws.origin is not None
    return draws.origin


def groups_of(run: Run) -> list[int]:
    return [entry["cursor"]["group"] for entry in run.entries]
