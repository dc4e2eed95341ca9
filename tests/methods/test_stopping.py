"""Early stopping: each chain ends at the epoch that its validation losses, computed apart, call for."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.methods.phases.stopping import Stopped
from symbayes.methods.phases.train import Train

PATIENCE, EPOCHS, CHAINS = 2, 12, 4


@pytest.fixture(scope="module")
def posterior() -> sb.Posterior:
    """Noise to be learnt by heart: what validates gets worse before long."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(40, 3)).astype(np.float32)
    y = (x[:, :1] + rng.normal(size=(40, 1))).astype(np.float32)
    return sb.Posterior(
        sb.networks.mlp(hidden=(20,), outputs=1),
        sb.likelihoods.Gaussian(0.5),
        sb.priors.Normal(10.0),
        sb.data.Examples(x[:20], y[:20]),
        sb.data.Examples(x[20:], y[20:]),
        chunk=15,
    )


@pytest.fixture(scope="module")
def start(posterior: sb.Posterior) -> Any:
    keys = jax.random.split(jax.random.key(3), CHAINS)
    return jax.jit(lambda posterior, keys: jax.vmap(posterior.init)(keys))(posterior, keys)


SETTINGS: Any = {
    "learning_rate": 0.1,
    "epochs": EPOCHS,
    "batch": 10,
    "chains": CHAINS,
    "schedule": "constant",
}


def test_chains_stop_for_themselves_and_are_what_they_were_at_their_best(
    posterior: sb.Posterior, start: Any
) -> None:
    full = sb.run(
        sb.CheckpointEnsemble(**SETTINGS, thin=1, draws=EPOCHS), posterior, start=start, progress=False
    )
    drawn = sb.run(sb.DeepEnsemble(**SETTINGS, patience=PATIENCE), posterior, start=start, progress=False)
    assert drawn.origin is not None
    traces = drawn.origin.traces
    stops = []
    for chain in range(CHAINS):
        each = [trees.index(start, chain), *(trees.index(full.variables, (chain, n)) for n in range(EPOCHS))]
        losses = [loss(posterior, one) for one in each]
        best, end = 0, EPOCHS
        for epoch in range(1, EPOCHS + 1):
            if losses[epoch] < losses[best]:
                best = epoch
            elif epoch - best == PATIENCE:
                end = epoch
                break
        stops.append(end)
        for name, value in trees.flatten(each[best]).items():
            found = trees.flatten(drawn.variables)[name][chain, 0]
            np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5, err_msg=f"{name} of {chain}")
        np.testing.assert_allclose(traces["validation"][chain, :end], losses[1 : end + 1], rtol=1e-4)
        assert (traces["loss"][chain, end:] == traces["loss"][chain, end - 1]).all(), "nothing is trained"
    assert len(set(stops)) > 1, "chains stop at different times"
    assert min(stops) < EPOCHS


_apply = jax.jit(lambda posterior, variables, x: posterior.network.apply(variables, x))


def loss(posterior: sb.Posterior, variables: Any) -> float:
    """The mean negative log likelihood of the validation data, in NumPy."""
    examples = posterior.validation
    assert examples is not None
    predicted = np.asarray(_apply(posterior, variables, jnp.asarray(examples.x)), np.float64)
    squares = ((predicted - np.asarray(examples.y)) / 0.5) ** 2
    return float(np.mean(0.5 * squares + np.log(0.5) + 0.5 * np.log(2 * np.pi)))


def test_pieces_and_blocks_change_nothing(posterior: sb.Posterior, start: Any) -> None:
    method = sb.DeepEnsemble(**SETTINGS, patience=PATIENCE)
    one, other = (
        sb.run(method, posterior, start=start, progress=False, block_steps=size) for size in (None, 1)
    )
    for name, value in trees.flatten(one.variables).items():
        np.testing.assert_allclose(
            trees.flatten(other.variables)[name], value, rtol=1e-4, atol=1e-6, err_msg=name
        )


def test_the_validation_data_are_recorded_where_they_count(posterior: sb.Posterior, tmp_path: Any) -> None:
    for patience, recorded in ((0, None), (1, posterior.validation)):
        folder = tmp_path / str(patience)
        method = sb.DeepEnsemble(epochs=1, batch=10, chains=CHAINS, patience=patience)
        sb.run(method, posterior, store=folder, progress=False)
        expected = None if recorded is None else {"examples": 20, "sha256": recorded.checksum()}
        assert sb.Run(folder).config["validation"] == expected


@pytest.mark.parametrize("kind", [sb.Laplace, sb.MCDropout])
def test_what_goes_around_a_trained_network_takes_it_at_its_best(kind: Any, posterior: sb.Posterior) -> None:
    method = kind(**SETTINGS, patience=PATIENCE).resolve(posterior)
    train = method.phases(posterior)[0]
    assert type(train) is Stopped
    assert train.patience == PATIENCE
    assert type(kind(**SETTINGS).resolve(posterior).phases(posterior)[0]) is Train


@pytest.mark.parametrize("kind", [sb.EMA, sb.BatchEnsemble, sb.Masksembles, sb.PackedEnsemble, sb.MIMO])
def test_averages_and_members_are_what_they_were_at_their_best(kind: Any, posterior: sb.Posterior) -> None:
    """Against trainings of one epoch, of two and so on, with the losses of their own draws in NumPy."""
    own: Any = {"decay": 0.5} if kind is sb.EMA else {"members": 2}
    options: Any = {"progress": False, "together": CHAINS}
    drawn = sb.run(kind(**SETTINGS, **own, patience=PATIENCE), posterior, **options)

    @functools.cache
    def after(epoch: int) -> Any:
        """Trained for so many epochs more than one; made only as far as some chain goes."""
        return sb.run(kind(**(SETTINGS | {"epochs": epoch + 1}), **own), posterior, **options).variables

    assert drawn.origin is not None
    stops = []
    for chain in range(CHAINS):
        members, losses, best = [], [], 0
        for epoch in range(EPOCHS):
            members.append([trees.index(after(epoch), (chain, m)) for m in range(len(drawn))])
            losses.append(np.mean([loss(posterior, member) for member in members[epoch]]))
            best = epoch if losses[epoch] < losses[best] else best
            if epoch - best == PATIENCE:
                break
        stops.append(epoch)
        for m in range(len(drawn)):
            for name, value in trees.flatten(members[best][m]).items():
                found = trees.flatten(drawn.variables)[name][chain, m]
                np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5, err_msg=f"{name} of {chain}")
        traced = drawn.origin.traces["validation"][chain]
        np.testing.assert_allclose(traced[: epoch + 1], losses, rtol=1e-4)
    assert min(stops) < EPOCHS - 1, "some chain stops before the end"


def test_patience_without_validation_data_is_refused(tiny: sb.Posterior) -> None:
    with pytest.raises(ValueError, match="patience needs validation data: give some to the posterior"):
        sb.DeepEnsemble(patience=3).resolve(tiny)
