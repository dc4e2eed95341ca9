from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from symbayes import data
from symbayes.data.catalogue import CATALOGUE

from .files import catalogued, idx_bytes, random_images

IMAGES, LABELS = random_images(0, 7, 28), np.arange(7, dtype=np.uint8)
CONTENTS = {
    "train-images-idx3-ubyte": idx_bytes(IMAGES[:5]),
    "train-labels-idx1-ubyte": idx_bytes(LABELS[:5]),
    "t10k-images-idx3-ubyte": idx_bytes(IMAGES[5:]),
    "t10k-labels-idx1-ubyte": idx_bytes(LABELS[5:]),
}


def test_an_unknown_name():
    with pytest.raises(
        ValueError,
        match=r"'minst' \(did you mean 'mnist'\?\); the known ones are digits, digits-halves, mnist",
    ):
        data.load("minst")
    with pytest.raises(ValueError, match="no dataset is called 'qqqqqq'; the known"):
        data.load("qqqqqq")


def test_a_missing_file_says_where_and_how(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        data.load("cifar10", tmp_path)
    message = str(caught.value)
    assert "data_batch_1.bin" in message
    assert str(tmp_path / "cifar-10-batches-bin") in message
    assert "symbayes data fetch cifar10" in message
    assert "SYMBAYES_DATA" in message


def test_a_missing_file_that_has_no_address(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        data.load("imdb", tmp_path)
    assert "imdb_tokens20k.npz" in str(caught.value)
    assert "fetch" not in str(caught.value)


def test_one_file_of_four_missing(monkeypatch, tmp_path):
    place = catalogued(monkeypatch, tmp_path, "mnist", CONTENTS)
    (place / "t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(FileNotFoundError):
        data.load("mnist", tmp_path)


@pytest.mark.parametrize("zipped", [False, True])
def test_found_by_the_environment(monkeypatch, tmp_path, zipped):
    catalogued(monkeypatch, tmp_path, "mnist", CONTENTS, zipped)
    monkeypatch.setenv("SYMBAYES_DATA", str(tmp_path))
    dataset = data.load("mnist", validation=2)
    np.testing.assert_array_equal(np.rint(dataset.train.x[..., 0] * 255), IMAGES[:3])
    np.testing.assert_array_equal(dataset.validation.y, LABELS[3:5])
    np.testing.assert_array_equal(np.rint(dataset.test.x[..., 0] * 255), IMAGES[5:])
    assert dataset.name == "mnist:validation=2"


def test_found_in_a_folder_of_the_system(monkeypatch, tmp_path):
    catalogued(monkeypatch, tmp_path, "fashion-mnist", CONTENTS, zipped=True)
    entry = CATALOGUE["fashion-mnist"]
    assert "/usr/share/datasets/fashion-mnist" in entry.sources[0].folders
    folders = ("fashion-mnist", str(tmp_path / "fashion-mnist"))
    source = replace(entry.sources[0], folders=folders)
    monkeypatch.setitem(CATALOGUE, "fashion-mnist", replace(entry, sources=(source,)))
    assert len(data.load("fashion-mnist", tmp_path / "elsewhere", validation=0).train) == 5


def test_the_first_examples_only():
    whole = data.load("digits")
    part = data.load("digits", examples=100, test_examples=7)
    np.testing.assert_array_equal(part.train.x, whole.train.x[:100])
    np.testing.assert_array_equal(part.train.y, whole.train.y[:100])
    np.testing.assert_array_equal(part.test.x, whole.test.x[:7])
    assert part.validation.checksum() == whole.validation.checksum()


def test_a_name_with_its_options_loads_the_same_again():
    part = data.load("digits", validation=20, examples=100)
    assert part.name == "digits:examples=100,validation=20"
    again = data.load(part.name)
    assert (again.name, again.train.checksum()) == (part.name, part.train.checksum())
    assert len(again.validation) == 20
    assert len(data.load(part.name, examples=50).train) == 50


def test_sizes_are_what_a_network_is_made_with():
    assert data.load("digits").sizes == {"outputs": 10}
    regression = replace(data.load("digits"), classes=None, test=data.Examples(None, np.zeros((4, 3))))
    assert regression.sizes == {"outputs": 3}
    pixels = replace(regression, classes=2, test=data.Examples(None, np.zeros((4, 8, 3), int)))
    assert pixels.sizes == {"outputs": (8, 3, 2)}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("digits:examples=0", r"examples must lie in 1\.\.1257, not 0"),
        ("digits:examples=1258", r"examples must lie in 1\.\.1257, not 1258"),
        ("digits:test_examples=361", r"test_examples must lie in 1\.\.360, not 361"),
        ("digits:examples=-3", "a dataset's options are written name:option=number"),
        ("digits:examples", "a dataset's options are written name:option=number"),
        ("digits:length=3", "digits takes the options validation, examples, test_examples, not length"),
        ("digit:length=3", r"no dataset is called 'digit' \(did you mean 'digits'\?\)"),
    ],
)
def test_bad_options_in_a_name(name, message):
    with pytest.raises(ValueError, match=message):
        data.load(name)


def test_other_options():
    with pytest.raises(
        ValueError, match="digits takes the options validation, examples, test_examples, not split"
    ):
        data.load("digits", split=3)
    with pytest.raises(TypeError):
        data.load("digits", validation=1.5)  # pyright: ignore
    with pytest.raises(TypeError):
        data.load("digits", validation=True)


def test_one_changed_pixel_is_noticed(monkeypatch, tmp_path):
    place = catalogued(monkeypatch, tmp_path, "mnist", CONTENTS)
    path = place / "train-images-idx3-ubyte"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(data.DataFormatError, match=r"its sha256 is .* delete it and get it again"):
        data.load("mnist", tmp_path)
    problems = [result.problem for result in data.check("mnist", tmp_path)]
    assert "sha256" in problems[0]
    assert problems[1:] == ["", "", ""]


@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: c + b"\0"])
def test_another_size_is_noticed(monkeypatch, tmp_path, change):
    place = catalogued(monkeypatch, tmp_path, "mnist", CONTENTS)
    path = place / "t10k-images-idx3-ubyte"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(data.DataFormatError, match=r"should hold 1584 bytes, holds (1583|more)"):
        data.load("mnist", tmp_path)


