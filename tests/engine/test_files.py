"""Files of another shape than promised: each ends in a verdict with a reason, never in a pass and never in silence."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable

import pytest

from lakegate.contract.delivery_policy import FieldTreatment, Policy
from lakegate.contract.file_formats import Csv
from lakegate.plan.plan import Plan
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule

FIELDS = {"id": "integer", "name": "string"}
PLAIN = plan_of(FIELDS)
MULTI_LINE = plan_of(FIELDS, csv=Csv(multi_line=True))
LATIN = plan_of(FIELDS, csv=Csv(encoding="iso-8859-1"))
SEMICOLONS = plan_of(FIELDS, csv=Csv(delimiter=";"))
TITLED = plan_of(FIELDS, csv=Csv(skip_rows=2))
HEADLESS = plan_of(FIELDS, csv=Csv(header=False))
ONE_COLUMN = plan_of({"name": "string"})
NULLS = plan_of(FIELDS, rule("required", "name"), csv=Csv(null_values=("NA", "-")))
NEEDED = plan_of(FIELDS, rule("required", "id"), rule("required", "name"))
MAY_BE_EMPTY = plan_of(FIELDS, policy=Policy(allow_empty=True))
STRICT_COLUMNS = plan_of(FIELDS, policy=Policy(additional_fields=FieldTreatment.FORBID))

GOOD = b"id,name\n1,Ana\n2,Rui\n"
ANA = "1,Ana\n"


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("good.csv", GOOD)
    return archive.getvalue()


UNREADABLE: dict[str, tuple[Plan, bytes, str]] = {
    "zero bytes": (PLAIN, b"", "the file is empty"),
    "zero bytes where no rows are allowed": (MAY_BE_EMPTY, b"", "the file is empty"),
    "gzip bytes": (PLAIN, gzip.compress(GOOD), "gzip-compressed"),
    "bzip2 bytes": (PLAIN, bz2.compress(GOOD), "bzip2-compressed"),
    "a zip archive": (PLAIN, zipped(), "a zip archive"),
    "parquet bytes": (PLAIN, b"PAR1" + bytes(40) + b"PAR1", "a Parquet file"),
    "a byte order mark of another encoding": (LATIN, b"\xef\xbb\xbf" + GOOD, "or declare csv.encoding: utf-8"),
    "UTF-32": (PLAIN, GOOD.decode().encode("utf-32"), "UTF-32: save the file as UTF-8 (in Excel: CSV UTF-8)"),
    "UTF-32 of big endian": (PLAIN, b"\0\0\xfe\xff" + GOOD.decode().encode("utf-32-be"), "UTF-32"),
    "lines that end in CR CR LF": (PLAIN, GOOD.replace(b"\n", b"\r\r\n"), "lines end in CR CR LF"),
    "the declared names where no header is declared": (HEADLESS, GOOD, "or declare csv.header: true"),
    "values in place of a header": (
        plan_of({"a": "string", "b": "string"}),
        b"x,y\n",
        "or the contract csv.header: false",
    ),
    "UTF-16": (PLAIN, GOOD.decode().encode("utf-16"), "UTF-16"),
    "a header that is Latin-1": (
        PLAIN,
        "id,nome,ação\n1,a,b\n".encode("iso-8859-1"),
        "save the file as UTF-8 (in Excel: CSV UTF-8)",
    ),
    "no header": (PLAIN, b"1,Ana\n2,Rui\n", "needs a header line"),
    "another delimiter": (
        PLAIN,
        b"id;name\n1;Ana\n",
        "separated by a semicolon, although the contract declares a comma",
    ),
    "a comma where the contract declares a semicolon": (SEMICOLONS, GOOD, "separated by a comma"),
    "a column named twice": (PLAIN, b"id,name,name\n1,a,b\n", "names the column 'name' twice"),
    "a header whose quote does not close": (PLAIN, b'id,"name\n1,Ana\n', "quotes that do not close"),
    "30,000 commas in the first line": (PLAIN, b"," * 30_000 + b"\n", "needs a header line"),
    "a first line without end": (PLAIN, b"id," + b"x" * (1 << 19), "does not end within"),
    "a lone CR for every line end": (PLAIN, GOOD.replace(b"\n", b"\r"), "lines end in CR alone"),
    "fewer lines than are skipped": (TITLED, b"Report\n", "the file has 1 line, although the contract skips 2"),
    "no lines where some are skipped": (TITLED, GOOD, "the header stands in line 1, although the contract declares it"),
    "blank lines before the header": (PLAIN, b"\n\n" + GOOD, "needs a header line"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_such_file_is_rejected_with_words_that_help(name: str, judge_files: Callable[..., Judged]) -> None:
    """Bytes that are no CSV file of this dataset are rejected before any scan, with one reason that contains the remedy."""
    plan, content, words = UNREADABLE[name]

    judged = judge_files(plan, content)

    assert Verdict.REJECTED is judged.verdict
    assert [each.id for each in judged.judgement.reasons] == ["file/readable"]
    assert words in judged.reasons


BROKEN: dict[str, tuple[Plan, bytes, list[tuple[str, int, int]]]] = {
    "records too short and too long": (PLAIN, b"id,name\n1,Ana\n2\n3,Eva,x\n", [("fields", 2, 3)]),
    "Latin-1 bytes under UTF-8": (PLAIN, "id,name\n1,Ana\n2,João\n".encode("iso-8859-1"), [("encoding", 1, 3)]),
    "bytes that windows-1252 does not know": (
        plan_of(FIELDS, csv=Csv(encoding="windows-1252")),
        b"id,name\n1,Ana\n2,Jo\x81o\n",
        [("encoding", 1, 3)],
    ),
    "a line break in quotes, which the contract does not allow": (PLAIN, b'id,name\n1,"A\nna"\n', [("quotes", 2, 2)]),
    "a quote in the middle of a value": (PLAIN, b'id,name\n1,A"n"a\n2,Rui\n', [("quotes", 1, 2)]),
    "text after a closing quote": (PLAIN, b'id,name\n1,"Ana" Maria\n', [("quotes", 1, 2)]),
    "a quote that never closes": (MULTI_LINE, b'id,name\n1,"Ana\n2,Rui\n3,Eva\n', [("quotes", 1, 2)]),
    "a quote that never closes on the last line": (MULTI_LINE, b'id,name\n1,Ana\n2,"', [("quotes", 1, 3)]),
    "NUL characters": (PLAIN, b"id,name\n1,A\x00na\n2,Rui\n", [("nul", 1, 2)]),
    "a line of 10 MB": (PLAIN, b"id,name\n1,Ana\n2," + b"x" * 10_000_000 + b"\n", [("too_long", 1, 3)]),
    "a lone CR inside a value": (PLAIN, b"id,name\n1,A\rna\n", [("line-ends", 1, 2)]),
    "a lone CR inside quotes": (PLAIN, b'id,name\n1,"A\rna"\n', [("quotes", 1, 2)]),
    "a lone CR outside quotes where breaks are allowed": (
        MULTI_LINE,
        b'id,name\n1,A\rna\n2,"R"\n',
        [("line-ends", 1, 2)],
    ),
    "30,000 commas in a record": (PLAIN, GOOD + b"," * 30_000 + b"\n", [("fields", 1, 4)]),
    "a second header in the middle": (HEADLESS, b"1,Ana\nid\n", [("fields", 1, 2)]),
    "a short record below lines above the header": (TITLED, b"Report\n\n" + GOOD + b"3\n", [("fields", 1, 6)]),
    "several flaws, each counted apart": (
        PLAIN,
        b'id,name\n1,"x\n\xff,y\n3\n4,\x00\n',
        [("encoding", 1, 3), ("fields", 1, 4), ("nul", 1, 5), ("quotes", 1, 2)],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_records_are_counted_by_flaw_and_never_guessed_at(name: str, judge_files: Callable[..., Judged]) -> None:
    """A record that breaks the grammar rejects the file; each flaw is counted, with the first line that has it."""
    plan, content, flaws = BROKEN[name]

    judged = judge_files(plan, content)

    assert Verdict.REJECTED is judged.verdict
    assert flaws == [(each.reason, each.rows, each.first_row) for each in judged.result.malformed]
    assert Status.FAIL is judged.statuses()["file/records"]
    assert sum(rows for _, rows, _ in flaws) == judged.result.rejected_rows


ACCEPTED: dict[str, tuple[Plan, bytes, int]] = {
    "a plain file": (NEEDED, GOOD, 2),
    "no line end after the last record": (NEEDED, GOOD[:-1], 2),
    "CRLF": (NEEDED, GOOD.replace(b"\n", b"\r\n"), 2),
    "blank lines between and after records": (NEEDED, b"id,name\n\n1,Ana\n\r\n\n2,Rui\n\n", 2),
    "a byte order mark": (NEEDED, b"\xef\xbb\xbf" + GOOD, 2),
    "a byte order mark without a header": (HEADLESS, b"\xef\xbb\xbf" + b"1,Ana\n", 1),
    "a header with a line break in quotes": (MULTI_LINE, b'id,"free\n""note""",name\n1,x,Ana\n2,y,Rui\n', 2),
    "Latin-1 that the contract names": (LATIN, "id,name\n1,João\n".encode("iso-8859-1"), 1),
    "semicolons that the contract names": (SEMICOLONS, GOOD.replace(b",", b";"), 2),
    "no header, as the contract declares": (HEADLESS, b"1,Ana\n2,Rui\n", 2),
    "a line break in quotes that the contract allows": (MULTI_LINE, b'id,name\n1,"A\r\nna"\n2,Rui\n', 2),
    "quotes, delimiters and doubled quotes inside quotes": (NEEDED, b'id,name\n"1","A ""x"", y"\n2,""""\n', 2),
    "a replacement character that really stands there": (NEEDED, "id,name\n1,\ufffd\n".encode(), 1),
    "only a header where no rows are allowed": (MAY_BE_EMPTY, b"id,name\n", 0),
    "only a header without a line end": (MAY_BE_EMPTY, b"id,name", 0),
    "lines above the header, whatever they hold": (TITLED, b'"Report\xff\0\n\n' + GOOD, 2),
    "lines above the header, CRLF and a mark": (TITLED, b"\xef\xbb\xbf1,2,3\r\n\r\n" + GOOD.replace(b"\n", b"\r\n"), 2),
    "a column of nothing but nulls": (PLAIN, b"id,name\n1,\n2,\n", 2),
    "records of a single column": (ONE_COLUMN, b"name\nAna\n\nRui\n", 3),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_but_good_files_are_accepted(name: str, judge_files: Callable[..., Judged]) -> None:
    """Files that the contract allows pass, with every record counted."""
    plan, content, rows = ACCEPTED[name]

    judged = judge_files(plan, content)

    assert (Verdict.ACCEPTED, "", rows) == (judged.verdict, judged.reasons, judged.result.rows)


