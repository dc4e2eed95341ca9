"""Minimal mass: against closed forms, a general solver and random starts; what has no minimum is refused."""

import jax
import numpy as np
import pytest
from scipy.optimize import minimize

from symbayes import trees
from symbayes.symmetry import canonical, discover, minimal_mass
from symbayes.symmetry.canonical.masses import pieces_of
from symbayes.symmetry.canonical.minimal_mass import solve

from ..network_kinds import kind
from ..symmetry_networks import draw, inputs

relu = jax.nn.relu
SCALED = ["relu", "residual_batch_norm", "attention", "recurrent_relu", "scanned", "experts"]


def batch(network, count=3):
    return {
        path: np.asarray(leaf)
        for path, leaf in trees.flatten(trees.stack([network.draw(n) for n in range(count)])).items()
    }


def scalable(group):
    """The parameters on which scales act."""
    return {path for path, entries in group.entries.items() if any(e.kind == "scale" for e in entries)}


def squares(variables, paths):
    flat = trees.flatten(variables)
    return sum(
        float(np.sum(np.asarray(flat[p], np.float64) ** 2)) for p in paths if not p.startswith("stats/")
    )


@pytest.mark.parametrize("name", SCALED)
def test_the_gradient_vanishes_and_random_starts_agree(name):
    network = kind(name)
    group, flat = network.group, batch(network)
    pieces = pieces_of(group)
    masses = [piece.measure(flat) for piece in pieces]
    rng = np.random.default_rng(0)
    found = []
    for spread in (0.0, 1.0, 2.0):
        start = {s.name: spread * rng.normal(size=(3, s.size)) for s in group.scales}
        logs, mass, norm = solve(pieces, masses, start)
        assert np.all(norm <= 1e-9 * mass)
        found.append((logs, mass))
    for logs, mass in found[1:]:
        np.testing.assert_allclose(mass, found[0][1], rtol=1e-12)
        if sum(s.size for s in group.scales) == group.scale_dimension:
            for key, log in logs.items():
                np.testing.assert_allclose(log, found[0][0][key], atol=1e-7)


@pytest.mark.parametrize("name", SCALED)
def test_the_mass_is_that_of_the_moved_network_and_no_element_has_less(name):
    network = kind(name)
    group = network.group
    raw = trees.unflatten(batch(network, 2))
    found = minimal_mass(raw, group)
    act, paths = jax.jit(group.act), scalable(group)
    for n in range(2):
        best = trees.index(found.draws, n)
        assert squares(best, paths) <= squares(trees.index(raw, n), paths)
        for seed, spread in ((0, 0.01), (1, 0.1), (2, 1.0)):
            element = group.random_element(jax.random.key(seed), spread=spread)
            assert squares(act(element, best), paths) >= squares(best, paths) * (1 - 1e-6)
        np.testing.assert_allclose(
            network.apply(best, network.x),
            network.apply(trees.index(raw, n), network.x),
            rtol=1e-3,
            atol=1e-4,
        )
    assert found.mass.shape == found.gradient_norm.shape == (2,)
    assert np.all(found.gradient_norm <= 1e-9 * found.mass)


def test_equal_to_a_general_solver():
    """The ReLU network's mass written out layer by layer, minimised by SciPy."""
    network = kind("relu")
    p = {path: np.asarray(leaf[0], np.float64) for path, leaf in batch(network, 1).items()}
    sizes = (9, 8, 7)

    def parts(s):
        logs = [np.zeros(3), *np.split(s, np.cumsum(sizes)[:-1]), np.zeros(2)]
        return [
            p[f"params/{layer}/kernel"] * np.exp(logs[k + 1] - logs[k][:, None])
            for k, layer in enumerate(("l1", "l2", "l3", "l10"))
        ] + [p[f"params/l{k}/bias"] * np.exp(logs[k]) for k in (1, 2, 3)]

    def mass(s):
        return sum(float(np.sum(part**2)) for part in parts(s))

    def slope(s):
        *kernels, b1, b2, b3 = parts(s)
        into = [np.sum(k**2, 0) + b**2 for k, b in zip(kernels[:3], (b1, b2, b3), strict=True)]
        out = [np.sum(k**2, 1) for k in kernels[1:]]
        return 2 * np.concatenate([i - o for i, o in zip(into, out, strict=True)])

    answer = minimize(mass, np.zeros(sum(sizes)), jac=slope, method="BFGS", options={"gtol": 1e-9})
    found = minimal_mass(jax.tree.map(lambda leaf: np.asarray(leaf)[None], network.draw(0)), network.group)
    assert found.mass[0] == pytest.approx(answer.fun, rel=1e-9)
    ours = {path: np.asarray(leaf[0]) for path, leaf in trees.flatten(found.draws).items()}
    for layer, kernel in zip(("l1", "l2", "l3", "l10"), parts(answer.x)[:4], strict=True):
        np.testing.assert_allclose(ours[f"params/{layer}/kernel"], kernel, rtol=1e-5, atol=1e-6)


