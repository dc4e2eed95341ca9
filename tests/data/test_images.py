import io
from functools import partial

import numpy as np
import pytest
import scipy.io

from symbayes import data
from symbayes.data.catalogue import CATALOGUE
from symbayes.data.images import read_cifar_images

from .files import catalogued, cifar_bytes, idx_bytes, random_images, real


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@pytest.mark.parametrize(("name", "classes"), [("cifar10", 10), ("cifar100", 100)])
def test_cifar(monkeypatch, tmp_path, name, classes):
    rng = np.random.default_rng(0)
    names = [file.name for file in CATALOGUE[name].sources[0].files]
    images = {file: random_images(i, 2, 32, 3) for i, file in enumerate(names)}
    labels = {file: rng.integers(0, classes, 2) for file in names}
    coarse = [0, 19] if classes == 100 else None
    contents = {file: cifar_bytes(images[file], labels[file], coarse) for file in names}
    read = partial(read_cifar_images, records=2, test_records=2)
    catalogued(monkeypatch, tmp_path, name, contents, read=read)
    dataset = data.load(name, tmp_path, validation=1)
    x = np.concatenate([dataset.train.x, dataset.validation.x, dataset.test.x])
    y = np.concatenate([dataset.train.y, dataset.validation.y, dataset.test.y])
    np.testing.assert_array_equal(np.rint(x * 255), np.concatenate([images[file] for file in names]))
    np.testing.assert_array_equal(y, np.concatenate([labels[file] for file in names]))
    assert len(dataset.validation) == 1
    assert len(dataset.test) == 2


def test_svhn_as_published(monkeypatch, tmp_path):
    contents, images = {}, {}
    for seed, part in enumerate(("train", "test")):
        images[part] = random_images(seed, 3, 32, 3)
        buffer = io.BytesIO()
        arrays = {"X": images[part].transpose(1, 2, 3, 0), "y": np.array([[10], [1], [9]], np.uint8)}
        scipy.io.savemat(buffer, arrays, do_compression=True)
        contents[f"{part}_32x32.mat"] = buffer.getvalue()
    catalogued(monkeypatch, tmp_path, "svhn", contents)
    dataset = data.load("svhn", tmp_path, validation=0)
    np.testing.assert_array_equal(np.rint(dataset.train.x * 255), images["train"])
    np.testing.assert_array_equal(np.rint(dataset.test.x * 255), images["test"])
    assert dataset.test.y.tolist() == [0, 1, 9]


def test_a_test_part_alone(monkeypatch, tmp_path):
    images = random_images(0, 4, 28)
    content = npz(x=images, y=np.array([0, 9, 3, 1], np.uint8))
    catalogued(monkeypatch, tmp_path, "notmnist", {"notmnist_test_10k.npz": content})
    dataset = data.load("notmnist", tmp_path)
    assert dataset.train.x.shape == dataset.validation.x.shape == (0, 28, 28, 1)
    np.testing.assert_array_equal(np.rint(dataset.test.x[..., 0] * 255), images)
    assert dataset.description.endswith("test part only")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": random_images(0, 2, 28), "y": np.array([0, 10], np.uint8)}, "labels must lie in"),
        ({"x": random_images(0, 2, 28), "y": np.zeros(2)}, "labels must be bytes"),
        ({"x": random_images(0, 2, 28), "y": np.zeros(3, np.uint8)}, "x has 2 examples but y has 3"),
        ({"x": np.zeros((2, 28, 28)), "y": np.zeros(2, np.uint8)}, "pixels must be uint8"),
    ],
)
def test_contents_that_do_not_fit(monkeypatch, tmp_path, arrays, message):
    catalogued(monkeypatch, tmp_path, "notmnist", {"notmnist_test_10k.npz": npz(**arrays)})
    with pytest.raises(data.DataFormatError, match=rf"notmnist_test_10k\.npz: .*{message}"):
        data.load("notmnist", tmp_path)


@pytest.mark.parametrize(
    "labels", [np.array([10], np.uint8), np.zeros(2, np.uint8), np.zeros((1, 1), np.uint8)]
)
def test_labels_that_do_not_fit_the_images(monkeypatch, tmp_path, labels):
    contents = {
        "train-images-idx3-ubyte": idx_bytes(random_images(0, 1, 28)),
        "train-labels-idx1-ubyte": idx_bytes(labels),
        "t10k-images-idx3-ubyte": idx_bytes(random_images(0, 1, 28)),
        "t10k-labels-idx1-ubyte": idx_bytes(np.zeros(1, np.uint8)),
    }
    catalogued(monkeypatch, tmp_path, "fashion-mnist", contents)
    with pytest.raises(data.DataFormatError):
        data.load("fashion-mnist", tmp_path)


# Class counts of the published training sets: MNIST's from LeCun et al., the others are balanced.
MNIST_COUNTS = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("mnist", MNIST_COUNTS),
        ("fashion-mnist", [6000] * 10),
        ("cifar10", [5000] * 10),
        ("cifar100", [500] * 100),
    ],
)
def test_the_real_files(name, counts):
    dataset = real(name, validation=0)
    assert len(dataset.train) == sum(counts)
    assert len(dataset.test) == 10_000
    assert np.bincount(dataset.train.y).tolist() == counts
    assert dataset.train.x.max() == 1
    assert all(not result.problem for result in data.check(name))


def test_real_statistics():
    """Mean and deviation of MNIST's training pixels as they are widely quoted."""
    x = real("mnist", validation=0).train.x
    assert abs(x.mean(dtype=np.float64) - 0.1307) < 1e-4
    assert abs(x.std(dtype=np.float64) - 0.3081) < 1e-4


def test_real_colour_statistics():
    """The channels of CIFAR-10's training images, red, green, blue, as they are widely quoted."""
    x = real("cifar10", validation=0).train.x
    np.testing.assert_allclose(x.mean((0, 1, 2), dtype=np.float64), [0.4914, 0.4822, 0.4465], atol=1e-4)
    np.testing.assert_allclose(x.std((0, 1, 2), dtype=np.float64), [0.2470, 0.2435, 0.2616], atol=1e-4)


def test_real_default_parts():
    dataset = real("mnist")
    assert [len(dataset.train), len(dataset.validation), len(dataset.test)] == [55_000, 5_000, 10_000]


@pytest.mark.parametrize("name", ["svhn", "notmnist"])
def test_real_test_parts(name):
    dataset = real(name)
    assert len(dataset.test) in (10_000, 26_032)
    assert set(np.unique(dataset.test.y)) == set(range(10))
