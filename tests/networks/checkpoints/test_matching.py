"""Layers of one shape: what tells them apart, what is told, and what is refused."""

import warnings
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from symbayes.draws import files
from symbayes.networks import checkpoints
from symbayes.networks.checkpoints import CheckpointError, MatchedByOrder

OURS = ("hidden1", "hidden2", "output")
NETWORK = sb.networks.mlp(hidden=(3, 3), outputs=3)
X = jnp.ones((1, 3))


def checkpoint(path: Path, names: tuple[str, ...]) -> Path:
    """Three square layers; every number of a layer is its place among `names`."""
    state = {}
    for number, name in enumerate(names, start=1):
        state |= {f"{name}.weight": np.full((3, 3), number, np.float32), f"{name}.bias": np.zeros(3)}
    if path.suffix == ".npz":
        np.savez(path, **state)
    else:
        files.write_bytes(path, *files.pack(state))
    return path


def loaded(path: Path, names: dict[str, str] | None = None) -> list[float]:
    """Which layer of the checkpoint each of ours was filled with."""
    params = checkpoints.load(path, NETWORK, X, names=names)["params"]
    return [float(params[layer]["kernel"][0, 0]) for layer in OURS]


@pytest.mark.parametrize(
    ("ending", "names"),
    [
        ("safetensors", ("fc1", "fc2", "fc10")),  # numbers
        ("npz", ("fc1", "fc2", "fc10")),
        ("npz", ("body.0", "body.1", "last")),  # two and one, on both sides, in the order of the file
        ("safetensors", ("hidden1", "hidden2", "output")),  # names of ours
        ("npz", ("hidden1", "hidden2", "output")),
    ],
)
def test_what_names_and_order_agree_on_is_taken_silently(
    tmp_path: Path, ending: str, names: tuple[str, ...]
) -> None:
    path = checkpoint(tmp_path / f"a.{ending}", names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loaded(path) == [1, 2, 3]


@pytest.mark.parametrize(
    ("ending", "names", "by"),
    [
        ("npz", ("first", "second", "third"), "by their order in the file"),
        ("safetensors", ("body.0", "body.1", "last"), "by how many have names of one form"),
    ],
)
def test_what_one_of_them_decides_alone_is_told(
    tmp_path: Path, ending: str, names: tuple[str, ...], by: str
) -> None:
    path = checkpoint(tmp_path / f"a.{ending}", names)
    with pytest.warns(MatchedByOrder, match=by) as told:
        assert loaded(path) == [1, 2, 3]
    for ours, theirs in zip(OURS, names, strict=True):
        assert f"{ours} is {theirs}" in str(told[0].message)


@pytest.mark.parametrize(
    ("ending", "names", "words"),
    [
        ("safetensors", ("first", "second", "third"), "neither numbers nor an order tell which"),
        ("npz", ("last", "body.0", "body.1"), "by their names .*, but in the order of the file"),
        ("npz", ("fc1", "fc3", "fc2"), "output is fc3, but in the order of the file"),
    ],
)
def test_where_nothing_decides_names_have_to_be_given(
    tmp_path: Path, ending: str, names: tuple[str, ...], words: str
) -> None:
    path = checkpoint(tmp_path / f"a.{ending}", names)
    with pytest.raises(CheckpointError, match=words) as refused:
        loaded(path)
    assert "give names=" in str(refused.value)
    assert "--names" in str(refused.value)
    given = dict(zip(OURS, names[::-1], strict=True))
    assert loaded(path, given) == [3, 2, 1]
    # With all but one given, the shape decides.
    assert loaded(path, {ours: given[ours] for ours in OURS[1:]}) == [3, 2, 1]
    # And the file is written in its own names again.
    variables = checkpoints.load(path, NETWORK, X, names=given)
    out = checkpoints.export(
        variables, tmp_path / "b.npz", like=path, network=NETWORK, example=X, names=given
    )
    for name, array in checkpoints.read(out).items():
        np.testing.assert_array_equal(array, checkpoints.read(path)[name])


def test_names_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = checkpoint(tmp_path / "a.npz", ("fc1", "fc2", "fc3"))
    for names, words in [
        ({"middle": "fc1"}, "the network has no layer middle: it has hidden1, hidden2, output"),
        ({"hidden1": "fc9"}, "the checkpoint has no layer fc9: it has fc1, fc2, fc3"),
        ({"hidden1": "fc1", "hidden2": "fc1"}, "the checkpoint has no layer fc1: it has fc2, fc3"),
    ]:
        with pytest.raises(CheckpointError, match=words):
            loaded(path, names)
    wide = sb.networks.mlp(hidden=(4, 3), outputs=3)
    with pytest.raises(
        CheckpointError, match=r"fc1 of the checkpoint does not fit hidden1, which needs weight"
    ):
        checkpoints.load(path, wide, X, names={"hidden1": "fc1"})
    more = checkpoint(tmp_path / "b.npz", ("fc1", "fc2", "fc3", "fc4"))
    with pytest.raises(
        CheckpointError, match="fc4 of the checkpoint have the shape of hidden1, hidden2, output"
    ):
        loaded(more)
