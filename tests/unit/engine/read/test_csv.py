"""The reader agrees with Python's own CSV reader on random text, in any division into shares and blocks."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lakegate.engine.read.csv as csv_source
from lakegate.admission.file_signatures import BOM
from lakegate.contract.contract_model import Contract, Dataset, Field, Origin
from lakegate.contract.file_formats import Csv, NullWords
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.read.csv import open_csv
from lakegate.engine.read.data_source import Malformed
from lakegate.engine.read.read_bounds import LONGEST_RECORD
from lakegate.engine.read.text_source import record_ends
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import plan_of
from tests.reference.lexical import parse, separated
from tests.unit.engine.read.opened import read

Record = tuple[int, list[str | None]]
"""The line of a record, from 0, and its texts."""


class Memory:
    """One object in memory (`lakegate.engine.read.data_source.Store`)."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def size(self, _: str) -> int:
        return len(self.content)

    def part(self, _: str, start: int, length: int) -> bytes:
        return self.content[start : start + length]

    def stream(self, _: str) -> io.BytesIO:
        return io.BytesIO(self.content)


def text_plan(names: str, dialect: Csv) -> Plan:
    columns = tuple(Field(name, LogicalType.STRING, Origin("$")) for name in names)
    dataset = Dataset("rows", columns, (), Origin("$"), csv=dialect)
    return compile_plan(Contract("reading", "1.0.0", "test", (dataset,)), dataset)


def read_records(plan: Plan, content: bytes) -> tuple[list[Record], list[Malformed], int]:
    """The records of an object, its malformed records by reason and first line, and its lines."""
    source = open_csv(plan, (StagedPart("memory:", len(content)),), Memory(content), [content])
    records: list[Record] = []
    malformed: dict[str, Malformed] = {}
    lines = size = 0
    for share in source.shares:
        before = lines
        for chunk in source.chunks(share):
            rows = chunk.records.column("row").to_pylist()
            texts = [
                chunk.records.column(field.alias).to_pylist()
                for field in plan.columns
                if field.alias in chunk.records.column_names
            ]
            records += [(before + row, list(values)) for row, *values in zip(rows, *texts, strict=True)]
            for each in chunk.malformed:
                known = malformed.get(each.reason)
                found = replace(each, lines=tuple(before + line for line in each.lines))
                malformed[each.reason] = known.with_more(found) if known else found
            lines += chunk.lines
            size += chunk.size
    assert size == len(content)
    return records, [malformed[reason] for reason in sorted(malformed)], lines


LINE = text_plan("abc", Csv(header=False))
RECORD = text_plan("abc", Csv(header=False, multi_line=True))
pieces = st.lists(st.sampled_from([*'ab1,"\r é\ufffd', '"a"', '"",', ',""', '""""', "\x00"]), max_size=3).map("".join)
written_lines = st.lists(st.tuples(pieces, pieces, pieces).map(",".join), max_size=40)
"""Lines near the borders of the grammar."""
cells = st.none() | st.tuples(
    st.lists(st.sampled_from(["a", "1", ",", '"', "\n", "\r\n", "\r", " ", "é", "😀", ""]), max_size=5).map("".join),
    st.booleans(),
)
"""Nothing at all, or a text and whether it is quoted without need."""


