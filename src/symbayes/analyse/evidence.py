"""Comparison of models: leave-one-out predictions, and all estimates of the log evidence that runs give.

The evidence counts all G copies that symmetries make of a mode.  A ladder of temperatures counts them without
visiting each one: symmetries keep the likelihood, and the prior, where the ladder begins, covers all copies.
Estimates at one mode (Laplace's, or the bound of a variational posterior) count one copy of G.  Each is
therefore given twice: as it is, and orbit-corrected, with the log size of the discrete group added.  The
correction assumes that the copies hardly overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from symbayes import evaluate, specs
from symbayes.analyse.progress import Tell, silent
from symbayes.brief import briefly
from symbayes.draws import Draws
from symbayes.engine import Method, Opened, Source, open_run
from symbayes.engine import run as draw
from symbayes.evaluate import Evidence, LeaveOneOut, Rungs
from symbayes.methods import METHODS
from symbayes.posterior import Posterior
from symbayes.posterior.prediction import log_likelihoods
from symbayes.specs import Record, require

RUNGS = 16
PRIOR_DRAWS = 2000
TRIED = 4
"""The number of elements with which it is checked that the prior is the same for all copies of a network."""
SAME = 1e-4
"""The largest relative change of the log prior that counts as rounding."""


@dataclass(frozen=True)
class Estimate:
    """One estimate of the log evidence, in nats.

    Attributes:
        of: the name of the estimate.
        value: the estimate, not corrected.
        error: Monte-Carlo standard error; None where there is none.
        copies: what counting all copies of a mode adds; None where the estimate counts them already.
    """

    of: str
    value: float
    error: float | None = None
    copies: float | None = None

    @property
    def corrected(self) -> float:
        return self.value if self.copies is None else self.value + self.copies


@briefly
@dataclass(frozen=True, eq=False)
class Models:
    """Runs compared as models of the same data.

    Attributes:
        loo: PSIS-LOO of every run at temperature one, by name.
        waic: WAIC of the same runs.
        estimates: the estimates of the log evidence.
        log_copies: log size of the discrete symmetry group.
        rungs: the log likelihood along the ladder; None without one.
    """

    loo: Mapping[str, LeaveOneOut]
    waic: Mapping[str, LeaveOneOut]
    estimates: Sequence[Estimate]
    log_copies: float
    rungs: Rungs | None = None

    @property
    def too_few_rungs(self) -> bool:
        """Whether the two estimates of the ladder differ by more than three of their errors plus one nat."""
        both = [one for one in self.estimates if one.copies is None and one.error is not None]
        if self.rungs is None or len(both) != 2:
            return False
        error = math.hypot(*(one.error or 0.0 for one in both))
        return abs(both[0].value - both[1].value) > 3 * error + 1

    def numbers(self) -> Record:
        """Everything as plain numbers, for JSON."""
        return {
            "log_copies": self.log_copies,
            "loo": {name: _told(found) for name, found in self.loo.items()},
            "waic": {name: _told(found) for name, found in self.waic.items()},
            "evidence": [
                {"of": one.of, "value": one.value, "error": one.error, "corrected": one.corrected}
                for one in self.estimates
            ],
            "ladder": None
            if self.rungs is None
            else {name: values.tolist() for name, values in vars(self.rungs).items()},
        }


def _told(found: LeaveOneOut) -> dict[str, float]:
    return {
        "elpd": found.elpd,
        "error": found.error,
        "parameters": found.parameters,
        "doubtful": found.doubtful,
    }


def models(sources: Mapping[str, Source], ladder: Sequence[Source] = (), tell: Tell = silent) -> Models:
    """Compare runs on the same training data; `ladder` are runs of one posterior at several temperatures."""
    runs = {name: open_run(source) for name, source in sources.items()}
    require(len(runs) > 0, "name at least one run")
    sums = {run.train_checksum for run in runs.values()}
    require(
        len(sums) == 1, "models are compared on the same training data, but these runs have different data"
    )
    loo, waic, estimates = {}, {}, []
    for name, run in runs.items():
        copies = log_copies(run)
        estimates += list(_at_modes(name, run, copies))
        if power_of(run) != 1 or run.draws.chains * len(run.draws) < 2:
            continue
        tell(f"{name}: log likelihood of every point")
        values = log_likelihoods(run.network, run.likelihood, run.draws, run.posterior.train)
        loo[name], waic[name] = evaluate.loo(values), evaluate.waic(values)
    rungs = None
    if ladder:
        tell("integrating over the ladder")
        rungs, found = along(ladder)
        estimates = [*found, *estimates]
    return Models(loo, waic, estimates, log_copies(next(iter(runs.values()))), rungs)


def _at_modes(name: str, run: Opened, copies: float) -> Iterable[Estimate]:
    """The estimates of a run that fitted a distribution, from the best of its chains."""
    if power_of(run) != 1:
        return
    if "log_evidence" in run.traces:
        # Other phases of the run have none.
        last = [chain[np.isfinite(chain)][-1] for chain in np.asarray(run.traces["log_evidence"], np.float64)]
        yield Estimate(f"Laplace, {name}", float(np.max(last)), None, copies)
    if "elbo" in run.draws.stats:
        bounds = np.asarray(run.draws.stats["elbo"], np.float64)
        best = bounds[int(np.argmax(bounds.mean(1)))]
        error = float(best.std(ddof=1) / math.sqrt(best.size)) if best.size > 1 else None
        yield Estimate(f"variational bound, {name}", float(best.mean()), error, copies)


def power_of(run: Opened) -> float | None:
    """The power of the likelihood in the density of a run; None where the prior was tempered too."""
    recorded = run.config["posterior"]
    temperature = float(recorded["temperature"])
    if temperature == 1:
        return 1.0
    return 1 / temperature if recorded["tempers"] == "likelihood" else None


def along(ladder: Sequence[Source], draws: int = PRIOR_DRAWS, seed: int = 0) -> tuple[Rungs, list[Estimate]]:
    """The rungs and both estimates, from runs at several powers of the likelihood and draws of the prior."""
    runs = [open_run(source) for source in ladder]
    powers = [power_of(run) for run in runs]
    require(
        None not in powers,
        "a rung tempers the prior too: give runs with tempers='likelihood', and one at temperature 1",
    )
    require(1.0 in powers, "a ladder ends at the posterior: give the run at temperature 1 too")
    same = {(run.train_checksum, str(run.config["posterior"]["prior"])) for run in runs}
    require(len(same) == 1, "the rungs of a ladder must have the same prior and the same dataset")
    found: dict[float, np.ndarray] = {0.0: prior_log_likelihoods(runs[0], draws, seed)}
    for power, run in zip(powers, runs, strict=True):
        found[float(power or 0)] = _log_likelihoods(run)
    ordered = sorted(found)
    values = [found[power] for power in ordered]
    words = f"{len(ordered)} rungs"
    return evaluate.rungs(ordered, values), [
        _estimate(f"thermodynamic integration, {words}", evaluate.thermodynamic_integration(ordered, values)),
        _estimate(f"stepping stones, {words}", evaluate.stepping_stones(ordered, values)),
    ]


def _estimate(of: str, found: Evidence) -> Estimate:
    return Estimate(of, found.log_evidence, found.error)


def _log_likelihoods(run: Opened) -> np.ndarray:
    """The log likelihood of all data for every draw, (chain, draw)."""
    kept = run.draws.stats.get("log_likelihood")
    if kept is not None:
        return np.asarray(kept, np.float64)
    return _summed(run, run.draws)


def _summed(run: Opened, draws: Draws) -> np.ndarray:
    each = log_likelihoods(run.network, run.likelihood, draws, run.posterior.train)
    return each.astype(np.float64).sum(axis=tuple(range(2, each.ndim)))


def prior_log_likelihoods(run: Opened, draws: int = PRIOR_DRAWS, seed: int = 0) -> np.ndarray:
    """The log likelihood of all data for independent draws of the prior, (1, draws)."""
    keys, fresh = jax.random.split(jax.random.key(seed), draws), run.variables
    params = jax.jit(jax.vmap(lambda key: run.prior.sample(key, fresh["params"])))(keys)
    stats = jax.tree.map(lambda leaf: np.broadcast_to(leaf, (draws, *leaf.shape)), fresh["stats"])
    drawn = jax.tree.map(lambda leaf: np.asarray(leaf)[None], {"params": params, "stats": stats})
    return _summed(run, Draws.from_variables(drawn))


def log_copies(run: Opened) -> float:
    """The log size of the network's discrete symmetry group; refuses a prior that the group changes."""
    group = run.group
    weights = run.prior.sample(jax.random.key(1), run.variables["params"])
    before = float(run.prior.log_density(weights))
    for number in range(TRIED):
        element = group.random_element(jax.random.key(number), spread=0.0)
        moved = group.act(element, {**run.variables, "params": weights})["params"]
        require(
            abs(float(run.prior.log_density(moved)) - before) <= SAME * max(1.0, abs(before)),
            "the prior is not the same for all copies of a network, so the copies cannot be counted: use a "
            "prior that permutations and signs of units keep",
        )
    return group.log10_permutations * math.log(10) + group.sign_bits * math.log(2)


