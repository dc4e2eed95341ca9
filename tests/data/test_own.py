"""Data of one's own: arrays, tables and files."""

import json
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes import data
from symbayes.data import DataFormatError, Preparation, from_arrays
from symbayes.data.own_files import file_name, parsed

RNG = np.random.default_rng(np.random.SeedSequence().entropy % 2**32)

HOUSES = """rooms;kind;age;price
1;flat;10;100.5
2;house;20;210
3;flat;30;290.25
4;house;40;400
5;flat;55;500
6;house;60;610
"""


NUMBERS = "".join(f"{i},{i}\n" for i in range(21))
NAMED = "".join(f"h{i},{i}.5\n" for i in range(21))


@pytest.fixture
def houses(tmp_path):
    path = tmp_path / "my houses.csv"
    path.write_text(HOUSES)
    return path


def rows(count=40, features=3):
    x = RNG.normal(3, 5, (count, features))
    return x, x @ RNG.normal(size=features) + 7


def test_parts_are_all_rows_once_and_standardised_by_what_trains():
    x, y = rows()
    made = from_arrays(x, y, test=0.25, validation=6, split=int(RNG.integers(100)))
    assert [len(part) for part in (made.train, made.validation, made.test)] == [24, 6, 10]
    assert made.classes is None
    np.testing.assert_allclose(made.train.x.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(made.train.y.std(axis=0), 1, atol=1e-5)
    parts = (made.train, made.validation, made.test)
    back = np.concatenate([made.input_scaling.undo(part.x) for part in parts])
    np.testing.assert_allclose(np.sort(back, axis=0), np.sort(x, axis=0), atol=1e-4)
    targets = np.concatenate([made.target_scaling.undo(part.y)[:, 0] for part in parts])
    np.testing.assert_allclose(np.sort(targets), np.sort(y), atol=1e-4)


def test_the_same_split_is_the_same_and_another_is_another():
    x, y = rows()
    first, again, other = (from_arrays(x, y, split=split).train.checksum() for split in (3, 3, 4))
    assert first == again != other


def test_a_test_part_of_ones_own_is_kept_apart():
    x, y = rows()
    made = from_arrays(x[:30], y[:30], test=(x[30:], y[30:]), validation=0)
    assert (len(made.train), len(made.validation), len(made.test)) == (30, 0, 10)
    np.testing.assert_allclose(made.target_scaling.undo(made.test.y)[:, 0], y[30:], atol=1e-4)


@pytest.mark.parametrize(
    ("y", "names"),
    [
        (["b", "a", "c", "a", "b", "c"], ("a", "b", "c")),
        ([1, 2, 3, 1, 2, 3], ("1", "2", "3")),
        (np.array([1.0, 2.0, 2.0, 1.0, 2.0, 1.0]), ("1", "2")),
        ([True, False, True, False, True, False], ("False", "True")),
    ],
)
def test_labels_of_any_kind_count_from_zero(y, names):
    made = from_arrays(np.arange(6.0), y, test=1, validation=0)
    assert (made.classes, made.class_names) == (len(names), names)
    assert made.target_scaling is None
    labels = np.concatenate([made.train.y, made.test.y])
    words = [str(int(value)) if isinstance(value, float) else str(value) for value in y]
    assert sorted(labels.tolist()) == sorted(map(names.index, words))


def test_whole_numbers_of_many_values_are_real_targets_unless_told():
    x = np.arange(60.0)
    assert from_arrays(x, np.arange(60)).classes is None
    assert from_arrays(x, np.arange(60), task="classification").classes == 60
    assert from_arrays(x, np.arange(60) % 3, task="regression").classes is None


def test_tables_of_pandas_have_inputs_for_words():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"size": [1.0, 2, 3, 4], "kind": ["b", "a", "b", "c"]})
    target = pandas.Series([1.5, 2.5, 3.5, 4.5], name="price")
    made = from_arrays(frame, target, test=1, validation=0)
    assert [column.words for column in made.columns] == [(), ("a", "b", "c")]
    assert made.targets == ("price",)
    assert made.train.x.shape == (3, 4)
    assert set(np.unique(made.train.x[:, 1:])) <= {0.0, 1.0}


def test_images_as_bytes_lie_between_zero_and_one():
    pixels = RNG.integers(0, 256, (10, 4, 4)).astype(np.uint8)
    made = from_arrays(pixels, np.arange(10) % 2, test=2, validation=0)
    assert made.train.x.shape == (8, 4, 4, 1)
    assert made.input_scaling is None


