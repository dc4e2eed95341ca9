"""Planes, masses and curvature of real draws, against direct computations."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import symmetry
from symbayes.analyse.landscape import curvature, landscape, masses_of, plane_of, three
from symbayes.cli import main


def test_the_plane_holds_the_loss_of_its_networks(waves):
    draws, data = waves
    run = sb.open(draws)
    corners = three(draws)
    assert (corners.chains, len(corners)) == (1, 3)
    found = plane_of(run, corners, data.train, 4)
    # A place of the grid, put together by hand.
    flat = np.asarray(sb.trees.ravel(corners.variables["params"], 2))[0].astype(np.float64)
    u = flat[1] - flat[0]
    v = flat[2] - flat[0]
    v = v - (v @ u) / (u @ u) * u
    place = flat[0] + found.x[2] * u / np.linalg.norm(u) + found.y[1] * v / np.linalg.norm(v)
    names, leaves = sb.trees.shapes(run.variables["params"]), []
    start = 0
    for shape in names.values():
        size = int(np.prod(shape))
        leaves.append(place[start : start + size].reshape(shape).astype(np.float32))
        start += size
    params = sb.trees.unflatten(dict(zip(names, leaves, strict=True)))
    x, y = jnp.asarray(data.train.x), jnp.asarray(data.train.y)
    outputs = run.network.apply({"params": params, "stats": {}}, x)
    loss = -float(jnp.mean(run.likelihood.log_prob(outputs, y)))
    assert found.values[1, 2] == pytest.approx(loss, rel=1e-4)


def test_three_networks_of_one_chain(waves):
    draws = waves[0].select([1])
    found = three(draws)
    expected = sb.trees.flatten(draws.variables)
    for name, leaf in sb.trees.flatten(found.variables).items():
        np.testing.assert_array_equal(leaf[0, -1], expected[name][0, -1])


def test_mass_is_that_of_the_weights_and_its_minimum_that_of_scaled_ones(hmc, hmc_draws):
    group = hmc.group
    moved = symmetry.canonical(hmc_draws, group, scale="unit-norm", order=None)
    one, other = masses_of(hmc_draws, group), masses_of(moved, group)
    assert one is not None
    assert other is not None
    flat = sb.trees.flatten(hmc_draws.variables["params"])
    by_hand = sum(float(np.sum(leaf[1, 3].astype(np.float64) ** 2)) for leaf in flat.values())
    assert one.mass[1, 3] == pytest.approx(by_hand)
    # Scalings change the mass, and not its minimum.
    np.testing.assert_allclose(one.minimum, other.minimum, rtol=1e-5)
    assert np.all(one.ratio >= 1 - 1e-9)
    assert not np.allclose(one.mass, other.mass)


def test_tanh_has_no_scales(waves):
    assert masses_of(waves[0], sb.open(waves[0]).group) is None


def test_curvature_against_the_full_hessian(waves):
    run = sb.open(waves[0])
    variables = sb.trees.index(waves[0].variables, (0, -1))
    found = curvature(run.posterior, variables, 3)
    flat, unravel = jax.flatten_util.ravel_pytree(variables["params"])
    hessian = jax.hessian(lambda w: -run.posterior.log_density({**variables, "params": unravel(w)}))(flat)
    values = np.linalg.eigvalsh(np.asarray(hessian, np.float64))
    top = values[np.argsort(-np.abs(values))][:3]
    np.testing.assert_allclose(found.values, top, rtol=1e-3)


def test_the_command_draws_the_picture(runs: dict[str, Path], tmp_path: Path, capsys) -> None:
    numbers = tmp_path / "numbers.json"
    options = ["--steps", "4", "--eigenvalues", "2", "--max-examples", "100", "--json", str(numbers)]
    page = tmp_path / "page.html"
    assert main(["landscape", str(runs["ensemble"]), *options, "--out", str(page)]) == 0
    output = capsys.readouterr().out
    for words in ("ratio", "λ2", "page: file"):
        assert words in output
    assert "plane through three networks" in page.read_text()
    written = json.loads(numbers.read_text())
    assert list(written["planes"]) == ["raw", "aligned"]
    assert np.shape(written["planes"]["raw"]["values"]) == (4, 4)


def test_draws_with_a_key_of_their_own_have_no_landscape(waves):
    draws, data = waves
    keyed = sb.Draws(draws.segments, origin=draws.origin, forward=sb.draws.forward.Forward("keyed"))
    with pytest.raises(ValueError, match="by their weights alone"):
        landscape(keyed, data)
