"""`lakegate dataset read`: the rows of a line that publishes slices, from the lake and from a folder."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import lakegate as api
from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.features.odf.read_slices import SliceTable
from lakegate.gate.ports import Address
from tests.deliveries.parquet_footers import TEXT, Fields, put, value, with_footer
from tests.deliveries.written import as_parquet
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/sales_v1"
DAY = datetime(2026, 11, 1, tzinfo=UTC)
DELIVERIES = {0: (1, [[0, 1], [1]]), 2: (3, [[2, 0]]), 3: (4, [])}
"""By height: the day on which it was published, and for each slice the days of its events."""
ALL = [("r0", 0), ("r1", 1), ("r2", 1), ("r3", 2), ("r4", 0)]


def text(day: int) -> str:
    return f"{DAY + timedelta(days=day):%Y-%m-%dT%H:%M:%S.%fZ}"


def slice_of(offset: int, days: list[int], **more: pa.Array) -> bytes:
    """A slice whose rows are named by their offsets."""
    numbers = range(offset, offset + len(days))
    moments = pa.array([DAY + timedelta(days=each) for each in days], pa.timestamp("ms", "UTC"))
    columns = {"offset": pa.array(numbers, pa.int64()), "op": pa.array([0] * len(days), pa.int32())}
    columns |= {"system_time": moments, "event_time": moments, "id": pa.array([f"r{each}" for each in numbers])}
    target = io.BytesIO()
    pq.write_table(pa.table(columns | more), target)
    return target.getvalue()


def published(deliveries: dict[int, tuple[int, list[list[int]]]]) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of a line, and its objects by key."""
    listed, objects, offset = [], {}, 0
    for height, (day, slices) in deliveries.items():
        described, keys = [], []
        for number, days in enumerate(slices):
            workload = hashlib.sha256(str(height).encode()).hexdigest()
            key = f"accepted/{LINE}/ingest_date=2026-11-01/workload={workload}/part-{number:05}.parquet"
            objects[key] = slice_of(offset, days)
            times = [text(min(days)), text(max(days))]
            keys.append(key)
            described.append(
                {
                    "key": key,
                    "offset": offset,
                    "rows": len(days),
                    "event_time": times,
                    "logical": "f1",
                    "physical": "f2",
                }
            )
            offset += len(days)
        listed.append(
            {
                "height": height,
                "workload": hashlib.sha256(str(height).encode()).hexdigest(),
                "contract_version": "1.0.0",
                "verdict": "accepted",
                "published_at": text(day),
                "event_time": None,
                **dict.fromkeys(("rows", "published_rows", "rejected_rows"), 0),
                "format": "parquet",
                "compression": "none",
                "csv": None,
                "report": "reports/r.html",
                "slices": described,
                "objects": [described_object(key, objects[key]) for key in keys],
                "plan": "0" * 64,
            }
        )
    head = {"format": "lakegate-manifest/3", "line": LINE, "height": max(deliveries), "lifecycle": None}
    return {**head, "segments": {"count": 0, "heights": 100}, "deliveries": listed, "gapless": True}, objects


