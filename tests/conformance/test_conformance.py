"""One table of checks over every method."""

import dataclasses
import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import symbayes as sb
from symbayes import specs, trees
from symbayes.engine import Method, placement, states
from symbayes.engine.job import Job
from symbayes.engine.method import kept_draws, phase_cost
from symbayes.engine.plan import Cursor
from symbayes.networks import NNXNetwork
from symbayes.networks.network import Spec
from symbayes.posterior.numerics.chunks import Chunks

from .compilations import compilations
from .play import Played, job, play
from .table import CHAINS, ROWS, Row

every_method = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)

MESHES = {"hmc": (1, 2, 8)}
"""Over how many of eight devices examples are spread; two, and chains over four, for all other methods: what
differs between meshes is the posterior's, and each takes a compilation."""

STANDARD_ERRORS = 4.5
"""A correct mean is further off than this in 1 of 150,000 trials."""


@dataclasses.dataclass(frozen=True)
class Normed(Spec):
    """One hidden layer with batch statistics."""

    outputs: int = 10

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return nnx.Sequential(
            nnx.Linear(example_shape[0], 3, use_bias=False, rngs=rngs),
            nnx.BatchNorm(3, rngs=rngs),
            nnx.tanh,
            nnx.Linear(3, self.outputs, rngs=rngs),
        )


@pytest.fixture
def posterior(row: Row, request: pytest.FixtureRequest) -> sb.Posterior:
    """What the row's method is run on."""
    return request.getfixturevalue("normalised" if row.normalised else "plain")


@pytest.fixture(scope="module")
def plain(tiny: sb.Posterior) -> sb.Posterior:
    """The tiny posterior in three chunks that devices can share, of which the last is padded."""
    return in_chunks(tiny, tiny.prior)


@pytest.fixture(scope="module")
def normalised(tiny: sb.Posterior) -> sb.Posterior:
    """The same with a network that has batch statistics."""
    x = np.asarray(tiny.train.x).reshape(tiny.size, -1)
    train = sb.data.Examples(x, np.asarray(tiny.train.y))
    return in_chunks(sb.Posterior(NNXNetwork(Normed()), tiny.likelihood, tiny.prior, train), tiny.prior)


def in_chunks(tiny: sb.Posterior, prior: Any, temperature: float = 1.0) -> sb.Posterior:
    train = jax.tree.map(np.asarray, tiny.train)
    made = sb.Posterior(tiny.network, tiny.likelihood, prior, train, chunk=50, temperature=temperature)
    made.chunks = Chunks.cut(train.x, train.y, made.chunk, 8)
    return made


_played: dict[str, Played] = {}


@pytest.fixture
def undisturbed(row: Row, posterior: sb.Posterior) -> Played:
    """The row's small instance with the default size of a block; played once.

    Tests that ask for it have the mark `level`, so that its programs are compiled at one level only.
    """
    if row.name not in _played:
        _played[row.name] = play(row.method, posterior)
    return _played[row.name]


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
    for made in (row.method, row.other):
        for name, value in vars(made).items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                for bad in (-1.0, float("nan"), float("inf")) if isinstance(value, float) else (-1,):
                    with pytest.raises(ValueError, match=name) as refused:
                        dataclasses.replace(made, **{name: bad})
                    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="chains must be a whole number of at least 1, not 0"):
        dataclasses.replace(row.method, chains=0)


@every_method
def test_documentation_gives_its_use_a_reference_and_every_option(row: Row) -> None:
    kind = type(row.method)
    page = sys.modules[kind.__module__].__doc__ or ""
    assert re.search(r"^Use it ", page, re.M), "when to use it, and what it costs"
    assert re.search(r"\([A-Z].* (19|20)\d\d\)", inspect.getdoc(kind) or "")
    assert re.search(r"References?: .*\((19|20)\d\d\)", page)
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
    left_open = {name for name, value in dataclasses.asdict(resolved).items() if value is None}
    assert left_open <= set(row.method.finds), "but for what the run finds"
    assert resolved.resolve(posterior) == resolved


@every_method
@pytest.mark.level
def test_run_gives_the_draws_that_it_promises(row: Row, posterior: sb.Posterior, undisturbed: Played) -> None:
    phases = row.method.resolve(posterior).phases(posterior)
    promised = (CHAINS, kept_draws(phases))
    assert all(array.shape[:2] == promised for array in undisturbed.draws.values())
    assert all(np.isfinite(array).all() for array in undisturbed.draws.values())
    # A statistic has the units of the phases that give it, which follow one another.
    ends = np.cumsum([0, *(phase.units for phase in phases)])
    stretches = {(CHAINS, end - begin) for begin in ends for end in ends if end > begin}
    assert {array.shape for array in undisturbed.traces.values()} <= stretches
    assert all(phase_cost(phase, posterior) > 0 for phase in phases)
    drawn = sb.run(row.method, posterior, progress=False)
    assert (drawn.chains, len(drawn)) == promised
    for name, value in trees.flatten(drawn.variables).items():
        np.testing.assert_array_equal(value, undisturbed.draws[f"variables/{name}"], err_msg=name)
    for name, value in drawn.stats.items():
        np.testing.assert_array_equal(value, undisturbed.draws[f"statistics/{name}"], err_msg=name)


