"""The part of the page about symmetry."""

import symbayes as sb
from symbayes.analyse import Bounds, Findings, investigate
from symbayes.report.contents import Figure, Table
from symbayes.report.symmetry import compactness_table, section


def test_the_section_tells_the_findings(findings: dict[str, Findings]) -> None:
    made = section("hmc", findings["hmc"])
    assert made.title == "Symmetry of hmc"
    assert "reordered in 720 ways" in made.lead
    assert "150 of 360 test examples" in made.lead
    compact = findings["hmc"].compactness
    assert compact is not None
    for form in ("raw", "aligned"):
        accuracy = compact.of("mean network", form)[0].scores["accuracy"]
        assert f"{accuracy:.1%}" in made.lead
    titles = [item.title for item in made.items if isinstance(item, Figure)]
    assert titles == [
        "R-hat before and after alignment",
        "Sigma of the weights",
        "Loss between two networks",
        "Accuracy between two networks",
        "Order of the units between two networks",
        "Quality against size",
        "Accuracy after pruning",
    ]
    assert sum(isinstance(item, Table) for item in made.items) == 3


def test_an_ensemble_has_no_rhat_and_the_page_says_why(findings: dict[str, Findings]) -> None:
    made = section("ensemble", findings["ensemble"])
    assert "R-hat is left out" in made.lead
    assert "3 chains of 1 draw were used" in made.lead
    assert not any("R-hat" in item.title for item in made.items if isinstance(item, Figure))
    columns = [item.columns for item in made.items if isinstance(item, Table)]
    assert "within a chain" not in columns[1]


def test_the_table_of_compact_posteriors_has_every_row(findings: dict[str, Findings]) -> None:
    compact = findings["hmc"].compactness
    assert compact is not None
    table = compactness_table(compact)
    assert table.columns == ["posterior", "kbit stored", "accuracy", "NLL", "agreement", "TV"]
    assert [row[0] for row in table.rows] == [row.name for row in compact.rows]
    assert [row[-1] for row in table.rows] == [row.scores["TV"] for row in compact.rows]
    assert "made from 8 draws and evaluated on 150 test examples" in table.caption
    assert table.notes["agreement"] == "share of predictions equal to those of the 8 draws that were held out"
    assert list(table.notes) == ["agreement", "TV"]


def test_regression_is_told_in_errors_instead_of_agreements(waves: tuple[sb.Draws, sb.data.Dataset]) -> None:
    found = investigate(*waves, Bounds(draws=8, samples=2, steps=3))
    assert found is not None
    made = section("waves", found)
    assert "RMSE" in made.lead
    assert "2^3 ways" in made.lead
    titles = [item.title for item in made.items if isinstance(item, Figure)]
    assert titles == [
        "Sigma of the weights",
        "Loss between two networks",
        "Order of the units between two networks",
    ]
