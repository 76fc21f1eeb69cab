"""The loop of a repair: failing rows written, corrected in that file, and put back into their places."""

from __future__ import annotations

import bz2
import gzip
import io
import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.contract.delivery_policy import DeliveryUnit, Policy
from lakegate.contract.file_formats import Compression, Csv, Format, Storage
from lakegate.engine.native_backend import measure
from lakegate.engine.read import csv as csv_reader
from lakegate.engine.read import json as json_reader
from lakegate.engine.read.data_source import LocalStore
from lakegate.job.job_storage import keep
from lakegate.local_check.corrected_delivery import CorrectedFile, _complete, _Merge, _write_alone
from lakegate.local_check.corrected_rows import behind, raw_members
from lakegate.local_check.failing_rows_file import FailingRowsFile
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of, request_for, rule
from tests.reference.sampling import sampled

RULES = (rule("minimum", "n", value=0), rule("required", "n"))
PLAIN = plan_of({"n": "integer", "t": "string"}, *RULES)


@dataclass
class Repair:
    """A rejected delivery of some objects, and a person who corrects it."""

    plan: Plan
    folder: Path
    bodies: tuple[bytes, ...]
    ending: str = ".csv"
    leave_out: bool = False
    merge: _Merge = field(init=False)

    def _measured(self, told: Any) -> None:
        request = request_for(self.plan, self.folder, *self.bodies)
        measure(request, self.plan, LocalStore(), self.folder, keep=keep, keep_rejected=told)

    @property
    def bad(self) -> Path:
        """The file of failing rows."""
        return self.folder / f"bad{self.ending}"

    def write_bad(self) -> bytes:
        self._measured(FailingRowsFile("--rows", self.bad, self.plan).keep)
        return self.bad.read_bytes()

    def put_back(self) -> tuple[bytes, ...]:
        """Each object as it is delivered again."""
        self.merge = _Merge(self.plan, self.bad, self.folder, leave_out=self.leave_out)
        self._measured(self.merge.keep)
        written = self.merge.written
        return tuple(written[part].read_bytes() if part in written else body for part, body in enumerate(self.bodies))


def repair(folder: Path, plan: Plan, *bodies: bytes, ending: str = ".csv", leave_out: bool = False) -> Repair:
    made = Repair(plan, folder, bodies, ending, leave_out)
    made.write_bad()
    return made


# ---- All inputs: whatever the rows are, those that are not corrected keep their bytes ----


ROWS = st.lists(
    st.tuples(st.sampled_from(["5", "-7", "x", ""]), st.sampled_from(["a", '"a,b"', '"a\nb"', '"a""b"', "é", ""])),
    max_size=12,
)


@sampled(60, 600)
@given(
    objects=st.lists(ROWS, min_size=1, max_size=3),
    end=st.sampled_from(["\n", "\r\n"]),
    has_last_end=st.booleans(),
    has_mark=st.booleans(),
    has_header=st.booleans(),
    codec=st.sampled_from([Compression.NONE, Compression.GZIP]),
    multi_line=st.booleans(),
    titles=st.sampled_from([0, 2]),
    share=st.sampled_from([16, 64, 1 << 20]),
)
def test_csv_keeps_every_byte_that_is_not_corrected(  # noqa: PLR0913 - the ways in which rows may be written
    *,
    objects: list[list[tuple[str, str]]],
    end: str,
    has_last_end: bool,
    has_mark: bool,
    has_header: bool,
    codec: Compression,
    multi_line: bool,
    titles: int,
    share: int,
) -> None:
    """The number of each failing row becomes 1, in any object, dialect and number of shares; all others stay."""
    csv = Csv(header=has_header, multi_line=multi_line, skip_rows=titles)
    plan = replace(plan_of({"n": "integer", "t": "string"}, *RULES, csv=csv), storage=Storage(Format.CSV, codec))
    if not multi_line:
        objects = [[(n, t.replace("\n", " ")) for n, t in rows] for rows in objects]

    def written(rows: list[tuple[str, str]], *, corrected: bool) -> bytes:
        lines = [f"Title {at}" for at in range(titles)] + (["n,t"] if has_header else [])
        lines += [f"{1 if corrected and n != '5' else n},{t}" for n, t in rows]
        text = end.join(lines) + (end if has_last_end and lines else "")
        return b"\xef\xbb\xbf" * has_mark * bool(text) + text.encode()

    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "SHARE_BYTES", share)
        packed = [written(rows, corrected=False) for rows in objects]
        bodies = [gzip.compress(body) for body in packed] if codec is Compression.GZIP else packed
        made = Repair(plan, Path(name), tuple(bodies))
        if not any(rows for rows in objects) or not any(n != "5" for rows in objects for n, _ in rows):
            return
        if not has_header and any(not rows for rows in objects):
            return
        lines = made.write_bad().decode()
        for old in ("-7", "x", ""):
            lines = lines.replace(f'",{old},', '",1,')
        made.bad.write_bytes(lines.encode())
        found = made.put_back()

    unpacked = [gzip.decompress(body) for body in found] if codec is Compression.GZIP else list(found)
    assert unpacked == [written(rows, corrected=True) for rows in objects]


