import io
from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbayes import data
from symbayes.data.catalogue import CATALOGUE
from symbayes.data.columns import standardisation
from symbayes.data.uci import packed_table, read_text, text_table

from .files import catalogued, real

ROWS, FEATURES, SPLITS = 21, 3, 4


def arrays(seed=0):
    rng = np.random.default_rng(seed)
    masks = np.zeros((SPLITS, ROWS), bool)
    for mask in masks:
        mask[rng.choice(ROWS, 5, replace=False)] = True
    return {
        "x": (rng.standard_normal((ROWS, FEATURES)) * [1, 100, 0] + [0, 7, 3]).astype(np.float32),
        "y": (rng.standard_normal(ROWS) * 20 + 50).astype(np.float32),
        "test_mask": np.packbits(masks, axis=1),
        "n": np.int64(ROWS),
    }, masks


def npz(**members):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **members)
    return buffer.getvalue()


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1000), split=st.integers(0, SPLITS - 1), validation=st.integers(0, 10))
def test_a_split(tmp_path, seed, split, validation):
    made, masks = arrays(seed)
    with pytest.MonkeyPatch.context() as monkeypatch:
        catalogued(monkeypatch, tmp_path, "uci-yacht", {"yacht.npz": npz(**made)})
        dataset = data.load("uci-yacht", tmp_path, split=split, validation=validation)
    scaling, inputs = dataset.target_scaling, dataset.input_scaling
    assert scaling is not None
    assert inputs is not None
    np.testing.assert_allclose(
        scaling.undo(dataset.test.y)[:, 0], made["y"][masks[split]], rtol=1e-5, atol=1e-4
    )
    np.testing.assert_allclose(inputs.undo(dataset.test.x), made["x"][masks[split]], rtol=1e-4, atol=1e-4)
    assert len(dataset.validation) == validation
    np.testing.assert_allclose(dataset.train.x[:, :2].mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(dataset.train.x[:, :2].std(0), 1, atol=1e-5)
    np.testing.assert_array_equal(dataset.train.x[:, 2], 0)
    np.testing.assert_allclose([dataset.train.y.mean(), dataset.train.y.std()], [0, 1], atol=1e-5)
    rest = np.concatenate([scaling.undo(dataset.train.y), scaling.undo(dataset.validation.y)])[:, 0]
    np.testing.assert_allclose(np.sort(rest), np.sort(made["y"][~masks[split]]), rtol=1e-5, atol=1e-4)


def test_default_and_fixed_validation(monkeypatch, tmp_path):
    catalogued(monkeypatch, tmp_path, "uci-yacht", {"yacht.npz": npz(**arrays()[0])})
    first, again = data.load("uci-yacht", tmp_path), data.load("uci-yacht", tmp_path)
    assert len(first.validation) == 1
    assert first.validation.checksum() == again.validation.checksum()
    assert first.classes is None
    assert first.train.y.shape == (15, 1)


@pytest.mark.parametrize(
    "options", [{"split": SPLITS}, {"split": -1}, {"validation": 16}, {"validation": -1}]
)
def test_options_out_of_range(monkeypatch, tmp_path, options):
    catalogued(monkeypatch, tmp_path, "uci-yacht", {"yacht.npz": npz(**arrays()[0])})
    with pytest.raises(ValueError, match=r"splits 0\.\.3|validation must lie in 0\.\.15"):
        data.load("uci-yacht", tmp_path, **options)


MADE = arrays()[0]
LAST_BIT = np.full((1, 3), 1, np.uint8)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": np.int64(20)}, "claims 20 rows but has 21"),
        ({"n": np.float64(21)}, "rows"),
        ({"x": MADE["x"][:20]}, "do not fit"),
        ({"x": MADE["x"].astype(np.int32)}, "do not fit"),
        ({"y": MADE["y"][:, None]}, "do not fit"),
        ({"test_mask": MADE["test_mask"][:, :2]}, "rows do not fit"),
        ({"test_mask": MADE["test_mask"].astype(np.int16)}, "rows do not fit"),
        ({"test_mask": LAST_BIT}, "rows that do not exist"),
        ({"test_mask": np.zeros((1, 3), np.uint8)}, "training rows and test rows"),
        ({"test_mask": MADE["test_mask"][:0]}, "training rows and test rows"),
    ],
)
def test_contents_that_do_not_fit(tmp_path, change, message):
    path = tmp_path / "yacht.npz"
    path.write_bytes(npz(**{**MADE, **change}))
    with pytest.raises(data.DataFormatError, match=message):
        packed_table(path)


