"""What every kind of distribution keeps to: one draw, many draws, one per chain, on disk."""

import functools
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from symbayes import trees
from symbayes.distributions import (
    KINDS,
    Delta,
    Distribution,
    Gaussian,
    Kronecker,
    LastLayer,
    Mixture,
    from_arrays,
    load,
    to_arrays,
)
from symbayes.draws import Draws, files

SHAPES = {"params/l2/kernel": (4, 2), "params/l10/bias": (3,), "params/gain": (), "stats/mean": (5,)}
CHAINS = 3


def variables(seed: int, *lead: int) -> dict:
    rng = np.random.default_rng(seed)
    flat = {name: rng.normal(size=(*lead, *shape)).astype(np.float32) for name, shape in SHAPES.items()}
    return trees.variables(flat)


def gaussian(seed: int, rank: int) -> Gaussian:
    return Gaussian.fit(Draws.from_variables(variables(seed, 2, 5)), rank)


def moments_per_chain(rank: int, seed: int = 7) -> Gaussian:
    """Gaussians from moments of every chain, made inside a compiled program as a method makes them."""

    def fit(w):
        weights = {"params": w["params"]}
        mean = jax.tree.map(lambda leaf: leaf.mean(0), w)
        centred = jax.tree.map(lambda leaf: leaf - leaf.mean(0), weights)
        factors = jax.tree.map(lambda leaf: leaf[:rank] / 3, centred)
        return Gaussian(mean, jax.tree.map(lambda leaf: leaf.var(0), weights), factors)

    return jax.jit(jax.vmap(fit))(variables(seed, CHAINS, 6))


def kroneckers(seed: int = 3) -> Kronecker:
    """One of every chain: factors of a matrix and of a vector, and a weight by itself."""
    rng = np.random.default_rng(seed)

    def rotation(size: int, *shape: int) -> np.ndarray:
        turned = np.linalg.qr(rng.normal(size=(CHAINS, size, size)))[0]
        return turned.reshape(CHAINS, size, *shape).astype(np.float32)

    inputs = {"params/l2/kernel": rotation(4, 4, 1), "params/l10/bias": np.ones((CHAINS, 1, 1), np.float32)}
    outputs = {"params/l2/kernel": rotation(2, 1, 2), "params/l10/bias": rotation(3, 3)}
    sizes = {"params/l2/kernel": (4, 2), "params/l10/bias": (1, 3), "params/gain": ()}
    spread = {name: rng.uniform(0.5, 2, (CHAINS, *s)).astype(np.float32) for name, s in sizes.items()}
    return Kronecker(variables(seed, CHAINS), *map(trees.unflatten, (inputs, outputs, spread)))