@every_method
@pytest.mark.level
def test_statistics_belong_to_their_draws(row: Row, posterior: sb.Posterior, undisturbed: Played) -> None:
    last = {n.removeprefix("variables/"): a[:, -1] for n, a in undisturbed.draws.items() if "variables/" in n}
    density = jax.jit(jax.vmap(posterior.log_density))(trees.variables(last))
    np.testing.assert_allclose(undisturbed.draws["statistics/energy"][:, -1], -density, rtol=1e-5)


@every_method
def test_phases_are_pytrees_whose_class_is_part_of_their_structure(row: Row, posterior: sb.Posterior) -> None:
    for phase in row.method.resolve(posterior).phases(posterior):
        assert type(phase).__name__ in str(jax.tree.structure(phase))
        kinds = (np.bool_, np.int32, np.float32, np.ndarray, jax.Array)
        assert all(isinstance(leaf, kinds) for leaf in jax.tree.leaves(phase.arrays()))


@every_method
@pytest.mark.level
def test_other_hyper_parameters_compile_nothing(
    row: Row, posterior: sb.Posterior, undisturbed: Played
) -> None:
    again = in_chunks(posterior, sb.priors.Normal(scale=0.7), temperature=0.8)
    with compilations() as compiled:
        played = play(row.other, again, seed=5)
    assert compiled == []
    energies = [each.draws["statistics/energy"] for each in (played, undisturbed)]
    assert not np.array_equal(*energies)


def test_compilations_are_seen() -> None:
    with compilations() as compiled:
        jax.jit(lambda x: x * 17.25)(jnp.ones(3)).block_until_ready()
    assert compiled


@every_method
@pytest.mark.level
def test_size_of_a_block_changes_no_draw(row: Row, posterior: sb.Posterior, undisturbed: Played) -> None:
    """Nor does going through stored arrays after every block, as a run that resumes does."""
    blocks = {undisturbed.blocks}
    for block_steps in row.block_steps:
        played = play(row.method, posterior, block_steps=block_steps, through_arrays=True)
        assert_same(played.draws, undisturbed.draws)
        assert_same(played.traces, undisturbed.traces)
        blocks.add(played.blocks)
    assert len(blocks) == 1 + len(row.block_steps), "every size cuts the run in its own way"


@pytest.mark.parametrize("row", [row for row in ROWS if row.longer], ids=lambda row: row.name)
@pytest.mark.level
def test_an_extended_run_has_the_draws_of_the_longer_one(
    row: Row, posterior: sb.Posterior, tmp_path: Path
) -> None:
    for method in (row.method, row.longer):
        extended = sb.run(method, posterior, store=tmp_path / "run", progress=False)
    expected = play(row.longer, posterior).draws
    for name, value in trees.flatten(extended.variables).items():
        np.testing.assert_array_equal(value, expected[f"variables/{name}"], err_msg=name)
    for name, value in extended.stats.items():
        np.testing.assert_array_equal(value, expected[f"statistics/{name}"], err_msg=name)


@every_method
def test_methods_that_can_grow_have_a_longer_form(row: Row, posterior: sb.Posterior) -> None:
    method = row.method.resolve(posterior)
    assert (row.longer is not None) == (method.extends is not None)
    assert method.extends is None or method.phases(posterior)[-1].open_ended


@every_method
@pytest.mark.level
def test_seed_decides_the_draws(row: Row, posterior: sb.Posterior, undisturbed: Played) -> None:
    assert_same(play(row.method, posterior).draws, undisturbed.draws)
    other = play(row.method, posterior, seed=1)
    energies = [played.draws["statistics/energy"][:, -1] for played in (other, undisturbed)]
    assert np.unique(np.concatenate(energies)).size == 2 * CHAINS


def see_one_another(method: Method, posterior: sb.Posterior) -> bool:
    """Whether a phase is shown several chains; all else that phases do is a `vmap` of one chain."""
    return any(phase.joint for phase in job(method, posterior).phases if phase.units)


_alone: dict[str, Played] = {}


@pytest.fixture
def alone(row: Row, posterior: sb.Posterior) -> Played:
    """The row's independent instance with two chains; played once."""
    if row.name not in _alone:
        _alone[row.name] = play(dataclasses.replace(row.independent, chains=2), posterior)
    return _alone[row.name]


