"""Parquet files of every form that writers have, and of forms that no writer should have."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.admission.file_signatures import UnreadableError
from lakegate.base.errors import InputError
from lakegate.contract.file_formats import Format, Storage
from lakegate.engine.read.data_source import AddressedFile, LocalStore, Share
from lakegate.engine.read.open_delivery import READERS
from lakegate.engine.read.parquet_footer import read_footer
from lakegate.engine.read.stored_types import Kind, Physical, fit_values
from lakegate.features.convert.schema_in_files import parquet as contract_of_parquet
from lakegate.features.draft.data_profile import read as profiled
from lakegate.features.drift.schema_drift import columns_in
from lakegate.features.odf.format.logical_hash import digest_of, slice_in
from lakegate.plan.plan import Plan
from lakegate.plan.request import StagedPart
from lakegate.verdict.verdict import Verdict
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.parquet_footers import STRUCT, TEXT, Fields, element, put, value, varint, with_footer
from tests.deliveries.written import as_orc, as_parquet
from tests.reference.sampling import sampled

ROWS = 60
TABLE = pa.table(
    {
        "id": pa.array(range(ROWS), pa.int64()),
        "small": pa.array(range(ROWS), pa.int32()),
        "text": pa.array([f"text{at % 5}" if at % 7 else None for at in range(ROWS)]),
        "raw": pa.array([b"x%d" % at for at in range(ROWS)], pa.binary()),
        "code": pa.array([b"%04d" % at for at in range(ROWS)], pa.binary(4)),
        "short": pa.array([at / 2 for at in range(ROWS)], pa.float32()),
        "long": pa.array([at / 2 for at in range(ROWS)], pa.float64()),
        "exact": pa.array([Decimal(at) / 4 for at in range(ROWS)], pa.decimal128(12, 2)),
        "ok": pa.array([at % 2 == 0 for at in range(ROWS)]),
        "day": pa.array([dt.date(2020, 1, 1 + at % 28) for at in range(ROWS)]),
        "at": pa.array([dt.datetime(2020, 1, 1 + at % 28, 1, 2, 3, 4) for at in range(ROWS)], pa.timestamp("us")),  # noqa: DTZ001
        "list": pa.array([[str(at % 3), None] if at % 3 else None for at in range(ROWS)], pa.list_(pa.string())),
        "record": pa.array(
            [{"a": at, "b": None} if at % 4 else None for at in range(ROWS)],
            pa.struct([("a", pa.int32()), ("b", pa.string())]),
        ),
        "map": pa.array([[("k", at)] for at in range(ROWS)], pa.map_(pa.string(), pa.int64())),
    }
)
DELTA = ("PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY")
ENCODINGS = {
    "id": ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "small": ("PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"),
    "text": DELTA,
    "raw": DELTA,
    "list.list.element": DELTA,
    "record.b": DELTA,
    "map.key_value.key": DELTA,
    "code": ("PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
    "exact": ("PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"),
    "short": ("PLAIN", "BYTE_STREAM_SPLIT"),
    "long": ("PLAIN", "BYTE_STREAM_SPLIT"),
    "ok": ("PLAIN", "RLE"),
}
WRITTEN: dict[str, dict[str, Any]] = {
    **{
        f"{codec}, pages {page}, dictionaries {dictionaries}": {
            "compression": codec,
            "data_page_version": page,
            "use_dictionary": dictionaries,
        }
        for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd")
        for page in ("1.0", "2.0")
        for dictionaries in (True, False)
    },
    **{
        f"{name} as {encoding}, pages {page}": {
            "use_dictionary": False,
            "column_encoding": {name: encoding},
            "data_page_version": page,
        }
        for name, encodings in ENCODINGS.items()
        for encoding in encodings
        for page in ("1.0", "2.0")
    },
    "without statistics": {"write_statistics": False},
    "with index and checksums": {"write_page_index": True, "write_page_checksum": True},
    "INT96": {"use_deprecated_int96_timestamps": True},
    "pages of a few values": {"data_page_size": 64, "dictionary_pagesize_limit": 64, "write_batch_size": 7},
    "version 1.0": {"version": "1.0"},
    "version 2.4": {"version": "2.4"},
    "without Arrow's own schema": {"store_schema": False},
    "decimals as integers": {"store_decimal_as_integer": True},
    "older lists": {"use_compliant_nested_type": False},
}


def read(path: Path, form: Format = Format.PARQUET) -> tuple[list[str], list[dict[str, Any]]]:
    """Names and rows of a file."""
    reader, address = READERS[form](LocalStore()), path.as_uri()
    table = reader.described(address)
    names = [name for name, _ in table.schema.parts]
    batches = (each for bounds in pairwise(table.bounds) for each in reader.batches(Share(0, address, *bounds), names))
    return names, [row for batch in batches for row in _with_moments(batch, table.schema).to_pylist()]


def _with_moments(batch: pa.RecordBatch, schema: Physical) -> pa.RecordBatch:
    """INT96 is read as it is stored: here as the moments that it means."""
    kinds = dict(schema.parts)
    columns = {
        name: fit_values(column, kinds[name])[0] if kinds[name].kind is Kind.MOMENT else column
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return pa.RecordBatch.from_pydict(columns)


# --- what writers write


@pytest.mark.parametrize("written", WRITTEN)
def test_every_encoding_and_codec_of_arrow_is_read(written: str, tmp_path: Path) -> None:
    """All values, whether the file has one row group or many; the footer counts what Arrow's own reader counts."""
    for size in (ROWS, 7):
        path = tmp_path / f"{size}.parquet"
        path.write_bytes(as_parquet(TABLE, row_group_size=size, **WRITTEN[written]))

        assert read(path) == (TABLE.column_names, TABLE.to_pylist())
        footer, theirs = read_footer(AddressedFile(LocalStore(), path.as_uri())), pq.read_metadata(path)
        assert [(each.rows, [(chunk.values, chunk.unpacked) for chunk in each.chunks]) for each in footer.groups] == [
            (
                group.num_rows,
                [
                    (group.column(at).num_values, group.column(at).total_uncompressed_size)
                    for at in range(group.num_columns)
                ],
            )
            for group in map(theirs.row_group, range(theirs.num_row_groups))
        ]
        assert [(".".join(each.path), each.is_repeated) for each in footer.leaves] == [
            (each.path, each.max_repetition_level > 0) for each in theirs.schema
        ]