def described_object(key: str, body: bytes) -> dict[str, Any]:
    checksum = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return {"key": key, "version": "v", "size": len(body), "checksum": f"sha256:{checksum}"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that `lakegate get` filled, whose name is a pattern and holds a quote."""
    place = tmp_path / "it's [1]*"
    fill(place, *published(DELIVERIES))
    return place


def fill(place: Path, manifest: dict[str, Any], objects: dict[str, bytes]) -> None:
    validate("manifest", manifest)
    place.mkdir(exist_ok=True)
    for key, body in objects.items():
        path = place / key.removeprefix(f"accepted/{LINE}/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    (place / "_manifest.json").write_text(json.dumps(manifest))


def run(*words: object) -> str:
    found = CliRunner().invoke(app, ["dataset", "read", *map(str, words)], catch_exceptions=False)
    assert (found.exit_code, found.stderr) == (0, "")
    return found.stdout


def answered(*words: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(run(*words, "--json"))
    return document


def rows(document: dict[str, Any]) -> list[tuple[str, int]]:
    """The name of each row, and the day of its event."""
    days = [(each["id"], datetime.fromisoformat(each["event_time"]) - DAY) for each in document["records"]]
    return [(name, day.days) for name, day in days]


def refused(*words: object) -> str:
    with pytest.raises(InputError) as error:
        run(*words)
    return str(error.value)


@pytest.mark.parametrize(
    ("words", "names", "read", "height"),
    [
        ((), ["r0", "r1", "r2", "r3", "r4"], 3, 3),
        (("--as-at", text(1)), ["r0", "r1", "r2"], 2, 0),
        (("--as-at", text(0)), [], 0, -1),
        (("--as-of", text(0)), ["r0", "r4"], 2, 3),
        (("--as-of", text(1)), ["r0", "r1", "r2", "r4"], 3, 3),
        (("--as-of", "2026-11-01", "--as-at", "2026-11-02"), ["r0"], 1, 0),
        (("--changes-since", 0), ["r3", "r4"], 1, 3),
        (("--changes-since", 3), [], 0, 3),
        (("--changes-since", 9), [], 0, 9),
        (("--changes-since", 2, "--as-at", text(1)), [], 0, 2),
    ],
    ids=str,
)
def test_the_rows_of_an_answer(folder: Path, words: tuple[str, ...], names: list[str], read: int, height: int) -> None:
    """In the order of their offsets; slices that cannot have one are not read, and the height goes on from there."""
    found = answered(folder, *words)
    days = dict(ALL)

    assert rows(found) == [(each, days[each]) for each in names]
    assert (found["rows"], found["slices"], found["height"]) == (
        len(names),
        {"read": read, "skipped": 3 - read},
        height,
    )
    assert (found["line"], found["output"], found["unsliced"]) == (LINE, None, 0)
    assert (found["bytes"] > 0) == bool(read)


LIFECYCLE = {
    "status": "deprecated",
    "since": text(0),
    "planned": [{"status": "retired", "at": "2999-01-01T00:00:00.000000Z"}],
    "reason": "old",
    "replacement": "shop/sales_v2",
    "guide": "https://wiki.example/sales",
}
ENDS = f"lakegate: warning: {LINE} is deprecated, retired from 2999-01-01: use shop/sales_v2 (https://wiki.example/sales)\n"


def test_who_reads_a_deprecated_line_is_warned(lakegate: Lakegate, tmp_path: Path) -> None:
    """As `get` warns, of the lake and of a folder; standard output has the rows alone."""
    manifest, objects = published(DELIVERIES)
    manifest["lifecycle"] = LIFECYCLE
    fill(tmp_path / "sales", manifest, objects)
    store = lakegate.dependencies.objects
    versions = {key: store.put(Address(LAKE, key), body).version for key, body in objects.items()}
    for one in (one for each in manifest["deliveries"] for one in each["objects"]):
        one["version"] = versions[one["key"]]
    store.put(Address(LAKE, f"accepted/{LINE}/_manifest.json"), json.dumps(manifest).encode())
    found = [lakegate("dataset", "read", place, "--json") for place in (str(tmp_path / "sales"), LINE)]

    assert [each.stderr for each in found] == [ENDS, ENDS]
    assert [json.loads(each.stdout)["rows"] for each in found] == [5, 5]


def test_a_program_reads_the_current_rows_of_slices(lakegate: Lakegate) -> None:
    """`lakegate.read` has the columns of the contract, without the common ones, also above a height."""
    publish(lakegate)

    rows, later = api.read(LINE), api.read(LINE, since=0)

    assert rows.to_arrow().to_pydict() == {"id": [f"r{each}" for each in range(5)]}
    assert later.to_arrow().to_pydict() == {"id": ["r3", "r4"]}
    assert (rows.height, rows.deliveries) == (max(DELIVERIES), len(DELIVERIES))


def publish(lakegate: Lakegate) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The slices and their manifest, in the lake."""
    manifest, objects = published(DELIVERIES)
    store = lakegate.dependencies.objects
    versions = {key: store.put(Address(LAKE, key), body).version for key, body in objects.items()}
    for one in (one for each in manifest["deliveries"] for one in each["objects"]):
        one["version"] = versions[one["key"]]
    store.put(Address(LAKE, f"accepted/{LINE}/_manifest.json"), json.dumps(manifest).encode())
    return manifest, objects


def test_slices_of_the_lake_are_fetched_for_the_answer(lakegate: Lakegate, tmp_path: Path) -> None:
    """The same answer as of a folder, from the objects of the lake, verified; nothing stays on this machine."""
    manifest, objects = publish(lakegate)
    store, place = lakegate.dependencies.objects, Address(LAKE, f"accepted/{LINE}/_manifest.json")
    found = lakegate.json("dataset", "read", LINE, "--as-of", text(0))
    output = tmp_path / "sales.csv"
    lakegate.ok("dataset", "read", LINE, "--changes-since", "0", "-o", str(output))
    manifest["deliveries"][1]["objects"][0]["checksum"] = f"sha256:{base64.b64encode(bytes(32)).decode()}"
    store.put(place, json.dumps(manifest).encode())
    damaged = lakegate("dataset", "read", LINE)

    assert rows(found) == [("r0", 0), ("r4", 0)]
    assert found["slices"] == {"read": 2, "skipped": 1}
    assert found["bytes"] == sum(len(body) for body in list(objects.values())[::2])
    assert output.read_text().splitlines() == [
        "offset,op,system_time,event_time,id",
        *(f"{at},0,{text(day)},{text(day)},r{at}" for at, day in ((3, 2), (4, 0))),
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["sales.csv"]
    assert "another size or checksum than the manifest lists" in str(damaged.exception)


def test_rows_of_a_recalled_delivery_are_left_out(tmp_path: Path) -> None:
    """Of the current state alone; --all has them, and the state of an earlier time is not in a folder."""
    manifest, objects = published(DELIVERIES)
    manifest["not_current"] = {"height": 3, "since": text(5), "recalled": [[0, 0]], "superseded": []}
    fill(tmp_path / "x", manifest, objects)

    assert rows(answered(tmp_path / "x")) == ALL[3:]
    assert rows(answered(tmp_path / "x", "--as-at", text(6))) == ALL[3:]
    assert rows(answered(tmp_path / "x", "--all", "--as-at", text(1))) == ALL[:3]
    assert "the folder has the current state since" in refused(tmp_path / "x", "--as-at", text(1))


@pytest.mark.parametrize("suffix", ["parquet", "csv", "duckdb"])
def test_an_answer_becomes_a_file(folder: Path, tmp_path: Path, suffix: str) -> None:
    """That other programs read: the same rows in the same order, with their types."""
    output = tmp_path / f"new.{suffix}"
    found = answered(folder, "--as-of", text(1), "-o", output)
    with duckdb.connect(str(output) if suffix == "duckdb" else ":memory:", read_only=suffix == "duckdb") as connection:
        source = '"sales_v1"' if suffix == "duckdb" else f"'{output}'"
        names = connection.execute(f"SELECT id FROM {source}").fetchall()  # noqa: S608 - a name of this test

    assert [name for (name,) in names] == ["r0", "r1", "r2", "r4"]
    assert (found["rows"], found["output"], "records" in found) == (4, str(output), False)
    if suffix == "parquet":
        assert pq.read_schema(output).field("event_time").type == pa.timestamp("us", "UTC")


def test_an_answer_for_people(folder: Path, tmp_path: Path) -> None:
    """A table of the first rows, what was read, and how to go on."""
    shown = run(folder, "--limit", 1, "--as-at", text(1)).splitlines()
    written = run(folder, "-o", tmp_path / "new.csv").splitlines()
    none = run(folder, "--as-of", "2026-01-01", "-o", tmp_path / "none.csv").splitlines()

    assert [each.split() for each in shown[:2]] == [
        ["offset", "op", "system_time", "event_time", "id"],
        ["0", "0", *["2026-11-01T00:00:00+00:00"] * 2, "r0"],
    ]
    assert shown[2] == f"{LINE}: 3 rows, the first 1 shown"
    assert shown[3].startswith("Read 2 of 3 slices, ")
    assert shown[4:] == ["What is published later: --changes-since 0"]
    assert written[0] == f"{LINE}: 5 rows in {tmp_path / 'new.csv'}"
    assert none[:2] == [f"{LINE}: 0 rows", f"{tmp_path / 'none.csv'} was not written: there are no rows."]
    assert not (tmp_path / "none.csv").exists()


def test_values_of_every_type_are_shown(tmp_path: Path) -> None:
    """In JSON without loss, for people on one line and without control characters; columns of later slices are null before."""
    manifest, objects = published({0: (1, [[0], [0]])})
    first, second = objects
    record = {"a": 1, "b": ["x", None]}
    more = {
        "price": pa.array([Decimal("0.100000000000000001")], pa.decimal128(38, 18)),
        "opened": pa.array([timedelta(hours=8)], pa.duration("us")).cast(pa.int64()).cast(pa.time64("us")),
        "day": pa.array([DAY.date()]),
        "raw": pa.array([b"\x00\xff"]),
        "nested": pa.array([record]),
        "note": pa.array(["red\x1b[31m" + "x" * 99]),
        "true": pa.array([True]),
    }
    objects[second] = slice_of(1, [0], **more)
    manifest["deliveries"][0]["objects"] = [described_object(key, body) for key, body in objects.items()]
    fill(tmp_path / "x", manifest, objects)
    before, after = answered(tmp_path / "x")["records"]
    shown = run(tmp_path / "x")

    assert {name: after[name] for name in more} == {
        "price": "0.100000000000000001",
        "opened": "08:00:00",
        "day": "2026-11-01",
        "raw": "AP8=",
        "nested": record,
        "note": "red\x1b[31m" + "x" * 99,
        "true": True,
    }
    assert {before[name] for name in more} == {None}
    assert "\x1b" not in shown
    assert '{"a": 1, "b": ["x", null]}' in shown
    assert first < second


def test_what_cannot_be_read_is_refused(folder: Path, tmp_path: Path) -> None:
    """Before anything is read or written, with what to do."""
    csv = tmp_path / "there.csv"
    csv.write_text("")
    (tmp_path / "empty").mkdir()
    manifest, _ = published({0: (1, [[0]])})
    del manifest["deliveries"][0]["slices"]
    fill(tmp_path / "files", manifest, {})

    assert refused(folder, "-o", csv) == f"--output {csv} exists: name another file"
    assert "name a file that ends in .parquet or .csv or .duckdb" in refused(folder, "-o", tmp_path / "x.xlsx")
    assert "a view reads files that stay on this machine: `lakegate get sales DIR`, then" in refused(
        "sales", "-o", tmp_path / "x.duckdb"
    )
    assert refused(tmp_path / "empty") == (
        f"{tmp_path}/empty is a folder without _manifest.json or refs/head: `lakegate get DATASET {tmp_path}/empty` "
        f"or `lakegate dataset import SOURCE {tmp_path}/empty` fills one"
    )
    assert refused(tmp_path / "files").startswith(
        f"{LINE} has no slices, which this command reads: `lakegate get {LINE} DIR`"
    )
    assert "is no time" in refused(folder, "--as-at", "yesterday")


def test_a_damaged_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    """A file that is missing, cut off, or no Parquet file of the same size; what exists of an output stays absent."""
    first, *_ = sorted(folder.rglob("*.parquet"))
    body = first.read_bytes()
    output = tmp_path / "new.parquet"
    first.write_bytes(bytes(len(body)))
    changed = refused(folder, "-o", output)
    first.write_bytes(body[:-1])
    cut = refused(folder, "-o", output)
    first.unlink()

    assert "cannot be read" in changed
    assert (
        cut
        == refused(folder)
        == f"{first} is missing, or is not as the manifest lists it: run `lakegate get {LINE} {folder}` again"
    )
    assert [each.name for each in tmp_path.iterdir()] == [folder.name]


# --- slices of other tools

FOREIGN = pa.table(
    {
        "offset": pa.array([0, 1, 2, 3], pa.uint64()),
        "op": pa.array([0, 0, 0, 1], pa.uint8()),
        "event_time": pa.array([0, 1000, 2000, 3000], pa.timestamp("ms", "UTC")),
        "v": [1, 1, 2, 1],
        "V": ["a", "b", "a", "a"],
    }
)
"""Names of columns have a case; the last event removes the first row."""


def lying(fields: Fields) -> None:
    """Statistics by which no event removes a row, and all are of a later time."""
    for column, bounds in ((1, bytes(4)), (2, (9000).to_bytes(8, "little"))):
        for number in (1, 2, 5, 6):
            put(value(fields, 4, 0, 1, column, 3, 12), number, TEXT, bounds)


@pytest.mark.parametrize("change", [lambda _: None, lying])
def test_slices_of_other_tools_are_read_as_they_are(change: Callable[[Fields], None], tmp_path: Path) -> None:
    """Statistics, which no hash of rows covers, decide nothing; names that differ in their case alone are two."""
    path = tmp_path / "foreign.parquet"
    path.write_bytes(with_footer(as_parquet(FOREIGN), change))
    current = [each for each in FOREIGN.to_pylist() if each["offset"] in {1, 2}]
    table = SliceTable([path])

    assert table.first(9, tmp_path).to_pylist() == current
    assert table.count(tmp_path) == 2
    assert SliceTable([path], events=True).first(9, tmp_path).to_pylist() == FOREIGN.to_pylist()
    early = SliceTable([path], datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    assert early.first(9, tmp_path).to_pylist() == FOREIGN.to_pylist()[:2]
    table.write(tmp_path / "out.parquet", tmp_path)
    assert pq.read_table(tmp_path / "out.parquet").to_pylist() == current
    for write in (
        lambda: table.write(tmp_path / "out.csv", tmp_path),
        lambda: table.write_view(tmp_path / "out.duckdb", "x"),
    ):
        with pytest.raises(InputError, match="the columns v and V differ in their case alone"):
            write()


def test_slices_with_other_columns_are_one_table(tmp_path: Path) -> None:
    """In the order of their offsets; what a slice does not have is null."""
    wider = FOREIGN.set_column(0, "offset", pa.array([4, 5, 6, 7], pa.uint64())).append_column(
        "more", pa.array([1, 2, 3, 4])
    )
    latest = FOREIGN.set_column(0, "offset", pa.array([8, 9, 10, 11], pa.uint64()))
    paths = [tmp_path / f"{at}.parquet" for at in range(3)]
    for path, each in zip(paths, (FOREIGN, wider, latest), strict=True):
        path.write_bytes(as_parquet(each))
    found = SliceTable(paths, events=True).first(20, tmp_path)

    assert found.to_pylist() == pa.concat_tables([FOREIGN, wider, latest], promote_options="default").to_pylist()
