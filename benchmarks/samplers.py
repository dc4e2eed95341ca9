"""Effective draws of every sampler on one posterior, per second and per thousand gradients.

What counts is the space of functions: the effective sample size (bulk, Vehtari et al. 2021) of predicted
probabilities on test inputs, the median over them, as `symbayes.diagnose` has it (`benchmarks/effective.py`
says how time is taken).  The ratio is the time for an effective draw beside that of numpyro's NUTS (of our
own where that is not installed), which is given the step size that our warm-up found and so has no need of
its own.  With its own warm-up, which is how people run it, it has another row.  Stochastic gradients count by
the share of the data that they use.

Draws of a biased sampler are worth what its `TV to hmc` says: the total variation of its average to that of
HMC.

On an accelerator gradients of ours are in tf32 where a row does not say otherwise, and the accept step is
float32 at least, so that exact samplers stay exact.  The peers compute in float32 throughout: their accept
step would not survive tf32.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

import symbayes as sb
from benchmarks.effective import Drawn, blackjax_mclmc, numpyro_nuts, ours
from benchmarks.targets import digits, mnist_sized
from benchmarks.timing import Result
from symbayes.engine import Method

CHAINS, INPUTS = 4, 200
AIM = 0.2
"""The best of ours takes at most a fifth of the time of numpyro's NUTS, for draws that are as exact."""
EXACT = ("hmc", "adjusted-mclmc", "nuts", "mala")
"""How names of samplers begin that have an accept step."""
NUTS, WARMED, THEIRS = "numpyro NUTS, our step size", "numpyro NUTS, own warm-up", "blackjax MCLMC"
MANY: dict[str, Any] = {"chains": CHAINS, "draws": 100_000}
"""More draws than there is time for."""


@dataclass(frozen=True)
class Posed:
    """A posterior, and how it is sampled.

    Attributes:
        warm: the warm-up that all others start from; numpyro's NUTS takes over its step size.
        methods: of ours, by name, from the most to the least important.
        exact: the posterior in float32, for the peers and for rows that say so.
        depth: the most doublings of a tree of NUTS.
        warmups: trees with which numpyro's NUTS adapts itself, in a row of its own; 0 for no such row.
        tuning: steps in three tenths of which blackjax tunes itself.
        thin: steps from one draw of blackjax to the next.
    """

    name: str
    posterior: sb.Posterior
    exact: sb.Posterior
    x: np.ndarray
    warm: sb.HMC
    methods: dict[str, Method]
    depth: int
    warmups: int
    tuning: int
    thin: int


def on_digits() -> Posed:
    methods: dict[str, Method] = {
        "hmc": sb.HMC(step_size=1.6e-2, trajectory=0.5, jitter=0.5, burn_in=40, target_accept=0.7, **MANY),
        "adjusted-mclmc": sb.AdjustedMCLMC(
            step_size=2e-2, trajectory=0.5, burn_in=20, target_accept=0.8, **MANY
        ),
        "nuts": sb.NUTS(step_size=1.2e-2, burn_in=20, **MANY),
        "hmc, chees": sb.HMC(trajectory="chees", burn_in=60, target_accept=0.7, **MANY),
        "mclmc": sb.MCLMC(thin=20, burn_in=100, **MANY),
        "mala": sb.MALA(thin=50, burn_in=30, **MANY),
        "sghmc": sb.SGHMC(burn_in=50, thin=2, **MANY),
        "sgld": sb.SGLD(burn_in=50, thin=2, **MANY),
    }
    warm = sb.HMC(step_size=1e-2, trajectory=0.5, burn_in=60, draws=5, chains=CHAINS, target_accept=0.8)
    x = np.asarray(sb.data.load("digits").test.x)
    return Posed("digits 64-32-10", digits(), digits(), x, warm, methods, 10, 100, 10_000, 40)