@pytest.mark.parametrize(
    ("x", "y", "options", "words"),
    [
        ([[1.0], [2.0]], [1.0, 2.0, 3.0], {}, "x has 2 rows but y has 3"),
        ([], [], {}, "x has no rows: give at least two"),
        ([[1.0], [2.0]], [], {}, "y has no rows: give at least two"),
        (
            [[1.0, 2.0], [3.0]],
            [1.0, 2.0],
            {},
            r"rows of x have different lengths \(1, 2 values\): give every",
        ),
        ([[1.0], [np.nan], [3.0]], [1.0, 2.5, 3.0], {}, "NaN or infinity in 1 of 3 rows, first in row 2"),
        ([[1.0], [2.0], [3.0]], [1.0, 2.5, np.nan], {}, "targets lack 1 of 3 values, first in row 3"),
        ([[1.0], [2.0]], [0.5, 1.5], {"test": 1, "validation": 1}, "none is left to train"),
        ([[1.0], [2.0]], [0.5, 1.5], {"test": 0}, "judged on the test part"),
        ([[1.0], [2.0], [3.0]], ["a", "a", "a"], {}, "two labels or more, not only 'a'"),
        ([[1.0], [2.0], [3.0]], ["a", "b", "a"], {"task": "regression"}, "are numbers, and these hold words"),
        ([["a"], ["b"], ["c"]], [1.5, 2.5, 3.5], {}, "inputs are numbers, or a table"),
        ([[1.0], [2.0], [3.0]], [1j, 2j, 3.5], {}, "real numbers, or labels, and these are complex128"),
        ([[1.0], [2.0], [3.0]], [1j, 2j, 3.5], {"task": "regression"}, "and these are complex128"),
        (
            [[1.0], [2.0], [3.0]],
            [1.5, 2.5, 3.5],
            {"targets": ["a", "b"]},
            "y has 1 target, but targets names 2: a, b",
        ),
        ({"a": [1.0, None, 2.0]}, [1.5, 2.5, 3.5], {}, "column 'a' lacks 1 of 3 values, first in row 2"),
    ],
)
def test_bad_data_are_refused(x, y, options, words):
    with pytest.raises(ValueError, match=words):
        from_arrays(x, y, **options)


def test_targets_are_named_one_by_one():
    x, y = rows()
    assert from_arrays(x, y, targets="price").targets == ("price",)
    assert from_arrays(x, np.stack([y, -y], axis=1), targets=["a", "b"]).targets == ("a", "b")
    assert from_arrays(x, y > 7, targets=["dear"]).targets == ("dear",)


def test_a_file_is_loaded_again_by_its_name_alone(houses, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    made = data.load("my houses.csv", target=("price",), test=2, split=1)
    assert made.classes is None
    assert [column.name for column in made.columns] == ["rooms", "kind", "age"]
    monkeypatch.chdir("/")
    again = data.load(made.name)
    assert again.train.checksum() == made.train.checksum()
    assert again.name == made.name
    assert made.short_name == "my houses:test=2,split=1"


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=3, unique=True))
def test_names_of_columns_survive_in_the_name_of_the_dataset(columns):
    path, options = parsed(file_name("folder/a.csv", target=tuple(columns), split=3))
    assert (str(path), options) == ("folder/a.csv", {"target": tuple(columns), "split": 3})


