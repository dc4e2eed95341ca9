"""Effective draws of every sampler on one posterior, per second and per thousand gradients.

What counts is the space of functions: the effective sample size (bulk, Vehtari et al. 2021) of predicted
probabilities on test inputs, the median over them.  Burn-in and compiling are left out: each sampler runs
once to compile and once more to be timed.  The ratio is the time for an effective draw beside that of
numpyro's NUTS (of our own where that is not installed).  Stochastic gradients count by the share of the data
that they use.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import symbayes as sb
from benchmarks.peers import log_density_of
from benchmarks.targets import digits, mnist_sized
from benchmarks.timing import Result
from symbayes.draws import Run
from symbayes.engine import Method

CHAINS = 4
INPUTS = 200
AIM = 0.2
"""The best of ours takes at most a fifth of the time of numpyro's NUTS."""

DIGITS: dict[str, Method] = {
    "hmc": sb.HMC(step_size=8e-3, trajectory=0.48, burn_in=50, draws=150, chains=CHAINS),
    "hmc, chees": sb.HMC(trajectory="chees", burn_in=60, draws=150, chains=CHAINS),
    "nuts": sb.NUTS(step_size=1e-2, burn_in=50, draws=100, chains=CHAINS),
    "mala": sb.MALA(thin=100, burn_in=50, draws=100, chains=CHAINS),
    "adjusted-mclmc": sb.AdjustedMCLMC(trajectory=0.48, burn_in=50, draws=150, chains=CHAINS),
    "mclmc": sb.MCLMC(thin=50, burn_in=200, draws=150, chains=CHAINS),
    "sgld": sb.SGLD(burn_in=200, thin=5, draws=150, chains=CHAINS),
    "sghmc": sb.SGHMC(burn_in=200, thin=5, draws=150, chains=CHAINS),
}

MNIST: dict[str, Method] = {
    "hmc": sb.HMC(step_size=5e-4, trajectory=0.15, burn_in=20, draws=40, chains=CHAINS, target_accept=0.7),
    "adjusted-mclmc": sb.AdjustedMCLMC(
        step_size=1e-3, trajectory=0.15, burn_in=20, draws=40, chains=CHAINS, target_accept=0.7
    ),
    "nuts": sb.NUTS(step_size=5e-4, burn_in=15, draws=20, chains=CHAINS, depth=8),
    "mclmc": sb.MCLMC(thin=100, burn_in=40, draws=40, chains=CHAINS),
    "sghmc": sb.SGHMC(batch=500, burn_in=20, thin=1, draws=60, chains=CHAINS),
}


@dataclass(frozen=True)
class Drawn:
    """What a sampler drew after burn-in.

    Attributes:
        predicted: (chain, draw, quantity).
        seconds: that it took.
        gradients: over all data, of all chains.
    """

    predicted: np.ndarray
    seconds: float
    gradients: float

    def numbers(self) -> dict[str, float]:
        worth = float(np.nanmedian(sb.evaluate.ess_bulk(self.predicted)))
        return {
            "effective draws": round(worth, 1),
            "draws": int(np.prod(self.predicted.shape[:2])),
            "per second": round(worth / self.seconds, 3),
            "per 1,000 gradients": round(1000 * worth / self.gradients, 3),
            "R-hat": round(float(np.nanmedian(sb.evaluate.rhat(self.predicted))), 3),
            "seconds": round(self.seconds, 2),
        }


def run() -> list[Result]:
    results = _on("digits 64-32-10", digits(), sb.data.load("digits").test.x, DIGITS, depth=10)
    if jax.default_backend() != "cpu":
        try:
            x = sb.data.load("mnist").test.x
        except FileNotFoundError:
            x = np.random.default_rng(1).random((INPUTS, 28, 28, 1), dtype=np.float32)
        results += _on("MNIST 784-512-10", mnist_sized(60_000), x, MNIST, depth=8)
    return results


def _on(name: str, posterior: sb.Posterior, x: Any, methods: dict[str, Method], depth: int) -> list[Result]:
    x = np.asarray(x)[:INPUTS]
    found: dict[str, dict[str, float]] = {}
    for method, settings in methods.items():
        found[method] = _ours(settings, posterior, x).numbers()
        print(f"{name}: {method} {found[method]}", flush=True)
    own = list(found)
    for peer, make in {"numpyro NUTS": _numpyro, "blackjax MCLMC": _blackjax}.items():
        try:
            found[peer] = make(posterior, x, depth).numbers()
        except ImportError:
            print(f"{peer} is not installed: left out")
        else:
            print(f"{name}: {peer} {found[peer]}", flush=True)
    beside = "numpyro NUTS" if "numpyro NUTS" in found else "nuts"
    best = max(own, key=lambda method: found[method]["per second"])
    return [
        Result(
            f"{name}: {method} / {beside}, time per effective draw",
            found[beside]["per second"] / numbers["per second"],
            AIM if method == best and beside == "numpyro NUTS" else None,
            numbers,
        )
        for method, numbers in found.items()
    ]