def text_files(made, masks):
    """The same table as text, the target in the first column, the inputs in reverse order."""
    table = np.concatenate([made["y"][:, None], made["x"][:, ::-1]], axis=1)
    contents = {
        "data.txt": "\n".join(" ".join(f"{value:.9g}" for value in row) for row in table),
        "index_features.txt": "3.0\n2.0\n1.0\n",
        "index_target.txt": "0\n",
    }
    for split, mask in enumerate(masks):
        contents[f"index_test_{split}.txt"] = "\n".join(f"{i:.18e}" for i in np.flatnonzero(mask)[::-1])
    return contents


def test_text_and_archive_give_the_same(monkeypatch, tmp_path):
    made, masks = arrays(5)
    catalogued(monkeypatch, tmp_path, "uci-yacht", {"yacht.npz": npz(**made)})
    packed = data.load("uci-yacht", tmp_path, split=2)
    monkeypatch.undo()
    contents = {name: text.encode() for name, text in text_files(made, masks).items()}
    read = partial(read_text, rows=ROWS, features=FEATURES)
    catalogued(monkeypatch, tmp_path, "uci-yacht", contents, source=1, read=read)
    text = data.load("uci-yacht", tmp_path, split=2)
    for part in ("train", "validation", "test"):
        assert getattr(text, part).checksum() == getattr(packed, part).checksum()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("data.txt", "", "not a table of numbers"),
        ("data.txt", "1 2 3 4\n5 6 7\n", "not a table of numbers"),
        ("data.txt", "<html>404</html>", "not a table of numbers"),
        ("data.txt", "1 2 3 4\n" * 20, "has 20 rows"),
        ("data.txt", "1 2 3 nan\n" * 21, "not finite"),
        ("index_features.txt", "1\n2\n", "2 inputs"),
        ("index_features.txt", "1\n2\n2\n", "occurs twice"),
        ("index_features.txt", "1\n2\n4\n", r"must lie in 0\.\.3"),
        ("index_features.txt", "1 2\n3 0\n", "not a list of whole numbers"),
        ("index_target.txt", "0.5", "not a list of whole numbers"),
        ("index_target.txt", "0\n1\n", "2 targets"),
        ("index_test_1.txt", "-1", r"must lie in 0\.\.20"),
        ("index_test_1.txt", "21", r"must lie in 0\.\.20"),
        ("index_test_3.txt", "\n".join(map(str, range(21))), "training rows and test rows"),
    ],
)
def test_text_that_does_not_fit(tmp_path, name, text, message):
    paths = {}
    for file, content in {**text_files(*arrays()), name: text}.items():
        paths[file] = tmp_path / file
        paths[file].write_text(content)
    with pytest.raises(data.DataFormatError, match=message):
        text_table(paths, ROWS, FEATURES)


def test_the_catalogue_lists_the_text_files_of_every_split():
    for name, (_, _, splits) in REAL.items():
        files = [file.name for file in CATALOGUE[f"uci-{name}"].sources[1].files]
        assert [file for file in files if "test" in file] == [f"index_test_{i}.txt" for i in range(splits)]


def test_values_that_are_not_finite(monkeypatch, tmp_path):
    made = {**MADE, "x": np.where(np.arange(ROWS)[:, None] == 4, np.nan, MADE["x"]).astype(np.float32)}
    catalogued(monkeypatch, tmp_path, "uci-yacht", {"yacht.npz": npz(**made)})
    with pytest.raises(data.DataFormatError, match="not finite"):
        data.load("uci-yacht", tmp_path)


def test_a_constant_column_of_large_values_keeps_scale_one():
    scaling = standardisation(np.full((7, 1), 0.1, np.float32))
    np.testing.assert_array_equal(scaling.scale, [1.0])
    np.testing.assert_allclose(scaling.apply(np.full((2, 1), 0.1, np.float32)), 0, atol=1e-8)


# Rows and features as the UCI repository gives them; naval has two targets, of which one is used.
REAL = {
    "boston": (506, 13, 20),
    "concrete": (1030, 8, 20),
    "energy": (768, 8, 20),
    "kin8nm": (8192, 8, 20),
    "naval": (11_934, 16, 20),
    "power": (9568, 4, 20),
    "protein": (45_730, 9, 5),
    "wine": (1599, 11, 20),
    "yacht": (308, 6, 20),
}


@pytest.mark.parametrize("name", REAL)
def test_the_real_files(name):
    rows, features, splits = REAL[name]
    dataset = real(f"uci-{name}", split=splits - 1)
    parts = dataset.train, dataset.validation, dataset.test
    assert sum(map(len, parts)) == rows
    assert dataset.train.x.shape[1] == features
    assert abs(len(dataset.test) - rows / 10) <= 1
    with pytest.raises(ValueError, match="has splits"):
        real(f"uci-{name}", split=splits)