def spelt(cell: tuple[str, bool] | None) -> str:
    if cell is None:
        return ""
    text, quoted = cell
    needs_quotes = not text or any(mark in text for mark in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if quoted or needs_quotes else text


@given(written_lines)
def test_no_line_is_read_otherwise_than_python_reads_it(written: list[str]) -> None:
    """A line is malformed, blank, or its values are those that Python's strict reader finds: nothing is guessed."""
    records, malformed, lines = read_records(LINE, "".join(f"{line}\n" for line in written).encode())
    blank = sum(line in {"", "\r"} for line in written)

    assert len(written) == lines == len(records) + sum(each.rows for each in malformed) + blank
    for row, values in records:
        assert next(csv.reader([written[row].removesuffix("\r")], strict=True)) == [value or "" for value in values]


@given(st.lists(st.text(st.sampled_from("a,é\x80\xff\0\ufffd"), max_size=5), min_size=1, max_size=12), st.data())
def test_lines_that_are_no_text_are_those_that_python_cannot_decode(texts: list[str], data: st.DataObject) -> None:
    """Each line is judged alone: a NUL, then bytes that are no UTF-8; lines beside it keep their values."""
    codecs = [data.draw(st.sampled_from(["utf-8", "utf-8", "latin-1"])) for _ in texts]
    written = [text.encode(codec, errors="replace") for text, codec in zip(texts, codecs, strict=True)]
    good, flaws = [], []
    for at, line in enumerate(written):
        if b"\0" in line:
            flaws.append(("nul", at))
        elif line.decode(errors="replace").encode() != line:
            flaws.append(("encoding", at))
        elif b"," in line:
            flaws.append(("fields", at))
        else:
            good.append(line.decode() or None)

    found = csv_source.parse(b"".join(line + b"\n" for line in written), csv_source.Dialect.of(Csv()), 1, [0])
    assert found.table.column("x0").to_pylist() == good
    assert sorted((each.reason, at) for each in found.malformed for at in each.lines) == sorted(flaws)


@given(st.lists(st.tuples(cells, cells, cells), max_size=40))
def test_what_was_written_is_what_is_read(rows: list[tuple[tuple[str, bool] | None, ...]]) -> None:
    """Quoted or not, with delimiters, quotes and line breaks inside: each value comes back, nothing at all as null.

    A record has the number of its first line.
    """
    written = [",".join(map(spelt, row)) + "\r\n" for row in rows]
    begins = [sum(each.count("\n") for each in written[:at]) for at in range(len(written) + 1)]

    records, malformed, lines = read_records(RECORD, "".join(written).encode())

    texts = [[cell and cell[0] for cell in row] for row in rows]
    assert (records, malformed, lines) == (list(zip(begins[:-1], texts, strict=True)), [], begins[-1])


@given(written_lines, st.integers(1, 40), st.integers(1, 5), st.integers(1, 9), st.booleans())
def test_where_a_file_is_cut_changes_nothing(
    written: list[str],
    step: int,
    lines: int,
    piece: int,
    feed: bool,  # noqa: FBT001 - drawn
) -> None:
    """Every cut into shares, and of shares into blocks, gives the same records, malformed records and lines as the whole file."""
    content = ("\n".join(written) + ("\n" if feed else "")).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_source, "SHARE_BYTES", step)
        patched.setattr(csv_source, "BLOCK_LINES", lines)
        patched.setattr(csv_source, "PIECE", piece)
        cut = read_records(LINE, content)

    assert read_records(LINE, content) == cut


@given(st.lists(st.tuples(cells, cells, cells), max_size=30), st.integers(1, 60), st.integers(1, 5))
def test_where_a_stream_is_cut_changes_nothing(
    rows: list[tuple[tuple[str, bool] | None, ...]], size: int, lines: int
) -> None:
    """Records over several lines come back whole from blocks of any size."""
    content = "".join(",".join(map(spelt, row)) + "\n" for row in rows).encode()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_source, "SHARE_BYTES", size)
        patched.setattr(csv_source, "BLOCK_LINES", lines)
        cut = read_records(RECORD, content)

    assert read_records(RECORD, content) == cut


