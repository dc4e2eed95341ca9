"""What observers remember and give, without a run."""

from dataclasses import dataclass

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.posterior.forwards import Passes
from symbayes.pytrees import pytree


@pytest.mark.parametrize("draws", [1, 3])
def test_moments_of_a_single_draw_have_no_variance(tiny: sb.Posterior, draws: int) -> None:
    observer = sb.Moments()
    keys = jax.random.split(jax.random.key(2), (1, draws))
    seen = jax.tree.map(np.asarray, jax.jit(jax.vmap(jax.vmap(tiny.init)))(keys))
    given = observer.finish(tiny, observer.update(tiny, observer.init(tiny), seen))
    assert int(given["count"]) == draws
    for name, values in trees.flatten(seen).items():
        np.testing.assert_allclose(given[f"mean/{name}"], values.mean(axis=(0, 1)), atol=1e-6)
        if draws == 1:
            assert np.isnan(given[f"variance/{name}"]).all()
        else:
            np.testing.assert_allclose(given[f"variance/{name}"], values[0].var(axis=0, ddof=1), atol=1e-6)


@dataclass(frozen=True)
class Doubled(evaluate.RunningPredictive):
    """Remembers what its parent does, and gives something else."""

    @classmethod
    def init(cls, shape: tuple[int, ...]) -> "Doubled":
        return cls(0, np.zeros(shape), np.zeros(shape[:-1]))

    def update(self, block: np.ndarray) -> "Doubled":
        return Doubled(**vars(super().update(block)))

    def finish(self) -> evaluate.RunningPredictive:
        return evaluate.RunningPredictive(self.count, 2 * self.probs, self.entropies)


@pytree
@dataclass(frozen=True)
class Doubling(sb.likelihoods.Categorical):
    def running(self, shape: tuple[int, ...]) -> Doubled:
        return Doubled.init(shape)


def test_predictions_are_remembered_in_the_likelihoods_own_form(tiny: sb.Posterior) -> None:
    """Also where another one has fields of the same names."""
    posterior = sb.Posterior(tiny.network, Doubling(), tiny.prior, tiny.train)
    x = np.asarray(tiny.train.x[:5])
    observer = sb.Predictions(x)
    variables = jax.jit(jax.vmap(jax.vmap(tiny.init)))(jax.random.split(jax.random.key(3), (2, 4)))
    memory = observer.init(posterior)
    for part in (slice(1), slice(1, 4)):
        some = jax.tree.map(lambda leaf, part=part: leaf[:, part], variables)
        seen = observer.look(posterior, some, Passes())
        memory = observer.update(posterior, memory, [np.asarray(each) for each in seen])
    expected = sb.posterior.prediction.predict(
        tiny.network, tiny.likelihood, sb.Draws.from_variables(variables), x
    )
    np.testing.assert_allclose(observer.finish(posterior, memory)["probs"], 2 * expected.mean, rtol=1e-5)
