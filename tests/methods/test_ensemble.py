"""Deep ensembles: a hand-written optax loop gives the same members, in the same order of examples."""

import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from scipy.stats import norm

import symbayes as sb
from symbayes import trees
from symbayes.engine.job import Job
from symbayes.engine.sinks import MemorySink
from symbayes.engine.start import Start
from symbayes.networks import NNXNetwork
from symbayes.networks.network import Spec

SEED, EXAMPLES, BATCH, EPOCHS = 6, 30, 8, 3
TEMPERATURE = 0.5
"""Of the likelihood alone: the prior then weighs half as much as it would."""


@dataclass(frozen=True)
class Normed(Spec):
    """A classifier with batch statistics and dropout: all that training has to carry."""

    outputs: int = 3

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return nnx.Sequential(
            nnx.Linear(example_shape[0], 5, use_bias=False, rngs=rngs),
            nnx.BatchNorm(5, rngs=rngs),
            nnx.Dropout(0.3, rngs=rngs),
            nnx.Linear(5, self.outputs, rngs=rngs),
        )


@pytest.fixture(scope="module")
def posterior() -> sb.Posterior:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EXAMPLES, 4)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int32) + (x[:, 1] > 0)
    return sb.Posterior(
        NNXNetwork(Normed()),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(0.5),
        sb.data.Examples(x, y.astype(np.int32)),
        temperature=TEMPERATURE,
        tempers="likelihood",
        chunk=7,
    )


fresh = jax.jit(lambda posterior, key: posterior.init(key))


DECAY = TEMPERATURE / (0.5**2 * EXAMPLES)
"""What the prior N(0, 0.5^2) is as weight decay on the mean loss."""