@pytest.mark.parametrize("version", ["V1", "V2"])
@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"])
def test_every_encoding_and_codec_of_duckdb_is_read(version: str, codec: str, tmp_path: Path) -> None:
    """With dictionaries, and without them."""
    with duckdb.connect() as connection:
        connection.register("rows", TABLE)
        for limit in (1_000_000, 1):
            path = tmp_path / f"{limit}.parquet"
            options = f"FORMAT parquet, PARQUET_VERSION {version}, COMPRESSION {codec}, DICTIONARY_SIZE_LIMIT {limit}"
            connection.execute(f"COPY rows TO '{path}' ({options})")

            assert read(path) == (TABLE.column_names, TABLE.to_pylist())


def test_many_row_groups_are_read_at_once(tmp_path: Path) -> None:
    """A file is opened twice, whatever the number of its row groups: for its schema and for its rows."""

    class Counting(LocalStore):
        opened = 0

        def size(self, address: str) -> int:
            self.opened += 1
            return super().size(address)

    path = tmp_path / "many.parquet"
    path.write_bytes(as_parquet(pa.concat_tables([TABLE] * 10), row_group_size=1))
    store = Counting()
    reader = READERS[Format.PARQUET](store)
    (bounds,) = pairwise(reader.described(path.as_uri()).bounds)
    batches = list(reader.batches(Share(0, path.as_uri(), *bounds), TABLE.column_names))

    assert (bounds, [each.num_rows for each in batches], store.opened) == ((0, 600), [600], 2)
    assert pa.Table.from_batches(batches).to_pylist() == TABLE.to_pylist() * 10


def test_columns_are_in_any_order(judge_files: Callable[..., Judged]) -> None:
    """Readers find them by name."""
    judged = judge_files(plan_for(small="integer", id="integer"), as_parquet(TABLE))

    assert judged.verdict is Verdict.ACCEPTED


def test_names_of_another_case_are_named(judge_files: Callable[..., Judged]) -> None:
    """As in CSV, where no name fits, too."""
    judged = judge_files(plan_for(ID="integer", SMALL="integer"), as_parquet(TABLE))

    assert judged.reasons == ("file/readable: the header has another case: 'id' should be ID, 'small' should be SMALL")


def plan_for(**fields: str) -> Plan:
    return replace(plan_of(fields, *(rule("required", each) for each in fields)), storage=Storage(Format.PARQUET))


# --- what no writer should write

FLAT = pa.table({"x": pa.array([1, 2, 3], pa.int32()), "text": ["a", "b", "c"]})
CHUNK = (4, 0, 1)
"""Where the chunks of the first row group are."""


def encrypted(name: str) -> Callable[[Fields], None]:
    def change(fields: Fields) -> None:
        chunk = value(fields, *CHUNK, [each.name for each in FLAT.schema].index(name))
        put(chunk, 8, STRUCT, [[2, STRUCT, [[1, 9, [TEXT, [name.encode()]]]]]])
        put(chunk, 9, TEXT, b"\x00" * 40)
        chunk[:] = [each for each in chunk if each[0] != 3]

    return change


