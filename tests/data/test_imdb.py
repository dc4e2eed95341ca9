import io

import numpy as np
import pytest

from symbayes import data

from .files import catalogued, real

REVIEWS = [[1, 5, 6, 7], [1, 8], [1, 9, 2, 9, 9], [1], [1, 19_999]]
LABELS = np.array([0, 0, 1, 1, 1], np.uint8)


def content(reviews=REVIEWS, labels=LABELS):
    ids = np.concatenate([np.array(review, np.uint16) for review in reviews])
    offsets = np.cumsum([0, *map(len, reviews)])
    arrays = {f"{part}_ids": ids for part in ("train", "test")}
    arrays |= {f"{part}_offsets": offsets for part in ("train", "test")}
    arrays |= {f"y_{part}": labels for part in ("train", "test")}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def load(monkeypatch, tmp_path, made, **options):
    catalogued(monkeypatch, tmp_path, "imdb", {"imdb_tokens20k.npz": made})
    return data.load("imdb", tmp_path, **options)


def test_reviews_keep_their_labels(monkeypatch, tmp_path):
    dataset = load(monkeypatch, tmp_path, content(), validation=2, length=4)
    order = np.random.RandomState(0).permutation(5)
    expected = [([0] * 4 + REVIEWS[i])[-4:] for i in order]
    x = np.concatenate([dataset.train.x, dataset.validation.x])
    assert x.tolist() == dataset.test.x.tolist() == expected
    np.testing.assert_array_equal(dataset.test.y, LABELS[order])
    assert len(dataset.validation) == 2
    assert dataset.train.x.dtype == np.int32
    assert dataset.sizes == {"outputs": 2, "vocabulary": 20_000}


def test_default_length(monkeypatch, tmp_path):
    assert load(monkeypatch, tmp_path, content(), validation=0).train.x.shape == (5, 100)


@pytest.mark.parametrize(
    ("reviews", "labels"),
    [
        (REVIEWS, LABELS + 1),
        (REVIEWS, LABELS[:4]),
        ([*REVIEWS[:4], [20_000]], LABELS),
        (REVIEWS, LABELS * 1.0),
    ],
)
def test_contents_that_do_not_fit(monkeypatch, tmp_path, reviews, labels):
    with pytest.raises(data.DataFormatError, match=r"imdb_tokens20k\.npz: "):
        load(monkeypatch, tmp_path, content(reviews, labels), validation=0)


def test_the_real_file():
    dataset = real("imdb", length=150)
    parts = dataset.train, dataset.validation, dataset.test
    assert [len(part) for part in parts] == [20_000, 5_000, 25_000]
    assert all(part.x.shape[1] == 150 for part in parts)
    assert dataset.test.y.sum() == 12_500
    assert dataset.train.y.sum() + dataset.validation.y.sum() == 12_500
    assert 0.45 < dataset.train.y[:1000].mean() < 0.55
