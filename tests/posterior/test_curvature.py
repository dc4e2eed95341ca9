"""Curvature against brute force: the whole Gauss-Newton matrix from Jacobians, for every form of it."""

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.data import Examples
from symbayes.networks.traced import equations
from symbayes.posterior.curvature import STRUCTURES, Peak, prior_scales, products, validated
from symbayes.posterior.curvature.evidence import FACTORS
from symbayes.posterior.forwards import output_moments

SEED = int(np.random.default_rng().integers(2**31))


def small(
    network: Any, shape: tuple[int, ...], classes: int | None, count: int, **options: Any
) -> sb.Posterior:
    """A posterior on a few random examples; real targets where there are no classes."""
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    x = rng.normal(size=(count, *shape)).astype(np.float32)
    if classes is None:
        y, law = rng.normal(size=(count, 2)).astype(np.float32), sb.likelihoods.Gaussian(0.4)
    else:
        y, law = rng.integers(0, classes, count).astype(np.int32), sb.likelihoods.Categorical()
    return sb.Posterior(network, law, options.pop("prior", sb.priors.Normal(0.7)), Examples(x, y), **options)


def matrix(posterior: sb.Posterior, variables: Any) -> np.ndarray:
    """J'LJ over all parameters in natural order, with L by autodiff of the log likelihood, in float64."""

    @jax.jit
    def parts(posterior: sb.Posterior, variables: Any) -> tuple[jax.Array, jax.Array]:
        def outputs(params: Any) -> jax.Array:
            return posterior.network.apply({**variables, "params": params}, posterior.train.x)

        def loss(output: jax.Array, target: jax.Array) -> jax.Array:
            return -posterior.likelihood.log_prob(output[None], target[None])[0]

        value = outputs(variables["params"])
        slopes = jax.jacrev(outputs)(variables["params"])
        return trees.ravel(slopes, 2), jax.vmap(jax.hessian(loss))(value, posterior.train.y)

    j, second = (np.asarray(part, np.float64) for part in parts(posterior, variables))
    return np.einsum("nki,nkl,nlj->ij", j, second, j)


def spectrum_of(posterior: sb.Posterior, form: str, variables: Any) -> Any:
    """The spectrum in units of one, in which its matrix is that of the sums."""
    structure = STRUCTURES[form]

    @jax.jit
    def found(posterior: sb.Posterior, variables: Any) -> Any:
        sums = structure.zeros(posterior, variables)
        for chunk in range(posterior.chunks.mask.shape[0]):
            sums = jax.tree.map(jnp.add, sums, structure.of_chunk(posterior, variables, chunk))
        ones = dict.fromkeys(structure.names(posterior), jnp.ones(()))
        return structure.spectrum(posterior, sums, ones)

    return found(posterior, variables)


def rebuilt(posterior: sb.Posterior, form: str, variables: Any) -> np.ndarray:
    """The matrix that a spectrum stands for, over the parameters that vary, in natural order."""
    spectrum = spectrum_of(posterior, form, variables)
    flat = trees.flatten(variables)
    some = {name: flat[name] for name in STRUCTURES[form].names(posterior)}
    ends = np.cumsum([0, *(leaf.size for leaf in some.values())])
    unit = {
        name: np.eye(ends[-1])[:, begin:end].reshape(ends[-1], *leaf.shape).astype(np.float32)
        for (name, leaf), begin, end in zip(some.items(), ends, ends[1:], strict=False)
    }
    turned_by = jax.jit(lambda spectrum, unit: spectrum.coordinates(unit))
    along = jax.tree.map(lambda leaf: np.asarray(leaf, np.float64), turned_by(spectrum, unit))
    parts = jax.tree.map(lambda c, v: c.reshape(len(c), -1) * np.sqrt(np.ravel(v)), along, spectrum.values)
    turned = np.concatenate(jax.tree.leaves(parts), axis=1)
    return turned @ turned.T


def blocks(whole: np.ndarray, posterior: sb.Posterior) -> np.ndarray:
    """The matrix without what is between two parameters."""
    params = jax.eval_shape(posterior.init, jax.random.key(0))["params"]
    owner = np.concatenate([np.full(math.prod(s), i) for i, s in enumerate(trees.shapes(params).values())])
    return np.where(owner[:, None] == owner, whole, 0.0)


