"""`lakegate drift`, and what the schedule reports: the contract against what is really in `accepted/`."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from lakegate.aws.wiring import detail, detail_type
from lakegate.features.drift.schema_drift import DriftReport, drift, report_drift
from lakegate.gate.datasets import readers_manifest
from lakegate.gate.effects import run
from tests.published_schemas import validate
from tests.unit.cli.conftest import Lakegate, with_segments
from tests.unit.cli.deployed_stack import LAKE

LINE = "shop/orders_v1"
UNROUTED = f"_unrouted/{datetime.now(UTC):%Y-%m-%d}"
GROWN = {"properties:\n": "properties:\n      - {name: note, logicalType: string}\n"}


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """A line of two deliveries."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(body=b"amount,more,id\n1,x,z\n", name="last.csv")
    return lakegate


def accepted(lakegate: Lakegate) -> list[str]:
    """The keys of the data, in the order of the deliveries."""
    head = json.loads(
        lakegate.clients["s3"].get_object(Bucket=LAKE, Key=f"accepted/{LINE}/_manifest.json")["Body"].read()
    )
    return [it["key"] for each in head["deliveries"] for it in each["objects"]]


def overwrite(lakegate: Lakegate, key: str, body: bytes) -> None:
    lakegate.clients["s3"].put_object(Bucket=LAKE, Key=key, Body=body)


def found(lakegate: Lakegate, *words: str, code: int = 1) -> Any:
    result = lakegate("drift", "orders", "--json", *words)
    assert (result.exit_code, result.stderr) == (code, ""), result.output
    return json.loads(result.stdout)


def reported(lakegate: Lakegate, **changes: Any) -> DriftReport:
    dependencies = replace(lakegate.dependencies, **changes)
    return drift(dependencies, LINE)


def test_accepted_data_as_the_contract_promises_has_no_drift(kept: Lakegate) -> None:
    """Columns in another order, and columns beyond the declared ones, are free."""
    assert found(kept, code=0) == {
        "line": LINE,
        "contract_version": "1.0.0",
        "compared": 2,
        "fields": [],
        "drifted": [],
    }
    assert kept.ok("drift", "orders") == f"{LINE} against version 1.0.0: 2 objects, no drift.\n"


def test_a_field_that_is_gone_is_drift(kept: Lakegate) -> None:
    """The object was written past the gate: a declared column is not there."""
    first, _ = accepted(kept)
    overwrite(kept, first, b"id\na\n")
    (differing,) = found(kept)["drifted"]

    assert differing["differences"] == [
        {"difference": "replaced", "field": None, "found": None},
        {"difference": "absent", "field": "amount", "found": None},
    ]
    assert (differing["height"], differing["version"], differing["key"]) == (0, "1.0.0", first)
    assert found(kept)["fields"] == [
        {"difference": "absent", "field": "amount", "objects": 1},
        {"difference": "replaced", "field": None, "objects": 1},
    ]


def test_an_object_that_is_gone_or_no_table_is_drift(kept: Lakegate) -> None:
    """Each with its own word; the table shows them."""
    first, last = accepted(kept)
    overwrite(kept, last, b"PAR1\x1b[31m")
    kept.clients["s3"].delete_object(Bucket=LAKE, Key=first)
    differing = found(kept)["drifted"]
    shown = kept("drift", "orders")

    assert [[one["difference"] for one in each["differences"]] for each in differing] == [
        ["replaced", "unreadable"],
        ["missing"],
    ]
    assert shown.exit_code == 1
    assert f"{LINE} against version 1.0.0: 2 of 2 objects differ." in shown.stdout
    assert "was deleted" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_what_the_contract_declared_later_is_no_drift(kept: Lakegate) -> None:
    """Data of an older version lacks the new column; compared with itself or with the new one, it is as it was promised."""
    kept.ok("publish", kept.contract("1.1.0", **GROWN))

    assert found(kept, code=0)["contract_version"] == "1.1.0"
    kept.delivered(body=b"id,amount\nq,1\n", name="without.csv")
    assert found(kept)["fields"] == [{"difference": "absent", "field": "note", "objects": 1}]
    assert found(kept, "--contract-version", "1.0.0", code=0)["compared"] == 3


def test_only_the_newest_objects_are_compared(kept: Lakegate) -> None:
    """As many as asked for."""
    overwrite(kept, accepted(kept)[0], b"id\na\n")

    assert (found(kept, "--objects", "1", code=0)["compared"], found(kept)["compared"]) == (1, 2)


def test_a_line_without_data_or_version_is_named(lakegate: Lakegate) -> None:
    """Nothing to compare is no drift; an unknown version is an error."""
    lakegate.routed()

    assert lakegate.ok("drift", "orders") == f"{LINE} against version 1.0.0: nothing was accepted yet.\n"
    refused = [
        lakegate("drift", *words).exception for words in (("orders", "--contract-version", "1.5.0"), (UNROUTED,))
    ]
    assert list(map(str, refused)) == [f"{LINE} has no published version 1.5.0", f"{UNROUTED} has no published version"]


def test_objects_of_segments_are_found(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest deliveries, also where the head lists few of them; not further back than some segments."""
    small = with_segments(lakegate, 1)
    small.routed()
    for number in range(4):
        small.delivered(body=f"id,amount\n{number},1\n".encode(), name=f"{number}.csv")
    heights = [each["height"] for each in readers_manifest.newest(small.dependencies, LINE, 3)]
    monkeypatch.setattr(readers_manifest, "MAX_SEGMENTS", 2)

    assert heights == [3, 2, 1]
    assert [each["height"] for each in readers_manifest.newest(small.dependencies, LINE, 9)] == [3, 2]
    assert readers_manifest.newest(small.dependencies, "shop/other_v1", 9) == []


def test_a_table_of_many_objects_is_cut(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest is counted."""
    lakegate.routed()
    for number in range(3):
        lakegate.delivered(body=f"id,amount\n{number},1\n".encode(), name=f"{number}.csv")
    for key in accepted(lakegate):
        overwrite(lakegate, key, b"id\n1\n")
    monkeypatch.setattr("lakegate.features.drift.drift_command.SHOWN", 2)

    assert lakegate("drift", "orders").stdout.endswith("1 more object: --json lists all.\n")


def test_drift_is_reported_once(kept: Lakegate) -> None:
    """The same drift found again adds no second event; another one does; without drift there is none."""
    clock = kept.dependencies.clock
    assert run(report_drift(kept.dependencies, reported(kept)), clock) is False
    overwrite(kept, accepted(kept)[0], b"id\na\n")
    first = [run(report_drift(kept.dependencies, reported(kept)), clock) for _ in range(2)]
    overwrite(kept, accepted(kept)[1], b"amount\n1\n")
    second = run(report_drift(kept.dependencies, reported(kept)), clock)
    messages = [each for each in kept.dependencies.outbox.pending(10) if each.kind == "drift"]

    assert (first, second, len(messages)) == ([True, False], True, 2)
    for each in messages:
        validate("line-event", detail(each))
    assert detail_type(messages[0]) == "line drift"
    assert json.loads(messages[0].body) == {
        "line": LINE,
        "contract_version": "1.0.0",
        "compared": 2,
        "drifted": 1,
        "newest_height": 0,
        "fields": [
            {"difference": "absent", "field": "amount", "objects": 1},
            {"difference": "replaced", "field": None, "objects": 1},
        ],
        "subscribers": [],
    }