@given(
    st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\n", b'"')), min_size=1, max_size=4),
    st.lists(st.tuples(cells, cells, cells), max_size=12),
    st.tuples(st.integers(1, 60), st.integers(1, 5), st.booleans(), st.booleans()),
    st.booleans(),
)
@example([b"tt"], [(("a\n,", False), ("b" * 9, False), ("\n\n", False))] * 9, (60, 1, True, True), False)
def test_lines_above_the_header_are_counted_and_not_read(
    titles: list[bytes],
    rows: list[tuple[tuple[str, bool] | None, ...]],
    drawn: tuple[int, int, bool, bool],
    mark: bool,  # noqa: FBT001 - drawn
) -> None:
    """Whatever they hold, quotes and bytes of no encoding, and wherever a file is cut: rows move by their number."""
    size, lines, multi_line, header = drawn
    dialect = Csv(header=header, multi_line=multi_line)
    content = (b"a,b,c\r\n" if header else b"") + "".join(",".join(map(spelt, row)) + "\n" for row in rows).encode()
    records, malformed, count = read_records(text_plan("abc", dialect), content)
    above = (BOM if mark or titles[0].startswith(BOM[:2]) else b"") + b"".join(line + b"\n" for line in titles)
    plan = text_plan("abc", replace(dialect, skip_rows=len(titles)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(csv_source, "SHARE_BYTES", size)
        patched.setattr(csv_source, "BLOCK_LINES", lines)
        patched.setattr("lakegate.engine.read.compressed_streams.PIECE", size)
        found = read_records(plan, above + content)

    assert found == (
        [(row + len(titles), values) for row, values in records],
        [replace(flaw, lines=tuple(line + len(titles) for line in flaw.lines)) for flaw in malformed],
        count + len(titles),
    )


@given(st.text(st.sampled_from('a"\n'), max_size=60))
def test_records_end_where_no_quote_is_open(text: str) -> None:
    """A line feed ends a record if and only if an even number of quotes stands before it."""
    expected = [at + 1 for at, mark in enumerate(text) if mark == "\n" and text[:at].count('"') % 2 == 0]

    assert expected == record_ends(text.encode(), b'"').tolist()


@pytest.mark.parametrize(
    ("dialect", "content", "records", "malformed"),
    [
        (Csv(), b"a,b\n1,2\r\n\r\n\n3,\n", [(1, ["1", "2"]), (4, ["3", None])], []),
        (Csv(), b"\xef\xbb\xbfa,b\n1,2", [(1, ["1", "2"])], []),
        (Csv(encoding="iso-8859-1"), b"a,b\n\xe9,2\n", [(1, ["é", "2"])], []),
        (Csv(encoding="windows-1252"), b"a,b\n\x80,2\n\x81,3\n", [(1, ["€", "2"])], [("encoding", 1, 2)]),
        (Csv(encoding="us-ascii"), b"a,b\n\xe9,2\n1,2\n", [(2, ["1", "2"])], [("encoding", 1, 1)]),
        (Csv(), b"a,b\n\xff,2\n1,2\n", [(2, ["1", "2"])], [("encoding", 1, 1)]),
        (Csv(), b"a,b\n\xef\xbf\xbd,2\n\xff,2\n", [(1, ["\ufffd", "2"])], [("encoding", 1, 2)]),
        (Csv(), b"a,b\n1,2,3\n4\n5,6\n7,8,9\n", [(3, ["5", "6"])], [("fields", 3, 1)]),
        (Csv(), b'a,b\n"x"y,2\n1,"z\n3,"""q"""\n', [(3, ["3", '"q"'])], [("quotes", 2, 1)]),
        (Csv(), b"a,b\n1\r2,3\n\x00,1\n", [], [("line-ends", 1, 1), ("nul", 1, 2)]),
        (Csv(skip_rows=2), b'Report "x\n\na,b\n1,2\n', [(3, ["1", "2"])], []),
        (Csv(skip_rows=1, multi_line=True), b'"\na,b\n"1\n",2\n3,4\n', [(2, ["1\n", "2"]), (4, ["3", "4"])], []),
        (Csv(skip_rows=1, encoding="us-ascii"), b"\xe9\0\r\na,b\n1,2\n", [(2, ["1", "2"])], []),
        (Csv(skip_rows=1, header=False), b"\xef\xbb\xbftitle\r\n1,2\n", [(1, ["1", "2"])], []),
        (Csv(delimiter="§", quote="'"), "a§b\n'1§x'§2\n".encode(), [(1, ["1§x", "2"])], []),
        (Csv(delimiter=";", quote="»"), "a;b\n»1;»»x»;2\n".encode(), [(1, ["1;»x", "2"])], []),
    ],
)
def test_every_dialect_is_read_as_declared(
    dialect: Csv, content: bytes, records: list[Record], malformed: list[tuple[str, int, int]]
) -> None:
    """Line ends, byte order marks, encodings, blank lines, quotes and delimiters are those of the contract."""
    found, bad, _ = read_records(text_plan("ab", dialect), content)

    assert (records, malformed) == (found, [(each.reason, each.rows, each.lines[0]) for each in bad])


@pytest.mark.parametrize("multi_line", [False, True])
def test_a_record_of_more_than_a_mebibyte_is_malformed_and_alone(multi_line: bool) -> None:  # noqa: FBT001 - drawn
    """A record at the limit is read, a longer one is malformed, and the records around it are read."""
    most = b"x" * (LONGEST_RECORD - 2)
    content = b"a,b\n1,2\n" + most + b",1\n" + most + b",12\n3,4\n"

    records, malformed, lines = read_records(text_plan("ab", Csv(multi_line=multi_line)), content)

    assert [(row, values[1]) for row, values in records] == [(1, "2"), (2, "1"), (4, "4")]
    assert ([(each.reason, each.rows, each.lines[0]) for each in malformed], lines) == ([("too_long", 1, 3)], 5)


def test_one_column_has_no_blank_lines() -> None:
    """Where a record has one value, an empty line is a record whose value is null."""
    assert read_records(text_plan("a", Csv()), b'a\nx\n\n""\n') == ([(1, ["x"]), (2, [None]), (3, [""])], [], 4)


GROUPED = r"[-+]?[0-9]{1,3}([,.' \u00a0][0-9]{3}){0,2}[,.]?[0-9]{0,3}"
NUMBERS = st.text("0123456789,.' +-eE\u00a0", max_size=12) | st.from_regex(GROUPED, fullmatch=True)
SEPARATORS = [
    (decimal, thousands) for decimal in ".," for thousands in ("", ",", ".", "'", "\u00a0") if decimal != thousands
]


@pytest.mark.parametrize(("decimal", "thousands"), SEPARATORS)
@given(
    st.lists(
        NUMBERS | st.from_regex(r"[-+]?[0-9]{1,3}([,.' \u00a0][0-9]{3}){0,2}[,.]?[0-9]{0,3}", fullmatch=True),
        min_size=1,
    )
)
@example(
    ["1.234,5", "1,234.5", "1'234", "1\u00a0234,5", "1234", "12.34", ",5", "1.", "1,2,3", "1,2345", "", "+1.234", "1e5"]
)
@settings(max_examples=25, deadline=None)
def test_numbers_are_read_with_the_separators_of_the_contract(decimal: str, thousands: str, written: list[str]) -> None:
    """As the grammar of their type has them, once the separators are replaced; a number written otherwise is no value."""
    dialect = Csv(delimiter=";", header=False, decimal_separator=decimal, thousands_separator=thousands)
    kinds = {"number": LogicalType.NUMBER, "decimal": LogicalType.DECIMAL, "integer": LogicalType.INTEGER}
    plan = plan_of({name: kind.value for name, kind in kinds.items()}, csv=dialect)

    with TemporaryDirectory() as folder:
        found = read(plan, Path(folder), "".join(f"{text};{text};{text}\n" for text in written).encode())

    assert found.values == [
        {name: parse(kind, separated(text or None, decimal, thousands)) for name, kind in kinds.items()}
        for text in written
    ]


def test_null_words_of_one_column_are_values_of_another(tmp_path: Path) -> None:
    """A column with its own words has no others; an empty list has none."""
    nulls = (NullWords("b", ("-", "NA")), NullWords("c", ()))
    plan = plan_of(dict.fromkeys("abc", "string"), csv=Csv(null_values=("NA",), null_values_by_column=nulls))

    found = read(plan, tmp_path, b"a,b,c\nNA,NA,NA\n-,-,-\n,,\n")

    assert [list(row.values()) for row in found.values] == [[None, None, "NA"], ["-", None, "-"], [None, None, None]]