def transposed(key: jax.Array, x: jax.Array) -> Any:
    """Kernels with their outputs first: of a convolution with channels first, and of every position."""
    a, b = jax.random.split(key)
    return {"conv": jax.random.normal(a, (3, 2, 2, 2)), "dense": jax.random.normal(b, (2, 3))}


def apply_transposed(params: Any, x: jax.Array) -> jax.Array:
    x = jax.lax.conv_general_dilated(x.transpose(0, 3, 1, 2), params["conv"], (1, 1), "VALID")
    places = jax.lax.dot_general(params["dense"], jnp.tanh(x), (((1,), (1,)), ((), ())))
    return jnp.mean(jnp.tanh(places), axis=(2, 3)).T


NETWORKS = {
    "mlp": (sb.networks.mlp(hidden=(3,), outputs=2, activation="tanh"), (4,)),
    "cnn": (sb.networks.cnn(channels=(2,), hidden=(3,), outputs=2, activation="tanh"), (4, 4, 2)),
    "own": (sb.networks.from_functions(transposed, apply_transposed), (4, 4, 2)),
    "resnet": (sb.networks.resnet18(outputs=2, width=1, activation="tanh"), (8, 8, 1)),
}


@pytest.mark.parametrize(("name", "classes"), [("mlp", None), ("cnn", 2), ("own", 2)])
def test_diagonal_and_last_layer_are_those_of_the_whole_matrix(name: str, classes: int | None) -> None:
    network, shape = NETWORKS[name]
    posterior = small(network, shape, classes, 7, chunk=4)
    variables = posterior.init(jax.random.key(SEED))
    whole = matrix(posterior, variables)
    scale = np.abs(np.diag(whole)).max()
    np.testing.assert_allclose(
        rebuilt(posterior, "diagonal", variables), np.diag(np.diag(whole)), atol=1e-4 * scale
    )
    names = [f"params/{one}" for one in trees.names(variables["params"])]
    sizes = dict(zip(names, (leaf.size for leaf in trees.flatten(variables["params"]).values()), strict=True))
    layer = STRUCTURES["last-layer"].names(posterior)
    assert (
        layer
        == {
            "mlp": ("params/output/bias", "params/output/kernel"),
            "cnn": ("params/head/bias", "params/head/kernel"),
            "own": ("params/conv", "params/dense"),
        }[name]
    )
    inside = np.repeat([one in layer for one in names], list(sizes.values()))
    np.testing.assert_allclose(
        rebuilt(posterior, "last-layer", variables), whole[np.ix_(inside, inside)], atol=1e-4 * scale
    )


def test_kronecker_factors_are_exact_for_one_example() -> None:
    posterior = small(*NETWORKS["mlp"], 2, 1)
    variables = posterior.init(jax.random.key(SEED))
    whole = matrix(posterior, variables)
    np.testing.assert_allclose(
        rebuilt(posterior, "kronecker", variables), blocks(whole, posterior), atol=1e-4 * np.abs(whole).max()
    )


@pytest.mark.parametrize("form", ["kronecker", "last-layer"])
def test_eigenvectors_of_several_chains_are_taken_one_after_another(form: str) -> None:
    """Two batches of matrices at the same time wait for one another for ever, with jax 0.10 on a CPU."""
    posterior = small(*NETWORKS["mlp"], 2, 4)
    structure = STRUCTURES[form]
    ones = dict.fromkeys(structure.names(posterior), jnp.ones(()))

    def spectrum(variables: Any) -> Any:
        return structure.spectrum(posterior, structure.of_chunk(posterior, variables, 0), ones)

    chains = jax.vmap(posterior.init)(jax.random.split(jax.random.key(SEED), 3))
    program = jax.make_jaxpr(jax.vmap(spectrum))(chains).jaxpr
    found = [equation for equation, _ in equations(program) if equation.primitive.name == "eigh"]
    assert found
    assert all(equation.invars[0].aval.ndim == 2 for equation in found)