@sampled(40, 400)
@given(
    numbers=st.lists(st.sampled_from(["5", "-7", '"x"', "null", "1.50"]), min_size=1, max_size=12),
    form=st.sampled_from([Format.JSONL, Format.JSON]),
    share=st.sampled_from([16, 1 << 20]),
)
def test_json_keeps_every_record_that_is_not_corrected(numbers: list[str], form: Format, share: int) -> None:
    """Lines stay as they are, and in an array each record does; what is written in a record stays, too, as `1.50`."""
    plan = replace(PLAIN, storage=Storage(form))
    records = [f'{{"n": {n}, "t":  "{at}", "more": 1.50}}' for at, n in enumerate(numbers)]
    fixed = [f'{{"n": 1, "t":  "{at}", "more": 1.50}}' if n != "5" else records[at] for at, n in enumerate(numbers)]
    body = "\n".join(records) + "\n" if form is Format.JSONL else "[" + ", ".join(records) + "]"
    wanted = "\n".join(fixed) + "\n" if form is Format.JSONL else "[" + ",\n".join(fixed) + "]\n"
    if all(n == "5" for n in numbers):
        return
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_reader, "SHARE_BYTES", share)
        made = Repair(plan, Path(name), (body.encode(),), ".jsonl")
        lines = made.write_bad().decode()
        for old in ("-7", '"x"', "null", "1.50,"):
            lines = lines.replace(f'"n": {old}', '"n": 1' + ("," if old.endswith(",") else ""))
        made.bad.write_text(lines)
        (found,) = made.put_back()

    assert found.decode() == wanted


def test_a_mark_of_the_encoding_stays_before_a_corrected_first_record(tmp_path: Path) -> None:
    """Without a header it is part of the first line, and of no corrected row."""
    plan = plan_of({"n": "integer", "t": "string"}, *RULES, csv=Csv(header=False))
    made = repair(tmp_path, plan, b"\xef\xbb\xbf-7,a\n5,b\n")
    made.bad.write_bytes(b"1,0,,1,a\n")

    assert made.put_back() == (b"\xef\xbb\xbf1,a\n5,b\n",)


@pytest.mark.parametrize(
    ("storage", "body", "old", "new"),
    [
        (Storage(Format.CSV), b"n,t\r\n-1,a \r\n2,b\r\n", b",a ", b",a"),
        (Storage(Format.CSV, Compression.GZIP), gzip.compress(b"n,t\n-1,a\n2,b", 1, mtime=0), b",-1,", b",1,"),
        (Storage(Format.JSON), b'[{"n": -1,\r\n "t": "a"},\n\n {"n": 2}]', b"-1", b"1"),
        (Storage(Format.JSON, records="x"), b'{"of": 2, "x": [ {"n": -1 } , {"n": 2}]}', b"-1", b"1"),
        (Storage(Format.JSONL), b' {"n": -1} \r\n{"n": \n{"n": 2}', b"-1", b"1"),
    ],
)
def test_whether_a_row_was_corrected_is_known_in_every_format_of_text(
    tmp_path: Path, storage: Storage, body: bytes, old: bytes, new: bytes
) -> None:
    """Also where the file is packed or written otherwise again, so that its bytes are others with the same rows."""
    made = repair(tmp_path, replace(PLAIN, storage=storage), body, ending=str(storage.rows_suffix))
    before = made.bad.read_bytes()
    made.put_back()
    unchanged = made.merge.differs
    made.bad.write_bytes(before.replace(old, new))
    made.put_back()

    assert (unchanged, made.merge.differs) == (False, True)


