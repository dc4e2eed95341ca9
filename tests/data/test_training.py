"""Every network trains on a dataset of its kind by the command, from files in the owners' formats.

The files are small: real digits enlarged to the published sizes, and texts and tables with a pattern in them.
With the real files in the data folder, slices of those are trained on as well.
"""

import io
import json
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_digits

from symbayes import data, evaluate
from symbayes.cli import main
from symbayes.data.images import read_cifar_images
from symbayes.engine import open_run
from symbayes.networks import NNXNetwork, ResNet, ResNetFRN, registry

from .files import catalogued, cifar_bytes, idx_bytes, real

TRAIN, EXAMPLES, TEST = 120, 100, 100

# The network, its dataset, options that make it small, and epochs that are enough for it.
KINDS = {
    "mlp": ("fashion-mnist", [], 10),
    "lenet": ("fashion-mnist", [], 12),
    "cnn": ("cifar10", ["channels=[4,8]", "hidden=[16]"], 12),
    "alexnet": ("cifar10", ["channels=[4,8,8,8,8]", "dense=[16,16]"], 15),
    "resnet20-frn": ("cifar10", ["width=4"], 16),
    "resnet18": ("cifar10", ["width=4"], 12),
    "cnn-lstm": ("imdb", ["embedding=8", "filters=8", "cells=8"], 10),
    "transformer": ("imdb", ["width=8", "heads=2", "layers=1", "hidden=8"], 10),
}

SHALLOW = {
    "resnet20-frn": lambda outputs=10, width=16: NNXNetwork(ResNetFRN(1, width, outputs)),
    "resnet18": lambda outputs=10, width=64: NNXNetwork(ResNet((1, 1), width, outputs)),
}
"""Residual networks with few of their blocks, since all of them take long to compile."""