def with_statistics(fields: Fields) -> None:
    """Size statistics whose histogram has other levels than the column."""
    put(value(fields, *CHUNK, 0, 3), 16, STRUCT, [[3, 9, [6, [1, 2, 3, 4, 5]]]])


def hollow(fields: Fields) -> None:
    schema = value(fields, 2)[1]
    put(schema[0], 5, 5, 3)
    schema.insert(1, element("nothing", children=0))


def hollow_within(fields: Fields) -> None:
    """A record of a number and of a group without members."""
    schema = value(fields, 2)[1]
    schema[1:2] = [element("x", children=2), element("nothing", children=0), element("n", kind=1)]
    put(value(fields, *CHUNK, 0, 3), 3, 9, [TEXT, [b"x", b"n"]])


def deep(fields: Fields) -> None:
    schema = value(fields, 2)[1]
    schema[1:2] = [*(element("x", children=1) for _ in range(100_000)), element("x", kind=1)]


def codes(plan: Plan, content: bytes, judge_files: Callable[..., Judged]) -> str | None:
    found = judge_files(plan, content).result.unreadable
    return found and found.code


def listed_twice(fields: Fields) -> None:
    """The row group again, with the rows that follow from it."""
    put(fields, 3, 6, 2 * value(fields, 3))
    value(fields, 4)[1][:] = value(fields, 4)[1] * 2