def test_columns_that_are_dropped_are_no_inputs_and_stay_so(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(f"name,{HOUSES.replace(';', ',')}".replace("\n", "\nn,", 6))
    made = data.load(str(path), target="price", drop=("name", "age"))
    assert [column.name for column in made.columns] == ["rooms", "kind"]
    assert made.name.endswith("a.csv:target=price,drop=name+age")
    assert made.short_name == "a"
    assert data.load(made.name).train.checksum() == made.train.checksum()
    assert data.counting_columns(f"{path}:target=price") == ("rooms", "age")
    assert data.counting_columns(f"{path}:target=price,drop=age") == ("rooms",)
    with pytest.raises(ValueError, match=r"no column 'ages' \(did you mean 'age'\?\)"):
        data.load(str(path), target="price", drop="ages")
    with pytest.raises(ValueError, match="'price' is the target, and cannot be dropped"):
        data.load(str(path), target="price", drop="price")


def test_the_name_of_a_file_may_have_a_colon(houses, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    path = houses.rename("my:houses.csv")
    made = data.load("my:houses.csv", target=("price",))
    assert data.load(made.name).train.checksum() == made.train.checksum()
    assert made.short_name == "my:houses"
    assert parsed(f"{path}:target=price,split=1") == (path, {"target": ("price",), "split": 1})
    assert data.names_a_file("my:houses.csv")
    assert not data.names_a_file("your:houses")


def test_archives_have_arrays_x_and_y_or_columns(tmp_path):
    x, y = rows(12, 2)
    np.savez(tmp_path / "a.npz", x=x, y=y)
    np.savez(tmp_path / "b.npz", first=x[:, 0], second=x[:, 1], y=y)
    first = data.load(str(tmp_path / "a.npz"))
    second = data.load(str(tmp_path / "b.npz"), target=("y",))
    assert first.train.checksum() == second.train.checksum()


def test_parquet_is_read_where_pandas_can(houses, tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.read_csv(houses, sep=";").to_parquet(tmp_path / "houses.parquet")
    made = [data.load(str(path), target=("price",)) for path in (houses, tmp_path / "houses.parquet")]
    assert made[0].train.checksum() == made[1].train.checksum()


def test_parquet_without_a_reader_is_bad_input(tmp_path, monkeypatch):
    (tmp_path / "houses.parquet").write_bytes(b"PAR1")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match=r"houses\.parquet: .* pip install pandas pyarrow$"):
        data.load(str(tmp_path / "houses.parquet"), target=("price",))


@pytest.mark.parametrize(
    ("text", "target", "words"),
    [
        ("a,b\n1,2\n3,4\n", (), "name the column of .* with --target, of a, b"),
        ("a,b\n1,2\n3,4\n", ("c",), "has no column 'c'"),
        ("a,b\n1,2\n3\n", ("b",), "line 3 has 1 values for 2 columns"),
        ("1,2\n3,4\n", ("b",), "first line holds numbers"),
        ("a,a\n1,2\n", ("a",), "a name of its own"),
        ("a,b\n", ("a",), "at least one more"),
        ("a,b\n1,\n3,4.5\n5,6\n", ("b",), "column 'b' lacks 1 of 3 values"),
        ("a\n1\n2\n", ("a",), "no column beside a"),
        ("a,b\n1,?\n3,4.5\n5,6\n", ("b",), "column 'b' lacks 1 of 3 values, first in row 1"),
        ("a;b\n1,5;2\n1.234,5;4\n", ("b",), "column 'a' has '1.234,5' in line 3: write numbers as 1234.5"),
        ("a\tb\n1\t2,5\n3\t4\n", ("b",), "column 'b' has '2,5' in line 2"),
        ("a,b\n1,inf\n3,4\n", ("b",), "column 'b' is infinite in row 1"),
        (f"a,b\n{NUMBERS}low,1\n", ("b",), "'a' holds 21 different numbers, but 'low' in row 22"),
        (f"b,a\n{NUMBERS}1,low\n", ("b",), "'a' holds 21 different numbers, but 'low' in row 22"),
        (
            f"id,b\n{NAMED}",
            ("b",),
            r"'id' holds 21 different words in 21 rows.* leave it out \(--drop 'id'\)",
        ),
        (",b\n0,2\n1,4.5\n", ("b",), r"first column has no name, as the index .* to_csv\(index=False\)"),
        ("a,b\n1,2\n3,4.5\n", ("a, b",), "it has a, b$"),
        ('"a, m",b\n1,2\n3,4.5\n', ("c",), "it has 'a, m', b$"),
        (f"b,a\n{NUMBERS}1,low\n", ("a",), "'a' holds 21 different numbers, but 'low' in row 22"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, target, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ValueError, match=words):
        data.load(str(tmp_path / "t.csv"), target=target)


def test_numbers_between_semicolons_may_have_decimal_commas(houses, tmp_path):
    path = tmp_path / "commas.csv"
    path.write_text(HOUSES.replace(".", ","))
    made = [data.load(str(each), target=("price",)).train.checksum() for each in (houses, path)]
    assert made[0] == made[1]


def test_a_few_numbers_and_a_word_are_categories(tmp_path):
    (tmp_path / "t.csv").write_text("children,b\n0,1.5\n1,2.5\n2,3.5\n3+,4.5\n")
    made = data.load(str(tmp_path / "t.csv"), target=("b",), validation=0)
    assert made.columns[0].words == ("0", "1", "2", "3+")


def test_words_that_repeat_are_categories_however_many_there_are(tmp_path):
    (tmp_path / "t.csv").write_text("id,b\n" + NAMED + NAMED)
    made = data.load(str(tmp_path / "t.csv"), target=("b",), validation=0)
    assert len(made.columns[0].words) == 21


def test_a_table_of_another_kind_is_refused_with_those_that_can_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    for name in ("t.xlsx", str(tmp_path / "t.xlsx")):
        with pytest.raises(ValueError, match=r"t\.xlsx is no table .* one of \.csv, \.tsv, .*\.parquet"):
            data.load(name, target=("a",))
    for name in ("none.xlsx", str(tmp_path / "none.xlsx")):
        with pytest.raises(FileNotFoundError, match="there is no file"):
            data.load(name, target=("a",))


def test_no_dataset_is_taken_for_a_file():
    assert not [listing.name for listing in data.list_datasets() if data.names_a_file(listing.name)]


def test_a_file_that_is_not_there_or_not_text(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        data.load(str(tmp_path / "none.csv"), target=("a",))
    (tmp_path / "t.csv").write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(DataFormatError, match="UTF-8"):
        data.load(str(tmp_path / "t.csv"), target=("a",))


def test_a_preparation_survives_json_and_does_to_new_rows_what_was_done_to_the_old(houses):
    made = data.load(str(houses), target=("price",), test=2, validation=0)
    prepared = Preparation.read(json.loads(json.dumps(made.about["preparation"])))
    columns = {"age": [10, 30], "kind": ["flat", "flat"], "rooms": [1, 3], "more": [0, 0]}
    both = np.concatenate([made.train.x, made.test.x])
    for row in prepared.rows(columns):
        assert np.isclose(both, row, atol=1e-5).all(axis=1).any()
    with pytest.raises(ValueError, match="holds 'castle', which the training data never had"):
        prepared.rows(columns | {"kind": ["flat", "castle"]})
    with pytest.raises(ValueError, match="no column 'age'"):
        prepared.rows({"kind": ["flat"], "rooms": [1]})
