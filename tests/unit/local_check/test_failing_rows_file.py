"""Rows that fail, whole, in each kind of file: all of them, with their place and reasons, and good ones in none."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.local_check.failing_rows_file import cell

CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: shop
version: 1.0.0
status: active
name: Shop
schema:
  - name: orders
    logicalType: object
    properties:
      - {name: id, logicalType: string, unique: true}
      - {name: amount, logicalType: integer, logicalTypeOptions: {minimum: 1}}
customProperties: [{property: lakegate, value: EXTENSION}]
"""
TYPE, LEAST, UNIQUE = "amount:type:1/amount", "amount:minimum:1/amount", "id:unique:1/id"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, name: str, extension: str, *files: tuple[str, bytes]) -> str:
    """What the command says last about a file of the failing rows of a delivery."""
    (folder / "shop.yaml").write_text(CONTRACT.replace("EXTENSION", extension))
    for file, content in files:
        (folder / file).write_bytes(content)
    words = ["check", "--contract", "shop.yaml", *(file for file, _ in files), "--failures", name]
    answer = CliRunner(env={"COLUMNS": "200"}).invoke(app, words, catch_exceptions=False)
    return next(line for line in answer.stdout.splitlines() if line.startswith(name))


EXPORT = 'id;amount\nMüller;x\nSmith;2\n"a;b";0\nSmith;3\n=cmd;-1\nonly one\n'.encode("windows-1252")
ERP = "{csv: {delimiter: ';', encoding: windows-1252}}"


def test_lines_of_a_delivery_are_its_own_bytes(folder: Path) -> None:
    """In its dialect and encoding, behind their place and reasons: corrected, they can be delivered again."""
    assert written(folder, "bad.csv", ERP, ("a.csv", EXPORT)) == "bad.csv: 6 rows written"
    assert (folder / "bad.csv").read_bytes() == (
        "_row;_part;_reasons;id;amount\n"
        f'2;0;"{TYPE}";Müller;x\n'
        f'3;0;"{UNIQUE}";Smith;2\n'
        f'4;0;"{LEAST}";"a;b";0\n'
        f'5;0;"{UNIQUE}";Smith;3\n'
        f'6;0;"{LEAST}";=cmd;-1\n'
        '7;0;"file/records";only one\n'
    ).encode("windows-1252")


def test_no_spreadsheet_computes_a_cell(folder: Path) -> None:
    """The file begins with a mark of UTF-8, has commas, and no formula; a line that has other values stands whole at the end."""
    written(folder, "bad.excel.csv", ERP, ("a.csv", EXPORT))
    text = (folder / "bad.excel.csv").read_bytes()
    rows = list(csv.reader(text.decode("utf-8-sig").splitlines()))

    assert text.startswith(b"\xef\xbb\xbf")
    assert rows == [
        ["_row", "_part", "_reasons", "id", "amount", "_record"],
        ["2", "0", TYPE, "Müller", "x", ""],
        ["3", "0", UNIQUE, "Smith", "2", ""],
        ["4", "0", LEAST, "a;b", "0", ""],
        ["5", "0", UNIQUE, "Smith", "3", ""],
        ["6", "0", LEAST, "'=cmd", "-1", ""],
        ["7", "0", "file/records", "", "", "only one"],
    ]


def test_a_value_of_several_lines_is_one_cell_of_several_lines(folder: Path) -> None:
    """As spreadsheets write them: with LF; what begins like a formula in a line is text there, too."""
    content = b'id;amount\r\n"a\r\nb\r\n =cmd";x\r\n'
    written(folder, "bad.excel.csv", "{csv: {delimiter: ';', multiLine: true}}", ("a.csv", content))

    assert b'"a\nb\n\' =cmd",x' in (folder / "bad.excel.csv").read_bytes()


def test_a_table_of_text_has_texts(folder: Path) -> None:
    """Parquet for a program; of several files each row says which one it is from."""
    files = [("a.csv", b"id,amount\na,x\n"), ("b.csv", b"id,amount\nb,1\nc,0\n")]
    written(folder, "bad.parquet", "{delivery: quiet}", *files)

    assert pq.read_table(folder / "bad.parquet").to_pydict() == {
        "_row": [2, 3],
        "_part": [0, 1],
        "_reasons": [TYPE, LEAST],
        "id": ["a", "c"],
        "amount": ["x", "0"],
        "_record": [None, None],
    }