def _ours(method: Method, posterior: sb.Posterior, x: np.ndarray) -> Drawn:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for seed in (0, 1):
            begin = time.perf_counter()
            store = Path(folder) / str(seed)
            sb.run(method, posterior, seed=seed, store=store, progress=False)
            seconds = time.perf_counter() - begin
        entries = Run(Path(folder) / "1").entries
        last = max(entry["cursor"]["phase"] for entry in entries)
        every = sum(entry["gradients"] for entry in entries)
        drawing = sum(entry["gradients"] for entry in entries if entry["cursor"]["phase"] == last)
        predicted = sb.open(Path(folder) / "1").predict(x).quantities
    return Drawn(predicted, seconds * drawing / every, drawing)


def _begin(posterior: sb.Posterior) -> Any:
    keys = jax.random.split(jax.random.key(5), CHAINS)
    return jax.vmap(lambda key: posterior.init(key)["params"])(keys)


def _predicted(posterior: sb.Posterior, params: Any, x: np.ndarray) -> np.ndarray:
    """Of parameters with leading axes (chain, draw)."""

    def one(p: Any) -> jax.Array:
        return jax.nn.softmax(posterior.network.apply({"params": p, "stats": {}}, jnp.asarray(x))).ravel()

    return np.asarray(jax.lax.map(jax.vmap(one), params))


def _numpyro(posterior: sb.Posterior, x: np.ndarray, depth: int) -> Drawn:
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as Theirs

    log_density = log_density_of(posterior)
    large = depth < 10
    mcmc = MCMC(
        Theirs(potential_fn=lambda params: -log_density(params), max_tree_depth=depth),
        num_warmup=30 if large else 100,
        num_samples=20 if large else 50,
        num_chains=CHAINS,
        chain_method="vectorized",
        progress_bar=False,
    )
    mcmc.warmup(jax.random.key(1), init_params=_begin(posterior))
    for seed in (2, 3):
        mcmc.post_warmup_state = mcmc.last_state
        begin = time.perf_counter()
        mcmc.run(jax.random.key(seed), extra_fields=("num_steps",))
        samples = jax.block_until_ready(mcmc.get_samples(group_by_chain=True))
        seconds = time.perf_counter() - begin
    return Drawn(
        _predicted(posterior, samples, x), seconds, float(np.sum(mcmc.get_extra_fields()["num_steps"]))
    )


def _blackjax(posterior: sb.Posterior, x: np.ndarray, depth: int) -> Drawn:
    import blackjax

    log_density = log_density_of(posterior)
    kernel = blackjax.mcmc.mclmc.build_kernel()
    steps, thin, draws = (4_000, 100, 40) if depth < 10 else (20_000, 50, 150)
    begin = _begin(posterior)
    states = jax.vmap(lambda params, key: blackjax.mcmc.mclmc.init(params, log_density, key))(
        begin, jax.random.split(jax.random.key(6), CHAINS)
    )

    @jax.jit
    def tuned(state: Any, key: jax.Array) -> Any:
        return blackjax.mclmc_find_L_and_step_size(
            mclmc_kernel=kernel,
            num_steps=steps,
            state=state,
            rng_key=key,
            logdensity_fn=log_density,
            diagonal_preconditioning=False,
            desired_energy_var=1e-4,
        )[:2]

    states, settings = jax.vmap(tuned)(states, jax.random.split(jax.random.key(7), CHAINS))

    @jax.jit
    def drawn(states: Any, settings: Any, key: jax.Array) -> Any:
        def one(state: Any, given: Any, key: jax.Array) -> Any:
            def unit(state: Any, key: jax.Array) -> Any:
                def step(state: Any, key: jax.Array) -> Any:
                    return kernel(
                        key, state, log_density, given.inverse_mass_matrix, given.L, given.step_size
                    )[0], None

                state = jax.lax.scan(step, state, jax.random.split(key, thin))[0]
                return state, state.position

            return jax.lax.scan(unit, state, jax.random.split(key, draws))

        return jax.vmap(one)(states, settings, jax.random.split(key, CHAINS))

    for seed in (8, 9):
        begun = time.perf_counter()
        states, positions = jax.block_until_ready(drawn(states, settings, jax.random.key(seed)))
        seconds = time.perf_counter() - begun
    # McLachlan's integrator takes two gradients a step.
    return Drawn(_predicted(posterior, positions, x), seconds, 2.0 * CHAINS * draws * thin)