def plain_member(
    posterior: sb.Posterior, optimizer: optax.GradientTransformation, member: int, decay: float = DECAY
) -> Any:
    """One member by optax alone, with the batches and keys that the protocol of methods prescribes."""
    chain_key = jax.random.fold_in(jax.random.key(SEED), member)
    variables = fresh(posterior, chain_key)
    memory = optimizer.init(variables["params"])
    examples = posterior.train

    def loss(params: Any, stats: Any, rows: jax.Array, key: jax.Array) -> tuple[jax.Array, Any]:
        outputs, stats = posterior.network.apply_train(
            {"params": params, "stats": stats}, examples.x[rows], key
        )
        likelihood = optax.softmax_cross_entropy_with_integer_labels(outputs, examples.y[rows]).mean()
        squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(params))
        return likelihood + decay / 2 * squares, stats

    @jax.jit
    def step(variables: Any, memory: Any, rows: jax.Array, key: jax.Array) -> Any:
        params = variables["params"]
        gradient, stats = jax.grad(loss, has_aux=True)(params, variables["stats"], rows, key)
        updates, memory = optimizer.update(gradient, memory, params)
        return {"params": optax.apply_updates(params, updates), "stats": stats}, memory

    for epoch in range(EPOCHS):
        epoch_key = jax.random.fold_in(chain_key, epoch)
        order = jax.random.permutation(epoch_key, EXAMPLES)
        for j in range(EXAMPLES // BATCH):
            rows = order[j * BATCH : (j + 1) * BATCH]
            variables, memory = step(variables, memory, rows, jax.random.fold_in(epoch_key, j))
    return variables


STEPS = EPOCHS * (EXAMPLES // BATCH)


@pytest.mark.parametrize(
    ("method", "optimizer", "decay"),
    [
        (
            sb.DeepEnsemble(0.05, EPOCHS, BATCH, chains=2, schedule="cosine"),
            optax.adam(optax.cosine_decay_schedule(0.05, STEPS)),
            DECAY,
        ),
        (
            sb.DeepEnsemble(
                0.05, EPOCHS, BATCH, chains=2, optimizer="sgd", schedule="constant", momentum=0.8
            ),
            optax.sgd(0.05, momentum=0.8),
            DECAY,
        ),
        (
            sb.DeepEnsemble(
                0.05, EPOCHS, BATCH, chains=2, optimizer="nesterov", schedule="constant", momentum=0.8
            ),
            optax.sgd(0.05, momentum=0.8, nesterov=True),
            DECAY,
        ),
        (
            # The weight decay that is the prior is AdamW's own, and not in the loss.
            sb.DeepEnsemble(
                0.05, EPOCHS, BATCH, chains=2, optimizer="adamw", schedule="linear", warmup=1 / 3, clip=0.3
            ),
            optax.chain(
                optax.clip_by_global_norm(0.3),
                optax.adamw(
                    optax.join_schedules(
                        [
                            optax.linear_schedule(0, 0.05, STEPS // 3),
                            optax.linear_schedule(0.05, 0, STEPS - STEPS // 3),
                        ],
                        [STEPS // 3],
                    ),
                    weight_decay=DECAY,
                ),
            ),
            0.0,
        ),
    ],
    ids=["adam", "sgd", "nesterov", "adamw"],
)
def test_members_are_those_of_a_plain_loop(
    posterior: Any, method: sb.DeepEnsemble, optimizer: Any, decay: float
) -> None:
    keys = [jax.random.fold_in(jax.random.key(SEED), member) for member in range(2)]
    start = trees.stack([fresh(posterior, key) for key in keys])
    drawn = sb.run(method, posterior, seed=SEED, start=start, progress=False)
    members = drawn.variables
    density = jax.jit(lambda posterior, variables: posterior.log_density(variables))
    energy = -density(posterior, trees.index(members, (1, 0)))
    assert drawn.stats["energy"][1, 0] == pytest.approx(float(energy), rel=1e-5)
    expected = plain_member(posterior, optimizer, 1, decay)
    begun = trees.flatten(trees.index(start, 1))
    for name, value in trees.flatten(expected).items():
        reached = trees.flatten(members)[name][1, 0]
        np.testing.assert_allclose(reached, value, rtol=1e-3, atol=1e-4, err_msg=name)
        assert np.abs(np.asarray(value) - begun[name]).max() > 1e-2, "it was trained"


@pytest.fixture(scope="module")
def one_hot() -> sb.Posterior:
    """Eleven weights, each with an example of its own whose target is one, and hardly any prior."""
    return sb.Posterior(
        sb.networks.mlp(hidden=(), outputs=1, bias=False),
        sb.likelihoods.Gaussian(1.0),
        sb.priors.Normal(1e6),
        sb.data.Examples(np.eye(11, dtype=np.float32), np.ones((11, 1), np.float32)),
    )


def test_an_epoch_visits_each_example_at_most_once_and_each_member_in_its_own_order(
    one_hot: sb.Posterior,
) -> None:
    """With one-hot inputs and targets of one, weight i moves only when example i is visited.

    Under momentum 0.9 a visit at step j of S leaves ``lr/B (1 + 0.9 + ... + 0.9^(S-1-j))``, so the
    weight tells the step of its only visit.
    """
    n, batch, chains, rate = 11, 3, 6, 1e-3
    start = {"params": {"output": {"kernel": np.zeros((n, 1), np.float32)}}, "stats": {}}
    method = sb.DeepEnsemble(rate, epochs=1, batch=batch, chains=chains, optimizer="sgd", schedule="constant")
    kernel = sb.run(method, one_hot, start=start, progress=False).variables["params"]["output"]["kernel"]
    moved = kernel[:, 0, :, 0] * batch / rate
    levels = np.array([1 + 0.9 + 0.81, 1.9, 1.0, 0.0])
    np.testing.assert_allclose(np.abs(moved[..., None] - levels).min(axis=-1), 0, atol=1e-2)
    steps = np.abs(moved[..., None] - levels).argmin(axis=-1)
    for member in steps:
        np.testing.assert_array_equal(np.bincount(member, minlength=4), [3, 3, 3, 2])
    assert len({tuple(member) for member in steps}) == chains


@pytest.mark.parametrize("block_steps", [9, 1])
def test_losses_are_those_of_every_member_and_epoch(one_hot: sb.Posterior, block_steps: int) -> None:
    """Members that hardly move, each with one weight for all examples: every batch has the same loss."""
    each = np.linspace(-1, 2, 6)
    kernel = np.broadcast_to(each[:, None, None], (6, 11, 1)).astype(np.float32)
    method = sb.DeepEnsemble(1e-9, epochs=3, batch=3, chains=6, optimizer="sgd", schedule="constant")
    start = {"params": {"output": {"kernel": kernel}}, "stats": {}}
    drawn = sb.run(method, one_hot, start=start, block_steps=block_steps)
    assert drawn.origin is not None
    losses = drawn.origin.traces["loss"]
    assert losses.shape == (6, 3)
    expected = -norm.logpdf(1, each, 1) - norm.logpdf(each, 0, 1e6)
    np.testing.assert_allclose(losses, np.tile(expected[:, None], 3), rtol=1e-5)
    np.testing.assert_array_equal(drawn.stats["loss"], losses[:, -1:])


def test_cosine_schedule_ends_near_zero(tiny: sb.Posterior, begin: Any) -> None:
    """The hundredth and last step is a 4,000th of the first, which with Adam is the learning rate."""
    method = sb.DeepEnsemble(0.01, 100, 128, chains=1, schedule="cosine").resolve(tiny)
    job = Job(method, tiny, Start(tiny, 0, 1, begin), block_steps=1)
    made = list(job.blocks(MemorySink(), {}))
    visited = [begin, *(block.state.chain.variables for block in made)]
    steps = [
        np.abs(np.asarray(trees.ravel(b["params"])) - np.asarray(trees.ravel(a["params"]))).max()
        for a, b in itertools.pairwise(visited)
    ]
    assert len(steps) == 100
    assert steps[0] == pytest.approx(0.01, rel=1e-2)
    assert 0 < steps[-1] < 1e-5


def test_a_batch_larger_than_the_data_is_all_of_it(tiny: sb.Posterior, begin: Any) -> None:
    assert sb.DeepEnsemble(batch=1000).resolve(tiny).batch == 128
    large, whole = (
        sb.run(sb.DeepEnsemble(0.01, 4, batch, chains=1), tiny, start=begin, block_steps=1)
        for batch in (1000, 128)
    )
    np.testing.assert_array_equal(large.stats["energy"], whole.stats["energy"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be a positive number, not 0.0"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive number, not -1.0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, not 0"),
        ({"batch": 0}, "batch must be a whole number of at least 1, not 0"),
        ({"chains": 0}, "chains must be a whole number of at least 1, not 0"),
        ({"warmup": 1.0}, "warmup is a share of the training, below 1"),
        ({"momentum": 1}, "momentum is the share of the velocity that a step keeps, below 1"),
        ({"clip": -0.1}, "clip is a number of at least zero, not -0.1"),
        ({"schedule": "cyclic"}, "schedule is constant, linear, cosine or step, not 'cyclic'"),
    ],
)
def test_bad_hyper_parameters_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sb.DeepEnsemble(**changes)