HOSTILE: dict[str, tuple[Callable[[Fields], None], str | None, str | None]] = {
    "another column is encrypted": (encrypted("text"), None, "encrypted"),
    "the column is encrypted": (encrypted("x"), "encrypted", None),
    "statistics of other levels": (with_statistics, "inside", None),
    "no rows by the footer": (lambda fields: put(fields, 3, 6, 0), "counts", "counts"),
    "more rows by the footer": (lambda fields: put(fields, 3, 6, 4), "counts", "counts"),
    "no rows by the group": (lambda fields: put(value(fields, 4, 0), 3, 6, 0), "counts", "counts"),
    "no rows anywhere": (
        lambda fields: [put(fields, 3, 6, 0), put(value(fields, 4, 0), 3, 6, 0)],  # type: ignore[dict-item,return-value]
        "counts",
        "counts",
    ),
    "no values by a chunk": (lambda fields: put(value(fields, *CHUNK, 0, 3), 5, 6, 0), "counts", None),
    "less values than rows": (lambda fields: put(value(fields, *CHUNK, 0, 3), 5, 6, 1), "counts", None),
    "fewer values than none": (lambda fields: put(value(fields, *CHUNK, 0, 3), 5, 6, -1), "footer", "footer"),
    "a chunk less than columns": (lambda fields: value(fields, 4, 0, 1)[1].pop(), "footer", "footer"),
    "members that are not there": (lambda fields: put(value(fields, 2, 0), 5, 5, 9), "footer", "footer"),
    "a group without members": (hollow, None, None),
    "a group without members in the record": (hollow_within, "hollow", None),
    "groups in groups": (deep, "schema", "schema"),
    "a row group twice": (listed_twice, "shared", "shared"),
    "a chunk that begins in another one": (
        lambda fields: put(value(fields, 4, 0, 1, 1, 3), 9, 6, value(fields, *CHUNK, 0, 3, 9) + 1),
        "shared",
        "shared",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_footer_that_is_wrong_is_the_fault_of_the_file(name: str, judge_files: Callable[..., Judged]) -> None:
    """It costs no process and no attempt, and only who reads the column that it is wrong about."""
    change, of_x, of_text = HOSTILE[name]
    content = with_footer(as_parquet(FLAT, store_schema=False), change)

    found = [
        codes(plan_for(**{column: kind}), content, judge_files)
        for column, kind in (("x", "integer"), ("text", "string"))
    ]
    assert found == [of_x, of_text]


def test_every_reader_of_parquet_survives_an_encrypted_column(tmp_path: Path) -> None:
    """What reads its values says so, what reads names and types does not need them."""
    path = tmp_path / "encrypted.parquet"
    path.write_bytes(with_footer(as_parquet(FLAT, store_schema=False), encrypted("text")))
    part = StagedPart(path.as_uri(), path.stat().st_size)

    with pytest.raises(InputError, match="cannot be read"):
        digest_of(path)
    with pytest.raises(InputError, match="a slice has one column offset"):
        slice_in(path)
    with duckdb.connect() as connection, pytest.raises(UnreadableError) as error:
        profiled(connection, (part,), LocalStore(), lambda _: None)
    assert error.value.finding.message == "the column 'text' is encrypted: write the file without encryption"
    contract, lost = contract_of_parquet(path, "x")
    assert ([each.name for each in contract.datasets[0].fields], lost) == (["x", "text"], ())
    assert columns_in(plan_for(x="integer"), part, LocalStore()).found == ("x", "text")


def test_a_file_of_too_many_pieces_is_refused(judge_files: Callable[..., Judged]) -> None:
    """Row groups times columns; each one costs memory, however few rows there are."""
    many = [element(f"c{at}", kind=1) for at in range(2_000)]

    def change(fields: Fields) -> None:
        value(fields, 2)[1][1:] = many
        put(value(fields, 2, 0), 5, 5, len(many))
        value(fields, 4)[1][:] = value(fields, 4)[1] * 251

    assert codes(plan_for(c0="integer"), with_footer(as_parquet(FLAT), change), judge_files) == "groups"


def test_a_page_of_very_many_bytes_is_refused(
    judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page is in memory as a whole; the pages of a long column may be many, and those of another column are not read."""
    monkeypatch.setattr("lakegate.engine.read.parquet_orc.MAX_PAGE", 9_000)
    table = pa.table({"x": list(range(10_000)), "text": ["x" * 10] * 10_000})
    large, small = (
        as_parquet(table, use_dictionary=False, compression="zstd", write_batch_size=100, data_page_size=size)
        for size in (20_000, 1_000)
    )

    assert codes(plan_for(text="string"), large, judge_files) == "page"
    assert codes(plan_for(text="string"), small, judge_files) is None


def test_pages_with_another_checksum_are_damaged(judge_files: Callable[..., Judged]) -> None:
    """One bit of a value that is a value, too."""
    table = pa.table({"x": pa.array([1234567, 2], pa.int32())})
    content = as_parquet(
        table, compression="none", use_dictionary=False, write_statistics=False, write_page_checksum=True
    )
    at = content.index((1234567).to_bytes(4, "little"))
    damaged = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    assert codes(plan_for(x="integer"), content, judge_files) is None
    assert codes(plan_for(x="integer"), damaged, judge_files) == "inside"


# --- any damage

FILES = {
    Format.PARQUET: [
        as_parquet(TABLE.slice(0, 20), row_group_size=7),
        as_parquet(TABLE.slice(0, 20), data_page_version="2.0", compression="zstd", use_dictionary=False),
        as_parquet(TABLE.slice(0, 20), use_dictionary=False, column_encoding={"text": "DELTA_BYTE_ARRAY"}),
    ],
    Format.ORC: [
        as_orc(TABLE.drop_columns(["code"]).slice(0, 20), compression=each)
        for each in ("uncompressed", "snappy", "zlib")
    ],
}
CHANGES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)


def survives(form: Format, file: int, changes: list[tuple[float, int]], path: Path) -> None:
    """Read a file with other bytes in some places of its last two thirds."""
    content = bytearray(FILES[form][file])
    begin = len(content) // 3
    for place, byte in changes:
        content[begin + int(place * (len(content) - begin))] = byte
    path.write_bytes(content)
    with suppress(UnreadableError, OverflowError):  # a damaged date may be one that Python has no date for
        read(path, form)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "file"


@given(file=st.integers(0, 2), changes=CHANGES)
@sampled(150, 20_000)
def test_no_damage_of_parquet_ends_the_process(file: int, changes: list[tuple[float, int]], place: Path) -> None:
    """A file is read, or refused."""
    survives(Format.PARQUET, file, changes, place)


@given(file=st.integers(0, 2), changes=CHANGES)
@sampled(5, 2_000)
def test_no_damage_of_orc_ends_the_process(file: int, changes: list[tuple[float, int]], place: Path) -> None:
    """Arrow's reader of ORC is in a process of its own."""
    survives(Format.ORC, file, changes, place)


def test_an_orc_file_that_ends_its_reader_is_unreadable(tmp_path: Path) -> None:
    """Records within records, which Arrow reads with a stack that has no bound."""
    path = tmp_path / "deep.orc"
    path.write_bytes(deep_orc(100_000))

    with pytest.raises(UnreadableError) as error:
        read(path, Format.ORC)
    assert error.value.finding.code == "footer"


def deep_orc(levels: int) -> bytes:
    """An ORC file without rows, whose only column has so many levels of records."""
    types = [field(1, 12) + chunk(2, varint(at + 1)) + chunk(3, b"a") for at in range(levels)] + [field(1, 4)]
    footer = field(1, 3) + field(2, 3) + b"".join(chunk(4, each) for each in types) + field(6, 0) + field(8, 10_000)
    end = field(1, len(footer)) + field(2, 0) + field(3, 1 << 18) + chunk(4, b"\x00\x0c") + field(5, 0) + field(6, 1)
    end += chunk(8_000, b"ORC")
    return b"ORC" + footer + end + bytes([len(end)])


def field(number: int, content: int) -> bytes:
    return varint(number << 3) + varint(content)


def chunk(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content