def last_layers(seed: int = 4) -> LastLayer:
    """One of every chain, in which the gain is fixed."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(CHAINS, 11, 11)).astype(np.float32)
    factors = {"params/l2/kernel": rows[..., :8].reshape(CHAINS, 11, 4, 2), "params/l10/bias": rows[..., 8:]}
    return LastLayer(variables(seed, CHAINS), trees.unflatten(factors))


MAKERS: dict[str, Callable[[], Distribution]] = {
    "gaussian, diagonal": lambda: gaussian(0, 0),
    "gaussian, rank 3": lambda: gaussian(0, 3),
    "kronecker": lambda: trees.index(kroneckers(), 0),
    "last layer": lambda: trees.index(last_layers(), 0),
    "delta": lambda: Delta(variables(1)),
    "mixture of gaussians": lambda: Mixture(moments_per_chain(2)),
    "mixture of kroneckers": lambda: Mixture(kroneckers()),
    "mixture of last layers": lambda: Mixture(last_layers()),
    "mixture of deltas": lambda: Mixture(Delta(variables(2, CHAINS))),
    "mixture of mixtures": lambda: Mixture(
        trees.stack([Mixture(moments_per_chain(2)), Mixture(moments_per_chain(2, seed=8))])
    ),
}
every_kind = pytest.mark.parametrize("name", MAKERS)


@functools.cache
def made_as(name: str) -> Distribution:
    return MAKERS[name]()


def flat(tree, lead: int = 0) -> np.ndarray:
    leaves = [np.asarray(leaf) for name, leaf in trees.flatten(tree).items() if not name.startswith("stats/")]
    return np.concatenate([leaf.reshape(*leaf.shape[:lead], -1) for leaf in leaves], axis=-1)


def covariance(one: Distribution) -> np.ndarray:
    assert isinstance(one, Gaussian)
    u = flat(one.factors, 1).astype(np.float64)
    return np.diag(flat(one.diagonal).astype(np.float64)) + u.T @ u


def assert_same(one: Distribution, other: Distribution) -> None:
    assert jax.tree.structure(one) == jax.tree.structure(other)
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


def test_every_kind_is_tried():
    assert {made_as(name).kind for name in MAKERS} == set(KINDS)


@every_kind
def test_a_draw_has_the_form_of_the_variables(name):
    one = jax.eval_shape(made_as(name).sample, jax.random.key(0))
    assert (
        jax.tree.structure(one) == jax.tree.structure(made_as(name).mean) == jax.tree.structure(variables(0))
    )
    assert trees.shapes(one) == trees.shapes(made_as(name).mean) == SHAPES
    assert {leaf.dtype for leaf in jax.tree.leaves(one)} == {jnp.dtype("float32")}


@every_kind
def test_a_draw_depends_on_its_key_and_number_alone(name):
    made, key = made_as(name), jax.random.key(0)
    few, many, late = made.draws(key, 2), made.draws(key, 5), made.draws(key, 2, first=3)
    assert (many.chains, len(many)) == (1, 5)
    for part, start in ((few, 0), (late, 3)):
        whole = trees.index(many.variables, (slice(None), slice(start, start + 2)))
        jax.tree.map(np.testing.assert_array_equal, part.variables, whole)
    expected = made.sample(jax.random.fold_in(key, 4))
    np.testing.assert_allclose(flat(many.variables, 2)[0, 4], flat(expected), rtol=1e-6)
    for bad in (0, -1):
        with pytest.raises(ValueError, match="at least 1"):
            made.draws(key, bad)


@pytest.mark.parametrize("rank", [0, 2])
def test_one_draw_from_each_chain_is_the_draw_from_it(rank):
    batched, keys = moments_per_chain(rank), jax.random.split(jax.random.key(1), CHAINS)
    assert trees.shapes(batched.location)["params/l2/kernel"] == (CHAINS, 4, 2)
    drawn = jax.jit(jax.vmap(lambda d, key: d.sample(key)))(batched, keys)
    for chain in range(CHAINS):
        alone = trees.index(batched, chain).sample(keys[chain])
        for a, b in zip(jax.tree.leaves(alone), jax.tree.leaves(trees.index(drawn, chain)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def explicit(one: Kronecker | LastLayer) -> np.ndarray:
    """The covariance of all weights in natural order (l2, l10, gain), by Kronecker products."""
    order = list(trees.flatten({"params": one.mean["params"]}))
    ends = dict(zip(order, np.cumsum([math.prod(SHAPES[name]) for name in order]), strict=True))
    found = np.zeros((12, 12))
    if isinstance(one, LastLayer):
        rows = np.zeros((11, 12))
        for name, leaf in trees.flatten(one.factors).items():
            rows[:, ends[name] - math.prod(SHAPES[name]) : ends[name]] = np.reshape(leaf, (11, -1))
        return rows.T @ rows
    for name, d in trees.flatten(one.deviations).items():
        size = math.prod(SHAPES[name])
        root = np.eye(1)
        if name != "params/gain":
            a, g = (
                np.reshape(trees.flatten(t)[name], (-1, n))
                for t, n in zip((one.inputs, one.outputs), np.shape(d), strict=True)
            )
            root = np.kron(np.asarray(a, np.float64).T, np.asarray(g, np.float64).T)
        place = slice(ends[name] - size, ends[name])
        found[place, place] = root @ np.diag(np.ravel(d).astype(np.float64) ** 2) @ root.T
    return found


@pytest.mark.parametrize("name", ["kronecker", "last layer"])
def test_structured_gaussians_have_their_covariance(name):
    """In densities, in variances of linear functions, and in draws."""
    one, at = made_as(name), variables(3, 2, 4)
    assert isinstance(one, Kronecker | LastLayer)
    whole = explicit(one)
    fixed = np.diag(whole) == 0
    if fixed.any():
        assert np.all(one.log_density(at) == -np.inf)
        at["params"]["gain"] = np.broadcast_to(one.mean["params"]["gain"], (2, 4))
    law = multivariate_normal(flat(one.mean)[~fixed], whole[np.ix_(~fixed, ~fixed)])
    np.testing.assert_allclose(one.log_density(at), law.logpdf(flat(at, 2)[..., ~fixed]), rtol=1e-4)
    slopes = variables(5, 6)
    some = {name: trees.flatten(slopes)[name] for name in trees.names(one.varying)}
    ends = flat(slopes, 1) * ~fixed
    expected = np.einsum("ki,ij,kj->k", ends, whole, ends)
    np.testing.assert_allclose(one.variances(trees.unflatten(some)), expected, rtol=1e-4)
    drawn = flat(jax.jit(jax.vmap(one.sample))(jax.random.split(jax.random.key(8), 4000)), 1) - flat(one.mean)
    products = drawn[:, :, None] * drawn[:, None, :]
    errors = products.std(axis=0) / np.sqrt(4000) + 1e-9
    assert np.max(np.abs(products.mean(axis=0) - whole) / errors) < 4.5


def test_a_mixture_is_the_mean_of_its_components():
    mixture, at = Mixture(moments_per_chain(2)), variables(3, 2, 4)
    laws = [multivariate_normal(flat(mixture[c].mean), covariance(mixture[c])) for c in range(CHAINS)]
    each = np.stack([law.logpdf(flat(at, 2)) for law in laws])
    expected = logsumexp(each, axis=0) - np.log(CHAINS)
    np.testing.assert_allclose(mixture.log_density(at), expected, rtol=1e-5)
    assert mixture.log_density(trees.index(at, (0, 0))).shape == ()
    means = flat(mixture.components.mean, 1)
    np.testing.assert_allclose(flat(mixture.mean), means.mean(0), rtol=1e-5, atol=1e-7)


def test_a_mixture_draws_from_its_components_in_equal_parts():
    """As often from each as from another, and within one as the component itself draws."""
    mixture, count = made_as("mixture of deltas"), 3000
    assert isinstance(mixture, Mixture)
    drawn = jax.jit(jax.vmap(mixture.sample))(jax.random.split(jax.random.key(5), count))
    members = [flat(mixture[c].mean) for c in range(CHAINS)]
    shares = [np.mean(np.all(flat(drawn, 1) == member, axis=1)) for member in members]
    assert np.sum(shares) == 1
    error = np.sqrt((1 / CHAINS) * (1 - 1 / CHAINS) / count)
    assert np.max(np.abs(np.array(shares) - 1 / CHAINS)) < 4 * error
    # Constants come from the component that the weights come from.
    chosen = np.argmax([np.all(flat(drawn, 1) == member, axis=1) for member in members], axis=0)
    constants = np.asarray(mixture.components.mean["stats"]["mean"])
    np.testing.assert_array_equal(drawn["stats"]["mean"], constants[chosen])


def test_samples_of_a_mixture_have_its_covariance():
    """That of the components' means and the mean of their covariances; errors from the fourth moments."""
    mixture, count = Mixture(moments_per_chain(2)), 4000
    drawn = flat(jax.jit(jax.vmap(mixture.sample))(jax.random.split(jax.random.key(6), count)), 1)
    means = np.stack([flat(mixture[c].mean) for c in range(CHAINS)]).astype(np.float64)
    centre = means.mean(0)
    expected = np.mean([covariance(mixture[c]) for c in range(CHAINS)], axis=0)
    expected += (means - centre).T @ (means - centre) / CHAINS
    products = (drawn - centre)[:, :, None] * (drawn - centre)[:, None, :]
    errors = products.std(axis=0) / np.sqrt(count)
    assert np.max(np.abs(products.mean(axis=0) - expected) / errors) < 4.5