def test_a_row_that_is_left_out_makes_a_difference(tmp_path: Path) -> None:
    """Although no row was corrected."""
    made = repair(tmp_path, PLAIN, b"n,t\n-1,a\n", leave_out=True)
    made.bad.write_text("_row,_part,_reasons,n,t\n")
    made.put_back()

    assert made.merge.differs


def test_parquet_keeps_rows_types_codecs_and_row_groups(tmp_path: Path) -> None:
    """The corrected rows get the types of the file, also where a program widened them."""
    table = pa.table(
        {
            "n": pa.array([1, -2, 3, -4, 5], pa.int32()),
            "t": ["a", None, "c", "d", "e"],
            "more": pa.array([[1], [], None, [2, 3], [4]], pa.list_(pa.int8())),
        }
    )
    body = io.BytesIO()
    pq.write_table(table, body, row_group_size=2, compression="gzip")
    made = repair(tmp_path, replace(PLAIN, storage=Storage(Format.PARQUET)), body.getvalue(), ending=".parquet")
    bad = pq.read_table(made.bad)
    numbers = pa.array([20.0, 40.0], pa.float64())
    pq.write_table(bad.set_column(bad.schema.get_field_index("n"), "n", numbers), made.bad)
    (found,) = made.put_back()
    file = pq.ParquetFile(io.BytesIO(found))

    assert bad.column("_row").to_pylist() == [2, 4]
    assert file.read() == table.set_column(0, "n", pa.array([1, 20, 3, 40, 5], pa.int32()))
    assert [file.metadata.row_group(at).num_rows for at in range(3)] == [2, 2, 1]
    assert file.metadata.row_group(0).column(0).compression == "GZIP"


def test_corrected_rows_of_parquet_fit_its_columns(tmp_path: Path) -> None:
    """A value that does not fit, and other columns, are refused."""
    body = io.BytesIO()
    pq.write_table(pa.table({"n": pa.array([-1], pa.int32()), "t": ["a"]}), body)
    made = repair(tmp_path, replace(PLAIN, storage=Storage(Format.PARQUET)), body.getvalue(), ending=".parquet")
    bad = pq.read_table(made.bad)
    pq.write_table(bad.set_column(3, "n", pa.array([0.5])), made.bad)
    with pytest.raises(InputError, match="does not fit its column"):
        made.put_back()
    pq.write_table(bad.drop_columns(["t"]), made.bad)
    with pytest.raises(InputError, match="other columns than the file"):
        made.put_back()


# ---- What a person may do to the file ----


BODY = b"n,t\n-1,a\n2,b\n-3,c\n"
BAD = '_row,_part,_reasons,n,t\n2,0,"minimum/n",-1,a\n4,0,"minimum/n",-3,c\n'


def test_the_file_has_what_these_tests_change(tmp_path: Path) -> None:
    """The rows that failed."""
    assert repair(tmp_path, PLAIN, BODY).bad.read_text() == BAD


