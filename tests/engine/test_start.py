import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees
from symbayes.draws import Run
from symbayes.engine import record
from symbayes.engine.start import Start, start_variables

from .runs import ENSEMBLE, HMC, run

KEY = jax.random.key(5)


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory) -> sb.Draws:
    return run(ENSEMBLE, tiny, store=tmp_path_factory.mktemp("start") / "run")


def assert_same(a, b) -> None:
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for one, other in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(one, other)


def test_fresh_chains_differ_and_do_not_depend_on_how_many_there_are(tiny):
    two, three = (start_variables(tiny, KEY, chains) for chains in (2, 3))
    assert_same(trees.index(three, slice(2)), two)
    kernel = three["params"]["hidden1"]["kernel"]
    assert len(np.unique(kernel[:, 0, 0])) == 3


def test_every_chain_begins_at_given_variables(tiny):
    variables = tiny.init(KEY)
    start = start_variables(tiny, KEY, 3, variables)
    for chain in range(3):
        assert_same(trees.index(start, chain), variables)


def test_each_chain_begins_at_its_own_variables(tiny):
    own = trees.stack([tiny.init(jax.random.key(seed)) for seed in range(3)])
    assert_same(start_variables(tiny, KEY, 3, own), own)
    with pytest.raises(ValueError, match="but the network's is"):
        start_variables(tiny, KEY, 2, own)


def test_draws_give_the_last_of_each_chain_in_turn(tiny):
    rng = np.random.default_rng(0)
    shapes = trees.shapes(tiny.init(KEY))
    many = trees.unflatten({n: rng.normal(size=(2, 3, *s)).astype(np.float32) for n, s in shapes.items()})
    start = start_variables(tiny, KEY, 5, sb.Draws.from_variables(many))
    for chain in range(5):
        expected = trees.index(many, (chain % 2, 2))
        assert_same(trees.index(start, chain)["params"], expected["params"])


def modes(posterior: sb.Posterior, chains: int, given: Any = None) -> list[int]:
    found = Start(posterior, 0, chains, given).modes
    assert found.dtype == np.int32
    return found.tolist()


def test_fresh_chains_are_each_in_a_mode_of_their_own(tiny):
    assert modes(tiny, 3) == [0, 1, 2]


def test_chains_that_begin_together_are_in_one_mode(tiny):
    one = tiny.init(KEY)
    assert modes(tiny, 3, one) == [0, 0, 0]
    assert modes(tiny, 3, {"params": one["params"]}) == [0, 0, 0]
    own = trees.stack([one] * 3)
    assert modes(tiny, 3, own) == [0, 1, 2]


def test_chains_are_in_the_mode_of_the_draw_where_they_begin(tiny):
    """The last draw of its chain, if the draws tell of modes; else the chain itself."""
    three = jax.tree.map(lambda leaf: np.stack([leaf, leaf])[None].repeat(3, 0), tiny.init(KEY))
    known = {"mode": np.array([[0, 5], [0, 3], [0, 5]], np.int32)}
    assert modes(tiny, 5, sb.Draws.from_variables(three, known)) == [5, 3, 5, 5, 3]
    assert modes(tiny, 2, sb.Draws.from_variables(three, known)) == [5, 3]
    assert modes(tiny, 5, sb.Draws.from_variables(three)) == [0, 1, 2, 0, 1]
    assert modes(tiny, 2, sb.Draws.from_variables(three)) == [0, 1]


def test_every_draw_knows_its_mode(tiny, trained, tmp_path):
    """From one run to the next that begins there, and to a third."""
    assert trained.stats["mode"].tolist() == [[0], [1]]
    four = dataclasses.replace(HMC, chains=4)
    second = run(four, tiny, start=trained, store=tmp_path / "second")
    assert second.stats["mode"].tolist() == [[0] * 6, [1] * 6, [0] * 6, [1] * 6]
    third = run(HMC, tiny, start=second.select(chains=[1, 2]))
    assert third.stats["mode"].tolist() == [[1] * 6, [0] * 6]
    together = run(HMC, tiny, start=tiny.init(KEY), keep=4)
    assert together.stats["mode"].tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("method", [HMC, ENSEMBLE], ids=["hmc", "ensemble"])
def test_parameters_alone_are_enough_for_a_network_without_statistics(tiny, method):
    variables = tiny.init(KEY)
    alone = run(method, tiny, start={"params": variables["params"]})
    whole = run(method, tiny, start=variables)
    assert_same(alone.variables, whole.variables)