def test_a_point_has_all_probability():
    point, at = Delta(variables(1)), variables(1)
    assert point.log_density(at) == 0
    at["stats"]["mean"] = at["stats"]["mean"] + 1
    assert point.log_density(at) == 0
    at["params"]["gain"] = at["params"]["gain"] + 1
    assert point.log_density(at) == -np.inf
    members = made_as("mixture of deltas")
    assert isinstance(members, Mixture)
    np.testing.assert_allclose(members.log_density(members.components.mean), -np.log(CHAINS), rtol=1e-12)
    assert members.log_density(at) == -np.inf


@every_kind
def test_what_was_saved_is_loaded(tmp_path, name):
    made = made_as(name)
    made.save(tmp_path / "q.safetensors")
    assert [path.name for path in tmp_path.iterdir()] == ["q.safetensors"]
    loaded = load(str(tmp_path / "q.safetensors"))
    assert type(loaded) is type(made)
    assert_same(loaded, made)
    assert_same(from_arrays(to_arrays(made)), made)
    assert all(array.startswith(made.kind + "/") for array in to_arrays(made))
    key = jax.random.key(2)
    jax.tree.map(np.testing.assert_array_equal, loaded.draws(key, 1).variables, made.draws(key, 1).variables)
    np.testing.assert_array_equal(loaded.log_density(variables(4)), made.log_density(variables(4)))
    with pytest.raises(FileExistsError, match="exists already"):
        made.save(tmp_path / "q.safetensors")