def test_kronecker_factors_of_many_examples_and_positions() -> None:
    """Against patches cut and slopes pulled back by hand; vectors have their whole matrix."""
    for name in ("cnn", "own"):
        posterior = small(*NETWORKS[name], 2, 5, chunk=3)
        variables = posterior.init(jax.random.key(SEED))
        found, whole = rebuilt(posterior, "kronecker", variables), matrix(posterior, variables)
        flat = trees.flatten(variables["params"])
        ends = dict(zip(flat, np.cumsum([leaf.size for leaf in flat.values()]), strict=True))
        for key, leaf in flat.items():
            place = slice(ends[key] - leaf.size, ends[key])
            vector = leaf.ndim == 1
            expected = whole[place, place] if vector else by_hand(name, key, posterior, variables)
            np.testing.assert_allclose(
                found[place, place], expected, atol=2e-4 * np.abs(expected).max(), err_msg=f"{name} {key}"
            )


def by_hand(name: str, key: str, posterior: sb.Posterior, variables: Any) -> np.ndarray:
    """A (x) G / M of a kernel whose layer's inputs and slopes are written out for this network."""
    x, params = np.asarray(posterior.train.x), variables["params"]
    if name == "cnn":
        padded, window, side = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0))), 3, 4
    else:
        padded, window, side = x, 2, 3
    places = [(i, j) for i in range(side) for j in range(side)]
    patches = np.stack([padded[:, i : i + window, j : j + window] for i, j in places], axis=1)

    def layers(shift: dict[str, jax.Array]) -> tuple[jax.Array, dict[str, jax.Array]]:
        if name == "own":
            first = jnp.einsum("nthwc,ochw->nto", patches, params["conv"]) + shift["first"]
            last = jnp.tanh(first) @ params["dense"].T + shift["last"]
            return jnp.mean(jnp.tanh(last), axis=1), {"last": jnp.tanh(first)}
        first = jnp.einsum("nthwc,hwco->nto", patches, params["conv1"]["kernel"]) + shift["first"]
        middle = jnp.tanh(first + params["conv1"]["bias"]).reshape(len(x), 2, 2, 2, 2, 2).max(axis=(2, 4))
        middle = middle.reshape(len(x), 1, -1)
        hidden = middle @ params["hidden1"]["kernel"] + params["hidden1"]["bias"] + shift["middle"]
        last = jnp.tanh(hidden)
        ends = last @ params["head"]["kernel"] + params["head"]["bias"] + shift["last"]
        return ends[:, 0], {"middle": middle, "last": last}

    shapes = {"first": (side**2, 3), "last": (side**2, 2)}
    if name == "cnn":
        shapes = {"first": (side**2, 2), "middle": (1, 3), "last": (1, 2)}
    zeros = {place: jnp.zeros((len(x), *shape)) for place, shape in shapes.items()}
    value, pull, seen = jax.vjp(layers, zeros, has_aux=True)
    np.testing.assert_allclose(value, posterior.network.apply(variables, jnp.asarray(x)), atol=1e-4)
    place = {"conv1/kernel": "first", "conv": "first", "hidden1/kernel": "middle"}.get(key, "last")
    # Rows in the order of the kernel's axes.
    cut = patches.transpose(0, 1, 4, 2, 3) if name == "own" else patches
    a = cut.reshape(len(x) * side**2, -1) if place == "first" else np.asarray(seen[place])
    a = a.reshape(-1, a.shape[-1])
    root = np.asarray(posterior.likelihood.curvature_root(value))
    pulled = [pull(jnp.asarray(root[..., r]))[0][place] for r in range(root.shape[-1])]
    g = np.concatenate([np.asarray(one).reshape(len(a), -1) for one in pulled])
    of_inputs, of_outputs = a.T @ a / len(a), g.T @ g
    return np.kron(of_outputs, of_inputs) if name == "own" else np.kron(of_inputs, of_outputs)


def test_kernels_are_found_in_the_program() -> None:
    network, shape = NETWORKS["resnet"]
    variables = jax.eval_shape(network.init, jax.random.key(0), jnp.zeros((1, *shape)))
    kernels = products(network, shape, jnp.dtype("float32"))
    named = [name for name in trees.names(variables) if name.endswith("kernel")]
    assert sorted(kernels) == sorted(named)
    assert next(iter(kernels)) == "params/stem/kernel"
    assert list(kernels)[-1] == "params/head/kernel"
    transformer = sb.networks.transformer(vocabulary=5, width=4, heads=2, layers=1, hidden=4, outputs=2)
    found = products(transformer, (3,), jnp.dtype("int32"))
    assert {product.positions for product in found.values()} == {1, 3}
    linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
    (one,) = products(sb.networks.from_equinox(linear), (3,), jnp.dtype("float32")).values()
    assert (one.inputs, one.outputs, one.positions) == (3, 2, 1)


