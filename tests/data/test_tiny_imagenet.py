"""Tiny ImageNet: a small folder in the published form is read, and damage is refused."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from symbayes import data
from symbayes.data.catalogue import CATALOGUE
from symbayes.data.formats import DataFormatError

NAMES = ("n03", "n01", "n02")
"""Labels follow the order of the file, not of the alphabet."""


def shade(label, number):
    """Pictures of one colour each, which JPEG keeps nearly."""
    return (40 + 70 * label, 30 + 12 * number, 200 - 50 * label)


def save(path, colour, side=64, mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (side, side), colour).save(path, quality=95)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Three classes of four training pictures, and five pictures of val; no test part."""
    entry = CATALOGUE["tiny-imagenet"]
    monkeypatch.setitem(CATALOGUE, "tiny-imagenet", replace(entry, info=replace(entry.info, classes=3)))
    root = tmp_path / "tiny-imagenet-200"
    for label, name in enumerate(NAMES):
        for number in range(4):
            save(root / f"train/{name}/images/{name}_{number}.JPEG", shade(label, number))
    (root / "wnids.txt").write_text("\n".join(NAMES))
    labels = [1, 0, 2, 2, 1]
    for number, label in enumerate(labels):
        save(root / f"val/images/val_{number}.JPEG", shade(label, number))
    lines = [f"val_{n}.JPEG\t{NAMES[label]}\t0\t0\t62\t62\n" for n, label in enumerate(labels)]
    (root / "val/val_annotations.txt").write_text("".join(lines))
    return root


def load(folder, **options):
    return data.load("tiny-imagenet", folder.parent, **options)


def colours(examples):
    return np.asarray(examples.x)[:, 32, 32] * 255


def test_pictures_and_labels(folder):
    found = load(folder, validation=3)
    assert found.class_names == NAMES
    assert found.train.x.shape == (9, 64, 64, 3)
    assert found.train.y.tolist() == [0, 1, 2] * 3, "all classes in turn"
    assert found.validation.y.tolist() == [0, 1, 2]
    expected = [shade(label, number) for number in range(3) for label in range(3)]
    np.testing.assert_allclose(colours(found.train), expected, atol=3)
    assert found.test.y.tolist() == [1, 0, 2, 2, 1]
    np.testing.assert_allclose(colours(found.test)[1], shade(0, 1), atol=3)
    assert load(folder, validation=0, examples=3).train.y.tolist() == [0, 1, 2]


def test_grey_pictures_have_three_channels(folder):
    save(folder / "train/n01/images/n01_0.JPEG", 90, mode="L")
    np.testing.assert_allclose(colours(load(folder, validation=0).train)[1], [90, 90, 90], atol=1)


def test_a_missing_picture_of_val(folder):
    (folder / "val/images/val_3.JPEG").unlink()
    with pytest.raises(DataFormatError, match=r"val_3.JPEG: it is missing or no whole picture"):
        load(folder)


def test_damaged_folders(folder):
    picture = folder / "train/n02/images/n02_1.JPEG"
    content = picture.read_bytes()
    for damaged, words in (
        (content[:300], "it is missing or no whole picture"),
        (b"no picture", "it is missing or no whole picture"),
    ):
        picture.write_bytes(damaged)
        with pytest.raises(DataFormatError, match=words):
            load(folder)
    save(picture, shade(2, 1), side=32)
    with pytest.raises(DataFormatError, match="should have 64 x 64 pixels, has 32 x 32"):
        load(folder)
    picture.unlink()
    with pytest.raises(DataFormatError, match="its classes hold 3 to 4 pictures: unzip the archive again"):
        load(folder)
    picture.write_bytes(content)
    annotations = folder / "val/val_annotations.txt"
    annotations.write_text(annotations.read_text().replace("n03", "n09"))
    with pytest.raises(DataFormatError, match=r"should be a picture and a class, not \['val_1.JPEG', 'n09'"):
        load(folder)
    (folder / "wnids.txt").write_text("n01\nn02\n")
    with pytest.raises(DataFormatError, match="should name 3 classes, names 2"):
        load(folder)


def test_it_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"wnids.txt, val/val_annotations.txt in .*tiny-imagenet-200"):
        data.load("tiny-imagenet", tmp_path)
