"""One table of checks over every method."""

import dataclasses
import inspect
import json
import re
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes import specs, trees
from symbayes.engine import Method, placement, states

from .compilations import compilations
from .play import Played, play, through_arrays
from .table import CHAINS, ROWS, Row

every_method = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)

STANDARD_ERRORS = 4.5
"""A correct mean is further off than this in 1 of 150,000 trials."""


@pytest.fixture(scope="module")
def posterior(tiny: sb.Posterior) -> sb.Posterior:
    """The tiny posterior in three chunks that devices can share, of which the last is padded."""
    return in_chunks(tiny, tiny.prior)


def in_chunks(tiny: sb.Posterior, prior: Any, temperature: float = 1.0) -> sb.Posterior:
    train = jax.tree.map(np.asarray, tiny.train)
    made = sb.Posterior(tiny.network, tiny.likelihood, prior, train, chunk=50, temperature=temperature)
    return made.with_chunks_of(8)


@pytest.fixture(scope="module")
def undisturbed(posterior: sb.Posterior) -> dict[str, Played]:
    """Every row's small instance with the default size of a block."""
    return {row.name: play(row.method, posterior) for row in ROWS}


def assert_same(actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, err_msg=name)


def test_every_method_has_a_row() -> None:
    assert sorted(row.name for row in ROWS) == sorted(sb.METHODS)
    assert all(type(row.method) is sb.METHODS[row.name] for row in ROWS)


@every_method
def test_is_a_method_and_a_frozen_configuration(row: Row) -> None:
    assert isinstance(row.method, Method)
    assert dataclasses.is_dataclass(row.method)
    field = dataclasses.fields(row.method)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(row.method, field, getattr(row.method, field))
    assert hash(row.method) == hash(dataclasses.replace(row.method))
    assert row.method != row.other


@every_method
def test_numbers_are_validated_when_it_is_made(row: Row) -> None:
    """No hyper-parameter may be negative, nor any real one NaN."""
    for name in (field.name for field in dataclasses.fields(row.method)):
        value = getattr(row.method, name)
        if name == "block_steps" or (isinstance(value, int | float) and not isinstance(value, bool)):
            for bad in (-1.0, float("nan"), float("inf")) if isinstance(value, float) else (-1,):
                with pytest.raises(ValueError, match=name) as refused:
                    dataclasses.replace(row.method, **{name: bad})
                assert "\n" not in str(refused.value)
    for name in ("chains", "block_steps"):
        with pytest.raises(ValueError, match=f"{name} must be a whole number of at least 1, not 0"):
            dataclasses.replace(row.method, **{name: 0})


@every_method
def test_documentation_gives_reference_and_every_option(row: Row) -> None:
    kind = type(row.method)
    assert re.search(r"\([A-Z].* (19|20)\d\d\)", inspect.getdoc(kind) or "")
    assert re.search(r"References?: .*\((19|20)\d\d\)", sys.modules[kind.__module__].__doc__ or "")
    for field in dataclasses.fields(kind):
        assert f"    {field.name}: " in (kind.__doc__ or ""), field.name


@every_method
def test_configuration_survives_json(row: Row, posterior: sb.Posterior) -> None:
    for method in (row.method, row.other, row.method.resolve(posterior)):
        written = json.loads(json.dumps(specs.encode(method)))
        assert specs.decode(written, {type(method).__name__: type(method)}) == method


@every_method
def test_resolving_leaves_nothing_open_and_happens_once(row: Row, posterior: sb.Posterior) -> None:
    resolved = row.method.resolve(posterior)
    assert None not in dataclasses.asdict(resolved).values()
    assert resolved.resolve(posterior) == resolved


@every_method
def test_run_gives_the_draws_that_it_promises(row: Row, posterior: sb.Posterior, undisturbed: Any) -> None:
    played = undisturbed[row.name]
    assert all(array.shape[:2] == (CHAINS, row.method.kept()) for array in played.draws.values())
    assert all(np.isfinite(array).all() for array in played.draws.values())
    assert row.method.resolve(posterior).gradients(posterior) > 0
    drawn = sb.run(row.method, posterior, progress=False)
    assert (drawn.chains, len(drawn)) == (CHAINS, row.method.kept())
    for name, value in trees.flatten(drawn.variables).items():
        np.testing.assert_array_equal(value, played.draws[f"0/{name}"], err_msg=name)
    for name, value in drawn.stats.items():
        np.testing.assert_array_equal(value, played.draws[f"1/{name}"], err_msg=name)


@every_method
def test_statistics_belong_to_their_draws(row: Row, posterior: sb.Posterior, undisturbed: Any) -> None:
    played = undisturbed[row.name]
    variables = trees.unflatten({n[2:]: a[:, -1] for n, a in played.draws.items() if n.startswith("0/")})
    density = jax.jit(jax.vmap(posterior.log_density))({"stats": {}, **variables})
    np.testing.assert_allclose(played.draws["1/energy"][:, -1], -density, rtol=1e-5)


@every_method
def test_other_hyper_parameters_compile_nothing(row: Row, posterior: sb.Posterior, undisturbed: Any) -> None:
    again = in_chunks(posterior, sb.priors.Normal(scale=0.7), temperature=0.8)
    with compilations() as compiled:
        played = play(row.other, again, seed=5)
    assert compiled == []
    assert not np.array_equal(played.draws["1/energy"], undisturbed[row.name].draws["1/energy"])