def test_parameters_that_reach_anything_else_are_diagonal() -> None:
    """A kernel that is used twice, and a matrix that enters no product."""

    def init(key: jax.Array, x: jax.Array) -> Any:
        return {"tied": jnp.full((2, 2), 0.3), "gate": jnp.ones((1, 2)), "bias": jnp.zeros(2)}

    def apply(params: Any, x: jax.Array) -> jax.Array:
        return params["gate"] * jnp.tanh(x @ params["tied"]) @ params["tied"] + params["bias"]

    posterior = small(sb.networks.from_functions(init, apply), (2,), 2, 3)
    form = STRUCTURES["kronecker"]
    assert form.neglected(posterior) == ("params/gate", "params/tied")
    assert "params/gate, params/tied" in sb.Laplace().notes(posterior)[0]
    variables = posterior.init(jax.random.key(0))
    whole = matrix(posterior, variables)
    expected = np.diag(np.diag(whole))
    expected[:2, :2] = whole[:2, :2]
    np.testing.assert_allclose(rebuilt(posterior, "kronecker", variables), expected, atol=1e-4 * whole.max())


@functools.partial(jax.jit, static_argnums=0)
def peak_at(form: str, posterior: sb.Posterior, variables: Any) -> Peak:
    structure = STRUCTURES[form]
    sums = structure.of_chunk(posterior, variables, 0)
    return Peak.of(posterior, structure, variables, sums, prior_scales(posterior, own=True))


@jax.jit
def summary(peak: Peak, variables: Any, factor: Any) -> tuple[jax.Array, jax.Array]:
    """The evidence, and the variance of the sum of all parameters."""
    law = peak.spectrum.distribution(variables, peak.deviations(factor))
    ones = jax.tree.map(lambda leaf: jnp.ones((1, *leaf.shape)), law.varying)
    return peak.log_evidence(factor), law.variances(ones)[0]


@pytest.mark.parametrize(
    ("form", "tempers"), [("diagonal", "posterior"), ("kronecker", "likelihood"), ("last-layer", "posterior")]
)
def test_evidence_is_the_integral_of_the_quadratic(form: str, tempers: Any) -> None:
    """Written out with the rebuilt matrix, for a prior with other scales in each layer."""
    prior = sb.priors.PerLayer({"output/bias": sb.priors.Normal(2.0)}, rest=sb.priors.Normal(0.3))
    for temperature in (1.0, 0.5):
        posterior = small(*NETWORKS["mlp"], 2, 6, prior=prior, temperature=temperature, tempers=tempers)
        variables = posterior.init(jax.random.key(SEED))
        peak, whole = peak_at(form, posterior, variables), rebuilt(posterior, form, variables)
        names, flat = STRUCTURES[form].names(posterior), trees.flatten(variables)
        scales = {name: 2.0 if name == "params/output/bias" else 0.3 for name in names}
        s = np.concatenate([np.full(flat[name].size, scales[name]) for name in names])
        m = np.concatenate([np.asarray(flat[name], np.float64).ravel() for name in names])
        likelihood = float(jnp.sum(posterior.likelihood_terms(variables)))
        a = 1 / temperature
        b = a if tempers == "posterior" else 1.0
        for factor in (1.0, 7.0):
            precision = a * whole + b * factor * np.diag(s**-2)
            log_prior = -0.5 * np.sum(factor * (m / s) ** 2 + np.log(2 * np.pi * s**2 / factor))
            expected = a * likelihood + b * log_prior
            expected += 0.5 * len(m) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(precision)[1]
            evidence, variance = summary(peak, variables, factor)
            assert float(evidence) == pytest.approx(expected, rel=1e-4, abs=1e-3)
            assert float(variance) == pytest.approx(np.linalg.inv(precision).sum(), rel=1e-3)
    best = float(jax.jit(Peak.tuned)(peak))
    around = [float(summary(peak, variables, best * factor)[0]) for factor in (0.8, 1.0, 1.25)]
    assert around[1] >= max(around) - 1e-4


