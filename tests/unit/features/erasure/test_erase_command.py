"""`lakegate erase`: a data subject's rows, on the stack in this process with real files."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.gate.ledger.blocks import Record, deliveries
from lakegate.gate.ports import Address
from tests.unit.cli.conftest import RETENTION, Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING

LINE = "shop/orders_v1"
WHERE = ("--where-key", "id=b", "--reason", "ticket 318", "--yes")


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """Two accepted deliveries and a quarantined one; one accepted and the quarantined one have a row of `b`."""
    lakegate.begin(_deliver)
    return lakegate


def _deliver(lakegate: Lakegate) -> None:
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(body=b"id,amount\nx,7\n", name="other.csv")
    lakegate.delivered(failing=1, body=b"id,amount\nb,1\n,2\n", name="bad.csv")


def bodies(lakegate: Lakegate, bucket: str = LAKE, prefix: str = "") -> list[bytes]:
    """Every version of every object."""
    s3 = lakegate.clients["s3"]
    listed = (
        s3.get_paginator("list_object_versions")
        .paginate(Bucket=bucket, Prefix=prefix)
        .build_full_result()
        .get("Versions", [])
    )
    return [s3.get_object(Bucket=bucket, Key=v["Key"], VersionId=v["VersionId"])["Body"].read() for v in listed]


def data(lakegate: Lakegate) -> list[bytes]:
    files = bodies(lakegate, prefix="accepted/") + bodies(lakegate, prefix="quarantine/")
    return sorted(each for each in files if not each.startswith(b"{"))


def records(lakegate: Lakegate) -> list[tuple[str, Any]]:
    blocks = lakegate.dependencies.ledger.blocks(LINE)
    return [(each.kind, each.content) for each in blocks if isinstance(each, Record)]


def test_rows_are_erased_from_accepted_and_quarantined_data(kept: Lakegate) -> None:
    """No version of any object has them; the others keep their bytes, readers find the new version, and the chain is intact."""
    answer = kept.json("erase", "orders", *WHERE)
    objects = [(each["rows"], each["erased_rows"], each["left"]) for each in answer["objects"]]

    assert (answer["searched"], objects, answer["unsearched"], answer["unfinished"]) == (
        3,
        [(4, 1, True), (2, 1, True)],
        [],
        [],
    )
    assert data(kept) == [b"id,amount\n,2\n", b"id,amount\na,1\nc,3\nd,4\n", b"id,amount\nx,7\n"]
    assert bodies(kept, prefix="erasures/") == []
    assert kept.json("verify", "orders", "--objects")["intact"]
    assert kept.json("get", "orders", str(kept.folder / "data"))["complete"]


def test_an_erasure_is_recorded_with_caller_reason_and_digests(kept: Lakegate) -> None:
    """The value is nowhere in the ledger; the digests of the original stay in the block of the delivery."""
    before = [each.objects for each in deliveries(kept.dependencies.ledger.blocks(LINE))]
    kept.ok("erase", "orders", *WHERE)
    caller = kept.dependencies.identity.caller()
    (begun, first), (done, second), *_ = records(kept)
    (planned,) = first["objects"]
    (left,) = second["objects"]

    assert (begun, done) == ("erasure", "erased")
    assert (first["reason"], first["fields"], first["rows"], planned["version"]) == (
        "ticket 318",
        ["id"],
        1,
        before[0][0].version,
    )
    assert left["left"]["checksum"] == planned["left"]["checksum"]
    assert [each.objects for each in deliveries(kept.dependencies.ledger.blocks(LINE))] == before
    assert "rows 1, reason ticket 318; by " + caller in kept.ok("log", "orders")


def test_a_repetition_erases_nothing_more(kept: Lakegate) -> None:
    """It is idempotent: the same rows are not found again, and nothing is recorded."""
    kept.ok("erase", "orders", *WHERE)
    before = records(kept)
    answer = kept.json("erase", "orders", *WHERE)

    assert (answer["objects"], answer["versions_deleted"], records(kept)) == ([], 0, before)


def test_a_dry_run_counts_and_changes_nothing(kept: Lakegate) -> None:
    """It needs no reason, and shows each object with its rows."""
    before = bodies(kept)
    lines = kept.ok("erase", "orders", "--where-key", "id=b", "--dry-run").splitlines()

    assert [line.partition("  ")[0] for line in lines[:2]] == ["1 of 4 rows", "1 of 2 rows"]
    assert lines[2] == f"Rows would be erased from 2 objects of {LINE}; 3 were looked at."
    assert (bodies(kept), records(kept)) == (before, [])


def test_an_object_without_other_rows_is_deleted(kept: Lakegate) -> None:
    """Nothing is left of it: no version, no delete marker, and no entry in the manifest."""
    kept.ok("erase", "orders", "--where-key", "id=x", "--reason", "t", "--yes")
    listed = kept.json("get", "orders", str(kept.folder / "data"))["deliveries"]

    assert [len(each["files"]) for each in listed] == [1, 0]
    assert data(kept) == [b"id,amount\na,1\nb,2\nc,3\nd,4\n", b"id,amount\nb,1\n,2\n"]
    assert kept.json("verify", "orders", "--objects")["intact"]


def test_a_delivery_is_erased_whole(kept: Lakegate) -> None:
    """Where its rows cannot be found: unread, all of its objects, by the beginning of its id."""
    workload = kept.json("log", "orders")["blocks"][0]["workload"]
    answer = kept.json("erase", "orders", "--delivery", workload[:12], "--reason", "t", "--yes")

    assert [(each["workload"], each["erased_rows"], each["left"]) for each in answer["objects"]] == [
        (workload, None, False)
    ]
    assert bodies(kept, prefix="quarantine/") == []
    assert kept.json("verify", "orders", "--objects")["intact"]


def test_an_object_that_was_written_over_after_an_erasure_is_tampered_with(kept: Lakegate) -> None:
    """`verify` compares with the digest of the erasure, not with that of the delivery."""
    kept.ok("erase", "orders", *WHERE)
    key = kept.json("log", "orders", "--limit", "9")["blocks"][-1]["objects"][0]["key"]
    kept.clients["s3"].put_object(Bucket=LAKE, Key=key, Body=b"id,amount\na,1\nb,2\nc,3\nd,4\n")
    result = kept("verify", "orders", "--objects")

    assert (result.exit_code, result.stdout.count("replaced: ")) == (1, 1)


def test_an_erased_object_that_is_there_again_is_tampered_with(kept: Lakegate) -> None:
    """Nothing may be where an erasure left nothing."""
    key = kept.json("erase", "orders", "--where-key", "id=x", "--reason", "t", "--yes")["objects"][0]["key"]
    kept.clients["s3"].put_object(Bucket=LAKE, Key=key, Body=b"id,amount\nx,7\n")
    result = kept("verify", "orders", "--objects")

    assert (result.exit_code, result.stdout.count("restored: ")) == (1, 1)


def test_an_object_that_cannot_be_searched_is_named_with_what_to_do(kept: Lakegate) -> None:
    """Exit code 3: its rows are still there. The other objects are erased."""
    kept.delivered(failing=1, body=b"id,other\nb,1\n", name="odd.csv")
    result = kept("erase", "orders", "--where-key", "amount=2", "--reason", "t", "--yes")
    (at,) = [each for each in result.stdout.splitlines() if each.startswith("not searched")]

    assert result.exit_code == 3
    assert at.endswith("the file has no column amount")
    assert f"lakegate erase {LINE} --delivery " in result.stdout


def test_a_delivery_that_is_not_finished_is_named(kept: Lakegate) -> None:
    """Its data is in landing: exit code 3, and it is erased when it has ended."""
    workload = kept.upload(body=b"id,amount\nb,5\n", name="new.csv")
    kept.intake("orders/new.csv")
    result = kept("erase", "orders", *WHERE, "--json")

    assert result.exit_code == 3
    assert json.loads(result.stdout)["unfinished"] == [{"workload": workload, "state": "VALIDATING"}]
    assert bodies(kept, LANDING) == [b"id,amount\nb,5\n"]


def test_a_quarantined_delivery_that_is_judged_again_waits(kept: Lakegate) -> None:
    """Its copy is being read: the erasure would take it away."""
    workload = kept.json("log", "orders")["blocks"][0]["workload"]
    kept.ok("replay", workload)
    result = kept("erase", "orders", *WHERE, "--json")
    (skipped,) = json.loads(result.stdout)["unsearched"]

    assert (result.exit_code, skipped["workload"]) == (3, workload)
    assert skipped["reason"] == "it is being judged again: repeat the command when that has ended"


def test_a_copy_whose_replay_ended_is_not_missed(kept: Lakegate) -> None:
    """The replay deleted the quarantined copy; its own copy is searched."""
    workload = kept.json("log", "orders")["blocks"][0]["workload"]
    again = kept.json("replay", workload)["workload"]
    kept.answer(again)
    answer = kept.json("erase", "orders", *WHERE)

    assert [each["workload"] for each in answer["objects"]][1:] == [again]
    assert kept.json("verify", "orders", "--objects")["intact"]


def test_an_object_that_expired_is_not_missed(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The contract says how long rejected data is kept; what an erasure leaves of it has the tag of that time, too."""
    lakegate.routed(**{"schema:\n": RETENTION})
    for name in ("bad.csv", "worse.csv"):
        lakegate.delivered(failing=1, body=b"id,amount\nb,1\n,2\n", name=name)
    expired, one = (each.objects[0] for each in deliveries(lakegate.dependencies.ledger.blocks(LINE)))
    lakegate.dependencies.objects.delete(Address(LAKE, expired.key, expired.version))
    before = lakegate("erase", "orders", *WHERE, "--dry-run").stdout
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + timedelta(days=7))
    answer = lakegate.json("erase", "orders", *WHERE)
    tags = lakegate.clients["s3"].get_object_tagging(Bucket=LAKE, Key=one.key)["TagSet"]

    assert "is not there any more" in before
    assert (answer["searched"], [each["key"] for each in answer["objects"]], answer["unsearched"]) == (2, [one.key], [])
    assert tags == [{"Key": "lakegate", "Value": "quarantine-7"}]


