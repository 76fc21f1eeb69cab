"""`lakegate dataset slice`: the accepted rows of local files as slices."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pytest
from click.testing import CliRunner

from lakegate.base.errors import InputError
from lakegate.cli.main import app
from lakegate.features.odf.format.logical_hash import digest_of

if TYPE_CHECKING:
    from click.testing import Result

CONTRACT = """\
dataContractSpecification: 1.2.1
id: visits
info: {title: Visits, version: 1.0.0}
models:
  visit:
    fields:
      id: {type: long, required: true}
      seen: {type: timestamp}
"""
GOOD = "id,seen\n1,2020-01-02T03:04:05Z\n2,2020-01-03T00:00:00Z\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a contract, a good and a bad file."""
    (tmp_path / "c.yaml").write_text(CONTRACT)
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "bad.csv").write_text("id,seen\nx,\n")
    return tmp_path


def run(folder: Path, file: str, *words: str) -> Result:
    """Run the command on a file."""
    paths = [str(folder / file), "--contract", str(folder / "c.yaml"), "--into", str(folder / "slices")]
    return CliRunner().invoke(app, ["dataset", "slice", *paths, *words])


def test_two_deliveries_become_slices_with_consecutive_offsets(folder: Path) -> None:
    """Each is named by its first offset; DuckDB reads both as one table."""
    first = json.loads(run(folder, "good.csv", "--json", "--event-time", "seen").stdout)
    second = json.loads(run(folder, "good.csv", "--json", "--offset", "2").stdout)
    paths = [folder / "slices" / f"{offset:020}.parquet" for offset in (0, 2)]
    digests = [digest_of(each) for each in paths]
    found = duckdb.read_parquet(f"{folder}/slices/*.parquet").select("offset", "op", "id").order("1").fetchall()

    assert first == {
        "verdict": "accepted",
        "rows": 2,
        "slices": [
            {
                "file": str(paths[0]),
                "rows": 2,
                "offset": 0,
                "event_times": ["2020-01-02T03:04:05.000000Z", "2020-01-03T00:00:00.000000Z"],
                "size": digests[0].size,
                "logical": digests[0].logical,
                "physical": digests[0].physical,
            }
        ],
    }
    assert [(each["offset"], each["logical"]) for each in second["slices"]] == [(2, digests[1].logical)]
    assert found == [(0, 0, 1), (1, 0, 2), (2, 0, 1), (3, 0, 2)]


def test_events_have_the_times_that_the_contract_names(folder: Path) -> None:
    """As in the slices of the gate; the option names another column."""
    published = "config: {lakegate: {publishAs: parquet, eventTime: seen}}\n    fields:"
    fields = "fields:\n      late: {type: date}"
    (folder / "c.yaml").write_text(CONTRACT.replace("fields:", fields).replace("fields:", published))
    (folder / "good.csv").write_text("late,id,seen\n2021-05-06,1,2020-01-02T03:04:05Z\n")
    stated = json.loads(run(folder, "good.csv", "--json").stdout)["slices"]
    named = json.loads(run(folder, "good.csv", "--json", "--offset", "1", "--event-time", "late").stdout)["slices"]

    assert [each["event_times"] for each in (*stated, *named)] == [
        ["2020-01-02T03:04:05.000000Z"] * 2,
        ["2021-05-06T00:00:00.000000Z"] * 2,
    ]


def test_the_slices_follow_the_verdict_for_people(folder: Path) -> None:
    """Its name, offsets, times and hashes."""
    found = run(folder, "good.csv", "--event-time", "seen")
    path = folder / "slices" / f"{0:020}.parquet"
    digest = digest_of(path)

    assert found.exit_code == 0
    assert found.stdout.splitlines()[-4:] == [
        f"{path}: offsets 0 to 1, {digest.size:,} bytes",
        "  event times  2020-01-02T03:04:05.000000Z to 2020-01-03T00:00:00.000000Z",
        f"  logical      {digest.logical}",
        f"  physical     {digest.physical}",
    ]


def test_a_rejected_delivery_becomes_no_slice(folder: Path) -> None:
    """The exit code is that of `lakegate check`."""
    found = run(folder, "bad.csv", "--json")

    assert (found.exit_code, json.loads(found.stdout)) == (1, {"verdict": "rejected", "rows": 1, "slices": []})
    assert list((folder / "slices").iterdir()) == []


def test_no_slice_is_overwritten(folder: Path) -> None:
    """The message names the file and the options."""
    run(folder, "good.csv")
    found = run(folder, "good.csv")

    assert isinstance(found.exception, InputError)
    assert str(found.exception) == (
        f"{folder}/slices/{0:020}.parquet exists: name another folder, or the --offset that follows the last slice"
    )


def test_a_folder_that_cannot_be_written_is_named(folder: Path) -> None:
    """Here it is a file."""
    (folder / "slices").write_text("")

    assert str(run(folder, "good.csv").exception) == f"--into {folder}/slices cannot be written: File exists"


def test_a_dataset_that_cannot_be_a_slice_is_refused_before_it_is_read(folder: Path) -> None:
    """A field with the name of a common column, and a time of events that is none."""
    wrong = run(folder, "good.csv", "--event-time", "id")
    (folder / "c.yaml").write_text(CONTRACT.replace("seen", "op"))
    taken = run(folder, "good.csv")

    assert str(wrong.exception) == (
        f"--event-time id: it is neither a date nor a timestamp; name a column of {folder}/c.yaml"
    )
    assert str(taken.exception) == f"{folder}/c.yaml: op: every slice has a column of this name: rename the field"