def enlarged(side):
    """The digits 0 to 3, so that few steps learn them, as bytes of so many pixels on each side."""
    bunch = load_digits(n_class=4)
    grey = (bunch.images[: TRAIN + TEST] * 15).astype(np.uint8)
    grown = grey.repeat(side // 8, axis=1).repeat(side // 8, axis=2)
    around = (side - grown.shape[1]) // 2
    return np.pad(grown, ((0, 0), (around, around), (around, around))), bunch.target[: TRAIN + TEST]


def reviews(seed, count):
    """Texts of 12 to 30 words, of which those of the first class take most from another third."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 2
    texts = [rng.integers(3, 40, rng.integers(12, 30)) + 30 * label for label in labels]
    return texts, labels.astype(np.uint8)


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def make_files(monkeypatch, folder):
    pixels, labels = enlarged(28)
    parts = {"train": slice(None, TRAIN), "t10k": slice(TRAIN, None)}
    idx = {f"{name}-images-idx3-ubyte": idx_bytes(pixels[part]) for name, part in parts.items()}
    idx |= {f"{name}-labels-idx1-ubyte": idx_bytes(labels[part]) for name, part in parts.items()}
    catalogued(monkeypatch, folder, "fashion-mnist", idx)

    pixels, labels = enlarged(32)
    colours = pixels[..., None] // np.array([1, 2, 3], np.uint8)
    batches = {"data_batch_1.bin": parts["train"], "test_batch.bin": parts["t10k"]}
    contents = {name: cifar_bytes(colours[part], labels[part]) for name, part in batches.items()}
    read = partial(read_cifar_images, records=TRAIN, test_records=TEST)
    catalogued(monkeypatch, folder, "cifar10", contents, read=read)

    arrays = {}
    for seed, (name, count) in enumerate({"train": TRAIN, "test": TEST}.items()):
        texts, arrays[f"y_{name}"] = reviews(seed, count)
        arrays[f"{name}_ids"] = np.concatenate(texts).astype(np.uint16)
        arrays[f"{name}_offsets"] = np.cumsum([0, *map(len, texts)])
    catalogued(monkeypatch, folder, "imdb", {"imdb_tokens20k.npz": npz(**arrays)})

    rng = np.random.default_rng(5)
    x = rng.normal(size=(TRAIN, 6)).astype(np.float32)
    y = (1000 + 50 * np.tanh(x[:, 0]) * x[:, 1] + rng.normal(size=TRAIN)).astype(np.float32)
    test = np.packbits(np.arange(TRAIN)[None] % 5 == 0, axis=1)
    catalogued(monkeypatch, folder, "uci-yacht", {"yacht.npz": npz(x=x, y=y, test_mask=test, n=TRAIN)})
    monkeypatch.setenv("SYMBAYES_DATA", str(folder))


def accuracy_on_training_data(store):
    """On as many examples as there are for testing, so that what was compiled for those serves again."""
    run = open_run(store)
    part = data.load(run.about["data"]).train[:TEST]
    return evaluate.accuracy(run.predict(part.x).mean, part.y)


def batch_statistics_are_trained(stats):
    """They are no longer the zeros and ones that a network begins with."""
    assert stats["mean"].shape == (1, 1, 4)
    assert np.abs(stats["mean"]).min() > 1e-4
    assert np.abs(stats["var"] - 1).min() > 1e-4


@pytest.mark.parametrize("network", KINDS)
def test_every_network_learns_by_the_command(network, monkeypatch, tmp_path, capsys):
    make_files(monkeypatch, tmp_path)
    if network in SHALLOW:
        monkeypatch.setitem(registry.NETWORKS, network, SHALLOW[network])
    name, options, epochs = KINDS[network]
    more = ",length=32" if name == "imdb" else ""
    store = tmp_path / "run"
    arguments = ["--network", network, "--data", f"{name}:validation=0{more}", "--examples", str(EXAMPLES)]
    arguments += ["--option", *options] if options else []
    arguments += ["--batch", "10", "--epochs", str(epochs), "--learning-rate", "1e-2", "--chains", "1"]
    arguments += ["--no-estimate", "--store", str(store)]
    assert main(["sample", "ensemble", *arguments]) == 0, capsys.readouterr().err
    chance = 0.5 if name == "imdb" else 0.25
    assert accuracy_on_training_data(store) > (1 + chance) / 2
    assert json.loads((store / "config.json").read_text())["posterior"]["train"]["examples"] == EXAMPLES
    if network == "resnet18":
        batch_statistics_are_trained(open_run(store).draws.variables["stats"]["stem_norm"])


@pytest.mark.parametrize("likelihood", ["gaussian", "heteroscedastic"])
def test_regression_is_told_in_the_targets_units(likelihood, monkeypatch, tmp_path, capsys):
    make_files(monkeypatch, tmp_path)
    store, numbers = tmp_path / "run", tmp_path / "numbers.json"
    arguments = ["--data", "uci-yacht", "--likelihood", likelihood, "--epochs", "60", "--batch", "20"]
    arguments += ["--learning-rate", "1e-2", "--chains", "2", "--store", str(store), "--json", str(numbers)]
    assert main(["sample", "ensemble", *arguments]) == 0, capsys.readouterr().err
    row = json.loads(numbers.read_text())["comparison"]["run"]
    dataset = data.load("uci-yacht")
    predictive = open_run(store).predict(dataset.test.x)
    targets = dataset.target_scaling.undo(dataset.test.y.astype(np.float64))
    errors = dataset.target_scaling.undo(predictive.mean) - targets
    assert row["RMSE"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-5)
    # Another unit changes the density by its size.
    shift = np.log(dataset.target_scaling.scale[0])
    assert row["NLL"] == pytest.approx(-predictive.log_density(dataset.test.y).mean() + shift, rel=1e-4)
    assert 0 < row["coverage"] <= 1
    assert row["RMSE"] < 0.8 * targets.std(), "it learned something"
    assert main(["evaluate", str(store), "--json", str(tmp_path / "again.json")]) == 0
    assert json.loads((tmp_path / "again.json").read_text())["comparison"]["run"] == row


def test_hmc_on_a_table_and_on_the_first_texts(monkeypatch, tmp_path, capsys):
    make_files(monkeypatch, tmp_path)
    brief = ["--step-size", "1e-3", "--trajectory", "4e-3", "--burn-in", "1", "--draws", "2", "--chains", "1"]
    brief += ["--no-estimate"]
    assert main(["sample", "hmc", *brief, "--data", "uci-yacht", "--store", str(tmp_path / "table")]) == 0
    texts = ["--data", "imdb:validation=0,length=16", "--examples", "50", "--network", "cnn-lstm"]
    texts += ["--option", "embedding=4", "filters=4", "cells=4"]
    assert main(["sample", "hmc", *brief, *texts, "--store", str(tmp_path / "texts")]) == 0
    assert "accuracy" in capsys.readouterr().out


REAL = {
    "mnist": ("mlp", 300, 20, 0.8),
    "fashion-mnist": ("mlp", 300, 20, 0.7),
    "cifar10": ("cnn", 200, 12, 0.35),
    "imdb": ("transformer", 200, 12, 0.7),
}


@pytest.mark.parametrize("name", REAL)
def test_a_slice_of_the_real_files(name, tmp_path):
    real(name)
    network, examples, epochs, least = REAL[name]
    arguments = ["--network", network, "--data", f"{name}:test_examples=100", "--examples", str(examples)]
    arguments += ["--batch", "20", "--epochs", str(epochs), "--chains", "1", "--no-estimate"]
    arguments += ["--learning-rate", "3e-3"]
    assert main(["sample", "ensemble", *arguments, "--store", str(tmp_path / "run")]) == 0
    assert accuracy_on_training_data(tmp_path / "run") > least