def test_closed_form_of_one_unit():
    """``a e^s`` and ``b e^-s``: smallest where both weigh |a b|; behind a square ``b e^-2s``, where a^2 = 2
    b^2.
    """
    variables = {"a": np.array([[8.0]], np.float32), "b": np.array([[-0.5]], np.float32)}
    x = inputs(8, 1)
    group = discover(lambda v, x: relu(x @ v["a"]) @ v["b"], variables, x)
    found = minimal_mass(jax.tree.map(lambda leaf: leaf[None], variables), group)
    np.testing.assert_allclose([found.draws["a"].item(), found.draws["b"].item()], [2.0, -2.0], rtol=1e-6)
    assert found.mass.item() == pytest.approx(8.0)
    group = discover(lambda v, x: relu(x @ v["a"]) ** 2 @ v["b"], variables, x)
    found = minimal_mass(jax.tree.map(lambda leaf: leaf[None], variables), group)
    a, b = found.draws["a"].item(), found.draws["b"].item()
    np.testing.assert_allclose([a**2, a**2 * b], [2 * b**2, -32.0], rtol=1e-5)


def test_units_without_a_minimum_are_reported_and_the_others_reach_theirs():
    """A unit without outgoing weights: as if it were not there, whatever its scale; it keeps its weights."""
    network = kind("relu")
    flat = batch(network, 2)
    flat["params/l3/kernel"] = flat["params/l3/kernel"].copy()
    flat["params/l3/kernel"][1, 4] = 0
    found = minimal_mass(trees.unflatten(flat), network.group)
    reported = {name: np.argwhere(mask).tolist() for name, mask in found.without_minimum.items()}
    assert reported == {"l1": [], "l2": [[1, 4]], "l3": []}
    assert np.all(found.gradient_norm <= 1e-9 * found.mass)
    larger = dict(flat)
    for path in ("params/l2/kernel", "params/l2/bias"):
        larger[path] = flat[path].copy()
        larger[path][1, ..., 4] *= 100
    again = minimal_mass(trees.unflatten(larger), network.group)
    np.testing.assert_allclose(again.mass, found.mass, rtol=1e-9)
    np.testing.assert_array_equal(found.elements.log_scales["l2"][1, 4], 0)
    one, two = (trees.flatten(result.draws) for result in (found, again))
    for path in ("params/l1/kernel", "params/l3/kernel", "params/l10/kernel"):
        np.testing.assert_allclose(one[path], two[path], rtol=1e-5, atol=1e-6)


def test_a_chain_that_ends_in_a_dead_unit_has_no_minimum():
    """The last unit has no output, so the one that feeds it alone has none either: both are reported."""
    variables = {
        "a": np.array([[[3.0, 1.0]]], np.float32),
        "b": np.array([[[2.0, 0.0], [0.0, 4.0]]], np.float32),
        "c": np.array([[[0.0], [5.0]]], np.float32),
    }
    shapes = {"a": (1, 2), "b": (2, 2), "c": (2, 1)}
    group = discover(lambda v, x: relu(relu(x @ v["a"]) @ v["b"]) @ v["c"], draw(shapes), inputs(8, 1))
    found = minimal_mass(variables, group)
    assert {name: mask.tolist() for name, mask in found.without_minimum.items()} == {
        name: [[True, False]] for name in found.without_minimum
    }
    np.testing.assert_allclose(found.mass, 3 * 20 ** (2 / 3), rtol=1e-6)
    np.testing.assert_array_equal(found.draws["b"][0, 0], [2, 0])


def test_normalisers_without_epsilon_are_refused():
    def apply(v, x):
        h = x @ v["in"]
        h = (h - h.mean(0)) * jax.lax.rsqrt(h.var(0)) * v["scale"] + v["bias"]
        return relu(h) @ v["out"]

    variables = draw({"in": (3, 4), "scale": (4,), "bias": (4,), "out": (4, 2)})
    group = discover(apply, variables, inputs(16, 3))
    with pytest.raises(ValueError, match=r"a normaliser makes.*size of in; use scale='unit-norm'"):
        minimal_mass(jax.tree.map(lambda leaf: leaf[None], variables), group)
    found = canonical(jax.tree.map(lambda leaf: leaf[None], variables), group)
    np.testing.assert_allclose(np.sum(found["in"][0] ** 2, 0), 1, rtol=1e-5)


def test_without_scales_nothing_happens():
    network = kind("gelu")
    raw = trees.unflatten(batch(network, 2))
    found = minimal_mass(raw, network.group)
    jax.tree.map(np.testing.assert_array_equal, found.draws, raw)
    np.testing.assert_array_equal(found.mass, 0)