def test_failing_rows_may_be_left_out(tmp_path: Path) -> None:
    """If that is said; the counts tell how many."""
    made = repair(tmp_path, PLAIN, BODY, leave_out=True)
    made.bad.write_text("_row,_part,_reasons,n,t\n4,0,,3,c\n")

    assert made.put_back() == (b"n,t\n2,b\n3,c\n",)
    assert (made.merge.counts.corrected, made.merge.counts.left_out) == (1, 1)


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        (BAD[: BAD.index("4,0")], "lacks 1 failing row (row 4): correct all of them, or deliver"),
        (BAD[:24], "lacks 2 failing rows (row 2, row 4): correct all of them"),
        (BAD + "5,0,,1,x\n", "row 5 is none of the rejected rows of this delivery: leave it out"),
        (BAD.replace("\n4,0", "\n3,0,,2,b\n4,0"), "row 3 is none of the rejected rows of this delivery"),
        (BAD.replace("4,0", "4,1"), "row 4 of part 1 is none of the rejected rows of this delivery"),
        (BAD + "4,0,,3,c\n", "row 4 is there twice: keep the order"),
        (BAD + "2,0,,1,a\n", "row 2 stands behind row 4: keep the order"),
        (BAD.replace("4,0", ",0"), "line 3: it has no number in `_row` or `_part`: it is none of the rejected rows"),
        (BAD.replace("4,0", "4.0,0"), "line 3: it has no number in `_row` or `_part`"),
        (BAD.replace("4,0", "٤,0"), "line 3: it has no number in `_row` or `_part`"),
        (BAD + "4\n", "line 4: it has fewer columns than stand before each row"),
        (BAD.replace('"minimum/n"', '"minimum/n" x', 1), "line 2: something stands behind a quoted value"),
        (
            BAD.replace(",t\n", ",u\n"),
            "has another header than _row,_part,_reasons and that of the delivery: it lacks t and has 'u' beside. Keep",
        ),
        (
            BAD.replace(",n,t", ",t,n"),
            "has another header than _row,_part,_reasons and that of the delivery: it names them in another order",
        ),
        (BAD.replace(",", ";"), "has a semicolon between its columns, and the delivery has a comma: save it so"),
        (BAD.replace(",", "\t"), "has a tab between its columns, and the delivery has a comma: save it so"),
        ("Rows\n\n" + BAD, "has 2 lines above its header, and not 0: remove what is too much"),
        (BAD.partition("\n")[2], "has no header: line 1 names _row,_part,_reasons and the columns of the delivery"),
        (
            BAD.replace("\n", "\r"),
            "is not written as the delivery is: the lines end in CR alone: save the file with LF",
        ),
        ("PK\3\4" + BAD, "is not written as the delivery is: the file is a zip archive"),
        ("\0\0\0\0", "is not written as the delivery is: the file begins with zero bytes"),
        ("", "is not written as the delivery is: the file is empty: it has not even a header"),
    ],
)
def test_what_does_not_belong_to_the_delivery_is_refused(tmp_path: Path, text: str, refusal: str) -> None:
    """With its place, and what to do."""
    made = repair(tmp_path, PLAIN, BODY)
    made.bad.write_text(text)

    with pytest.raises(InputError) as refused:
        made.put_back()
    assert refusal in str(refused.value)


@pytest.mark.parametrize(
    "encoding",
    [
        ("windows-1252", "utf-8", "is UTF-8, and the delivery is Windows-1252: save the file as Windows-1252"),
        ("iso-8859-1", "utf-8", "is UTF-8, and the delivery is ISO-8859-1: save the file as ISO-8859-1"),
        (
            "windows-1252",
            "utf-8-sig",
            "begins with the byte order mark of UTF-8, and the delivery is Windows-1252: save",
        ),
        (
            "windows-1252",
            "utf-16",
            "is UTF-16 or UTF-32, and the delivery is Windows-1252: save the file as Windows-1252",
        ),
        (
            "utf-8",
            "utf-16",
            "is UTF-16 or UTF-32, and the delivery is UTF-8: save the file as UTF-8 (in Excel: CSV UTF-8)",
        ),
        ("utf-8", "utf-16-be", "is UTF-16 or UTF-32, and the delivery is UTF-8: save the file as UTF-8"),
    ],
)
@pytest.mark.parametrize("has_header", [True, False])
@pytest.mark.parametrize("share", [16, 1 << 20])
def test_rows_that_were_saved_in_another_encoding_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: tuple[str, str, str], *, has_header: bool, share: int
) -> None:
    """They would be read as other characters in a one-byte encoding, in which nearly every byte is one."""
    declared, saved, refusal = encoding
    monkeypatch.setattr(csv_reader, "SHARE_BYTES", share)
    csv = Csv(encoding=declared, header=has_header)
    body = ("n,t\n" * has_header + "-1,a\n2,b\n-3,Lódz ü\n").encode(declared)
    made = repair(tmp_path, plan_of({"n": "integer", "t": "string"}, *RULES, csv=csv), body)
    text = made.bad.read_text(declared).replace(",-", ",")
    made.bad.write_bytes(text.encode(declared))
    (right,) = made.put_back()
    made.bad.write_bytes(text.encode(saved))

    assert right == body.replace(b"-", b"")
    with pytest.raises(InputError) as refused:
        made.put_back()
    assert str(refused.value).startswith(f"{made.bad} {refusal}")