def test_names_tell_the_kind_at_every_level():
    names = set(to_arrays(made_as("mixture of mixtures")))
    assert "mixture/components/mixture/components/gaussian/factors/params/l2/kernel" in names
    assert set(to_arrays(made_as("gaussian, diagonal"))) == {
        *(f"gaussian/location/{name}" for name in SHAPES),
        *(f"gaussian/diagonal/{name}" for name in list(SHAPES)[:3]),
        *(f"gaussian/factors/{name}" for name in list(SHAPES)[:3]),
    }


def test_the_file_is_plain_and_holds_the_floats(tmp_path):
    made = gaussian(0, 2)
    made.save(tmp_path / "q")
    with safetensors.safe_open(tmp_path / "q", framework="numpy") as handle:
        assert handle.metadata() is None
    arrays = safetensors.numpy.load_file(tmp_path / "q")
    assert arrays["gaussian/factors/params/l2/kernel"].shape == (2, 4, 2)
    np.testing.assert_array_equal(arrays["gaussian/location/stats/mean"], made.mean["stats"]["mean"])
    assert sum(array.size for array in arrays.values()) == made.floats == (2 + 2) * 12 + 5


def test_another_process_writes_the_same_bytes(tmp_path):
    """Read in one process and saved from there, with another order of hashes."""
    before = tmp_path / "mixture"
    made_as("mixture of mixtures").save(before)
    script = "import sys; from symbayes.distributions import load; load(sys.argv[1]).save(sys.argv[2])"
    after = tmp_path / "again"
    source = str(Path(__file__).parents[2] / "src")
    environment = {"PYTHONPATH": source, "PYTHONHASHSEED": "1", "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", script, str(before), str(after)]
    subprocess.run(command, env=environment, check=True)
    assert after.read_bytes() == before.read_bytes()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"gaussian/diagonal/params/gain": None}, "'params/gain' is missing from the diagonal"),
        ({"extra": np.zeros(1)}, "begin with one kind, not 2"),
        ({"gaussian/extra/w": np.zeros(1)}, "'extra/w' belongs to none of location, diagonal, factors"),
        ({"gaussian/factors/params/l10/bias": np.zeros((1, 3))}, r"factors of 'params/l10/bias' have shape"),
        ({"gaussian/diagonal/params/l10/bias": np.zeros(2)}, "diagonal of 'params/l10/bias' has shape"),
        (None, "begin with one kind, not 0"),
    ],
)
def test_damaged_files_are_refused_in_one_sentence(tmp_path, change, sentence):
    whole = to_arrays(gaussian(0, 2))
    changed = {} if change is None else {k: v for k, v in {**whole, **change}.items() if v is not None}
    files.write_bytes(tmp_path / "q", *files.pack(changed))
    with pytest.raises(ValueError, match=sentence) as error:
        load(tmp_path / "q")
    assert str(tmp_path / "q") in str(error.value)
    assert "\n" not in str(error.value)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no arrays")
    with pytest.raises(ValueError, match="holds no whole distribution"):
        load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere")
    gaussian(0, 1).save(tmp_path / "q")
    (tmp_path / "cut").write_bytes((tmp_path / "q").read_bytes()[:-9])
    with pytest.raises(ValueError, match="holds no whole distribution"):
        load(tmp_path / "cut")
    with pytest.raises(
        ValueError, match=r"unknown kind 'gausian' \(did you mean 'gaussian'\?\): known here are delta"
    ):
        from_arrays({"gausian/location/w": np.zeros(1)})
    with pytest.raises(ValueError, match="one entry per component"):
        Mixture(gaussian(0, 1))
