"""Many networks trained by one `DeepEnsemble` against a plain loop that trains one after another.

The plain loop is PyTorch's where it is installed, else a compiled step of optax that is called for every
mini-batch.  Both train with Adam at a constant rate, with the prior as weight decay, every network in its own
order; accuracies on the test part tell that they do the same.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
import optax

import symbayes as sb
from benchmarks.timing import Result

RATE, SCALE = 1e-3, 1.0


@dataclass(frozen=True)
class Case:
    """A fleet: so many of this network, on this data, for so many epochs beyond the first."""

    name: str
    network: Any
    data: str
    members: int
    epochs: int
    batch: int
    precision: Any
    at_most: float
    alone: int
    """How many the plain loop trains; the others take as long."""
    rounds: int


def cases() -> list[Case]:
    if jax.default_backend() == "cpu":
        digits = sb.networks.mlp((32,), 10)
        return [Case("64-32-10", digits, "digits", 16, 20, 100, "float32", 1 / 3, alone=4, rounds=3)]
    lenet = sb.networks.lenet()
    return [
        Case("LeNet", lenet, "fashion-mnist", 256, 3, 128, precision, 1 / 3, alone=2, rounds=1)
        for precision in ("tf32", "bf16")
    ]


def run() -> list[Result]:
    return [_measured(case) for case in cases()]


def _measured(case: Case) -> Result:
    dataset = sb.data.load(case.data)
    fleet, accuracy = _fleet(case, dataset)
    kind, plain, expected = _plain(case, dataset)
    images = len(dataset.train) // case.batch * case.batch * case.epochs
    detail = {
        "epochs": case.epochs,
        "batch": case.batch,
        "precision": case.precision,
        "fleet, million images a second": round(case.members * images / fleet / 1e6, 3),
        f"plain loop ({kind}), million images a second": round(images / plain / 1e6, 4),
        "fleet, mean accuracy": round(accuracy, 4),
        "plain loop, mean accuracy": round(expected, 4),
    }
    ratio = fleet / (case.members * plain)
    return Result(
        f"{case.members} of {case.name} as an ensemble / one after another", ratio, case.at_most, detail
    )


def _fleet(case: Case, dataset: Any) -> tuple[float, float]:
    """Seconds of the epochs beyond the first, and the mean accuracy of the members."""
    posterior = sb.Posterior(
        case.network,
        sb.likelihoods.Categorical(),
        sb.priors.Normal(SCALE),
        dataset.train,
        precision=case.precision,
    )

    def trained(epochs: int) -> Any:
        method = sb.DeepEnsemble(RATE, epochs, case.batch, chains=case.members, schedule="constant")
        return sb.run(method, posterior, progress=False)

    trained(1)
    drawn: Any = None
    seconds = {1: [], 1 + case.epochs: []}
    for _ in range(case.rounds):
        for epochs, found in seconds.items():
            begin = time.perf_counter()
            drawn = trained(epochs)
            found.append(time.perf_counter() - begin)
    probabilities = posterior.predict(drawn, dataset.test.x).every[:, 0]
    right = np.argmax(probabilities, axis=-1) == np.asarray(dataset.test.y)
    # Start and last evaluation are in both, and drop out; compiling is in neither.
    short, long = map(min, seconds.values())
    return long - short, float(right.mean())


def _plain(case: Case, dataset: Any) -> tuple[str, float, float]:
    """What loop it is, its seconds for one network, and the mean accuracy."""
    try:
        from benchmarks.torch_loop import trainer

        kind = "PyTorch"
    except ImportError:
        trainer, kind = _optax, "optax"
    made = [trainer(case.network, dataset, case.batch, RATE, SCALE, seed) for seed in range(case.alone)]
    seconds = []
    for epoch, _ in made:
        epoch()
        begin = time.perf_counter()
        for _ in range(case.epochs):
            epoch()
        seconds.append(time.perf_counter() - begin)
    return kind, float(np.mean(seconds)), float(np.mean([accuracy() for _, accuracy in made]))


def _optax(network: Any, dataset: Any, batch: int, rate: float, scale: float, seed: int) -> Any:
    """One epoch of a plain loop, and the accuracy after it."""
    x, y = jax.device_put(np.asarray(dataset.train.x)), jax.device_put(np.asarray(dataset.train.y))
    variables = network.init(jax.random.key(seed), x[:1])
    optimizer = optax.adam(rate)
    held = [variables["params"], optimizer.init(variables["params"])]
    order = np.random.default_rng(seed)
    prior = sb.priors.Normal(scale)

    @jax.jit
    def step(params: Any, memory: Any, rows: Any) -> Any:
        def loss(params: Any) -> jax.Array:
            outputs, _ = network.apply_train({**variables, "params": params}, x[rows], jax.random.key(0))
            likelihood = optax.softmax_cross_entropy_with_integer_labels(outputs, y[rows]).mean()
            return likelihood - prior.log_density(params) / len(x)

        updates, memory = optimizer.update(jax.grad(loss)(params), memory, params)
        return optax.apply_updates(params, updates), memory

    def epoch() -> None:
        for rows in np.array_split(order.permutation(len(x))[: len(x) // batch * batch], len(x) // batch):
            held[:] = step(*held, rows)
        jax.block_until_ready(held)

    def accuracy() -> float:
        outputs = network.apply({**variables, "params": held[0]}, np.asarray(dataset.test.x))
        return float(np.mean(np.argmax(outputs, axis=-1) == np.asarray(dataset.test.y)))

    return epoch, accuracy