COLUMNS: dict[str, tuple[Plan, bytes, Verdict, str]] = {
    "a missing column that a rule names": (NEEDED, b"id\n1\n", Verdict.REJECTED, "the file has no column name"),
    "a missing column without rules": (
        PLAIN,
        b"id\n1\n",
        Verdict.ACCEPTED_WITH_WARNINGS,
        "the file has no column name",
    ),
    "a misspelt column": (NEEDED, b"id,nmae\n1,Ana\n", Verdict.REJECTED, "'nmae' should be name"),
    "columns in another order": (NEEDED, b"name,id\nAna,1\n", Verdict.ACCEPTED_WITH_WARNINGS, "another order"),
    "an extra column": (NEEDED, b"id,name,more\n1,Ana,x\n", Verdict.ACCEPTED, ""),
    "an extra column that is forbidden": (STRICT_COLUMNS, b"id,name,more\n1,Ana,x\n", Verdict.REJECTED, "more"),
    "two names that differ by case": (
        plan_of({"id": "integer", "ID": "string"}),
        b"ID,id\nx,1\n",
        Verdict.ACCEPTED_WITH_WARNINGS,
        "another order",
    ),
    "no rows": (PLAIN, b"id,name\n", Verdict.REJECTED, "holds no rows"),
    "nothing but blank lines after the header": (PLAIN, b"id,name\n\n\n", Verdict.REJECTED, "holds no rows"),
    "an empty value where one is required": (NEEDED, b"id,name\n1,\n", Verdict.REJECTED, "name: wanted present"),
    "a quoted empty value where one is required": (NEEDED, b'id,name\n1,""\n', Verdict.ACCEPTED, ""),
    "a text that the contract takes for null": (
        NULLS,
        b"id,name\n-,Ana\n2,NA\n",
        Verdict.REJECTED,
        "name: wanted present",
    ),
    "a quoted number that is empty": (PLAIN, b'id,name\n"",Ana\n', Verdict.REJECTED, "id: wanted"),
    "a header that comes again": (PLAIN, GOOD + GOOD, Verdict.REJECTED, "id: wanted"),
    "blanks around a number": (PLAIN, b"id,name\n 1,Ana\n", Verdict.REJECTED, "id: wanted"),
    "a header with blanks": (NEEDED, b"id, name\n1,Ana\n", Verdict.REJECTED, "' name' should be name"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_are_bound_by_name_and_values_taken_as_written(name: str, judge_files: Callable[..., Judged]) -> None:
    """Columns are found by their names in any order, and missing, misspelt or empty ones are reported."""
    plan, content, verdict, words = COLUMNS[name]

    judged = judge_files(plan, content)

    assert verdict is judged.verdict
    assert words in judged.reasons


OTHERS: dict[str, tuple[tuple[bytes, ...], int, str]] = {
    "a column more": ((GOOD, GOOD, b"id,name,city\n1,Ana,Rio\n"), 2, "it has 'city' beside"),
    "notes that come first": ((b"read me\n", GOOD, GOOD), 0, "names none of the declared columns"),
    "JSON lines": ((GOOD, b'{"id": 1, "name": "Ana"}\n'), 1, "the file is JSON"),
    "no header": ((GOOD, b"1,Ana\n"), 1, "the first line holds values"),
    "another delimiter": ((GOOD, b"id;name\n1;Ana\n"), 1, "the columns are separated by a semicolon"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_object_with_another_header_is_named(name: str, judge_files: Callable[..., Judged]) -> None:
    """A folder of a hundred files is refused with the one that does not belong to it, and with what that is instead."""
    contents, part, words = OTHERS[name]

    found = judge_files(PLAIN, *contents).result.unreadable

    assert found is not None
    assert (found.code, found.part) == ("header", part)
    assert words in found.message
