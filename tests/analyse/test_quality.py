"""How far runs are from a reference: the composition of canonical forms, discrepancies and tests."""

import json
from pathlib import Path

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import evaluate, symmetry
from symbayes.analyse.quality import halves, layers, quality, unit_tests
from symbayes.analyse.stein import stein_discrepancies
from symbayes.cli import main
from symbayes.draws.draws import Origin
from symbayes.engine import open_run


@pytest.fixture(scope="module")
def group(waves) -> symmetry.Symmetry:
    return sb.open(waves[0]).group


def like(draws: sb.Draws, variables) -> sb.Draws:
    """Other networks, as if the same run had drawn them."""
    made = draws.origin
    assert made is not None
    found = sb.Draws.from_variables(variables)
    return sb.Draws(found.segments, origin=Origin(made.config, made.posterior))


@pytest.fixture(scope="module")
def shuffled(waves, group) -> sb.Draws:
    """The draws of the run, each chain moved by an element of its own."""
    draws = waves[0]
    keys = jax.random.split(jax.random.key(3), draws.chains)
    elements = [group.random_element(key, spread=0.0) for key in keys]
    moved = [
        jax.vmap(lambda one, e=element: group.act(e, one))(sb.trees.index(draws.variables, c))
        for c, element in enumerate(elements)
    ]
    return like(draws, jax.tree.map(lambda *leaves: np.stack(leaves), *moved))


def test_copies_of_the_reference_are_at_no_distance_in_canonical_form(waves, shuffled):
    draws, data = waves
    found = quality(shuffled, draws, data.test.x, permutations=20)
    assert list(found.weights) == ["raw", "canonical"]
    assert list(found.weights["raw"]) == [*layers(draws), "all"]
    raw, canonical = (found.weights[form]["all"] for form in ("raw", "canonical"))
    # The floor knows nothing of the run; of canonical weights the run is like the reference itself.
    same = quality(draws, draws, data.test.x, permutations=20)
    assert canonical.mmd == pytest.approx(same.weights["canonical"]["all"].mmd, abs=1e-5)
    assert canonical.floor == pytest.approx(same.weights["canonical"]["all"].floor, abs=1e-5)
    assert found.functions is not None
    assert same.functions is not None
    assert found.functions.mmd == pytest.approx(same.functions.mmd, abs=1e-4)
    assert same.closeness.keys() == {"mean-distance", "TV"}
    for name, pair in same.closeness.items():
        assert found.closeness[name] == pytest.approx(pair, rel=1e-3), "copies have the same functions"
    assert raw.mmd != pytest.approx(same.weights["raw"]["all"].mmd, abs=1e-3)
    # Four chains of the run against two of the reference, as long: a test of all 15 ways.
    assert raw.p_value is not None
    assert raw.smallest == pytest.approx(1 / 15)