def climb(
    source: Source, store: str | Path | None = None, rungs: int = RUNGS, tell: Tell = silent
) -> list[Opened]:
    """Run the method of a run again at other powers of the likelihood, from the posterior down to the prior.

    Every rung begins at the draws of the one above.  With a folder, rungs that are there are not drawn again.
    """
    top = open_run(source)
    require(power_of(top) == 1, "a ladder begins at a run at temperature 1")
    powers = evaluate.ladder(rungs)[1:-1][::-1]
    method: Method = specs.decode(top.config["method"], {kind.__name__: kind for kind in METHODS.values()})
    posterior, found = top.posterior, [top]
    for number, power in enumerate(powers, start=1):
        tell(f"rung {number} of {len(powers)}: likelihood to the power {power:.3g}")
        tempered = Posterior(
            posterior.network,
            posterior.likelihood,
            posterior.prior,
            posterior.train,
            temperature=float(1 / power),
            tempers="likelihood",
            precision=posterior.precision,
        )
        folder = None if store is None else Path(store) / f"rung-{number:02d}"
        options: dict[str, Any] = {"store": folder, "start": found[-1].draws, "about": top.about}
        draws = draw(method, tempered, seed=number, progress=False, **options)
        found.append(open_run(draws if folder is None else folder))
    return found