def test_a_run_begins_where_another_ended(tiny, trained):
    still = dataclasses.replace(HMC, step_size=1e-9, trajectory=5e-9, adapt=False)
    draws = run(still, tiny, start=trained)
    for name, array in trees.flatten(trained.variables).items():
        moved = trees.flatten(draws.variables)[name]
        np.testing.assert_allclose(moved, np.broadcast_to(array, moved.shape), atol=1e-6)


def test_the_start_is_recorded_and_decides_the_run(tiny, trained, tmp_path):
    run(HMC, tiny, start=trained, store=tmp_path / "run")
    recorded = Run(tmp_path / "run").config
    assert recorded["derived_from"] == str(trained.path)
    assert len(recorded["start"]) == 64
    # The same draws by another name are the same start.
    run(HMC, tiny, start=dataclasses.replace(trained, path=None), store=tmp_path / "run")
    # So are draws that end in the same ones.
    earlier = jax.tree.map(lambda leaf: np.concatenate([0 * leaf, leaf], axis=1), trained.variables)
    run(HMC, tiny, start=sb.Draws.from_variables(earlier), store=tmp_path / "run")
    with pytest.raises(sb.RunError, match=r"start"):
        run(HMC, tiny, store=tmp_path / "run")
    with pytest.raises(sb.RunError, match=r"start"):
        run(HMC, tiny, start=tiny.init(KEY), store=tmp_path / "run")


def test_variables_of_another_network_are_refused(tiny, linear, tmp_path):
    other = linear[0].init(KEY)
    with pytest.raises(ValueError, match=r"another network: it differs in params/hidden1/bias"):
        run(HMC, tiny, start=other, store=tmp_path / "run")
    wider = sb.networks.mlp(hidden=(7,), outputs=10).init(KEY, tiny.train.x[:1])
    with pytest.raises(ValueError, match=r"hidden1/bias of shape \(7,\), but the network's is \(6,\)"):
        run(HMC, tiny, start=wider, store=tmp_path / "run")
    # Nothing was drawn, so the corrected command may use the same folder.
    assert len(run(HMC, tiny, start=tiny.init(KEY), store=tmp_path / "run")) == HMC.draws


def test_a_start_without_draws_is_refused(tiny):
    with pytest.raises(ValueError, match="there are no draws here"):
        run(HMC, tiny, start=sb.Draws([]))


def test_observers_of_the_same_bytes_are_told_apart_by_type_and_shape():
    zeros = [np.zeros(6, np.float32), np.zeros(6, np.int32), np.zeros((2, 3), np.float32)]
    prints = {record._observer_fingerprint(sb.Predictions(array)) for array in zeros}
    assert len(prints) == 3

    class Other(sb.Predictions):
        pass

    assert record._observer_fingerprint(Other(zeros[0])) not in prints


def test_an_observer_of_other_inputs_is_another_configuration(tiny, tmp_path):
    run(HMC, tiny, observers=[sb.Predictions(tiny.train.x[:3])], store=tmp_path / "run")
    with pytest.raises(sb.RunError, match=r"observers\.predictions"):
        run(HMC, tiny, observers=[sb.Predictions(tiny.train.x[1:4])], store=tmp_path / "run")


def test_a_start_that_is_no_variables_is_refused(tiny):
    with pytest.raises(ValueError, match=r"the start is variables, or a run: .* not a value of type int"):
        run(HMC, tiny, start=3)
    with pytest.raises(sb.RunError, match="runs/none"):
        run(HMC, tiny, start="runs/none")


def test_whatever_takes_a_folder_to_begin_at_takes_draws_and_what_was_opened_too(tiny, trained, tmp_path):
    """With the draws that the folder's give, and the record of where they came from."""
    folder = trained.path
    expected = run(HMC, tiny, start=trained, store=tmp_path / "run").variables
    for start in (folder, str(folder), Run(folder), sb.open(folder)):
        again = run(HMC, tiny, start=start, store=tmp_path / "run")  # which is the same configuration
        assert Run(tmp_path / "run").config["derived_from"] == str(folder)
        assert again.stats["mode"].tolist() == [[0] * 6, [1] * 6]
        assert_same(run(HMC, tiny, start=start).variables, expected)


def test_a_start_of_every_chain_is_refused_by_the_array_that_differs(tiny):
    wide = sb.networks.mlp(hidden=(6,), outputs=11).init(KEY, tiny.train.x[:1])
    start = jax.tree.map(lambda leaf: np.stack([leaf] * HMC.chains), wide)
    with pytest.raises(ValueError, match=r"the start has params/output/bias of shape"):
        run(HMC, tiny, start=start)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_that_would_share_draws_are_refused(tiny, seed):
    with pytest.raises(ValueError, match="seed is a whole number from 0 to 4294967295, not"):
        run(HMC, tiny, seed=seed)