def test_check_needs_the_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.check("mnist", tmp_path)
    assert data.check("digits", tmp_path) == []


def test_listing(monkeypatch, tmp_path):
    place = catalogued(monkeypatch, tmp_path, "mnist", CONTENTS)
    listing = {entry.name: entry for entry in data.list_datasets(tmp_path)}
    assert list(listing) == list(CATALOGUE)
    assert listing["mnist"].found_in == place
    assert listing["mnist"].fetchable
    assert listing["cifar10"].found_in is None
    assert listing["digits"].embedded
    assert not listing["imdb"].fetchable
    assert sum(name.startswith("uci-") for name in listing) == 9


@pytest.mark.parametrize(
    ("verified_by", "problem", "verdict"),
    [
        ("sha256", "", "right (checked by sha256)"),
        ("size", "", "right (checked by size)"),
        ("nothing", "", "nothing was checked"),
        ("sha256", "should hold 3 bytes, holds 2", "should hold 3 bytes, holds 2"),
    ],
)
def test_a_verdict_claims_no_more_than_was_checked(verified_by, problem, verdict):
    found = data.FileCheck(Path("file"), verified_by, problem).verdict
    assert verdict in found
    assert ("right" in found) == (not problem and verified_by != "nothing")


NAMED_IN_FILES = ("tiny-imagenet",)
"""Datasets whose classes are named in their own files."""


def test_the_catalogue_is_consistent():
    for name, entry in CATALOGUE.items():
        assert entry.info.name == name
        names = entry.info.class_names
        told = 0 if name in NAMED_IN_FILES else entry.info.classes or 0
        assert len(names) == len(set(names)) == told
        for source in entry.sources:
            names = {file.name for file in source.files}
            for remote in source.remotes:
                saved = [member for _, member in remote.members] or [remote.saved_as.removesuffix(".gz")]
                assert set(saved) <= names
                assert remote.urls
            for file in source.files:
                kind, _, value = (file.digest or f"md5:{0:032}").partition(":")
                assert len(value) == {"sha256": 64, "md5": 32}[kind]