def test_compilations_are_seen() -> None:
    with compilations() as compiled:
        jax.jit(lambda x: x * 17.25)(jnp.ones(3)).block_until_ready()
    assert compiled


@every_method
def test_size_of_a_block_changes_no_draw(row: Row, posterior: sb.Posterior, undisturbed: Any) -> None:
    """Nor does going through stored arrays after every block, as a run that resumes does."""
    expected, blocks = undisturbed[row.name], {undisturbed[row.name].blocks}
    for block_steps in row.block_steps:
        method = dataclasses.replace(row.method, block_steps=block_steps)
        played = play(method, posterior, between=through_arrays)
        assert_same(played.draws, expected.draws)
        blocks.add(played.blocks)
    assert len(blocks) == 1 + len(row.block_steps), "every size cuts the run in its own way"


@every_method
def test_seed_decides_the_draws(row: Row, posterior: sb.Posterior, undisturbed: Any) -> None:
    assert_same(play(row.method, posterior).draws, undisturbed[row.name].draws)
    other = play(row.method, posterior, seed=1).draws
    energies = [drawn["1/energy"] for drawn in (other, undisturbed[row.name].draws)]
    assert np.unique(np.concatenate([energy[:, -1] for energy in energies])).size == 2 * CHAINS


@every_method
def test_chains_do_not_know_of_one_another(row: Row, posterior: sb.Posterior) -> None:
    few = dataclasses.replace(row.independent, chains=2)
    expected, played = play(row.independent, posterior).draws, play(few, posterior).draws
    for name, value in played.items():
        np.testing.assert_allclose(value, expected[name][:2], rtol=1e-3, atol=1e-4, err_msg=name)


@every_method
@pytest.mark.parametrize("along_data", [1, 2, 4, 8])
def test_a_block_on_many_devices_is_that_on_one(row: Row, posterior: sb.Posterior, along_data: int) -> None:
    method = row.method.resolve(posterior)
    state = method.init(posterior, jax.random.key(0))
    one = method.advance(posterior, state, 0)
    mesh = sb.make_mesh(CHAINS, data=along_data)
    assert dict(mesh.shape) == {"chain": 8 // along_data, "data": along_data}
    placed = placement.place_posterior(posterior, mesh)
    many = method.advance(placed, placement.place_state(state, mesh), 0)
    expected, actual = (
        states.to_arrays((state.chains, made.variables, made.stats)) for state, made in (one, many)
    )
    assert all(len(leaf.sharding.device_set) == 8 for leaf in jax.tree.leaves(many[0].chains))
    assert expected.keys() == actual.keys()
    for name, value in expected.items():
        scale = np.abs(value).max() if value.dtype.kind == "f" else 0
        np.testing.assert_allclose(actual[name], value, atol=1e-3 * scale, err_msg=name)


@every_method
def test_start_is_where_the_chains_begin(row: Row, posterior: sb.Posterior) -> None:
    """Given for all chains, for each chain, and as draws of another run."""
    method, key = row.method.resolve(posterior), jax.random.key(3)
    each = states.to_arrays(method.init(posterior, jax.random.key(9)).chains.variables)
    trees_each = {"stats": {}, **trees.unflatten(each)}
    one = trees.index(trees_each, 2)
    drawn = sb.Draws.from_variables(jax.tree.map(lambda leaf: np.stack([0 * leaf, leaf], 1)[:3], trees_each))
    for start, rows in ((one, [2] * CHAINS), (trees_each, range(CHAINS)), (drawn, [0, 1, 2, 0, 1, 2, 0, 1])):
        begun = states.to_arrays(method.init(posterior, key, start).chains.variables)
        for name, value in each.items():
            np.testing.assert_array_equal(begun[name], value[list(rows)], err_msg=name)


def of_linear(drawn: dict[str, np.ndarray]) -> np.ndarray:
    """Draws of the linear regression as (chain, draw, [bias, kernel])."""
    bias, kernel = (drawn[f"0/params/output/{name}"] for name in ("bias", "kernel"))
    return np.concatenate([bias, kernel[..., 0]], axis=-1).astype(np.float64)


@pytest.mark.parametrize("row", [row for row in ROWS if row.exact], ids=lambda row: row.name)
def test_exact_method_gives_the_gaussian_posterior(row: Row, linear: Any) -> None:
    """Three means and six covariances within Monte-Carlo error; a correct sampler fails for one seed
    in 16,000, and the seed is fixed."""
    posterior, mean, covariance = linear
    centred = of_linear(play(row.exact, posterior).draws) - mean
    first, second = np.tril_indices(3)
    series = np.concatenate([centred, centred[..., first] * centred[..., second]], axis=-1)
    expected = np.concatenate([np.zeros(3), covariance[first, second]])
    effective = sb.evaluate.ess_bulk(series)
    assert effective.min() > 1000, "the test would see an error of a few per cent"
    errors = series.std(axis=(0, 1)) / np.sqrt(effective)
    assert np.abs((series.mean(axis=(0, 1)) - expected) / errors).max() < STANDARD_ERRORS


@pytest.mark.parametrize("row", [row for row in ROWS if row.mode], ids=lambda row: row.name)
def test_optimiser_ends_at_the_mode(row: Row, linear: Any) -> None:
    posterior, mean, covariance = linear
    reached = of_linear(play(row.mode, posterior).draws)[:, -1]
    assert np.abs((reached - mean) / np.sqrt(np.diag(covariance))).max() < 1e-3