def test_a_header_in_another_encoding_is_named(tmp_path: Path) -> None:
    """Also the other way round, where its bytes are not UTF-8."""
    for declared, saved, words in (
        ("utf-8", "windows-1252", "is Windows-1252, and the delivery is UTF-8"),
        ("windows-1252", "utf-8", "is UTF-8, and the delivery is Windows-1252"),
    ):
        plan = plan_of({"n": "integer", "größe": "string"}, *RULES, csv=Csv(encoding=declared))
        made = repair(tmp_path, plan, "n,größe\n-1,a\n".encode(declared))
        made.bad.write_bytes(made.bad.read_text(declared).encode(saved))
        with pytest.raises(InputError) as refused:
            made.put_back()
        assert words in str(refused.value)


def test_bytes_that_are_not_utf_8_are_none_of_another_encoding(tmp_path: Path) -> None:
    """One such row is enough: others may be UTF-8 by chance."""
    csv = Csv(encoding="windows-1252")
    made = repair(tmp_path, plan_of({"n": "integer", "t": "string"}, *RULES, csv=csv), b"n,t\n-1,a\n-2,b\n")
    made.bad.write_bytes(b"_row,_part,_reasons,n,t\n2,0,,1,\xc3\xbc\n3,0,,2,\xfc\n")

    assert made.put_back() == (b"n,t\n1,\xc3\xbc\n2,\xfc\n",)


def test_titles_of_rows_that_were_rejected_alone_are_kept(tmp_path: Path) -> None:
    """The quarantined file has those of the delivery; without them rows would be skipped."""
    plan = plan_of({"n": "integer", "t": "string"}, csv=Csv(skip_rows=2))
    (tmp_path / "rejected").write_bytes(b'T\nU\n_reasons,n,t\n"x",1,a\n"x",2,b\n"x",3,c\n')
    for text, words in (
        (b'_reasons,n,t\n"x",1,a\n"x",2,b\n"x",3,c\n', "has 0 lines above its header, and not 2: put them back"),
        (b'T\n_reasons,n,t\n"x",1,a\n', "has 1 line above its header, and not 2: put them back"),
        (b'T\nU\nV\n_reasons,n,t\n"x",1,a\n', "has 3 lines above its header, and not 2: remove what is too much"),
        (b"_reasons,n,t\n", "has 0 lines above its header, and not 2: put them back"),
    ):
        (tmp_path / "fixed").write_bytes(text)
        with pytest.raises(InputError, match=words):
            _write_alone(plan, tmp_path / "rejected", [], tmp_path / "fixed", tmp_path / "target")


def test_a_spreadsheet_may_leave_blank_lines_and_a_mark(tmp_path: Path) -> None:
    """Also line ends of Windows, and no quotes where none are needed."""
    made = repair(tmp_path, PLAIN, BODY)
    made.bad.write_bytes(b"\xef\xbb\xbf_row,_part,_reasons,n,t\r\n2,0,minimum/n,1,a\r\n\r\n4,0,minimum/n,3,c\r\n")

    assert made.put_back() == (b"n,t\n1,a\n2,b\n3,c\n",)


@pytest.mark.parametrize(
    "line",
    [
        b'{"_row": 1, "_part": 0}',
        b'{"_row": 1, "_part": 0, "_record": {}} x',
        b'{"_row": 1, "_part": 0, "_record": "\\ud800"}',
        b'{"_row": 1, "_part": 0, "_record": ' + b"[" * 100_000,
        b'{"_row": 1 "_record": {}}',
        b"{1: 2}",
        b'{"_row": 1, "_record": "\xff"}',
    ],
)
def test_a_line_of_json_that_is_no_corrected_row_is_refused(tmp_path: Path, line: bytes) -> None:
    """In one sentence, with its line."""
    made = repair(tmp_path, replace(PLAIN, storage=Storage(Format.JSONL)), b'{"n": -1}\n', ending=".jsonl")
    made.bad.write_bytes(b"\n" + line + b"\n")

    with pytest.raises(InputError, match=r"line 2: it is no object with a member `_record`"):
        made.put_back()