@every_method
def test_chains_do_not_know_of_one_another(row: Row, posterior: sb.Posterior, alone: Played) -> None:
    """Phases that are shown all chains do the same with more of them.

    To others, their number is no setting, and another chain beside one changes no byte of it.  Blocks of more
    chains are compared on many devices, and whole runs in the tests of chains in groups.
    """
    if see_one_another(row.independent, posterior):
        expected = play(row.independent, posterior).draws
        for name, value in alone.draws.items():
            np.testing.assert_allclose(value, expected[name][:2], rtol=1e-3, atol=1e-4, err_msg=name)
        return
    few = dataclasses.replace(row.independent, chains=2)
    assert job(few, posterior).phases == job(row.independent, posterior).phases
    played = play(few, posterior, like_the_first=True)
    for part in ("draws", "traces"):
        for name, value in getattr(alone, part).items():
            np.testing.assert_array_equal(getattr(played, part)[name][0], value[0], err_msg=name)
    energies = [each.draws["statistics/energy"][1] for each in (played, alone)]
    assert not np.array_equal(*energies), "the other chain is another one"


@every_method
def test_chains_in_groups_are_those_of_all_at_once(row: Row, posterior: sb.Posterior, alone: Played) -> None:
    """Unless they learn from one another; those of the first group are the chains that are alone, and all
    differ."""
    if see_one_another(row.independent, posterior):
        with pytest.raises(ValueError, match="learn from one another"):
            job(row.independent, posterior).in_groups(2)
        return
    played = play(row.independent, posterior, together=2)
    assert played.blocks == CHAINS // 2 * alone.blocks
    for part in ("draws", "traces"):
        for name, value in getattr(alone, part).items():
            np.testing.assert_array_equal(getattr(played, part)[name][:2], value, err_msg=name)
    assert np.unique(played.draws["statistics/energy"][:, -1]).size == CHAINS


def spread(posterior: sb.Posterior, along_data: int) -> tuple[sb.Posterior, Any]:
    """The posterior on all devices, and their mesh."""
    mesh = sb.make_mesh(CHAINS, data=along_data)
    assert dict(mesh.shape) == {"chain": 8 // along_data, "data": along_data}
    return placement.place_posterior(posterior, mesh), mesh


def first_block(working: Job, group: int) -> tuple[Any, dict[str, np.ndarray]]:
    """The chains of a group after the first block, and all of it as arrays."""
    first = next(number for number, phase in enumerate(working.phases) if phase.units)
    state, plan = working.begin(first, group=group)
    block = working.advance(first, Cursor(first, group=group), state, plan)
    return block.state.chain, states.to_arrays((block.state.chain, block.record))


@pytest.mark.parametrize(
    ("row", "along_data"),
    [(row, width) for row in ROWS for width in MESHES.get(row.name, (2,))],
    ids=lambda value: getattr(value, "name", None) or str(value),
)
def test_a_block_on_many_devices_is_that_on_one(row: Row, posterior: sb.Posterior, along_data: int) -> None:
    """On one, in groups of two chains, but of all at once where they learn from one another."""
    on, mesh = spread(posterior, along_data)
    chain, actual = first_block(job(row.spread, on, mesh=mesh), 0)
    assert all(len(leaf.sharding.device_set) == 8 for leaf in jax.tree.leaves(chain))
    alone = job(row.spread, posterior)
    if not see_one_another(row.spread, posterior):
        alone = alone.in_groups(2)
    blocks = [first_block(alone, group)[1] for group in range(len(alone.groups))]
    assert all(block.keys() == actual.keys() for block in blocks)
    for name, found in actual.items():
        each = [block[name] for block in blocks]
        # Steps are counted for all chains of a block.
        value = np.concatenate(each) if each[0].ndim else np.max(each)
        if name.endswith("likelihood") and value.ndim == 2:
            # Which examples are summed into one term depends on the devices.
            found, value = found.sum(axis=1), value.sum(axis=1)
        scale = np.abs(value).max() if value.dtype.kind == "f" else 0
        np.testing.assert_allclose(found, value, atol=1e-3 * scale, err_msg=name)


@every_method
def test_start_is_where_the_chains_begin(row: Row, posterior: sb.Posterior) -> None:
    """Given for all chains, for each chain, and as draws of another run."""

    def begun(seed: int, start: Any = None) -> dict[str, np.ndarray]:
        working = job(row.method, posterior, seed, start=start)
        return states.to_arrays(working.begin(0)[0].chain.variables)

    each = begun(9)
    trees_each = trees.variables(each)
    one = trees.index(trees_each, 2)
    drawn = sb.Draws.from_variables(jax.tree.map(lambda leaf: np.stack([0 * leaf, leaf], 1)[:3], trees_each))
    for start, rows in ((one, [2] * CHAINS), (trees_each, range(CHAINS)), (drawn, [0, 1, 2, 0, 1, 2, 0, 1])):
        found = begun(3, start)
        for name, value in each.items():
            np.testing.assert_array_equal(found[name], value[list(rows)], err_msg=name)


def of_linear(drawn: dict[str, np.ndarray]) -> np.ndarray:
    """Draws of the linear regression as (chain, draw, [bias, kernel])."""
    bias, kernel = (drawn[f"variables/params/output/{name}"] for name in ("bias", "kernel"))
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