def test_a_missing_object_is_named(kept: Lakegate) -> None:
    """What somebody deleted cannot be searched; `verify` explains it."""
    (each,) = kept.json("log", "orders")["blocks"][-1]["objects"]
    kept.clients["s3"].delete_object(Bucket=LAKE, Key=each["key"], VersionId=each["version"])
    result = kept("erase", "orders", *WHERE)

    assert result.exit_code == 3
    assert f"is not there any more: lakegate verify {LINE} --objects" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name the rows with --where-key FIELD=VALUE, or whole deliveries with --delivery ID"),
        (("--where-key", "id=b", "--delivery", "a"), "name the rows with --where-key FIELD=VALUE"),
        (("--where-key", "id", "--reason", "t"), "--where-key is FIELD=VALUE"),
        (("--where-key", "id=b"), "give a --reason, one line of at most 500 characters"),
        (("--where-key", "id=b", "--reason", "a\nb"), "give a --reason, one line of at most 500 characters"),
        (("--delivery", "ffffffff", "--reason", "t"), "no delivery whose id begins so: ffffffff"),
        (("--where-key", "id=b", "--reason", "t"), "are erased for ever. Nothing was changed: confirm it with --yes"),
    ],
)
def test_what_is_not_clear_is_refused(kept: Lakegate, words: tuple[str, ...], message: str) -> None:
    """Before anything is changed."""
    before = bodies(kept)
    result = kept("erase", "orders", *words)

    assert message in str(result.exception)
    assert (bodies(kept), records(kept)) == (before, [])
