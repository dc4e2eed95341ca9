"""The Gaussian against closed forms, scipy and plain numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from symbayes import trees
from symbayes.distributions import Gaussian, largest_rank, mean_network
from symbayes.draws import Draws

SIZE = 11
seeds = st.integers(0, 2**32 - 1)


def make(vectors: np.ndarray, stats: np.ndarray | None = None) -> Draws:
    """Draws (chain, draw, 11) as a network: l2/bias, l2/kernel, l10/kernel."""
    lead = vectors.shape[:-1]
    variables = {
        "params": {
            "l2": {"bias": vectors[..., 0], "kernel": vectors[..., 1:7].reshape(*lead, 3, 2)},
            "l10": {"kernel": vectors[..., 7:]},
        },
        "stats": {} if stats is None else {"mean": stats},
    }
    return Draws.from_variables(variables)


def vectors(variables, batch_dims: int = 0) -> np.ndarray:
    """The weights in natural order, in the precision they have."""
    weights = {part: tree for part, tree in variables.items() if part != "stats"}
    leaves = [np.asarray(leaf) for leaf in trees.flatten(weights).values()]
    sizes = [int(np.prod(x.shape[batch_dims:])) for x in leaves]
    flat = [x.reshape(*x.shape[:batch_dims], size) for x, size in zip(leaves, sizes, strict=True)]
    return np.concatenate(flat, axis=-1)


def factors(gaussian: Gaussian) -> np.ndarray:
    """One row per weight and one column per rank."""
    return vectors(gaussian.factors, 1).T


def covariance(gaussian: Gaussian) -> np.ndarray:
    return np.diag(vectors(gaussian.diagonal)) + factors(gaussian) @ factors(gaussian).T


def correlated(seed: int, chains: int, draws: int) -> np.ndarray:
    """Far from zero, with scales from 0.01 to 1, in float64."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(SIZE, SIZE)) * np.geomspace(0.01, 1, SIZE)
    return 5 + rng.normal(size=(chains, draws, SIZE)) @ mix


