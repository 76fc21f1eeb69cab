"""`lakegate get --as`: the current rows on a disk, typed by the contract, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakegate as api
from lakegate.base.errors import NotFound
from lakegate.gate.ports import Address
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.datasets.test_get_command import LINE, change, manifest, reads
from tests.unit.cli.deployed_stack import LAKE

FIRST, THIRD = "000000000000.parquet", "000000000002.parquet"
ROWS = {FIRST: [("a", 1), ("b", 2), ("c", None), ("d", 4)], THIRD: [("e", 5), ("f", 6), ("g", 7), ("h", 8)]}
SCHEMA = pa.schema([("id", pa.string()), ("amount", pa.int64())])


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder beside what the stack of the test has."""
    folder = tmp_path / "place"
    folder.mkdir()
    return folder


@pytest.fixture
def filled(lakegate: Lakegate) -> Lakegate:
    """A dataset with two accepted deliveries and a rejected one between them."""
    lakegate.begin(_fill)
    return lakegate


def _fill(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.delivered(name="a.csv", body=b"id,amount\na,1\nb,2\nc,\nd,4\n")
    lakegate.delivered(1, name="bad.csv", body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")
    lakegate.delivered(name="b.csv", body=b"id,amount\ne,5\nf,6\ng,7\nh,8\n")


def found(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    """The rows of each file of Parquet in a folder, which has nothing else."""
    names = sorted(each.name for each in folder.iterdir())
    tables = {name: pq.read_table(folder / name) for name in names}
    assert {table.schema.remove_metadata() for table in tables.values()} <= {SCHEMA}
    return {name: [tuple(row.values()) for row in table.to_pylist()] for name, table in tables.items()}


def in_database(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return connection.execute("FROM orders_v1").fetchall()


def test_rows_are_files_of_parquet(filled: Lakegate, place: Path) -> None:
    """A file for each accepted delivery, with the columns of the contract; the next run writes what is new alone."""
    folder = place / "my rows"
    words = filled.ok("get", "orders", str(folder), "--as", "parquet").splitlines()
    first = found(folder)
    filled.delivered(name="c.csv", body=b"id,amount\ni,9\n")
    again = filled.json("get", LINE, str(folder), "--as", "parquet")

    assert words == [
        f"line  {LINE}",
        f"written  {FIRST}  4 rows",
        f"written  {THIRD}  4 rows",
        f"What is accepted later: lakegate get {LINE} '{folder}' --as parquet",
    ]
    assert first == ROWS
    assert again == {
        "line": LINE,
        "folder": str(folder),
        "form": "parquet",
        "height": 3,
        "complete": True,
        "lost": [],
        "removed": [],
        "files": [
            {"path": FIRST, "heights": [0], "rows": 4, "written": False},
            {"path": THIRD, "heights": [2], "rows": 4, "written": False},
            {"path": "000000000003.parquet", "heights": [3], "rows": 1, "written": True},
        ],
    }
    assert found(folder) == ROWS | {"000000000003.parquet": [("i", 9)]}


def test_rows_are_a_database_of_duckdb(filled: Lakegate, place: Path) -> None:
    """One table, with the rows that a program reads; it is written anew where the rows are others, and else stays."""
    words = filled.ok("get", LINE, str(place), "--as", "duckdb").splitlines()
    again = filled.json("get", LINE, str(place), "--as", "duckdb")
    first = in_database(place / "orders_v1.duckdb")
    filled.delivered(name="c.csv", body=b"id,amount\ni,9\n")
    later = filled.json("get", LINE, str(place), "--as", "duckdb")

    assert words[1] == "written  orders_v1.duckdb  8 rows"
    assert [each.name for each in place.iterdir()] == ["orders_v1.duckdb"]
    assert first == ROWS[FIRST] + ROWS[THIRD]
    assert again["files"] == [{"path": "orders_v1.duckdb", "heights": [0, 2], "rows": 8, "written": False}]
    assert later["files"] == [{"path": "orders_v1.duckdb", "heights": [0, 2, 3], "rows": 9, "written": True}]
    assert in_database(place / "orders_v1.duckdb") == [
        tuple(row.values()) for row in api.read(LINE).to_arrow().to_pylist()
    ]


def test_the_folder_follows_the_current_state(filled: Lakegate, place: Path) -> None:
    """A recalled delivery leaves, and comes back when it is restored."""
    for form in ("parquet", "duckdb"):
        filled.ok("get", LINE, str(place / form), "--as", form)
    filled.ok("recall", "orders/a.csv", "--reason", "wrong month")
    removed = filled.ok("get", LINE, str(place / "parquet"), "--as", "parquet")
    filled.ok("get", LINE, str(place / "duckdb"), "--as", "duckdb")
    left = found(place / "parquet"), in_database(place / "duckdb" / "orders_v1.duckdb")
    filled.ok("restore", "orders/a.csv", "--reason", "it was right")
    filled.ok("get", LINE, str(place / "parquet"), "--as", "parquet")

    assert f"removed  {FIRST}: it is not current any more" in removed.splitlines()
    assert left == ({THIRD: ROWS[THIRD]}, ROWS[THIRD])
    assert found(place / "parquet") == ROWS


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_a_run_that_is_cut_off_leaves_no_half_file(
    form: str, filled: Lakegate, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the second delivery: what is there is whole, and the next run goes on."""

    def cut_off(read: Callable[[], bytes], count: int) -> bytes:
        if count == 2:
            raise KeyboardInterrupt
        return read()

    with monkeypatch.context() as patched:
        reads(patched, cut_off)
        filled("get", LINE, str(place), "--as", form)
    left = [each.name for each in place.iterdir()]
    (place / ".orders_v1.duckdb.part").write_bytes(b"of a killed run")
    (place / f".{THIRD}.part").symlink_to(place / "elsewhere")
    again = filled.json("get", LINE, str(place), "--as", form)

    assert left == ([FIRST] if form == "parquet" else [])
    assert [each["written"] for each in again["files"]] == ([False, True] if form == "parquet" else [True])
    assert not (place / "elsewhere").exists()


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_an_object_that_was_changed_gives_no_rows(form: str, filled: Lakegate, place: Path) -> None:
    """The run ends with 1 and says which; nothing of the delivery is in the folder."""
    change(filled, size=3)
    result = filled("get", LINE, str(place), "--as", form, "--json")

    assert (result.exit_code, json.loads(result.stdout)["complete"]) == (1, False)
    assert "another size or checksum than the manifest lists" in result.stderr
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("form", ["parquet", "duckdb"])
def test_a_lost_delivery_is_left_out_on_request(
    form: str, filled: Lakegate, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named; once it is there again, the next run has it."""

    def gone(read: Callable[[], bytes], count: int) -> bytes:
        if count in {1, 2}:
            raise NotFound
        return read()

    with monkeypatch.context() as patched:
        reads(patched, gone)
        refused = filled("get", LINE, str(place), "--as", form)
        lacks = filled.json("get", LINE, str(place), "--as", form, "--skip-lost")
    whole = filled.json("get", LINE, str(place), "--as", form)

    assert (refused.exit_code, "--skip-lost leaves such deliveries out" in refused.stderr) == (1, True)
    assert ([each["height"] for each in lacks["lost"]], lacks["complete"]) == ([0], False)
    assert [each["heights"] for each in lacks["files"]] == [[2]]
    assert (whole["complete"], sum(each["rows"] for each in whole["files"])) == (True, 8)


def test_what_is_damaged_is_written_again(filled: Lakegate, place: Path) -> None:
    """A file without its end; a link is replaced, and what it leads to stays as it is."""
    filled.ok("get", LINE, str(place / "x"), "--as", "parquet")
    (place / "x" / FIRST).write_bytes((place / "x" / FIRST).read_bytes()[:-9])
    (place / "x" / THIRD).rename(place / "other")
    (place / "other").write_bytes(b"mine")
    (place / "x" / THIRD).symlink_to(place / "other")
    filled.ok("get", LINE, str(place / "x"), "--as", "parquet")

    assert found(place / "x") == ROWS
    assert (place / "other").read_bytes() == b"mine"


def test_a_folder_of_something_else_is_refused(filled: Lakegate, place: Path) -> None:
    """Nothing in it is overwritten, or taken for rows of this dataset."""
    filled.ok("get", LINE, str(place / "raw"))
    (place / "p").mkdir()
    pq.write_table(pa.table({"id": ["x"]}), place / "p" / FIRST)
    with duckdb.connect(str(place / "p" / "orders_v1.duckdb")) as connection:
        connection.execute("CREATE TABLE mine AS SELECT 1")
    before = {each.name: each.read_bytes() for each in (place / "p").iterdir()}
    errors = [
        str(filled("get", LINE, str(place / each), "--as", form).exception)
        for each, form in (("raw", "parquet"), ("p", "parquet"), ("p", "duckdb"), ("raw/_manifest.json", "parquet"))
    ]

    assert errors[:3] == [
        f"{place / 'raw'} holds files as they arrived (`lakegate get` without --as): give another folder",
        f"{place / 'p' / FIRST} is not of {LINE}: give another folder",
        f"{place / 'p' / 'orders_v1.duckdb'} is no database of this command: give another folder",
    ]
    assert errors[3].endswith("cannot be written: File exists")
    assert {each.name: each.read_bytes() for each in (place / "p").iterdir()} == before


HOSTILE = """); DROP TABLE "x"; --' ../"""


def test_hostile_names_are_names(lakegate: Lakegate, place: Path) -> None:
    """A column is called as the contract says, whatever its name would be in SQL."""
    column = json.dumps(HOSTILE)
    lakegate.routed(**{"name: amount": f"name: {column}"})
    lakegate.delivered(body=f'id,"{HOSTILE.replace(chr(34), chr(34) * 2)}"\na,1\nb,2\nc,3\nd,4\n'.encode())
    filled = [lakegate.json("get", LINE, str(place / "x"), "--as", form) for form in ("parquet", "duckdb")]
    with duckdb.connect(str(place / "x" / "orders_v1.duckdb"), read_only=True) as connection:
        names = [row[0] for row in connection.execute("DESCRIBE orders_v1").fetchall()]

    assert [each["complete"] for each in filled] == [True, True]
    assert pq.read_schema(place / "x" / FIRST).names == names == ["id", HOSTILE]


def test_a_dataset_without_accepted_data_has_no_file(lakegate: Lakegate, place: Path) -> None:
    """And that is no error."""
    lakegate.routed()
    for form in ("parquet", "duckdb"):
        assert f"Nothing of {LINE} was accepted." in lakegate.ok("get", LINE, str(place), "--as", form)
    assert list(place.iterdir()) == []


def test_rows_of_an_erased_delivery_are_made_anew(
    filled: Lakegate, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery whose object has another version is another file; while that cannot be read, there is none."""

    def gone(read: Callable[[], bytes], count: int) -> bytes:
        if count == 1:
            raise NotFound
        return read()

    filled.ok("get", LINE, str(place), "--as", "parquet")
    document = manifest(filled)
    listed = document["deliveries"][0]["objects"][0]
    body = b"id,amount\na,1\n"
    stored = filled.dependencies.objects.put(Address(LAKE, listed["key"]), body)
    listed |= {"version": stored.version, "size": len(body), "checksum": ""}
    filled.dependencies.objects.put(Address(LAKE, f"accepted/{LINE}/_manifest.json"), json.dumps(document).encode())
    with monkeypatch.context() as patched:
        reads(patched, gone)
        filled.ok("get", LINE, str(place), "--as", "parquet", "--skip-lost")
    lost = found(place)
    again = filled.json("get", LINE, str(place), "--as", "parquet")

    assert lost == {THIRD: ROWS[THIRD]}
    assert [each["written"] for each in again["files"]] == [True, False]
    assert found(place) == ROWS | {FIRST: [("a", 1)]}


@pytest.mark.parametrize("words", [("--since", "3"), ("--all",), ("--dry-run",), ("--quarantined",)])
def test_rows_are_those_of_now(words: tuple[str, ...], filled: Lakegate, place: Path) -> None:
    """Options about other rows are refused."""
    error = str(filled("get", LINE, str(place), "--as", "parquet", *words).exception)

    assert error == "--as is for all current rows, with --skip-lost alone: repeated, it fetches what is new"
