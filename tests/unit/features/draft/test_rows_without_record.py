"""Rows without a value and rows of totals are no records: nothing is suggested from them, and the draft names them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.features.draft.detect_format import path_of_records
from lakegate.verdict.verdict import Verdict
from tests.engine.drafted import drafted, judged

RECORDS = [f"{1000 + at};Ana {at};{at},50" for at in range(60)]


@pytest.mark.parametrize(
    ("extra", "reason"),
    [
        ([";;", ";;"], "row 62 (and 1 more) holds nothing but delimiters"),
        (["Summe;;3000,00"], "row 62 holds totals or the end of a list, not a record"),
        ([";;", "Total:;;3000,00"], "row 63 holds totals or the end of a list, not a record"),
        (["Gesamtsumme EUR;;3000,00"], "row 62 holds totals or the end of a list, not a record"),
        (["* Summe *;;3000,00"], "row 62 holds totals or the end of a list, not a record"),
        (["Anzahl: 60;;"], "row 62 holds totals or the end of a list, not a record"),
        (["Ende der Liste;;"], "row 62 holds totals or the end of a list, not a record"),
        (["no;name;amount"], "row 62 repeats the header line"),
        ([";;1800,00"], "no: wanted present"),
        (["all of it;;1800,00"], "no: wanted a whole number"),
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
    counted = f"{len(extra)} row{'s' if len(extra) > 1 else ''}"
    rows = f"{counted} without a record, with no value, totals, units or the header again: remove such rows"
    assert found.draft.faults == (rows,)
    assert f"# - {rows}\n# Drafted by" in found.draft.text


@pytest.mark.parametrize("label", ["", "all of it", "1060"])
@pytest.mark.parametrize("point", [".", ","])
def test_a_last_row_of_sums_is_known_whatever_its_label_is(label: str, point: str, tmp_path: Path) -> None:
    """Where each number in it is the sum of its column; a number in its place for a label is one that is not."""
    path = tmp_path / "data.csv"
    rows = [f"1;A{at};{at},50;0;{at % 3 - 1}" for at in range(60)]
    path.write_text("\n".join(["no;name;amount;none;mixed", *rows, f"{label};;1800,00;0;0", ""]).replace(",", point))

    assert drafted(path).profile.without_record == (label != "1060")


@pytest.mark.parametrize(
    ("first", "without"),
    [
        ("°C,name,m/s", 1),
        ("°C,,", 1),
        ("-,-,[mV]", 1),
        ("N/A,a,-", 0),
        ("unknown,a,5.5", 0),
        (",a,1.5", 0),
        ("1e,a,2e", 0),
    ],
)
def test_a_row_of_units_is_no_record(first: str, without: int, tmp_path: Path) -> None:
    """The first one, where no column of numbers has a number in it; words for null are no units."""
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["temp,station,speed", first, *(f"{at}.5,s{at % 9},{at / 8}" for at in range(60)), ""]))
    profile = drafted(path).profile

    assert profile.without_record == without
    assert not without or [each.type.value for each in profile.columns] == ["number", "string", "number"]


def test_a_last_value_that_is_the_sum_of_few_others_is_a_value(tmp_path: Path) -> None:
    """Of two numbers, or of zeros, the sum is one by chance."""
    path = tmp_path / "data.csv"
    path.write_text("name,size,zero\na,0,0\nb,2,0\nc,3,0\nd,5,0\n")

    assert drafted(path).profile.without_record == 0


@pytest.mark.parametrize(
    "extra",
    [["1060;Total;3,00"], ["1060;;3,00"], [f"{at};Total;" for at in range(2000, 2060)], ["1060;Endelig;"]],
    ids=["a whole record", "no word", "many", "another word"],
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
    path.write_text('{"id": 7, "customer": "Ana", "items": [{"id": 1}, {"id": 2}]}')

    assert drafted(path).draft.faults == (
        "2 objects in the list items of the only record: write each of them as a record of its own",
    )


@pytest.mark.parametrize("rows", [3, 20_000])
def test_a_list_in_one_object_is_drafted_as_its_records(rows: int, tmp_path: Path) -> None:
    """The response of an interface: also where it is longer than the beginning that decides, and has pages with few records."""
    path, last = tmp_path / "page1.json", tmp_path / "page2.json"
    records = [{"id": at, "name": f"n{at}"} for at in range(rows)]
    path.write_text(json.dumps({"meta": {"n": rows}, "result": {"items": records}, "next": None}, indent=1))
    last.write_text(json.dumps({"meta": {"n": rows}, "result": {"items": [{"id": rows, "name": "z"}]}, "next": None}))
    found = drafted(path, last)

    assert found.plan.storage == Storage(Format.JSON, records="result.items")
    assert ([column.name for column in found.profile.columns], found.profile.rows) == (["id", "name"], rows + 1)
    assert f"records: result.items  # suggested: {rows + 1:,} objects stand there\n" in found.draft.text
    assert found.draft.faults[0] == (
        f"{rows + 1:,} objects in result.items of one object: they are the records (records: result.items); "
        "what is beside them is not checked"
    )
    assert judged(found.plan, path, last).verdict in {Verdict.ACCEPTED, Verdict.ACCEPTED_WITH_WARNINGS}


def test_long_lines_with_a_list_are_json_lines(tmp_path: Path) -> None:
    """The first line alone is longer than the beginning that decides, and looks as one object with its records."""
    path = tmp_path / "data.jsonl"
    line = json.dumps({"id": 1, "parts": [{"part": at, "text": "x" * 90} for at in range(5000)]})
    path.write_text(f"{line}\n{line}\n")
    found = drafted(path)

    assert found.plan.storage == Storage(Format.JSONL)
    assert [column.name for column in found.profile.columns] == ["id", "parts"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"data": [{"a": 1}, {"a": 2}]}', "data"),
        ('{"a": [{"b": 1}, {"b": 1}], "c": [{"b": 1}, {"b": 1}, {"b": 2}]}', "c"),
        ('{"d\\u0061ta": [{}, {}]}', "data"),
        ('{"data": [{"b": 1}, {"b": 1}], "included": [{"b": 1}, {"b": 1}, {"b": 2}]}', "data"),
        ('{"data": {"id": 1}, "included": [{"b": 1}, {"b": 1}, {"b": 2}]}', ""),
        ('\ufeff {"data": [{"a": 1}, {"a": 2}]} \n', "data"),
        ('{"data": [{"a": 1}, {"a": 2}]}\n{"data": []}', ""),
        ('{"data": [{"a": 1}, {"a": 2}]', ""),
        ('{"data": [{"a": 1}, 2, {"a": 3}]}', ""),
        ('{"data": [1, 2]}', ""),
        ('{"a.b": [{"a": 1}, {"a": 2}]}', ""),
        ('{"a": 1, "b": 2, "c": [{"a": 1}, {"a": 2}]}', ""),
        ('{"a": {"b": {"c": [{"a": 1}, {"a": 2}]}}}', ""),
        ("{}", ""),
        ("[{}]", ""),
    ],
)
def test_the_records_of_one_object_are_a_list_of_more_objects_than_it_has_members(text: str, path: str) -> None:
    """In the object, or in a member of it; JSON lines and single records have none."""
    assert path_of_records(text.encode()) == path


def test_row_numbers_of_pandas_are_no_column(tmp_path: Path) -> None:
    """A contract does not require them, and `check` names them; another index has values, and its column has a comment."""
    path, table = tmp_path / "data.csv", tmp_path / "data.parquet"
    rows, names = list(range(30)), [f"n{at}" for at in range(30)]
    path.write_text("Unnamed: 0,x\n" + "".join(f"{at},{at}\n" for at in rows))
    pq.write_table(pa.table({"x": rows, "__index_level_0__": rows, "__index_level_1__": names}), table)
    text, stored = drafted(path), drafted(table)

    remedy = "it numbers the rows, as pandas does: write files without it (index=False)"
    assert text.draft.left_out == (f"Unnamed: 0: {remedy}",)
    assert stored.draft.left_out == (f"__index_level_0__: {remedy}",)
    assert "name: __index_level_1__  # it seems to be the index of pandas" in stored.draft.text
    assert [reason.message for reason in judged(stored.plan, table).reasons] == [
        (
            "the file has columns the contract does not name: __index_level_0__; "
            "the file has the index of pandas (__index_level_0__): write it without (index=False)"
        )
    ]


def test_blanks_around_names_and_words_are_no_part_of_the_contract(tmp_path: Path) -> None:
    """The draft has the bare name and one word, says what it found, and rejects the file for the cause that `check` knows."""
    path = tmp_path / "data.csv"
    words = [*["Sales", "Research"] * 20, "Sales "]
    path.write_text("no, Dept \n" + "".join(f"{at},{word}\n" for at, word in enumerate(words)))
    found = drafted(path)
    said = judged(found.plan, path)

    assert found.draft.faults == (
        "' Dept ': its name begins or ends with a blank: remove that",
        "Dept: 1 value with blanks around a word that others have without: write them without",
    )
    assert (found.draft.columns, found.draft.left_out) == (2, ())
    assert "validValues: [Research, Sales]" in found.draft.text
    assert said.verdict is Verdict.REJECTED
    assert any("the header has blanks in the names: ' Dept ' should be Dept" in each.message for each in said.reasons)


def test_a_column_of_two_kinds_is_drafted_as_its_main_kind(tmp_path: Path) -> None:
    """Its other values are named by the draft, and their rows rejected alone; without a main kind it is left out by name."""
    path = tmp_path / "data.jsonl"
    prices = [f'"{at}.5"' if at % 10 == 0 else f"{at}.5" for at in range(60)]
    halves = [f'"{at}"' if at % 2 else str(at) for at in range(60)]
    path.write_text("".join(f'{{"price": {a}, "half": {b}}}\n' for a, b in zip(prices, halves, strict=True)))
    found = drafted(path)
    reason, unnamed = judged(found.plan, path).reasons

    kinds = "its values are of several kinds (54 numbers and 6 strings)"
    assert found.draft.faults == (f"price: {kinds}: write all of them as one kind (the draft has the commonest)",)
    assert found.draft.left_out == ("half: its values are of several kinds (30 numbers and 30 strings)",)
    assert "name: price\n        logicalType: number  # suggested: 90 % of 60\n" in found.draft.text
    assert "6 of 60 rows fail (10 %); written as texts, in quotes" in reason.message
    assert unnamed.message == "the file has columns the contract does not name: half"
    assert "onReject: rows  # suggested: rows with a value of another kind are kept apart; file: no row goes on\n" in (
        found.draft.text
    )
    assert "maxRejectedShare: 0.11  # suggested: 10 % of 60 have such a value\n" in found.draft.text
    assert "rowCount" not in found.draft.text  # corrected rows are delivered by themselves
    verdict = judged(found.plan, path)
    assert (verdict.verdict, verdict.rejected_rows) == (Verdict.ACCEPTED_WITH_WARNINGS, 6)


@pytest.mark.parametrize("form", ["many of another kind", "an array"])
def test_other_kinds_are_not_tolerated_where_they_are_many_or_rows_cannot_be_kept_apart(
    form: str, tmp_path: Path
) -> None:
    """The column is drafted as its main kind all the same, and the draft rejects the file with the reason."""
    path = tmp_path / "data.json"
    every = 3 if form.startswith("many") else 10
    rows = [{"price": str(at) if at % every == 0 else at} for at in range(60)]
    path.write_text(json.dumps(rows) if form == "an array" else "".join(f"{json.dumps(row)}\n" for row in rows))
    found = drafted(path)
    said = judged(found.plan, path)

    assert found.draft.left_out == ()
    assert f"{60 // every} strings" in found.draft.faults[0]
    assert "onReject" not in found.draft.text
    assert (said.verdict, [reason.fields for reason in said.reasons]) == (Verdict.REJECTED, [("price",)])


def test_words_that_differ_in_blanks_are_one(tmp_path: Path) -> None:
    """The list has the word without blanks, and the draft says which values have some."""
    path = tmp_path / "data.csv"
    path.write_text("id,dept\n" + "".join(f"{at},{('Sales', 'Sales ', 'HR', ' X')[at % 4]}\n" for at in range(60)))
    found = drafted(path)
    said = judged(found.plan, path)

    assert 'validValues: [" X", HR, Sales]' in found.draft.text
    assert [each.fields for each in said.reasons] == [("dept",)]
    assert "values with blanks around them" in said.reasons[0].message


def test_what_is_known_of_a_column_is_declared_by_its_bare_name(tmp_path: Path) -> None:
    """A key, and words for null that are values in one column, belong to the name that the draft gives it."""
    path = tmp_path / "data.csv"
    rows = [f"{at},{['NA', 'NE', 'NC'][at % 3]},{'NA' if at == 5 else at}" for at in range(30)]
    path.write_text("\n".join([" id , cc ,pop", *rows, ""]))
    text = drafted(path).draft.text

    assert "name: id\n        logicalType: integer  # suggested: 100 % of 30\n" in text
    assert "primaryKey: true" in text
    assert "nullValuesByColumn:" in text
    assert "cc: []" in text
