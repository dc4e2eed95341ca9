"""Every row of METRICS against an independent implementation, and what the table refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from symbayes.evaluate import FORMATS, METRICS, Metric
from symbayes.evaluate.metric import written
from symbayes.evaluate.metrics import chosen, find

from .oracles import CASES, ORACLES

ROWS = [(row, kind) for row in METRICS for kind in row.kinds]
ALL = ("targets", "validation", "reference", "ood")
TOLERANCES = {"TV": 2e-3, "smooth-ECE": 2e-3, "CRPS": 1e-6}
"""Of what one of the two finds by a grid."""
IDS = [f"{row.name}-{kind}" for row, kind in ROWS]


def test_every_row_has_an_oracle_and_every_oracle_a_row() -> None:
    assert {(row.name, kind) for row, kind in ROWS} == ORACLES.keys()
    assert len(ROWS) == len(ORACLES), "two rows of one name and kind cannot be told apart"


@pytest.mark.parametrize(("row", "kind"), ROWS, ids=IDS)
@settings(deadline=None, max_examples=12)
@given(data=st.data())
def test_agrees_with_its_oracle(row: Metric, kind: str, data: st.DataObject) -> None:
    case = CASES[kind](
        data.draw(st.integers(0, 2**32 - 1), "seed"),
        data.draw(st.integers(1, 6), "examples"),
        data.draw(st.integers(1, 4) if kind == "reals" else st.integers(2, 7), "classes or outputs"),
        data.draw(st.integers(1, 4), "draws"),
        data.draw(st.sampled_from([(), (2,), (2, 2)]), "positions"),
        data.draw(st.sampled_from([0.3, 1.0, 3.0]), "spread"),
    )
    given = (case.predictive, case.y, case.reference, case.ood, case.validation)
    if not row.possible(case.predictive, ALL):
        return  # one draw does not disagree
    found = row.of(*given)
    assert isinstance(found, float)
    assert found == pytest.approx(ORACLES[row.name, kind](case), rel=1e-6, abs=TOLERANCES.get(row.name, 1e-9))
    if row.each is not None:
        each = row.each(*(argument.values for argument in row.arguments(*given)))
        assert row.of_mean(np.mean(each)) == pytest.approx(found, rel=1e-12, abs=1e-12), "the mean of each"


@pytest.mark.parametrize(("row", "kind"), ROWS, ids=IDS)
def test_rows_say_what_a_reader_needs(row: Metric, kind: str) -> None:
    assert row.description.strip() == row.description
    assert not row.description.endswith(".")
    assert "\n" not in row.description
    assert " " not in row.name, "a name is one word on the command line"
    format(0.5, row.format)
    assert FORMATS[row.name] == row.format, "rows of one name are written in one way"
    assert row.better in ("higher", "lower", None) or 0 < float(row.better) < 1


@pytest.mark.parametrize(
    "row", [row for row in METRICS if {*row.needs} - {"draws"}], ids=lambda row: f"{row.name}-{row.kinds[0]}"
)
def test_what_is_needed_and_not_given_is_named(row: Metric) -> None:
    case = CASES[row.kinds[0]](0, 3, 2, 2, (), 1.0)
    with pytest.raises(ValueError, match=rf"{row.name} needs .*: give {row.needs[0]}\."):
        row.of(case.predictive)


def test_metrics_are_found_in_any_case_and_unknown_ones_refused() -> None:
    assert find("nll", "classes") is find("NLL", "classes")
    assert find("nll", "classes") is not find("nll", "reals")
    with pytest.raises(ValueError, match=r"no metric is called 'acuracy' \(did you mean 'accuracy'\?\)"):
        find("acuracy", "classes")
    with pytest.raises(ValueError, match="the metric 'rmse' is not for classes; there are accuracy, top-5, "):
        find("rmse", "classes")


def test_rows_are_chosen_by_name_or_by_what_is_given() -> None:
    def names(*arguments) -> list[str]:
        return [row.name for row in chosen(*arguments)]

    assert names("classes", ("ece", "Accuracy", "ece"), ["targets"]) == ["ECE", "accuracy"]
    assert names("classes", None, ["targets"]) == ["accuracy", "NLL", "Brier", "ECE"]
    assert names("classes", None, ["targets", "reference"])[-2:] == ["agreement", "TV"]
    assert names("reals", None, ["targets", "ood"])[-2:] == ["AUROC", "FPR95"]
    assert names("classes", None, ["targets"], True)[:3] == ["accuracy", "mean-IoU", "NLL"]
    with pytest.raises(ValueError, match="AUROC needs out-of-distribution inputs"):
        chosen("classes", ["auroc"], ["targets"])


@pytest.mark.parametrize(
    ("number", "form", "words"),
    [
        (29_824.3, ".4g", "29,820"),
        (-7574, ".4g", "-7,574"),
        (1234.56, ".3g", "1,230"),
        (999.95, ".4g", "1,000"),
        (12.345, ".4g", "12.35"),
        (1.5e-7, ".4g", "1.5e-07"),
        (2e13, ".4g", "2e+13"),
        (12_345, ",", "12,345"),
        (0.5, ".1%", "50.0%"),
    ],
)
def test_large_numbers_are_written_without_an_exponent(number: float, form: str, words: str) -> None:
    assert written(number, form) == words


def test_a_single_draw_has_no_mutual_information() -> None:
    row = find("mutual-information", "classes")
    one, two = (CASES["classes"](0, 3, 2, draws, (), 1.0).predictive for draws in (1, 2))
    assert not row.possible(one, [])
    assert row.possible(two, [])
    assert not find("accuracy", "classes").possible(two, [])


def test_positions_are_points() -> None:
    """Scores of outputs with positions are those of the same points as examples of their own."""
    for kind, make in CASES.items():
        case = make(3, 4, 3, 2, (2, 3), 1.0)
        flat = case.predictive.of_draws(lambda a: a.reshape(*a.shape[:2], -1, a.shape[-1]))
        y = case.y.reshape(24, *case.y.shape[3:])
        for row in METRICS:
            if kind in row.kinds and row.needs == ("targets",):
                assert row.of(case.predictive, case.y) == pytest.approx(row.of(flat, y), rel=1e-12), row.name
        np.testing.assert_allclose(
            case.predictive.losses(case.y), flat.losses(y).reshape(4, 6).mean(axis=1), rtol=1e-12
        )