@pytest.mark.parametrize("form", ["diagonal", "kronecker"])
def test_each_layer_has_the_factor_of_the_largest_evidence(form: str) -> None:
    """Against the integral of the quadratic, written out with the rebuilt matrix for one factor per layer."""
    posterior = small(*NETWORKS["mlp"], 2, 6, prior=sb.priors.Normal(0.3), temperature=0.5)
    variables = posterior.init(jax.random.key(SEED))
    peak, whole = peak_at(form, posterior, variables), rebuilt(posterior, form, variables)
    factors = {name: float(value) for name, value in jax.jit(Peak.tuned_by_layer)(peak).items()}
    names, flat = STRUCTURES[form].names(posterior), trees.flatten(variables)
    assert set(factors) == {name.rpartition("/")[0] for name in names}
    m = np.concatenate([np.asarray(flat[name], np.float64).ravel() for name in names])
    likelihood = float(jnp.sum(posterior.likelihood_terms(variables)))

    def integral(factors: dict[str, float]) -> float:
        each = [np.full(flat[name].size, factors[name.rpartition("/")[0]] / 0.3**2) for name in names]
        p = np.concatenate(each)
        log_prior = -0.5 * np.sum(p * m**2 - np.log(p / (2 * np.pi)))
        volume = 0.5 * len(m) * np.log(2 * np.pi) - 0.5 * np.linalg.slogdet(2 * whole + 2 * np.diag(p))[1]
        return 2 * (likelihood + log_prior) + volume

    best = integral(factors)
    assert float(jax.jit(Peak.log_evidence)(peak, factors)) == pytest.approx(best, rel=1e-4, abs=1e-3)
    # By chance, one factor for all may do nearly as well.
    assert best > integral(dict.fromkeys(factors, float(jax.jit(Peak.tuned)(peak)))) - 1e-4
    for layer in factors:
        for change in (0.8, 1.25):
            assert integral(factors | {layer: change * factors[layer]}) < best


def test_validation_prefers_the_factor_with_the_smallest_loss() -> None:
    """Against the predictive of the distribution for every factor."""
    posterior = small(*NETWORKS["mlp"], 2, 6)
    variables = posterior.init(jax.random.key(3))
    other = Examples(posterior.train.x[::-1] * 1.5, posterior.train.y)
    peak = peak_at("kronecker", posterior, variables)

    @jax.jit
    def loss(peak: Peak, variables: Any, factor: Any) -> jax.Array:
        law = peak.spectrum.distribution(variables, peak.deviations(factor))
        outputs = posterior.likelihood.marginal(*output_moments(posterior.network, law, other.x))
        return -jnp.mean(posterior.likelihood.log_prob(outputs, other.y))

    choose = jax.jit(lambda peak, v: validated(posterior, STRUCTURES["kronecker"], peak, v, other))
    found = float(choose(peak, variables))
    losses = {factor: float(loss(peak, variables, factor)) for factor in FACTORS}
    assert float(loss(peak, variables, found)) == pytest.approx(min(losses.values()), abs=1e-6)
    assert max(losses.values()) - min(losses.values()) > 1e-3


def test_augmented_examples_are_averaged() -> None:
    """A flip that is always there or not, of the one example, is the mean of the two forms."""
    posterior = small(*NETWORKS["cnn"], 2, 1, augmentation=["flip"], copies=4)
    variables = posterior.init(jax.random.key(SEED))
    copies = [posterior.augmented_copy(trees.index(posterior.chunks, 0), i) for i in range(4)]
    alone = [
        sb.Posterior(
            posterior.network, posterior.likelihood, posterior.prior, Examples(copy, posterior.train.y)
        )
        for copy in copies
    ]
    expected = np.mean([rebuilt(one, "last-layer", variables) for one in alone], axis=0)
    found = rebuilt(posterior, "last-layer", variables)
    np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_priors_without_a_quadratic_are_refused() -> None:
    posterior = small(*NETWORKS["mlp"], 2, 3, prior=sb.priors.Laplace(0.5))
    with pytest.raises(ValueError, match="needs a normal prior: use one, or tune"):
        prior_scales(posterior, own=True)
    assert set(map(float, prior_scales(posterior, own=False).values())) == {1.0}
