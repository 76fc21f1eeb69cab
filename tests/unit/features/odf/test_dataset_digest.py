"""`lakegate dataset digest`: both hashes of a file, as Open Data Fabric writes them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.features.odf.format.logical_hash import LogicalHash

if TYPE_CHECKING:
    from click.testing import Result

TABLE = pa.table({"id": pa.array([1, 2, None]), "name": ["a", None, "c"]})


def digest(*words: str) -> Result:
    """Run the command."""
    return CliRunner().invoke(app, ["dataset", "digest", *words])


def test_files_with_the_same_rows_have_one_logical_hash(tmp_path: Path) -> None:
    """Both hashes are multihashes in base16: `arrow0-sha3-256` of the rows, SHA3-256 of the bytes."""
    for name, compression in (("one.parquet", "zstd"), ("two.parquet", "gzip")):
        pq.write_table(TABLE, tmp_path / name, compression=compression, row_group_size=2)
    logical = LogicalHash(TABLE.schema)
    logical.update(TABLE.to_batches()[0])
    files = [str(tmp_path / name) for name in ("one.parquet", "two.parquet")]
    bodies = [(tmp_path / name).read_bytes() for name in ("one.parquet", "two.parquet")]

    assert json.loads(digest(*files, "--json").stdout) == {
        "files": [
            {
                "file": file,
                "rows": 3,
                "size": len(body),
                "logical": f"f9680c00120{logical.digest().hex()}",
                "physical": f"f1620{hashlib.sha3_256(body).hexdigest()}",
            }
            for file, body in zip(files, bodies, strict=True)
        ]
    }
    assert digest(files[0]).stdout == (
        f"{files[0]}: 3 rows, {len(bodies[0]):,} bytes\n"
        f"  logical   f9680c00120{logical.digest().hex()}\n"
        f"  physical  f1620{hashlib.sha3_256(bodies[0]).hexdigest()}\n"
    )


def test_a_file_without_a_hash_is_refused(tmp_path: Path) -> None:
    """A missing file, one that is not Parquet, a damaged one and one with a map are named with the reason."""
    pq.write_table(TABLE, tmp_path / "damaged", compression="none", use_dictionary=False)
    damaged = bytearray((tmp_path / "damaged").read_bytes())
    damaged[4:40] = b"\xff" * 36
    (tmp_path / "damaged").write_bytes(damaged)
    (tmp_path / "text").write_text("id,name\n1,a\n")
    maps = pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))})
    pq.write_table(maps, tmp_path / "maps")
    reasons = {
        "absent": "the file cannot be read: No such file or directory",
        "text": "the file cannot be read: it is not a Parquet file, or is damaged",
        "damaged": "the file cannot be read: it is not a Parquet file, or is damaged",
        "maps": "the logical hash is not defined for the type of m (map<string, int32 ('m')>)",
    }
    found = {name: digest(str(tmp_path / name)).exception for name in reasons}

    assert {name: str(error) for name, error in found.items()} == {
        name: f"{tmp_path / name}: {reason}" for name, reason in reasons.items()
    }
    assert {type(error) for error in found.values()} == {InputError}


@pytest.mark.parametrize("words", [(), ("--json",)])
def test_no_file_is_a_usage_error(words: tuple[str, ...]) -> None:
    """At least one file is needed."""
    assert digest(*words).exit_code == 2


def test_a_slice_is_inspected(tmp_path: Path) -> None:
    """Offsets, operations and times, for people and as a document; what is no slice is refused with the reason."""
    moments = pa.array([0, 1000, 2000], pa.timestamp("ms", "UTC"))
    columns = {
        "offset": pa.array([5, 6, 7], pa.uint64()),
        "op": pa.array([0, 2, 3], pa.uint8()),
        "system_time": moments,
    }
    path, none = str(tmp_path / "slice.parquet"), str(tmp_path / "none.parquet")
    pq.write_table(pa.table({**columns, "event_time": moments, "id": [1, 2, 3]}), path, row_group_size=2)
    pq.write_table(pa.table(columns), none)
    times = ["1970-01-01T00:00:00+00:00", "1970-01-01T00:00:02+00:00"]
    answers = [
        CliRunner().invoke(app, ["dataset", "inspect", *words]) for words in ((path,), (path, "--json"), (none,))
    ]

    assert answers[0].stdout == (
        f"{path}: offsets 5 to 7\n"
        "  operations    1 append, 1 correctFrom, 1 correctTo\n"
        f"  system times  {' to '.join(times)}\n"
        f"  event times   {' to '.join(times)}\n"
    )
    assert json.loads(answers[1].stdout) == {
        "file": path,
        "offsets": [5, 7],
        "operations": {"append": 1, "retract": 0, "correctFrom": 1, "correctTo": 1},
        "systemTimes": times,
        "eventTimes": times,
    }
    assert str(answers[2].exception) == f"{none}: a slice has one column event_time"
