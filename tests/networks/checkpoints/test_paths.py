"""Trees as programs in Flax save them: variables are found by path, whatever stands beside and above them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import symbayes as sb
from symbayes import trees
from symbayes.cli import main
from symbayes.draws import files
from symbayes.networks import checkpoints


class Normed(nnx.Module):
    """Two layers with batch statistics and dropout between them, for the pictures of the digits."""

    def __init__(self, width: int = 5, *, rngs: nnx.Rngs) -> None:
        self.layers = nnx.List([nnx.Linear(64, width, rngs=rngs), nnx.Linear(width, 10, rngs=rngs)])
        self.norm = nnx.BatchNorm(width, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        hidden = self.norm(self.layers[0](x.reshape(len(x), -1)))
        return self.layers[1](self.dropout(jax.nn.relu(hidden)))


class Plain(nnx.Module):
    """Two layers without statistics."""

    def __init__(self, *, rngs: nnx.Rngs) -> None:
        self.first, self.last = nnx.Linear(64, 4, rngs=rngs), nnx.Linear(4, 10, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return self.last(jax.nn.relu(self.first(x.reshape(len(x), -1))))


IMAGES = (2, 8, 8, 1)


def trained(seed: int = 0) -> Normed:
    """A module whose statistics are not those that it begins with."""
    module = Normed(rngs=nnx.Rngs(seed))
    module(jnp.asarray(np.random.default_rng(seed).normal(size=(20, 64)), jnp.float32))
    return module


def pure(module: nnx.Module, *kinds: Any) -> dict[str, Any]:
    return nnx.to_pure_dict(nnx.state(module, *kinds))


def linen(module: nnx.Module) -> dict[str, Any]:
    return {"params": pure(module, nnx.Param), "batch_stats": pure(module, nnx.BatchStat)}


def training(module: nnx.Module) -> dict[str, Any]:
    state = optax.adam(1e-3).init(pure(module, nnx.Param))
    return {"step": 3, **linen(module), "opt_state": state}


def with_optimiser(module: nnx.Module) -> Any:
    return nnx.state((module, nnx.Optimizer(module, optax.adam(1e-3), wrt=nnx.Param)))


def averaged(module: nnx.Module) -> dict[str, Any]:
    """With a second tree of the same form, of which ``params`` is not the average."""
    return {"average": jax.tree.map(jnp.zeros_like, pure(module, nnx.Param)), **linen(module)}


FORMS: dict[str, Callable[[nnx.Module], Any]] = {
    "state": nnx.state,
    "pure dict": pure,
    "collections": linen,
    "our collections": lambda module: {
        "params": pure(module, nnx.Param),
        "stats": pure(module, nnx.BatchStat),
    },
    "training state": training,
    "training state below a name": lambda module: {"state": training(module)},
    "module and optimiser": with_optimiser,
    "average beside": averaged,
    "below a name": lambda module: {"model": nnx.state(module), "epoch": 7},
}


def save(tree: Any, path: Path) -> Path:
    """As Orbax writes it, or each array under its path."""
    if path.suffix:
        # A state is a tree of variables, and one of orbax has their values.
        orbax = save(tree, path.with_suffix(""))
        arrays = checkpoints.read(orbax)
        if path.suffix == ".npz":
            np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]
        else:
            dots = {name.replace("/", "."): array for name, array in arrays.items()}
            files.write_bytes(path, *files.pack(dots))
        return path
    with ocp.StandardCheckpointer() as writer:
        writer.save(path, tree)
    return path


@pytest.mark.parametrize("end", ["", ".npz", ".safetensors"])
@pytest.mark.parametrize("form", FORMS)
def test_variables_are_found_in_what_flax_saves(form: str, end: str, tmp_path: Path) -> None:
    module = trained()
    path = save(FORMS[form](module), tmp_path / f"a{end}")
    network = sb.networks.from_nnx(Normed)
    found = trees.flatten(checkpoints.load(path, network, IMAGES))
    expected = trees.flatten(sb.networks.from_nnx(module).start)
    assert found.keys() == expected.keys()
    for name, leaf in expected.items():
        np.testing.assert_array_equal(found[name], leaf)


@pytest.mark.parametrize("form", ["training state", "module and optimiser"])
def test_moments_of_an_optimiser_are_no_second_network(form: str, tmp_path: Path) -> None:
    module = Plain(rngs=nnx.Rngs(0))
    tree = {"state": pure(module), "opt_state": optax.adam(1e-3).init(pure(module))}
    path = save(with_optimiser(module) if form == "module and optimiser" else tree, tmp_path / "a")
    found = checkpoints.load(path, sb.networks.from_nnx(Plain), IMAGES)
    np.testing.assert_array_equal(found["params"]["first"]["kernel"], module.first.kernel.get_value())


def test_the_step_of_a_training_is_found_in_its_folder(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with ocp.CheckpointManager(tmp_path / "steps") as manager:
        for step in (9, 10):
            manager.save(step, args=ocp.args.StandardSave(nnx.state(trained())))
    network = sb.networks.from_nnx(Normed)
    assert trees.size(checkpoints.load(tmp_path / "steps" / "10", network, IMAGES)["stats"]) == 10
    with pytest.raises(checkpoints.CheckpointError, match=r"2 checkpoints: name one of them, as in .*/10/"):
        checkpoints.load(tmp_path / "steps", network, IMAGES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(checkpoints.CheckpointError, match="is no checkpoint: a folder of orbax has a file"):
        checkpoints.load(tmp_path / "empty", network, IMAGES)
    assert "WARNING" not in capfd.readouterr().err


def two_networks() -> Any:
    module = pure(trained())
    return {"student": module, "teacher": module}


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (lambda: nnx.state(trained(), nnx.Param), "no statistics such as norm/mean: save them with it"),
        (
            lambda: linen(Normed(width=6, rngs=nnx.Rngs(0))),
            r"params/layers/0/bias of the checkpoint has shape \(6,\), where the network has \(5,\)",
        ),
        (
            lambda: nnx.state(trained()) | {"more": {"kernel": jnp.ones((2, 2))}},
            "the network has no place for more/kernel of the checkpoint",
        ),
        (
            lambda: {"params": {"norm": pure(trained())["norm"]}},
            "has no params/layers/0/bias, params/layers/0/",
        ),
        (two_networks, "several networks of this form, student and teacher: save one alone"),
    ],
)
def test_trees_of_other_networks_are_refused(tree: Callable[[], Any], words: str, tmp_path: Path) -> None:
    found = tree()
    path = save(dict(found) if isinstance(found, dict) else found, tmp_path / "a")
    with pytest.raises(checkpoints.CheckpointError, match=words):
        checkpoints.load(path, sb.networks.from_nnx(Normed), IMAGES)


def test_two_folders_are_compared_and_aligned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, order = trained(), np.array([1, 0, 2, 3, 4])
    moved = nnx.clone(module)
    for leaf in (moved.layers[0].bias, moved.norm.scale, moved.norm.bias, moved.norm.mean, moved.norm.var):
        leaf.set_value(leaf.get_value()[order])
    moved.layers[0].kernel.set_value(module.layers[0].kernel.get_value()[:, order])
    moved.layers[1].kernel.set_value(module.layers[1].kernel.get_value()[order])
    both = [str(save(nnx.state(one), tmp_path / name)) for one, name in ((module, "a"), (moved, "b"))]
    own = ["--network", "test_paths:Normed"]
    assert main(["barrier", *both, *own, "--steps", "3", "--max-examples", "50"]) == 0
    assert "transpositions that aligned the second: 1" in capsys.readouterr().out
    assert main(["align", *both, *own, "--out", str(tmp_path / "c.safetensors")]) == 0
    found = checkpoints.read(tmp_path / "c.safetensors")
    expected = trees.flatten(sb.networks.from_nnx(module).start)
    for name, leaf in expected.items():
        np.testing.assert_allclose(found[name], leaf, rtol=1e-4, atol=1e-5)


def test_runs_in_the_place_of_checkpoints_are_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], digits: sb.data.Dataset
) -> None:
    posterior = sb.Posterior(
        sb.networks.mlp(hidden=(2,), outputs=10),
        sb.likelihoods.Categorical(),
        sb.priors.Normal(),
        digits.train[:20],
    )
    sb.run(sb.DeepEnsemble(chains=1, epochs=1), posterior, store=tmp_path / "run")
    capfd.readouterr()
    run = str(tmp_path / "run")
    assert main(["barrier", run, run]) == 2
    told = capfd.readouterr().err
    assert "run is a run, with many networks, and not the checkpoint of one: `symbayes distance`" in told
    assert "WARNING" not in told