def test_a_record_that_was_no_json_is_corrected_as_a_text(tmp_path: Path) -> None:
    """It stands as a text in the file; the text, or an object in its place, is the line."""
    body = b'{"n": 1}\n{"n": \n{"n": 2,}\n'
    made = repair(tmp_path, replace(PLAIN, storage=Storage(Format.JSONL)), body, ending=".jsonl")
    first, second = (json.loads(line) for line in made.bad.read_text().splitlines())
    lines = [json.dumps(first | {"_record": '{"n": 8}'}), json.dumps(second | {"_record": {"n": 9}})]
    made.bad.write_text("\n".join(lines))

    assert [first["_record"], second["_record"]] == ['{"n": ', '{"n": 2,}']
    assert made.put_back() == (b'{"n": 1}\n{"n": 8}\n{"n": 9}\n',)


# ---- Rows that were rejected alone ----


@pytest.mark.parametrize(
    ("storage", "csv", "rejected", "wanted"),
    [
        (Storage(), Csv(), b'_reasons,n,t\n"x",1,"a\nb"\n"x",2,b\n', b'n,t\n1,"a\nb"\n2,b\n'),
        (Storage(), Csv(header=False), b'"x",1,a\n', b"1,a\n"),
        (Storage(), Csv(skip_rows=1), b'A title\n_reasons,n,t\n"x",1,a\n', b"A title\nn,t\n1,a\n"),
        (Storage(), Csv(header=False, skip_rows=1), b'A title\n"x",1,a\n', b"A title\n1,a\n"),
        (Storage(), Csv(delimiter=";", encoding="windows-1252"), b'_reasons;n;t\n"x";1;\xe9\n', b"n;t\n1;\xe9\n"),
        (Storage(Format.JSONL), None, b'{"_reasons":"x","_record":{"n": 1.50}}\n', b'{"n": 1.50}\n'),
    ],
)
def test_rows_that_were_rejected_alone_are_a_delivery_of_their_own(
    tmp_path: Path, storage: Storage, csv: Csv | None, rejected: bytes, wanted: bytes
) -> None:
    """Without their reasons, as they stand in the corrected file, compressed as the delivery was."""
    csv = csv and replace(csv, multi_line=b"\nb" in rejected)
    plan = replace(plan_of({"n": "integer", "t": "string"}, csv=csv), storage=storage)
    (tmp_path / "rejected").write_bytes(rejected)
    packed = replace(plan, storage=Storage(storage.format, Compression.BZIP2))
    (tmp_path / "rejected.bz2").write_bytes(bz2.compress(rejected))
    target = tmp_path / "corrected"

    assert _write_alone(plan, tmp_path / "rejected", [], tmp_path / "rejected", target) == rejected.count(b'"x"')
    assert target.read_bytes() == wanted
    for fixed in ("rejected", "rejected.bz2"):  # a person may hand back what is compressed, and what is not
        _write_alone(packed, tmp_path / "rejected.bz2", [], tmp_path / fixed, target)
        assert bz2.decompress(target.read_bytes()) == wanted


def test_rows_of_parquet_that_were_rejected_alone_keep_their_types(tmp_path: Path) -> None:
    """Those of the rejected rows, whatever the corrected file has."""
    rejected, fixed, target = (tmp_path / name for name in ("rejected", "fixed", "target"))
    pq.write_table(pa.table({"_reasons": ["x"], "n": pa.array([-1], pa.int64()), "t": ["a"]}), rejected)
    pq.write_table(pa.table({"_reasons": ["x"], "t": ["b"], "n": [1.0]}), fixed)

    assert _write_alone(replace(PLAIN, storage=Storage(Format.PARQUET)), rejected, [], fixed, target) == 1
    assert pq.read_table(target) == pa.table({"n": pa.array([1], pa.int64()), "t": ["b"]})


def test_moments_of_rows_that_were_rejected_alone_are_stored_as_the_part_stores_them(tmp_path: Path) -> None:
    """INT96 stays INT96, and a moment without a zone gets none."""
    moment = pa.array([datetime(2026, 11, 30, 1, 2, 3)], pa.timestamp("us"))  # noqa: DTZ001 - it has no zone
    plan, table = replace(PLAIN, storage=Storage(Format.PARQUET)), pa.table({"_reasons": ["x"], "at": moment})
    stored = {}
    for is_old in (False, True):
        part, target = tmp_path / f"part{is_old}", tmp_path / f"target{is_old}"
        pq.write_table(table, part, use_deprecated_int96_timestamps=is_old, store_schema=False)
        _write_alone(plan, part, [], part, target)
        column = pq.ParquetFile(target).schema.column(0)
        stored[is_old] = column.physical_type, "isAdjustedToUTC=false" in str(column.logical_type)
        assert pq.read_table(target, coerce_int96_timestamp_unit="us")["at"].to_pylist() == moment.to_pylist()

    assert stored == {False: ("INT64", True), True: ("INT96", False)}


