"""The command line: what it does, what it says, and its exit codes."""

import ast
import json
import re
import shlex
from pathlib import Path

import pytest
from jax.errors import JaxRuntimeError

import symbayes as sb
from symbayes.cli import main, parse
from symbayes.cli.commands import COMMANDS
from symbayes.studies import STUDIES

QUICK = ["--hidden", "4", "--chains", "2"]
HMC = [
    "sample",
    "hmc",
    "--step-size",
    "0.02",
    "--trajectory",
    "0.06",
    "--burn-in",
    "2",
    "--draws",
    "4",
    *QUICK,
]


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "hmc"
    assert main([*HMC, "--store", str(folder)]) == 0
    return folder


def test_sampling_again_reads_the_run_back(sampled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (sampled / "journal.jsonl").read_bytes()
    assert main([*HMC, "--store", str(sampled)]) == 0
    output = capsys.readouterr().out
    assert "2 chains x 4 draws of 310 numbers" in output
    assert f"symbayes report {sampled}" in output
    assert (sampled / "journal.jsonl").read_bytes() == before


def test_another_configuration_is_refused_and_named(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*HMC, "--prior-scale", "0.7", "--store", str(sampled)]) == 2
    error = capsys.readouterr().err
    assert "holds a run of another configuration" in error
    assert "prior.scale: 0.5 there, 0.7 now" in error
    assert "Traceback" not in error


def test_an_ensemble_starts_where_hmc_ended(sampled: Path, tmp_path: Path) -> None:
    store = tmp_path / "ensemble"
    assert (
        main(["sample", "ensemble", "--epochs", "1", *QUICK, "--start", str(sampled), "--store", str(store)])
        == 0
    )
    assert (store / "config.json").read_text().count(str(sampled)) == 1


def test_members_go_in_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ensemble = ["sample", "ensemble", "--epochs", "1", "--hidden", "4", "--chains", "3"]
    assert main([*ensemble, "--together", "1", "--store", str(tmp_path / "run")]) == 0
    assert sb.Run(tmp_path / "run").config["together"] == 1
    assert "3 chains x 1 draw" in capsys.readouterr().out
    assert main([*HMC, "--together", "1", "--store", str(tmp_path / "hmc")]) == 2
    assert "learn from one another" in capsys.readouterr().err


def test_diagnose(sampled: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(sampled), "--no-align", "--json", "-"]) == 0
    told = capsys.readouterr()
    (numbers,) = json.loads(told.out).values()
    assert numbers["spaces"].keys() >= {"predictions", "weights"}
    assert "aligned weights" not in numbers["spaces"]
    for sentence in numbers["verdict"]:
        assert sentence in told.err