def test_records_of_json_are_kept_unchanged(folder: Path) -> None:
    """As the gate writes them apart: what is no JSON is a text."""
    lines = b'{"id": "a", "amount": 1}\n{"amount":  0, "id":"b"}\n{"id": \n'
    written(folder, "bad.jsonl", "{format: jsonl}", ("a.jsonl", lines))

    assert (folder / "bad.jsonl").read_text() == (
        f'{{"_row": 2, "_part": 0, "_reasons": "{LEAST}", "_record": {{"amount":  0, "id":"b"}}}}\n'
        '{"_row": 3, "_part": 0, "_reasons": "file/records", "_record": "{\\"id\\": "}\n'
    )


def parquet(folder: Path) -> bytes:
    table = pa.table({"id": ["a", "b"], "amount": pa.array([1, 0], pa.int32()), "more": [[b"\x01"], None]})
    pq.write_table(table, folder / "whole.parquet")
    return (folder / "whole.parquet").read_bytes()


@pytest.mark.parametrize("name", ["bad.parquet", "bad.csv", "bad.jsonl"])
def test_a_table_keeps_its_columns(folder: Path, name: str) -> None:
    """With the types of the file in Parquet; every column, also one that the contract does not name."""
    written(folder, name, "{format: parquet}", ("a.parquet", parquet(folder)))
    if name == "bad.parquet":
        found = pq.read_table(folder / name)
        assert (found.schema.field("amount").type, found.num_rows) == (pa.int32(), 1)
        row = found.to_pylist()[0]
    else:
        text = (folder / name).read_text()
        row = json.loads(text) if name == "bad.jsonl" else next(csv.DictReader(text.splitlines()))
        row = {
            key: None if value == "" else int(value) if key in {"_row", "_part", "amount"} else value
            for key, value in row.items()
        }

    assert row == {"_row": 2, "_part": 0, "_reasons": LEAST, "id": "b", "amount": 0, "more": None}


def test_a_file_without_failing_rows_is_not_written(folder: Path) -> None:
    """Nor does one of an earlier call stay, which would be taken for these rows."""
    (folder / "bad.csv").write_text("old")

    assert written(folder, "bad.csv", "{}", ("a.csv", b"id,amount\na,1\n")) == (
        "bad.csv: not written, because no single row is to blame"
    )
    assert not (folder / "bad.csv").exists()


def test_a_disk_that_takes_no_file_is_named(folder: Path) -> None:
    """One sentence, and no traceback."""
    (folder / "shop.yaml").write_text(CONTRACT.replace("EXTENSION", "{}"))
    (folder / "a.csv").write_bytes(b"id,amount\na,x\n")
    answer = CliRunner().invoke(app, ["check", "--contract", "shop.yaml", "a.csv", "--failures", "/proc/bad.csv"])

    assert isinstance(answer.exception, InputError)
    assert str(answer.exception).startswith("--failures /proc/bad.csv cannot be written: ")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("=1+1", "'=1+1"),
        ("\uff1d1+1", "'\uff1d1+1"),
        ("\uff0b1", "'\uff0b1"),
        ("\uff0d1", "'\uff0d1"),
        ("\uff20a", "'\uff20a"),
        ("  =1", "'  =1"),
        ("\t=1", "'  =1"),
        ("a;=1", "a;'=1"),
        ("a|\uff1d1", "a|'\uff1d1"),
        ("a\r=1", "a\\r=1"),
        ("\x1b[2J\x9b1A\u202e", "\\x1b[2J\\x9b1A\\u202e"),
        ("-1", "-1"),
        ("-1.5", "-1.5"),
        ("-1+x", "'-1+x"),
        ("a=1", "a=1"),
    ],
)
def test_what_a_spreadsheet_would_compute_is_text(value: str, written: str) -> None:
    """At the beginning and behind what divides cells elsewhere; nothing moves a cursor."""
    assert cell(value) == written
