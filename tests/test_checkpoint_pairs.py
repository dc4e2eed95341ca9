"""Two checkpoints: a permuted copy is found again, on the command line too, and merged into its own form."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import symbayes as sb
from shown_code import ROOT
from symbayes import trees
from symbayes.cli import main
from symbayes.networks import checkpoints

NAMES = {"hidden1": "0", "output": "2"}
MLP = ["--network", "mlp", "--hidden", "5"]


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/examples/{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, digits: sb.data.Dataset) -> tuple[Path, Path]:
    """A trained network and a copy with its units in another order, as PyTorch would name and lay them."""
    folder = tmp_path_factory.mktemp("checkpoints")
    network = sb.networks.mlp(hidden=(5,), outputs=10)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(0.5), digits.train[:200])
    draws = sb.run(sb.DeepEnsemble(epochs=30, chains=1, learning_rate=1e-2), posterior)
    one = trees.index(draws.variables, (0, 0))
    group = sb.symmetry.discover(network.apply, one, jnp.asarray(digits.test.x[:2]))
    moved = group.act(group.random_element(jax.random.key(4), spread=0.0, transpositions=3), one)
    paths = folder / "a.npz", folder / "b.npz"
    for path, variables in zip(paths, (one, moved), strict=True):
        state = {}
        for ours, theirs in NAMES.items():
            layer = variables["params"][ours]
            state[f"{theirs}.weight"] = np.asarray(layer["kernel"]).T
            state[f"{theirs}.bias"] = np.asarray(layer["bias"])
        np.savez(path, **state)
    return paths


def test_a_permuted_copy_is_aligned_and_written_in_its_own_form(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "aligned.safetensors"
    assert main(["align", *map(str, files), *MLP, "--out", str(out)]) == 0
    assert "3 transpositions from the order of" in capsys.readouterr().out
    first, found = checkpoints.read(files[0]), checkpoints.read(out)
    assert found.keys() == first.keys()
    for name, array in first.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5)


def test_the_barrier_falls_to_nothing_and_a_page_tells(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page, numbers, merged = (tmp_path / name for name in ("page.html", "numbers.json", "merged.safetensors"))
    command = ["barrier", *map(str, files), *MLP, "--steps", "5", "--max-examples", "200"]
    assert main([*command, "--out", str(page), "--json", str(numbers), "--merged", str(merged)]) == 0
    assert "transpositions that aligned the second: 3" in capsys.readouterr().out
    told = json.loads(numbers.read_text())
    assert told["raw"]["test"]["barrier"] > 0.01
    assert told["aligned"]["test"]["barrier"] < 1e-4
    assert "lie in one basin" in page.read_text()
    for name, array in checkpoints.read(files[0]).items():
        np.testing.assert_allclose(checkpoints.read(merged)[name], array, rtol=1e-4, atol=1e-5)


def test_bad_input_is_refused(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["align", str(files[0]), *MLP]) == 2
    assert "give at least two checkpoints" in capsys.readouterr().err
    assert main(["align", str(files[0]), str(files[1])]) == 2
    assert "name their network with --network" in capsys.readouterr().err
    assert main(["barrier", *map(str, files), "--network", "mlp", "--hidden", "7"]) == 2
    assert "no layer left for hidden1 of the network" in capsys.readouterr().err
    assert main(["barrier", str(files[0]), "nowhere.pt", *MLP]) == 2
    assert "there is no checkpoint nowhere.pt" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (["barrier", "--merged", "m.pt"], "checkpoints are written as .safetensors or .npz, not m.pt"),
        (["barrier", "--merged", "here.npz"], "here.npz exists already"),
        (["align", "--out", "m.pt"], "checkpoints are written as .safetensors or .npz, not m.pt"),
        (["align", "--out", "here.npz"], "here.npz exists already"),
    ],
)
def test_where_nothing_can_be_written_no_work_is_done(
    option: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here.npz").touch()
    command, *rest = option
    # The checkpoints are not there either, and that is not what is told.
    assert main([command, "nowhere.pt", "nowhere.pt", *MLP, *rest]) == 2
    assert words in capsys.readouterr().err


def test_the_example_of_two_torch_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch", reason="PyTorch is installed with the extra bench")
    pair = example("merge_checkpoints").main(tmp_path)
    assert pair.barrier("aligned") < pair.barrier("raw")
    shown = float(capsys.readouterr().out.rpartition(": ")[2].rstrip().rstrip("%")) / 100
    middle = pair.scores["aligned"]["test"]["accuracy"][10]
    assert shown == pytest.approx(middle, abs=0.006)


def test_the_example_around_a_trained_module(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings are errors here: no members begin at one point unseen."""
    table = example("around_a_trained_module").main(steps=100, burn_in=2, draws=4, epochs=15)
    assert list(table.rows) == ["module", "draws around it", "ensemble"]
    assert all(row["accuracy"] > 0.8 for row in table.rows.values())
    assert table.rows["ensemble"] != table.rows["module"]
    assert "most unsure" in capsys.readouterr().out