@pytest.mark.usefixtures("blank_figures")
def test_evaluate_and_report(sampled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(sampled)]) == 0
    assert re.search(r"accuracy.*NLL.*Brier.*ECE", capsys.readouterr().out)
    assert main(["evaluate", str(sampled), "--metrics", "ace", "NLL"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"ACE.*NLL", shown)
    assert "accuracy" not in shown
    assert main(["evaluate", str(sampled), "--metrics", "acuracy"]) == 2
    assert "did you mean 'accuracy'?" in capsys.readouterr().err
    assert main(["evaluate", str(sampled), "--ood", "digits-halves"]) == 2
    assert "--ood digits-halves has inputs of shape (8, 4, 1)" in capsys.readouterr().err
    saved = [tmp_path / f"table.{ending}" for ending in ("md", "csv", "tex", "json", "html")]
    options = [
        "--ood",
        "digits",
        "--shift",
        "fog:5",
        "--recalibrate",
        "temperature",
        "--reference",
        str(sampled),
    ]
    assert main(["evaluate", str(sampled), *options, "--save", *map(str, saved)]) == 0
    told = capsys.readouterr().out
    assert "is recalibrated: temperature" in " ".join(told.split())
    assert saved[0].read_text().startswith("| run | accuracy ↑ | NLL ↓ |")
    numbers = json.loads(saved[3].read_text())["rows"][sampled.name]
    assert numbers["AUROC"] == 0.5, "the test set beside itself"
    assert "accuracy (fog:5)" in saved[1].read_text()
    assert "Out-of-distribution inputs: digits" in saved[4].read_text()
    assert main(["evaluate", str(sampled), "--save", "table.doc"]) == 2
    assert "a table is saved as .md, .csv, .tex, .json, .html" in capsys.readouterr().err
    told = []
    for batch in ([], ["--batch", "100"]):
        assert main(["evaluate", str(sampled), "--metrics", "NLL", "ACE", *batch, "--json", "-"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    for name, value in told[0]["comparison"][sampled.name].items():
        assert told[1]["comparison"][sampled.name][name] == pytest.approx(value, rel=1e-9)
    assert told[1]["notes"] == ["Predicted 100 examples at a time."]
    assert main(["evaluate", str(sampled), "--batch", "100", "--save", str(saved[4])]) == 2
    assert "a page needs the predictions of all draws" in capsys.readouterr().err
    assert main(["evaluate", str(sampled), "--batch", "0"]) == 2
    assert "batch must be a whole number of at least 1" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert main(["report", str(sampled), "--also", "plane"]) == 2
    assert "a page can also have quality and landscape, not 'plane'" in capsys.readouterr().err
    assert main(["report", str(sampled), "--out", str(page)]) == 0
    assert page.as_uri() in capsys.readouterr().out.replace("\n", "")
    assert page.read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sample", "hmc", "--step-size", "-1"], "step_size must be a positive number, not -1.0"),
        (
            ["sample", "hmc", "--step-size", "0.1", "--draws", "0"],
            "draws must be a whole number of at least 1, not 0",
        ),
        (["sample", "hmc", "--step-size", "0.1", "--data", "digit"], "digits"),
        (
            ["sample", "hmc", "--step-size", "0.1", "--temperature", "0"],
            "temperature must be a positive number",
        ),
        (["sample", "ensemble", "--hidden", "-3"], "layer widths are positive integers"),
        (["evaluate", "/nowhere"], "/nowhere is not a run"),
        (["evaluate"], "name at least one run folder"),
        (["sampl", "hmc"], "`symbayes` has no 'sampl' (did you mean 'sample'?): it has demo, sample"),
        (["sample", "hcm"], "`symbayes sample` has no 'hcm' (did you mean 'hmc'?): it has hmc, nuts"),
        (["study", "xyz"], "`symbayes study` has no 'xyz': it has list, truth"),
        (["evaluate", "/nowhere", "--json", "/"], "--json must name a file to write, but / is a folder"),
        (["report", "/nowhere", "--out", "/"], "--out must name a file to write, but / is a folder"),
        (["report", "/nowhere", "--max-draws", "0"], "max_draws must be a whole number of at least 1, not 0"),
        (["sample", "ensemble", "--data", "MNIST"], "(did you mean 'mnist'?)"),
        (["sample", "ensemble", "--json", "/"], "--json must name a file to write, but / is a folder"),
        (["sample", "ensemble", "--prior-scale", "1e300"], "prior_scale must lie between"),
        (
            ["sample", "ensemble", "--no-estimate", "--seed", "4294967296"],
            "seed is a whole number from 0 to 4294967295",
        ),
        (
            ["sample", "hmc", "--step-size", "1e-8", "--trajectory", "1000"],
            "a trajectory has 1e+11 steps: use a larger step_size",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("symbayes: ")
    assert message in error
    assert "\n" not in error


def test_an_unwritable_store_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("not a folder")
    assert main([*HMC, "--store", str(tmp_path / "file" / "run")]) == 2
    assert "choose another folder" in capsys.readouterr().err


def test_divergence_names_the_remedy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sample", "ensemble", "--optimizer", "sgd", "--learning-rate", "1e30", "--epochs", "3"]
    assert main([*arguments, *QUICK, "--store", str(tmp_path / "run")]) == 1
    error = capsys.readouterr().err
    assert "diverged in block" in error
    assert "smaller learning_rate" in error


@pytest.mark.parametrize(
    "command", [[], ["sample"], ["sample", "hmc"], ["evaluate"], ["report"], ["data"], ["demo"]]
)
def test_every_command_has_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([*command, "--help"])
    assert exit.value.code == 0
    assert "usage: symbayes" in capsys.readouterr().out


def test_the_command_alone_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main([])
    assert exit.value.code == 0
    assert "symbayes demo" in capsys.readouterr().out


def every_command() -> list[list[str]]:
    """All commands that do something, with their subcommands."""
    nested = {
        "sample": list(sb.METHODS),
        "study": ["list", *STUDIES],
        "data": ["list", "fetch", "check"],
    }
    return [
        [name, *more] for name in COMMANDS for more in ([[each] for each in nested.get(name, [])] or [[]])
    ]


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_every_help_has_an_example_that_is_understood(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    told = " ".join(re.split(r"\n\W* ?(?:positional|options)", capsys.readouterr().out)[0].split())
    examples = told.split("Example: ")[1:]
    assert examples
    for example in examples:
        words = shlex.split(example)
        assert words[: len(command) + 1] == ["symbayes", *command]
        parse(words[1:])


def undescribed(text: str) -> list[str]:
    """The options in a help text of which nothing is said but name, values and default."""
    plain = re.sub("[│╭╮╰╯─]", " ", text)
    options = [" ".join(option.split()) for option in re.split(r"\n\s*(?=--[a-z])", plain)[1:]]
    bare = [
        re.sub(r"^--[a-z-]+,?|\([^()]*\)|\{[^}]*\}|\[[^]]*\]|[A-Z:/|]{2,}", "", option) for option in options
    ]
    return [option for option, said in zip(options, bare, strict=True) if not said.strip()]


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_help_describes_every_option(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    text = capsys.readouterr().out
    assert not undescribed(text)
    assert "None" not in text


def broken_lines(path: Path) -> list[str]:
    """Lines of descriptions that the help begins a line of its own with, since they begin with no letter."""
    classes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef)]
    told = [(ast.get_docstring(node) or "").partition("Attributes:")[2] for node in classes]
    lines = [line for text in told for line in text.splitlines() if line.startswith(" " * 8)]
    return [line.strip() for line in lines if not line.strip()[0].isalpha()]


@pytest.mark.parametrize("folder", ["cli", "methods", "studies"])
def test_descriptions_of_options_are_not_broken_into_lines(folder: str) -> None:
    root = Path(sb.__file__).parent / folder
    assert {path.name: found for path in root.rglob("*.py") if (found := broken_lines(path))} == {}


def test_the_help_tells_how_to_ask_for_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "symbayes --version" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", every_command(), ids=" ".join)
def test_defaults_are_told_in_one_piece(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    assert "(default: none: " not in " ".join(re.sub("[│╭╮╰╯─]", " ", capsys.readouterr().out).split())


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert re.fullmatch(r"symbayes \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (KeyboardInterrupt(), 130, "symbayes: stopped\n"),
        (MemoryError(), 2, "out of memory: use fewer --chains"),
        (JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating"), 2, "out of memory"),
        (PermissionError(13, "Permission denied", "page.html"), 2, "page.html: Permission denied"),
    ],
)
def test_what_the_system_refuses_is_one_sentence(
    error: BaseException,
    code: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr("symbayes.data.list_datasets", refuse)
    assert main(["data", "list"]) == code
    assert message in capsys.readouterr().err


def test_embedded_data_need_no_fetching(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("fetch", "check"):
        assert main(["data", command, "digits"]) == 0
        assert "digits is embedded" in capsys.readouterr().out
    assert main(["data", "check", "digits", "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out) == {}
    assert "digits is embedded" in said.err


def test_data_list_shows_the_embedded_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    assert re.search(r"digits.*embedded", capsys.readouterr().out)


def test_any_network_can_be_named_with_its_options(tmp_path: Path) -> None:
    arguments = ["sample", "ensemble", "--epochs", "1", "--chains", "1", "--store", str(tmp_path / "run")]
    assert main([*arguments, "--network", "cnn", "--option", "channels=[2,2]", "hidden=[4]"]) == 0
    assert '"kind": "CNN"' in (tmp_path / "run" / "config.json").read_text()


def test_symmetries_of_a_network_by_name_and_of_a_run(
    sampled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["symmetries", "mlp"]) == 0
    assert "10^35.4 permutations, 0 sign bits, 32 scale dimensions" in capsys.readouterr().out
    assert main(["symmetries", str(sampled)]) == 0
    assert "10^1.4 permutations, 0 sign bits, 4 scale dimensions" in capsys.readouterr().out
    assert main(["symmetries", "mpl"]) == 2
    assert "did you mean 'mlp'" in capsys.readouterr().err