def test_numbers_are_those_of_the_parts(waves, group):
    """All weights raw, from the arrays themselves."""
    draws = waves[0]
    run = draws.select(draws=slice(0, 5))
    run = like(draws, run.variables)
    found = quality(run, draws, waves[1].test.x, permutations=20)
    first, second = halves(draws)

    def matrix(part: sb.Draws) -> np.ndarray:
        return np.asarray(sb.trees.ravel(part.variables["params"], 2)).reshape(part.chains * len(part), -1)

    a, b, r = matrix(first), matrix(second), matrix(run)
    kernels = evaluate.Kernels.of(evaluate.distances(a))
    one = found.weights["raw"]["all"]
    assert found.draws == 20
    assert one.mmd == pytest.approx(evaluate.mmd(r, a, kernels), abs=1e-5)
    assert one.floor == pytest.approx(evaluate.mmd(b, a, kernels), abs=1e-5)
    assert one.wasserstein == pytest.approx(evaluate.sliced_wasserstein(r, a), rel=1e-4)
    # Five draws of a chain of the run, and ten of the reference's, of which every other counts.
    both = kernels(evaluate.distances(np.concatenate([r, a.reshape(2, 10, -1)[:, 1::2].reshape(10, -1)])))
    assert one.p_value == evaluate.chain_test(both, (4, 2), 20).p_value
    for name, names in layers(draws).items():
        cut = [
            np.concatenate(
                [np.asarray(sb.trees.flatten(part.variables)[n]).reshape(20, -1) for n in names], 1
            )
            for part in (run, first)
        ]
        assert found.weights["raw"][name].mmd == pytest.approx(evaluate.mmd(*cut), abs=1e-5)
    posterior = sb.open(draws).posterior
    flat = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:]), run.variables)
    gradient = jax.jit(posterior.gradient)
    scores = np.stack([np.asarray(sb.trees.ravel(gradient(sb.trees.index(flat, n)))) for n in range(20)])
    squared = evaluate.distances(a).squared[np.triu_indices(20, 1)]
    assert found.stein["weights"]["run"] == pytest.approx(
        evaluate.ksd(r, scores, float(np.sqrt(np.median(squared)))), rel=1e-3
    )
    mixing, x = (
        np.random.default_rng(0).normal(size=(8, 40)) / np.sqrt(40),
        jax.numpy.asarray(waves[1].test.x),
    )

    def combined(variables):
        return mixing @ posterior.network.apply(variables, x)[:, 0]

    of = jax.jit(lambda one: (combined(one), jax.jacfwd(combined)(one)["params"]))

    def features(networks) -> tuple[np.ndarray, np.ndarray]:
        each = [of(sb.trees.index(networks, n)) for n in range(20)]
        jacobians = [[np.reshape(leaf, (8, -1)) for leaf in jax.tree.leaves(slopes)] for _, slopes in each]
        return np.array([value for value, _ in each]), np.array([np.concatenate(j, 1) for j in jacobians])

    halved = jax.tree.map(lambda leaf: np.asarray(leaf).reshape(-1, *leaf.shape[2:]), first.variables)
    apart = evaluate.distances(features(halved)[0]).squared[np.triu_indices(20, 1)]
    expected = evaluate.function_ksd(*features(flat), scores, float(np.sqrt(np.median(apart))))
    assert found.stein["functions"]["run"] == pytest.approx(expected, rel=1e-3)
    means = [posterior.predict(part, waves[1].test.x).each for part in (run, first, second)]
    for row, number in ((means[0], 0), (means[2], 1)):
        distance = evaluate.mean_distance(row, 0.1, means[1], 0.1)
        assert found.closeness["mean-distance"][number] == pytest.approx(distance, rel=1e-3)


def test_units_of_chains_with_a_common_start_are_told_apart(waves, group, shuffled):
    draws = waves[0]
    one = sb.trees.index(draws.variables, (slice(0, 1),))
    common = like(draws, jax.tree.map(lambda leaf: np.repeat(leaf, 4, axis=0), one))
    (name,) = unit_tests(draws, group)
    assert unit_tests(common, group)[name].p_value < 0.05
    assert unit_tests(shuffled, group)[name].p_value > 0.05
    assert unit_tests(draws.select([0]), group) == {}


def test_what_cannot_be_compared_is_refused(waves, tiny):
    draws = waves[0]
    short = like(draws, draws.select([0], [0]).variables)
    with pytest.raises(ValueError, match="at least two draws"):
        quality(short, draws)
    with pytest.raises(ValueError, match="one chain needs at least two draws"):
        quality(draws, short)
    other = sb.run(sb.DeepEnsemble(epochs=1, chains=2), tiny)
    with pytest.raises(ValueError, match="different networks"):
        quality(other, draws)


def test_the_command_prints_and_writes(runs: dict[str, Path], tmp_path: Path, capsys) -> None:
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    options = ["--max-draws", "8", "--permutations", "20", "--out", str(page), "--json", str(numbers)]
    assert main(["distance", str(runs["ensemble"]), str(runs["hmc"]), *options]) == 0
    output = capsys.readouterr().out
    for words in ("all, canonical", "functions", "KSD²", "variance between units", "hidden1, raw"):
        assert words in output
    found = json.loads(numbers.read_text())
    assert found["draws"] == 3
    assert found["weights"]["canonical"]["all"]["floor"] is not None
    for of in ("weights", "functions"):
        assert found["stein"][of]["run"] != found["stein"][of]["reference"]
    assert found["closeness"].keys() == {"agreement", "TV"}
    assert "Distance of ensemble from hmc" in page.read_text()
    # A run on disk makes its posterior when it is first asked for, and keeps it.
    reference = open_run(runs["hmc"])
    draws = reference.draws.select(draws=slice(0, 2))
    stein_discrepancies(reference, {"run": draws, "reference": draws}, 2)
    assert np.isfinite(np.asarray(jax.tree.leaves(reference.posterior.train)[0])).all()
    assert np.isfinite(float(reference.posterior.log_density(reference.variables)))