@given(seeds, st.integers(1, 3), st.integers(2, 9), st.data())
def test_every_rank_keeps_mean_and_variances_and_takes_the_best_axes(seed, chains, draws, data):
    x = correlated(seed, chains, draws)
    flat = x.reshape(-1, SIZE)
    rank = data.draw(st.integers(0, min(len(flat) - 1, SIZE)))
    fitted = Gaussian.fit(make(x), rank)
    np.testing.assert_allclose(vectors(fitted.mean), flat.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(vectors(fitted.variance), flat.var(axis=0, ddof=1), rtol=1e-9)
    np.testing.assert_allclose(vectors(fitted.scale), flat.std(axis=0, ddof=1), rtol=1e-9)
    # The best approximation of rank k, from the singular values of the centred draws.
    _, singular, axes = np.linalg.svd((flat - flat.mean(axis=0)) / np.sqrt(len(flat) - 1))
    best = (axes[:rank].T * singular[:rank] ** 2) @ axes[:rank]
    np.testing.assert_allclose(factors(fitted) @ factors(fitted).T, best, atol=1e-9 * singular[0] ** 2)
    assert fitted.rank == rank
    assert fitted.floats == (rank + 2) * SIZE


@given(seeds, st.integers(2, 8))
def test_as_many_factors_as_deviations_give_the_empirical_covariance(seed, draws):
    x = correlated(seed, 1, draws)
    fitted = Gaussian.fit(make(x), rank=draws - 1)
    np.testing.assert_array_equal(vectors(fitted.diagonal), 0)
    expected = np.cov(x[0], rowvar=False)
    np.testing.assert_allclose(covariance(fitted), expected, atol=1e-12 * np.abs(expected).max())
    single = Gaussian.fit(make(x.astype(np.float32)), rank=draws - 1)
    assert factors(single).dtype == np.float32
    np.testing.assert_array_equal(vectors(single.diagonal), 0)
    with pytest.raises(ValueError, match=f"rank {draws - 1} leaves 11 weights"):
        fitted.log_density(fitted.mean)


@given(seeds, st.integers(0, 4), st.sampled_from([(), (3,), (2, 3)]))
def test_log_density_agrees_with_scipy(seed, rank, lead):
    x = correlated(seed, 2, 8)
    fitted = Gaussian.fit(make(x), rank)
    where = correlated(seed + 1, 1, 6).reshape(-1, SIZE)[: int(np.prod(lead))].reshape(*lead, SIZE)
    wide = where if lead else where.reshape(1, SIZE)[0]
    expected = multivariate_normal(vectors(fitted.mean), covariance(fitted), allow_singular=False).logpdf(
        wide
    )
    variables = make(wide[None, None]).variables
    found = fitted.log_density(jax.tree.map(lambda leaf: leaf[0, 0], variables))
    assert found.shape == lead
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_density_of_one_weight_is_the_textbook_one():
    draws = Draws.from_variables({"w": np.array([[1.0, 3.0, 5.0]])})
    fitted = Gaussian.fit(draws)
    assert (fitted.mean["w"], fitted.variance["w"], fitted.scale["w"]) == (3.0, 4.0, 2.0)
    expected = -0.5 * ((4.0 - 3.0) / 2.0) ** 2 - np.log(2.0) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(fitted.log_density({"w": jnp.asarray(4.0)}), expected, rtol=1e-12)


def test_weights_that_never_move_take_no_part_in_the_density():
    x = correlated(0, 1, 9)
    x[..., 3] = 1 / 3
    fitted = Gaussian.fit(make(x), rank=2)
    assert vectors(fitted.mean)[3] == 1 / 3
    assert vectors(fitted.scale)[3] == 0
    rest = np.delete(np.arange(SIZE), 3)
    expected = multivariate_normal(vectors(fitted.mean)[rest], covariance(fitted)[np.ix_(rest, rest)]).logpdf(
        x[0][:, rest]
    )
    np.testing.assert_allclose(fitted.log_density(make(x).variables)[0], expected, rtol=1e-6)
    x[0, :2, 3] = 1.0
    assert np.isneginf(fitted.log_density(make(x).variables)[0]).tolist() == [True] * 2 + [False] * 7
    sampled = vectors(fitted.draws(jax.random.key(0), 5).variables, 2)
    np.testing.assert_array_equal(sampled[..., 3], np.float32(1 / 3))


def test_a_known_gaussian_is_recovered_within_monte_carlo_error():
    """Entries of an empirical covariance have variance (c_ij^2 + c_ii c_jj) / (M - 1)."""
    rng = np.random.default_rng(1)
    draws, shared = 4000, rng.normal(size=(SIZE, 2))
    truth = np.diag(rng.uniform(0.5, 1.5, SIZE)) + shared @ shared.T
    mean = rng.normal(size=SIZE)
    x = mean + rng.normal(size=(2, draws // 2, SIZE)) @ np.linalg.cholesky(truth).T
    fitted = Gaussian.fit(make(x), rank=SIZE)
    errors = np.sqrt((truth**2 + np.outer(np.diag(truth), np.diag(truth))) / (draws - 1))
    assert np.max(np.abs(covariance(fitted) - truth) / errors) < 4.5
    assert np.max(np.abs(vectors(fitted.mean) - mean) / np.sqrt(np.diag(truth) / draws)) < 4.5


@pytest.mark.parametrize("draws", [500, 5000])
def test_the_axes_of_a_diagonal_plus_low_rank_covariance_are_found(draws):
    """Exactly without noise, and within the bound of Davis and Kahan (Yu et al. 2015) with it.

    500 draws go through the Gram matrix, 5,000 through the sketch.
    """
    rng = np.random.default_rng(2)
    rank, size = 3, 120
    axes = np.linalg.qr(rng.normal(size=(size, rank)))[0]
    strength = np.array([5.0, 4.0, 3.0])
    own = rng.uniform(0.05, 0.15, size)
    shared = rng.normal(size=(draws, rank)) * strength @ axes.T
    noisy = shared + rng.normal(size=(draws, size)) * np.sqrt(own)
    exact = Gaussian.fit(Draws.from_variables({"w": shared[None]}), rank)
    np.testing.assert_allclose(axes @ (axes.T @ factors(exact)), factors(exact), atol=1e-10)
    np.testing.assert_allclose(covariance(exact), np.cov(shared, rowvar=False), atol=1e-10)
    fitted = Gaussian.fit(Draws.from_variables({"w": noisy[None]}), rank)
    truth = np.diag(own) + (axes * strength**2) @ axes.T
    basis = np.linalg.qr(factors(fitted))[0]
    sine = np.linalg.norm(basis - axes @ (axes.T @ basis))
    gap = np.diff(np.sort(np.linalg.eigvalsh(truth)))[-rank]
    own_axes = np.linalg.norm(np.diag(own - own.mean()), 2)
    error = np.linalg.norm(np.cov(noisy, rowvar=False) - truth, 2) + own_axes
    assert sine < 2 * np.sqrt(rank) * error / gap
    # What is left is the noise of each weight.
    ratio = vectors(fitted.diagonal) / own
    assert abs(np.mean(ratio) - 1) < 4.5 * np.sqrt(2 / (draws * size)) + rank / size


def test_sketched_axes_are_close_to_the_best():
    """In expectation the squared error is below three times the best one.

    The sketch leaves out at most twice the best error (Halko et al. 2011, theorem 10.5 with p = k + 32),
    and cutting what it has to the rank, in directions orthogonal to that, at most once the best.
    """
    rng = np.random.default_rng(3)
    rank, size, draws = 4, 200, 2500
    x = rng.normal(size=(draws, size)) / (1 + np.arange(size))
    fitted = Gaussian.fit(Draws.from_variables({"w": x[None]}), rank)
    singular = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    total = np.sum(singular**2) / (draws - 1)
    best = np.sum(singular[rank:] ** 2) / (draws - 1)
    left = total - np.sum(factors(fitted) ** 2)
    assert best * (1 - 1e-9) <= left < 3 * best < 0.5 * total
    np.testing.assert_allclose(fitted.variance["w"], x.var(axis=0, ddof=1), rtol=1e-12)


@given(seeds, st.integers(3, 9), st.floats(0, 1))
def test_shrinkage_takes_its_share_off_every_covariance(seed, draws, share):
    x = correlated(seed, 1, draws)
    plain, shrunk = (Gaussian.fit(make(x), 2, shrinkage) for shrinkage in (None, share))
    off = ~np.eye(SIZE, dtype=bool)
    np.testing.assert_allclose(covariance(shrunk)[off], (1 - share) * covariance(plain)[off], atol=1e-12)
    np.testing.assert_allclose(vectors(shrunk.variance), vectors(plain.variance), rtol=1e-9)


@given(seeds, st.integers(3, 12))
def test_automatic_shrinkage_is_the_sum_over_pairs_of_weights(seed, draws):
    x = np.random.default_rng(seed).normal(size=(1, draws, SIZE)) + correlated(seed, 1, 1)
    centred = x[0] - x[0].mean(axis=0)
    variances, squares = 0.0, 0.0
    for i in range(SIZE):
        for j in set(range(SIZE)) - {i}:
            products = centred[:, i] * centred[:, j]
            variances += draws / (draws - 1) ** 3 * np.sum((products - products.mean()) ** 2)
            squares += (products.sum() / (draws - 1)) ** 2
    share = min(1.0, variances / squares)
    expected = (1 - share) * np.cov(x[0], rowvar=False)
    found = covariance(Gaussian.fit(make(x), min(draws - 1, SIZE), shrinkage="auto"))
    off = ~np.eye(SIZE, dtype=bool)
    np.testing.assert_allclose(found[off], expected[off], atol=1e-10)


@pytest.mark.parametrize("noise", [1.0, 0.5])
def test_samples_have_the_covariance_and_the_noise_asked_for(noise):
    x = correlated(4, 1, 30)
    x[0] /= x[0].std(axis=0)
    fitted = Gaussian.fit(make(x, np.full((1, 30, 2), 7.0)), rank=3)
    count, spread = 4000, noise**2 * covariance(fitted)
    keys = jax.random.split(jax.random.key(3), count)
    sampled = jax.jit(jax.vmap(fitted.with_noise(noise).sample))(keys)
    np.testing.assert_array_equal(sampled["stats"]["mean"], np.full((count, 2), 7.0))
    flat = vectors(sampled, 1).astype(np.float64)
    errors = np.sqrt((spread**2 + np.outer(np.diag(spread), np.diag(spread))) / (count - 1))
    assert np.max(np.abs(np.cov(flat, rowvar=False) - spread) / errors) < 4.5
    distance = flat.mean(axis=0) - vectors(fitted.mean)
    assert np.max(np.abs(distance) / np.sqrt(np.diag(spread) / count)) < 4.5


def test_without_noise_every_sample_is_the_mean():
    fitted = Gaussian.fit(make(correlated(5, 1, 6)), rank=2)
    still = vectors(fitted.with_noise(0.0).draws(jax.random.key(0), 3).variables, 2)[0]
    np.testing.assert_array_equal(still, np.tile(vectors(fitted.mean).astype(np.float32), (3, 1)))
    for noise in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="at least zero"):
            fitted.with_noise(noise)


def test_constants_are_held_at_their_mean():
    rng = np.random.default_rng(0)
    stats = rng.normal(size=(2, 5, 3)).astype(np.float32)
    fitted = Gaussian.fit(make(correlated(0, 2, 5).astype(np.float32), stats), rank=1)
    np.testing.assert_allclose(fitted.mean["stats"]["mean"], stats.mean(axis=(0, 1)), rtol=1e-6)
    np.testing.assert_array_equal(fitted.variance["stats"]["mean"], 0)
    assert fitted.floats == 3 * SIZE + 3
    assert jax.tree.structure(fitted.mean) == jax.tree.structure(fitted.scale)
    assert fitted.mean["params"]["l2"]["kernel"].dtype == np.float32


def test_without_constants_the_variables_keep_their_two_parts():
    assert Gaussian.fit(make(correlated(0, 1, 3))).mean.keys() == {"params", "stats"}


def test_bad_input_is_refused():
    x = correlated(0, 2, 4)
    broken = x.copy()
    broken[1, 2, 8] = np.nan
    for arguments, sentence in (
        ((make(x[:1, :1]),), "at least two draws"),
        ((make(broken),), r"'params/l10/kernel' is not finite in draw 2 of chain 1"),
        ((make(x), 8), "from 0 to 7 for 8 draws of 11 weights"),
        ((make(x), -1), "from 0 to 7"),
        ((make(x), 1, 1.5), "number from 0 to 1"),
        ((Draws.from_variables({"stats": {"mean": x}}),), "no parameter"),
        ((Draws.from_variables({"w": np.zeros((1, 2049, 2))}), 1, "auto"), "thin the draws"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Gaussian.fit(*arguments)
    with pytest.raises(ValueError, match="not finite in draw 2 of chain 1"):
        mean_network(make(broken))


def test_variables_of_another_network_are_refused_by_name():
    fitted = Gaussian.fit(make(correlated(0, 1, 4)))
    mean = fitted.mean["params"]
    for params, sentence in (
        ({"l2": mean["l2"]}, "'params/l10/kernel' is missing"),
        ({**mean, "l3": {"bias": np.zeros(1)}}, "'params/l3/bias' is unknown"),
        ({**mean, "l10": {"kernel": np.zeros(5)}}, r"'params/l10/kernel' has shape \(5,\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            fitted.log_density({"params": params})


def test_trees_that_do_not_fit_are_refused():
    w = {"params": {"a": np.zeros((3, 2)), "b": np.zeros(4)}}
    u = {"params": {"a": np.zeros((5, 3, 2)), "b": np.zeros((5, 4))}}
    assert Gaussian({**w, "stats": {"m": np.zeros(2)}}, w, u).rank == 5
    for diagonal, shared, sentence in (
        ({"params": {"a": np.zeros((3, 2))}}, u, "'params/b' is missing from the diagonal"),
        (w, {**u, "gain": np.zeros(5)}, "'gain' is no weight of the location, but in the factors"),
        ({"params": {**w["params"], "b": np.zeros(3)}}, u, r"diagonal of 'params/b' has shape \(3,\)"),
        (w, {"params": {**u["params"], "b": np.zeros((6, 4))}}, "which all weights share"),
        (w, {"params": {**u["params"], "b": np.zeros(4)}}, r"factors of 'params/b' have shape \(4,\)"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Gaussian(w, diagonal, shared)
    with pytest.raises(ValueError, match="needs a weight"):
        Gaussian({"stats": {"m": np.zeros(2)}}, {}, {})


def test_the_largest_rank_is_bounded_by_draws_and_by_weights():
    few, many = make(correlated(0, 2, 3)), make(correlated(0, 2, 9), np.zeros((2, 9, 4)))
    assert (largest_rank(few), largest_rank(many)) == (5, SIZE)
    assert Gaussian.fit(many, largest_rank(many)).rank == SIZE
    with pytest.raises(ValueError, match="from 0 to 11 for 18 draws of 11 weights, not 12"):
        Gaussian.fit(many, SIZE + 1)
