"""Rows without a value and rows of totals are no records: nothing is suggested from them, and the draft names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakegate.contract.logical_types import LogicalType
from lakegate.verdict.verdict import Verdict
from tests.engine.drafted import drafted, judged

RECORDS = [f"{1000 + at};Ana {at};{at},50" for at in range(60)]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ([";;", ";;"], "row 62 (and 1 more) holds nothing but delimiters"),
        (["Summe;;3000,00"], "row 62 holds totals, not a record"),
        ([";;", "Total:;;3000,00"], "row 63 holds totals, not a record"),
    ],
)
def test_what_is_no_record_says_nothing_of_the_records(extra: list[str], reason: str, tmp_path: Path) -> None:
    """Types and presence are those of the records, so that the draft rejects its file for the cause that `check` knows."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["no;name;amount", *RECORDS, *extra, ""]))
    found = drafted(path)
    said = judged(found.plan, path)

    assert (found.profile.rows, found.profile.without_record) == (60, len(extra))
    assert [(each.type, each.present) for each in found.profile.columns] == [
        (LogicalType.INTEGER, 60),
        (LogicalType.STRING, 60),
        (LogicalType.NUMBER, 60),
    ]
    assert (said.verdict, any(reason in each.message for each in said.reasons)) == (Verdict.REJECTED, True)
    rows = f"{len(extra)} row{'s' if len(extra) > 1 else ''} without a record, with no value or with totals: remove such rows"
    assert found.draft.left_out == (rows,)
    assert f"# left out: {rows}" in found.draft.text


@pytest.mark.parametrize(
    "extra",
    [["1060;Total;3,00"], ["1060;;3,00"], [f"{at};Total;" for at in range(2000, 2060)]],
    ids=["a whole record", "no word", "many"],
)
def test_a_word_of_totals_in_records_is_a_value(extra: list[str], tmp_path: Path) -> None:
    """A row is removed only where it lacks what nearly all others have."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["no;name;amount", *RECORDS, *extra, ""]))
    found = drafted(path)

    assert (found.profile.rows, found.profile.without_record) == (60 + len(extra), 0)
    assert judged(found.plan, path).verdict is Verdict.ACCEPTED


def test_the_list_of_an_only_record_is_named(tmp_path: Path) -> None:
    """The records of a response of an interface are one value of one record."""
    path = tmp_path / "data.json"
    path.write_text('{"meta": {"n": 2}, "data": [{"id": 1}, {"id": 2}]}')

    assert drafted(path).draft.left_out == (
        "2 objects in the list data of the only record: write each of them as a record of its own",
    )


def test_an_index_of_pandas_is_named(tmp_path: Path) -> None:
    """In the comment of the column."""
    path = tmp_path / "data.csv"
    path.write_text("Unnamed: 0,x\n" + "".join(f"{at},{at}\n" for at in range(30)))

    assert 'name: "Unnamed: 0"  # it seems to be the index of pandas' in drafted(path).draft.text


def test_words_that_differ_in_blanks_are_one(tmp_path: Path) -> None:
    """The list has the word without blanks, and the draft says which values have some."""
    path = tmp_path / "data.csv"
    path.write_text("id,dept\n" + "".join(f"{at},{('Sales', 'Sales ', 'HR', ' X')[at % 4]}\n" for at in range(60)))
    found = drafted(path)
    said = judged(found.plan, path)

    assert 'validValues: [" X", HR, Sales]' in found.draft.text
    assert [each.fields for each in said.reasons] == [("dept",)]
    assert "values with blanks around them" in said.reasons[0].message