def on_mnist(examples: int = 10_000) -> Posed:
    """With the prior N(0, 0.2^2), under which trajectories of a quarter of its period are short enough, and
    with so few images that NUTS has an effective draw in a second."""
    try:
        x = np.asarray(sb.data.load("mnist").test.x)
    except FileNotFoundError:
        x = np.random.default_rng(1).random((INPUTS, 28, 28, 1), dtype=np.float32)
    low = "float32" if jax.default_backend() == "cpu" else "tf32"
    flown: dict[str, Any] = {"trajectory": 0.3, "target_accept": 0.65, "burn_in": 10, **MANY}
    methods: dict[str, Method] = {
        "hmc": sb.HMC(step_size=1.5e-3, jitter=0.3, **flown),
        "adjusted-mclmc": sb.AdjustedMCLMC(step_size=3e-3, **flown),
        "mclmc": sb.MCLMC(thin=50, burn_in=30, **MANY),
        "hmc, float32": sb.HMC(step_size=1.5e-3, jitter=0.3, **flown),
        "sghmc": sb.SGHMC(batch=500, burn_in=20, thin=10, **MANY),
        "nuts": sb.NUTS(step_size=1.5e-3, burn_in=4, depth=9, **MANY),
    }
    warm = sb.HMC(step_size=1.5e-3, trajectory=0.3, burn_in=40, draws=4, chains=CHAINS, target_accept=0.65)
    posteriors = (mnist_sized(examples, scale=0.2, precision=low), mnist_sized(examples, scale=0.2))
    name = f"MNIST 784-512-10, {examples:,} images"
    return Posed(name, *posteriors, x, warm, methods, 9, 30, 2_000, 50)


def run(seconds: float = 20.0, limit: float = float("inf")) -> Iterator[Result]:
    """Every sampler draws for so many seconds; none begins after the limit."""
    on_cpu = jax.default_backend() == "cpu"
    yield from _on(on_digits() if on_cpu else on_mnist(), seconds, time.perf_counter() + limit)


def _on(posed: Posed, seconds: float, until: float) -> Iterator[Result]:
    x = posed.x[:INPUTS]
    start, step = _warmed(posed)
    average = np.zeros(())
    found: dict[str, dict[str, float]] = {}
    work: dict[str, Callable[[], Drawn]] = {
        name: lambda name=name, method=method: ours(
            method, posed.exact if "float32" in name else posed.posterior, start, x, seconds
        )
        for name, method in posed.methods.items()
    }
    given: dict[str, Any] = {"depth": posed.depth, "step_size": step}
    peers: dict[str, Callable[[], Drawn]] = {
        NUTS: lambda: numpyro_nuts(posed.exact, start, x, seconds, **given),
        WARMED: lambda: numpyro_nuts(posed.exact, start, x, seconds, warm=posed.warmups, **given),
        THEIRS: lambda: blackjax_mclmc(posed.exact, start, x, seconds, steps=posed.tuning, thin=posed.thin),
    }
    # The exact one that the aim is about first, then what it is compared with.
    first, waiting = next(iter(work)), []
    own_warm_up = [WARMED] if posed.warmups else []
    for name in [first, NUTS, *list(work)[1:3], THEIRS, *list(work)[3:], *own_warm_up]:
        if time.perf_counter() > until:
            print(f"{posed.name}: no time left for {name}")
            continue
        begin = time.perf_counter()
        try:
            drawn = (peers | work)[name]()
        except ImportError:
            print(f"{name}: its package is not installed, left out")
            continue
        mean = drawn.predicted.mean((0, 1))
        average = mean if name == first else average
        distance = 5 * float(np.abs(mean - average).mean())
        found[name] = {**drawn.numbers(), "TV to hmc": round(distance, 4)}
        print(f"{posed.name}: {name} {found[name]}, {time.perf_counter() - begin:.0f} s in all", flush=True)
        waiting.append(name)
        if name != first:
            yield from (_row(posed, found, each) for each in waiting)
            waiting = []
    own = [name for name in posed.methods if name in found and name.startswith(EXACT)]
    best = max(own, key=lambda name: found[name]["per second"], default="none")
    detail = {name: numbers["per second"] for name, numbers in found.items()}
    for peer in (NUTS, WARMED) if own else ():
        if peer in found:
            ratio = found[peer]["per second"] / found[best]["per second"]
            yield Result(f"{posed.name}: the best exact one of ours ({best}) / {peer}", ratio, AIM, detail)


def _warmed(posed: Posed) -> tuple[Any, float]:
    """Where all chains begin, and the step size with which they came there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        drawn = sb.run(posed.warm, posed.posterior, progress=False)
    start = jax.tree.map(lambda leaf: np.asarray(leaf)[:, -1], drawn.variables)
    told = {name: round(float(drawn.stats[name].mean()), 5) for name in ("acceptance", "step_size")}
    print(f"{posed.name}: warm-up {told}", flush=True)
    return start, told["step_size"]


def _row(posed: Posed, found: dict[str, dict[str, float]], name: str) -> Result:
    """The time for an effective draw beside that of NUTS."""
    beside = NUTS if NUTS in found else "nuts" if "nuts" in found else name
    ratio = found[beside]["per second"] / found[name]["per second"]
    return Result(f"{posed.name}: {name} / {beside}, time per effective draw", ratio, None, found[name])