def test_accepted_rows_stand_before_those_that_were_corrected(tmp_path: Path) -> None:
    """Where the delivery takes the place of the one that it corrects: all files of them, under one header and title."""
    plan = plan_of({"n": "integer", "t": "string"}, csv=Csv(skip_rows=1))
    for name, body in (("a", b"T\nn,t\n1,a\n2,b\n"), ("b", b"T\nn,t\n3,c\n"), ("r", b'T\n_reasons,n,t\n"x",4,d\n')):
        (tmp_path / name).write_bytes(body)
    accepted = [tmp_path / "a", tmp_path / "b"]
    _write_alone(plan, tmp_path / "r", accepted, tmp_path / "r", tmp_path / "target")
    lines = replace(PLAIN, storage=Storage(Format.JSONL))
    (tmp_path / "l").write_bytes(b'{"n": 1}\n{"n": 2}\n')
    (tmp_path / "m").write_bytes(b'{"_reasons":"x","_record":{"n": 3}}\n')
    _write_alone(lines, tmp_path / "m", [tmp_path / "l"], tmp_path / "m", tmp_path / "lines")
    table = pa.table({"n": pa.array([1], pa.int64())})
    pq.write_table(table, tmp_path / "p")
    pq.write_table(pa.table({"_reasons": ["x"], "n": pa.array([2], pa.int64())}), tmp_path / "q")
    tables = replace(PLAIN, storage=Storage(Format.PARQUET))
    _write_alone(tables, tmp_path / "q", [tmp_path / "p"], tmp_path / "q", tmp_path / "table")

    assert (tmp_path / "target").read_bytes() == b"T\nn,t\n1,a\n2,b\n3,c\n4,d\n"
    assert (tmp_path / "lines").read_bytes() == b'{"n": 1}\n{"n": 2}\n{"n": 3}\n'
    assert pq.read_table(tmp_path / "table").to_pydict() == {"n": [1, 2]}


def test_a_file_without_rows_is_no_delivery(tmp_path: Path) -> None:
    """Nothing is delivered by mistake."""
    (tmp_path / "rejected").write_bytes(b"_reasons,n,t\n")

    with pytest.raises(InputError, match="has no rows"):
        _write_alone(PLAIN, tmp_path / "rejected", [], tmp_path / "rejected", tmp_path / "target")


def test_nothing_but_time_completes_some_deliveries(tmp_path: Path) -> None:
    """Then the objects are all that is delivered, and nobody can wait for the workload."""
    pairs = [(tmp_path / "part-0", "orders/day/a.csv")]
    for unit in (DeliveryUnit.QUIET, DeliveryUnit.OBJECT):
        plan = replace(PLAIN, policy=Policy(delivery=unit))
        assert _complete(plan, pairs, tmp_path) == (CorrectedFile(*pairs[0]),)


# ---- The two small grammars ----


VALUES = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\n"), max_size=6)


@sampled(100, 1000)
@given(
    values=st.lists(VALUES, min_size=1, max_size=4), rest=VALUES, quotes=st.lists(st.booleans(), min_size=4, max_size=4)
)
def test_values_of_csv_are_split_off_as_they_were_written(values: list[str], rest: str, quotes: list[bool]) -> None:
    """Quoted or not; the rest is what stands behind, whatever it is."""
    cells = [
        '"' + value.replace('"', '""') + '"' if quoted or set(value) & {",", '"'} else value
        for value, quoted in zip(values, quotes, strict=False)
    ]
    record = ",".join([*cells, rest])

    assert behind(record.encode(), len(values), Csv()) == (values, rest.encode())


@sampled(100, 1000)
@given(
    members=st.dictionaries(
        VALUES, st.recursive(st.none() | st.integers() | VALUES, st.lists, max_leaves=4), max_size=4
    )
)
def test_members_of_json_are_what_is_written(members: dict[str, Any]) -> None:
    """Each value is a text that is that value."""
    found = raw_members(json.dumps(members, indent=None, separators=(" , ", " : ")))

    assert {name: json.loads(text) for name, text in found.items()} == members
