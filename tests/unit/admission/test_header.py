"""The first bytes of a delivery: what they are, and which columns they name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.admission.file_signatures import UnreadableError
from lakegate.admission.header import HEAD, columns_of, differ_in, first_line, refuse_other_header, text_of, why_no_keys
from lakegate.contract.file_formats import Csv, Storage
from lakegate.plan.result import Columns
from tests.deliveries.refusal import refusal_of

PLAIN = Csv()
DECLARED = ("id", "name", "city")


def refusal_of_header(head: bytes, csv: Csv = PLAIN) -> tuple[str, str]:
    def read() -> None:
        text = text_of(head, Storage(), csv) or b""
        columns_of(first_line(text, csv), csv, DECLARED, text)

    return refusal_of(read)


def test_a_header_of_physical_names_is_explained() -> None:
    """Where a file has none of the names, but columns by their `physicalName`, the refusal says so."""
    physical = {"id": "CUST_NO", "name": "CUST_NM"}
    hint = (
        "physical names (`physicalName`), where files have the `name`: 'CUST_NO' should be id, 'CUST_NM' should be name"
    )

    def read() -> None:
        columns_of("CUST_NO,CUST_NM,X", PLAIN, DECLARED, physical=physical)

    assert refusal_of(read) == ("header", f"the header has {hint}")
    assert why_no_keys([{"CUST_NO": 1}, {"CUST_NM": 2}], DECLARED, physical) == f"the keys have {hint}"


def test_records_in_a_list_of_one_line_are_declared_or_written_as_lines() -> None:
    """Only where the object is the whole file: `records` is of one object, and its name stands in the message where it is one."""
    words = "the records are a list in the key 'data' of one object: write each of them as a record of its own"
    wrapped = {"meta": 1, "data": [{"id": 1}]}
    hostile = {"ana@example.org": [{"id": 1}]}

    assert why_no_keys([wrapped], DECLARED, of_lines=True) == f"{words}, or declare format: json and records: data"
    assert why_no_keys([wrapped, wrapped], DECLARED, of_lines=True) == words
    assert why_no_keys([wrapped], DECLARED) == words
    assert why_no_keys([hostile], DECLARED, of_lines=True) == words.replace("data", "aaa@aaaaaaa.aaa")


@pytest.mark.parametrize(
    ("head", "code", "words"),
    [
        (b"", "empty", "not even a header"),
        (b"\x1f\x8b\x08", "gzip", "gzip-compressed"),
        (b"PK\x03\x04", "zip", "an Excel workbook is one too"),
        (
            b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml",
            "workbook",
            "save each sheet as CSV (in Excel: CSV UTF-8)",
        ),
        (b"\xff\xfei\x00d\x00", "encoding", "UTF-16 or UTF-32: save the file as UTF-8 (in Excel: CSV UTF-8)"),
        (b"x" * HEAD, "too-long", "does not end within"),
        (b"id,name\r1,a\r", "line-ends", "CR alone"),
        (b"id,na\xffme\n", "encoding", "declare csv.encoding: windows-1252, in which it can be read"),
        (b"id,na\x81me\n", "encoding", "save the file as UTF-8 (in Excel: CSV UTF-8)"),
        (b"id,name,id\n", "header", "names the column 'id' twice"),
        (b"id,,,\n", "header", "3 columns without a name: remove the empty columns"),
        (b'id,"name\n', "header", "quotes that do not close"),
        (b'id,"na"me\n', "header", "quotes that do not close"),
        (b"\n", "header", "needs a header line"),
        (b"1,a,b\n", "header", "needs a header line"),
        (b"\n\nid,name,city\n", "header", "the header stands in line 3: remove what is above it"),
        (b"Customers of 2024\nid,name,city\n", "header", "the header stands in line 2"),
        (b"1,a,b\n", "header", "the first line holds values"),
        (b"1,a,b\n", "header", "(id, name, city), or the contract csv.header: false"),
        (
            b"colour,size\n",
            "header",
            "names none of the declared columns (id, name, city): the file needs a header line",
        ),
        (b"colour,size\n", "header", "checked against a wrong contract?"),
        (
            b"colour;size;weight\n",
            "header",
            "the values are separated by a semicolon, although the contract declares a comma",
        ),
        (b"sep=;\nid;name\n", "header", "the first line is a note to Excel"),
        (b'{"id": "A-17", "name": "Ana"}\n', "header", "declare format: jsonl"),
        (b'[\n {"id": "A-17", "name": "Ana"}]\n', "header", "the file is JSON, although the contract promises CSV"),
        (b"<!DOCTYPE html>\n<html>", "header", "the file is HTML or XML"),
        (b"\xef\xbb\xbf", "header", "nothing but blanks"),
        (b"\n \r\n\n", "header", "nothing but blanks"),
        (b"\0" * 100, "encoding", "begins with zero bytes"),
        (b"ID,Name,CITY\n", "header", "another case: 'ID' should be id, 'Name' should be name, 'CITY' should be city"),
        (b" id , name,city \n", "header", "blanks in the names: ' id ' should be id"),
        (b"ID;Name\n", "header", "separated by a semicolon, although the contract declares a comma"),
        (b"id;name\n", "header", "separated by a semicolon, although the contract declares a comma"),
    ],
)
def test_what_is_no_header_is_refused_with_what_to_do(head: bytes, code: str, words: str) -> None:
    """Each way to be no CSV of the dataset has a code and a sentence with its remedy."""
    found, message = refusal_of_header(head)

    assert code == found
    assert words in message


@pytest.mark.parametrize(
    ("skipped", "head", "code", "message"),
    [
        (
            0,
            b"List\n\nid,name,city\n",
            "header",
            (
                "the header stands in line 3: remove what is above it, for the file needs a header line first, "
                "or declare csv.skipRows: 2"
            ),
        ),
        (
            3,
            b"\xef\xbb\xbfid,name,city\n1,a,b\n2,b,c\n3,c,d\n",
            "header",
            (
                "the header stands in line 1, although the contract declares it in line 4 (csv.skipRows: 3): "
                "write 3 lines above it, or declare csv.skipRows: 0"
            ),
        ),
        (
            1,
            b"A\n\x0c\n\r\nID,Name,CITY\n1,a,b\n",
            "header",
            (
                "the header stands in line 4, although the contract declares it in line 2 (csv.skipRows: 1): "
                "write 1 line above it, or declare csv.skipRows: 3"
            ),
        ),
        (
            2,
            b"id,name,city\n1,a,b",
            "header",
            (
                "the file has 2 lines, although the contract skips 2 above the header (csv.skipRows): "
                "write them, or declare how many there are"
            ),
        ),
        (
            1,
            b"Report\n",
            "header",
            (
                "the file has 1 line, although the contract skips 1 above the header (csv.skipRows): "
                "write them, or declare how many there are"
            ),
        ),
        (
            1,
            b"\xef\xbb\xbf",
            "header",
            (
                "the file has no line, although the contract skips 1 above the header (csv.skipRows): "
                "write them, or declare how many there are"
            ),
        ),
        (
            1,
            b"Report\n1,a,b\n",
            "header",
            (
                "line 2 (csv.skipRows: 1) holds values, and names none of the declared columns: the file needs a header line "
                "(id, name, city), or the contract csv.header: false"
            ),
        ),
        (
            1,
            b"Report\rid,name\r1,a\r",
            "line-ends",
            "the lines end in CR alone: save the file with LF or CRLF line ends",
        ),
        (
            1,
            b"R\n" + b"x" * HEAD,
            "too-long",
            "line 2 (csv.skipRows: 1) does not end within 262,144 bytes: is this a CSV file?",
        ),
    ],
)
def test_a_header_below_other_lines_is_looked_for_in_its_line(
    skipped: int, head: bytes, code: str, message: str
) -> None:
    """Where it stands in another one, the message has both numbers; they are those of the lines of the file."""
    assert refusal_of_header(head, Csv(skip_rows=skipped)) == (code, message)


def test_values_of_json_are_not_shown() -> None:
    """The first line of JSON has values beside its keys, which resemble the declared names: none is in the message."""
    _, message = refusal_of_header(b'{"id": "A-17", "name": "Ana", "city": "Rio"}\n')

    assert not any(value in message for value in ("A-17", "Ana", "Rio"))


@pytest.mark.parametrize(
    ("lines", "part", "words"),
    [
        (["id,name", "id,name,city"], 1, "it has 'city' beside"),
        (["id,name,city", "id,name", "id,name"], 0, "it has 'city' beside"),
        (["id,name", "id,name", "id,town"], 2, "it lacks name and has 'town' beside"),
        (["id,name", "name,id"], 1, "another order or other quotes"),
        (["id,name", 'id,"name"'], 1, "another order or other quotes"),
    ],
)
def test_the_object_whose_header_is_another_is_named(lines: list[str], part: int, words: str) -> None:
    """It is the first that has not the header that most objects have, and the message says how it differs."""
    with pytest.raises(UnreadableError) as caught:
        refuse_other_header(lines, PLAIN)

    assert caught.value.finding.part == part
    assert words in caught.value.finding.message


@pytest.mark.parametrize("line", ["city\tplace", "other|one|more"])
def test_a_single_declared_column_tells_no_delimiter(line: str) -> None:
    """Where one column is declared, a line of several values is none of another delimiter by their number alone."""
    with pytest.raises(UnreadableError) as caught:
        columns_of(line, PLAIN, ("colour",))

    assert "names none of the declared columns (colour)" in caught.value.finding.message


def test_a_contract_without_columns_is_told_so() -> None:
    """The header cannot be wrong where the contract names no column."""
    with pytest.raises(UnreadableError) as caught:
        columns_of("id,name", PLAIN, ())

    assert caught.value.finding.message == "the contract names no columns of this dataset: list them there"


def test_an_unusual_delimiter_is_named_as_it_is() -> None:
    """A delimiter that has no name of its own is shown."""
    _, message = refusal_of_header(b"id,name\n", Csv(delimiter="~"))

    assert "although the contract declares '~'" in message


@pytest.mark.parametrize(
    ("head", "csv", "line"),
    [
        (b"id,name\r\n1,a\r\n", PLAIN, "id,name"),
        (b"id,name", PLAIN, "id,name"),
        (b"\xef\xbb\xbfid,name\n", Csv(), "id,name"),
        (b'id,"na\nme"\n1,2\n', Csv(multi_line=True), 'id,"na\nme"'),
        (b'id,"na\r\nme"\r\n', Csv(multi_line=True), 'id,"na\r\nme"'),
        (b'id,"name\n', Csv(multi_line=True), 'id,"name'),
        ("straße,id\n".encode("latin-1"), Csv(encoding="latin-1"), "straße,id"),
        (b"1,a\r2\n", Csv(header=False), "1,a\r2"),
        (b'\xef\xbb\xbf"\n\xff\r\nid,name\r\n1,2\n', Csv(skip_rows=2), "id,name"),
        (b'"\nid,"na\nme"\n1,2\n', Csv(skip_rows=1, multi_line=True), 'id,"na\nme"'),
        (b"Report\n1,2\n", Csv(skip_rows=1, header=False), "1,2"),
    ],
)
def test_the_first_line_is_read_as_the_contract_says(head: bytes, csv: Csv, line: str) -> None:
    """Line ends of both kinds, none, a mark that was promised, and the promised encoding."""
    assert line == first_line(head, csv)


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ("id,name,city", Columns(("id", "name", "city"))),
        ("city,id", Columns(("city", "id"), absent=("name",), reordered=True)),
        ('id,"na,me",name', Columns(("id", "na,me", "name"), absent=("city",), extra=("na,me",))),
    ],
)
def test_columns_are_bound_by_name(line: str, columns: Columns) -> None:
    """What is lacking, what is there beside, and whether the order is another."""
    assert columns == columns_of(line, PLAIN, DECLARED)


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ({"order_id": " order_id"}, "blanks in the names"),
        ({"order_id": "Order_ID"}, "another case"),
        ({"order_id": "order id"}, "another spelling"),
        ({"order id": "order_id"}, "another spelling"),
        ({"order_id": "Order_ID", "name": "naem"}, "another spelling"),
    ],
)
def test_a_difference_of_names_is_described(pairs: dict[str, str], words: str) -> None:
    """Blanks, case and spelling are different mistakes; of several, the gravest is named."""
    assert differ_in(pairs) == words


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (b"\xff\xfei\x00d\x00", "the file is UTF-16 or UTF-32: save the file as Windows-1252 (in Excel: CSV)"),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "save each sheet as CSV (in Excel: CSV)"),
    ],
)
def test_the_remedy_is_the_encoding_that_the_contract_declares(head: bytes, words: str) -> None:
    """What is saved as the message says is not refused for its encoding."""
    assert words in refusal_of_header(head, replace(PLAIN, encoding="windows-1252"))[1]
