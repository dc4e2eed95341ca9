"""From a table of one's own to numbers: sample, info, predict, and JSON on the standard output."""

import csv
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import symbayes as sb
from symbayes.cli import main

TINY = [
    "--step-size",
    "0.02",
    "--trajectory",
    "0.04",
    "--burn-in",
    "2",
    "--draws",
    "4",
    "--chains",
    "2",
    "--hidden",
    "3",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables: 30 houses with a price and a kind, and three new ones without a price."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    lines = ["rooms,kind,price"]
    for _ in range(30):
        rooms, kind = rng.integers(1, 6), rng.choice(["flat", "house"])
        lines.append(f"{rooms},{kind},{100 * rooms + 30 * (kind == 'house') + rng.normal():.2f}")
    (folder / "houses.csv").write_text("\n".join(lines) + "\n")
    (folder / "new.csv").write_text("kind,rooms\nflat,2\nhouse,3\nflat,5\n")
    return folder


@pytest.fixture(scope="module")
def prices(folder: Path) -> Path:
    run = folder / "prices"
    source = ["--data", str(folder / "houses.csv"), "--target", "price"]
    assert main(["sample", "hmc", *TINY, *source, "--store", str(run)]) == 0
    return run


@pytest.fixture(scope="module")
def kinds(folder: Path) -> Path:
    run = folder / "kinds"
    source = ["--data", str(folder / "houses.csv"), "--target", "kind"]
    assert main(["sample", "hmc", *TINY, *source, "--store", str(run)]) == 0
    return run


def rows(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_run_is_found_again_from_any_folder(prices, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["evaluate", str(prices), "--json", "-"]) == 0
    printed = capsys.readouterr()
    numbers = json.loads(printed.out)
    assert set(numbers["comparison"]["prices"]) >= {"RMSE", "NLL"}
    assert "RMSE" in printed.err
    assert not Path("-").exists()


def test_the_default_folder_has_the_name_of_the_file(folder, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    source = ["--data", str(folder / "houses.csv:split=1"), "--target", "price", "--no-estimate"]
    assert main(["sample", "hmc", *TINY, *source]) == 0
    assert [path.name for path in Path("runs").iterdir()] == ["hmc-houses-split-1"]
    assert "3 inputs predict price; 24 rows train, 3 rows validate, 3 rows test" in capsys.readouterr().err


def test_predictions_are_in_the_targets_units_and_follow_the_names_of_columns(prices, folder, tmp_path):
    out = tmp_path / "new.csv"
    assert main(["predict", str(prices), "--data", str(folder / "new.csv"), "--out", str(out)]) == 0
    told = rows(out)
    assert list(told[0]) == ["price mean", "price sd", "price lower", "price upper"]
    run = sb.open(prices)
    flat = run.predict({"rooms": [2.0, 3.0, 5.0], "kind": ["flat", "house", "flat"]})
    np.testing.assert_allclose([float(row["price mean"]) for row in told], flat.mean[:, 0], rtol=1e-5)
    lower, upper = flat.interval(0.9)
    np.testing.assert_allclose([float(row["price upper"]) for row in told], upper[:, 0], rtol=1e-5)
    assert (lower < upper).all()
    # The same by hand: standardise the inputs, predict, and undo that of the targets.
    dataset = sb.data.load(run.about["data"])
    by_hand = dataset.input_scaling.apply(np.array([[2, 1, 0], [3, 0, 1], [5, 1, 0]]))
    np.testing.assert_allclose(
        dataset.target_scaling.undo(run.predict(by_hand).mean), flat.mean, rtol=1e-5, atol=1e-3
    )


def test_labels_are_predicted_by_name(kinds, folder, tmp_path):
    (tmp_path / "new.csv").write_text("rooms,price\n2,205\n5,533\n")
    for ending in ("csv", "npz"):
        out = ["--data", str(tmp_path / "new.csv"), "--out", str(tmp_path / f"told.{ending}")]
        assert main(["predict", str(kinds), *out]) == 0
    told = rows(tmp_path / "told.csv")
    assert {row["label"] for row in told} <= {"flat", "house"}
    probabilities = [float(row["flat probability"]) + float(row["house probability"]) for row in told]
    np.testing.assert_allclose(probabilities, 1, atol=1e-6)
    with np.load(tmp_path / "told.npz") as arrays:
        assert set(arrays) == {"label", "entropy", "probability", "lower", "upper"}
        assert arrays["probability"].shape == (2, 2)


def test_one_target_without_a_name_has_columns_without_one(tmp_path):
    x = np.linspace(0, 1, 30)
    np.savez(tmp_path / "a.npz", x=x[:, None], y=np.sin(9 * x))
    source = ["--data", str(tmp_path / "a.npz"), "--no-estimate", "--store", str(tmp_path / "run")]
    assert main(["sample", "hmc", *TINY, *source]) == 0
    assert main(["predict", str(tmp_path / "run"), "--out", str(tmp_path / "a.csv")]) == 0
    assert list(rows(tmp_path / "a.csv")[0]) == ["mean", "sd", "lower", "upper"]


def test_without_data_the_test_part_is_predicted(prices, tmp_path):
    assert main(["predict", str(prices), "--out", str(tmp_path / "test.npz")]) == 0
    with np.load(tmp_path / "test.npz") as arrays:
        assert arrays["mean"].shape == (3, 1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--out", "a.txt"], "--out names a .csv or .npz file"),
        (["--out", "a.csv", "--interval", "1.5"], "--interval is a probability"),
        (["--out", "a.csv", "--data", "none.csv"], "none.csv"),
    ],
)
def test_predictions_that_cannot_be_made_are_refused(prices, monkeypatch, tmp_path, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert main(["predict", str(prices), *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not Path("a.csv").exists()


def test_a_target_is_for_files(capsys):
    assert main(["sample", "hmc", *TINY, "--target", "price"]) == 2
    told = "--target, --drop and --task are for files, and digits has its own target"
    assert told in capsys.readouterr().err


def test_names_of_columns_are_shown_as_they_are_and_stored_as_in_addresses(folder, tmp_path, capsys):
    text = (folder / "houses.csv").read_text().replace("price", '"price €, net"', 1)
    (tmp_path / "euro.csv").write_text(text)
    source = ["--data", str(tmp_path / "euro.csv"), "--target", "price €, net", "--no-estimate"]
    assert main(["sample", "hmc", *TINY, *source, "--store", str(tmp_path / "run")]) == 0
    stored = sb.open(tmp_path / "run").about["data"]
    assert stored.endswith("euro.csv:target=price %E2%82%AC%2C net")
    capsys.readouterr()
    assert main(["info", str(tmp_path / "run"), "--json", str(tmp_path / "told.json")]) == 0
    assert "euro.csv:target=price €, net, 24 training examples" in capsys.readouterr().out
    assert json.loads((tmp_path / "told.json").read_text())["data"] == stored
    assert "price €, net'" in repr(sb.data.load(stored))
    other = ["--data", f"{stored},split=1"]
    assert main(["report", str(tmp_path / "run"), *other, "--out", str(tmp_path / "a.html")]) == 2
    assert "the training part of " in (told := capsys.readouterr().err)
    assert "price €, net,split=1: give its own dataset" in told


def test_a_column_that_counts_the_rows_is_told_and_can_be_dropped(folder, tmp_path, capsys):
    lines = (folder / "houses.csv").read_text().splitlines()
    counted = [",".join([str(i) if i else "id", line]) for i, line in enumerate(lines)]
    (tmp_path / "ids.csv").write_text("\n".join(counted))
    source = ["sample", "hmc", *TINY, "--data", str(tmp_path / "ids.csv"), "--target", "price"]
    assert main([*source, "--no-estimate", "--store", str(tmp_path / "with")]) == 0
    told = "the column id holds whole numbers that rise from row to row"
    assert told in capsys.readouterr().err
    assert main([*source, "--no-estimate", "--store", str(tmp_path / "without"), "--drop", "id"]) == 0
    printed = capsys.readouterr().err
    assert told not in printed
    assert "3 inputs predict price" in printed
    # What is predicted needs the column no more, and may have it.
    for name in ("new.csv", "houses.csv"):
        out = ["--data", str(folder / name), "--out", str(tmp_path / f"told-{name}")]
        assert main(["predict", str(tmp_path / "without"), *out]) == 0


def test_info_tells_what_a_run_is(prices, capsys):
    assert main(["info", str(prices)]) == 0
    told = capsys.readouterr().out
    for words in (
        "HMC",
        "finished",
        "2 chains x 4 draws",
        "divergences",
        "largest R-hat",
        "full",
        str(prices),
    ):
        assert words in told or words == "full", words
    assert main(["info", str(prices), "--json", "-"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["finished"] is True
    assert numbers["draws"] == 4
    assert numbers["weights"] == 3 * 3 + 3 + 3 + 1
    summary = sb.open(prices).summary()
    assert numbers["rhat"] == summary.rhat
    draws = sb.Run(prices).draws
    flat = [array.reshape(2, 4, -1) for array in sb.trees.flatten(draws.variables).values()]
    quantities = {"energy": draws.stats["energy"][..., None], "weights": np.concatenate(flat, axis=2)}
    for name, values in quantities.items():
        assert summary.rhat[name] == pytest.approx(np.nanmax(sb.evaluate.rhat(values)))
        assert summary.ess[name] == pytest.approx(np.nanmin(sb.evaluate.ess_bulk(values)))
    assert "<table>" in summary._repr_html_()


def test_help_has_no_colours_for_those_who_say_so(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    codes = {}
    for value in ("", "1"):
        monkeypatch.setenv("NO_COLOR", value)
        with pytest.raises(SystemExit):
            main(["info", "--help"])
        codes[value] = "\x1b[" in capsys.readouterr().out
    assert codes == {"": True, "1": False}


def test_all_splits_are_drawn_and_summed_up(folder, tmp_path, capsys):
    source = ["--data", str(folder / "houses.csv"), "--target", "price", "--no-estimate"]
    where = ["--store", str(tmp_path / "runs"), "--splits", "3", "--json", str(tmp_path / "splits.json")]
    assert main(["sample", "hmc", *TINY, *source, *where]) == 0
    assert "Over 3 splits" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["split-0", "split-1", "split-2"]
    told = json.loads((tmp_path / "splits.json").read_text())["scores"]["RMSE"]
    each = []
    for number in range(3):
        run = sb.open(tmp_path / f"runs/split-{number}")
        dataset = sb.data.load(run.about["data"])
        mean = run.predict(dataset.test.x).unscaled(dataset.target_scaling).mean
        each.append(np.sqrt(np.mean((mean - dataset.target_scaling.undo(dataset.test.y)) ** 2)))
    np.testing.assert_allclose(told["splits"], each, rtol=1e-4)
    assert told["mean"] == pytest.approx(np.mean(each), rel=1e-4)
    assert told["standard_error"] == pytest.approx(np.std(each, ddof=1) / np.sqrt(3), rel=1e-3)


@pytest.mark.parametrize(
    ("data", "splits", "words"),
    [
        ("digits", "all", "--splits all is for the uci sets"),
        ("uci-yacht", "99", "uci-yacht has 20 splits, not 99"),
        ("uci-yacht:split=1", "all", "leave split= out"),
        ("uci-yacht", "many", "--splits is all, or a number"),
    ],
)
def test_splits_that_are_not_there_are_refused(data, splits, words, capsys, tmp_path):
    where = ["--store", str(tmp_path / "runs"), "--splits", splits]
    code = main(["sample", "hmc", *TINY, "--data", data, *where])
    assert code == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["symmetries", "RUN"], {"log10_permutations", "sign_bits", "scale_dimension"}),
        (["align", "RUN", "--out", "OUT/aligned"], {"path", "group", "objective", "transpositions"}),
        (
            ["compact", "RUN", "--rank", "1", "--samples", "2", "--out", "OUT/g.safetensors"],
            {"rows", "fitted"},
        ),
        (["data", "list"], {"name", "found_in", "embedded"}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_command_that_prints_numbers_writes_them(prices, tmp_path, capsys, command, expected):
    words = [word.replace("RUN", str(prices)).replace("OUT", str(tmp_path)) for word in command]
    assert main([*words, "--json", "-"]) == 0
    printed = capsys.readouterr()
    numbers = json.loads(printed.out)
    assert expected <= set(numbers[0] if isinstance(numbers, list) else numbers)
    assert printed.err
