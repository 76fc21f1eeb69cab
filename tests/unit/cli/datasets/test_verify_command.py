"""`lakegate verify`: the chain by itself, and with `--objects` the data that it names."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakegate.aws.wiring import SystemClock
from lakegate.gate.ledger.ledger_yaml import RESTORE
from lakegate.gate.ports import Address, SigningKeys
from tests.unit.cli.conftest import RETENTION, Lakegate
from tests.unit.cli.deployed_stack import LAKE
from tests.unit.gate.ledger.signing import ONE


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """A line of two deliveries, one accepted and one in quarantine."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    return lakegate


def judged(kept: Lakegate, height: int = 0) -> Any:
    return kept.dependencies.ledger.blocks("shop/orders_v1")[height].objects[0]


def overwrite(kept: Lakegate, *, delete_the_judged_version: bool = False) -> str:
    """Write over the accepted file; returns the new version."""
    one = judged(kept)
    version = kept.dependencies.objects.put(Address(LAKE, one.key), b"id,amount\nz,9\n").version
    if delete_the_judged_version:
        kept.dependencies.objects.delete(Address(LAKE, one.key, one.version))
    return version


def test_without_objects_the_output_warns_that_data_was_not_checked(kept: Lakegate) -> None:
    """An intact chain does not prove that files were not overwritten."""
    overwrite(kept, delete_the_judged_version=True)
    result = kept.ok("verify", "orders_v1").splitlines()

    assert result[:3] == [
        "shop/orders_v1: 2 blocks, intact.",
        "Not signed: this chain names no key (docs/ledger.md).",
        "Chain only; data not checked: --objects compares every object with the ledger.",
    ]
    assert kept.json("verify", "orders_v1")["objects"] is None


def test_objects_as_recorded_are_intact(kept: Lakegate) -> None:
    """Exit code 0, and how many objects were compared."""
    result = kept.ok("verify", "orders_v1", "--objects").splitlines()

    assert result[:3] == [
        "shop/orders_v1: 2 blocks, intact.",
        "Not signed: this chain names no key (docs/ledger.md).",
        "2 objects compared with the store: version, size and checksum of each are as recorded; no object is extra.",
    ]
    assert result[3].startswith("Anchor of today")
    assert kept.json("verify", "orders_v1", "--objects")["objects"] == {"compared": 2, "expired": 0, "damaged": []}


def test_what_expired_in_quarantine_is_no_damage(lakegate: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its contract says how long it is kept; the number of expired objects is shown."""
    lakegate.routed(**{"schema:\n": RETENTION})
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    one = judged(lakegate)
    lakegate.dependencies.objects.delete(Address(LAKE, one.key, one.version))
    before = lakegate("verify", "orders_v1", "--objects")
    monkeypatch.setattr(SystemClock, "now", lambda _: datetime.now(UTC) + timedelta(days=7))

    assert (before.exit_code, "lost: bad.csv" in before.stdout.replace("orders/", "")) == (1, True)
    assert lakegate.ok("verify", "orders_v1", "--objects").splitlines()[2:4] == [
        "1 object compared with the store: version, size and checksum of each are as recorded; no object is extra.",
        "Of these, 1 expired in quarantine, as their contract says.",
    ]
    assert lakegate.json("verify", "orders_v1", "--objects")["objects"] == {"compared": 1, "expired": 1, "damaged": []}


def test_a_lost_accepted_file_is_reported_with_its_delivery(kept: Lakegate) -> None:
    """Exit code 1: which block, which delivery, which file, what readers get instead, and what to do."""
    above = overwrite(kept, delete_the_judged_version=True)
    result = kept("verify", "orders_v1", "--objects")
    block, one = kept.dependencies.ledger.blocks("shop/orders_v1")[0], judged(kept)

    assert result.exit_code == 1
    assert result.stdout == (
        "shop/orders_v1: 2 blocks, intact.\n"
        "Not signed: this chain names no key (docs/ledger.md).\n"
        "2 objects compared with the store: 1 is not as recorded.\n"
        f"lost: orders/day.csv, block 0, workload {block.workload}\n"
        f"  s3://{LAKE}/{one.key}, version {one.version}\n"
        f"  The judged version was deleted; readers get version {above}. Take its bytes from a replica or a backup, or ask the\n"
        "  producer for the file. If size and checksum are those of the block, this puts it back and records it:\n"
        f"  lakegate restore {one.key} FILE\n"
    )
    assert json.loads(kept("verify", "orders_v1", "--objects", "--json").stdout) == {
        "chain": "shop/orders_v1",
        "height": 1,
        "head": kept.dependencies.ledger.head("shop/orders_v1").digest,
        "intact": False,
        "faults": [],
        "signatures": {"keys": [], "covered": None, "proven_by": None},
        "objects": {
            "compared": 2,
            "expired": 0,
            "damaged": [
                {
                    "damage": "lost",
                    "key": one.key,
                    "version": one.version,
                    "current": above,
                    "height": 0,
                    "workload": block.workload,
                    "file": "orders/day.csv",
                }
            ],
        },
    }


def test_the_command_for_a_replaced_object_restores_it(kept: Lakegate) -> None:
    """Anyone who deletes the version that it names has the judged one back, and `verify` explains it."""
    above = overwrite(kept)
    result = kept("verify", "orders_v1", "--objects").stdout
    key = judged(kept).key

    assert f"aws s3api delete-object --bucket {LAKE} --key {key} --version-id {above}" in result
    kept.clients["s3"].delete_object(Bucket=LAKE, Key=key, VersionId=above)
    assert kept.json("verify", "orders_v1", "--objects")["intact"] is True


def test_a_delete_marker_is_named_as_what_it_is(kept: Lakegate) -> None:
    """Removing the marker brings the object back: the hint names the command that finds its id."""
    key = judged(kept).key
    kept.dependencies.objects.delete(Address(LAKE, key))
    result = kept("verify", "orders_v1", "--objects").stdout
    (marker,) = (
        kept.clients["s3"]
        .get_paginator("list_object_versions")
        .paginate(Bucket=LAKE, Prefix=key)
        .build_full_result()["DeleteMarkers"]
    )

    assert "hidden: orders/day.csv, block 0, workload " in result
    assert f"aws s3api list-object-versions --bucket {LAKE} --prefix {key} --query DeleteMarkers" in result
    kept.clients["s3"].delete_object(Bucket=LAKE, Key=key, VersionId=marker["VersionId"])
    assert kept.json("verify", "orders_v1", "--objects")["intact"] is True


def test_an_extra_object_cannot_write_on_the_terminal_or_into_a_shell(kept: Lakegate) -> None:
    """Its key is whatever somebody chose: shown with escapes, quoted where it is a word of a command."""
    key = "accepted/shop/orders_v1/x'; rm -rf \x9b31m.csv"
    kept.dependencies.objects.put(Address(LAKE, key), b"x")
    result = kept("verify", "orders_v1", "--objects")

    assert result.exit_code == 1
    assert result.stdout.splitlines()[3] == "extra: no delivery of this dataset"
    assert r"""--key 'accepted/shop/orders_v1/x'"'"'; rm -rf \x9b31m.csv' --version-id""" in result.stdout
    assert "\x9b" not in result.stdout


def test_many_findings_are_cut_for_people_and_whole_for_machines(kept: Lakegate) -> None:
    """A bucket that was emptied must not scroll the cause away."""
    for number in range(25):
        kept.dependencies.objects.put(Address(LAKE, f"accepted/shop/orders_v1/{number}"), b"x")
    result = kept("verify", "orders_v1", "--objects").stdout

    assert result.count("extra: no delivery of this dataset") == 20
    assert result.splitlines()[-1] == "… and 5 more: --json lists them all."
    assert len(json.loads(kept("verify", "orders_v1", "--objects", "--json").stdout)["objects"]["damaged"]) == 25


HEAD = {"chain": {"S": "shop/orders_v1"}, "height": {"N": "-1"}}


@pytest.mark.parametrize(
    ("height", "fault", "why"),
    [
        (-1, 2, "the head of the chain is lost; nothing proves that block 1 is the last one"),
        (0, 1, "the head of the chain was set back to block 0, and there are blocks up to 1"),
    ],
)
def test_a_head_that_was_set_back_or_lost_is_the_only_fault(kept: Lakegate, height: int, fault: int, why: str) -> None:
    """The blocks are verified without it, and no object of theirs is extra: nobody is asked to delete accepted data."""
    table, blocks = kept.clients["dynamodb"], tuple(kept.dependencies.ledger.signed("shop/orders_v1"))
    table.delete_item(TableName="ledger", Key=HEAD)
    if height >= 0:
        digest = hashlib.sha3_256(blocks[height].text).hexdigest()
        table.put_item(TableName="ledger", Item=HEAD | {"top": {"N": str(height)}, "digest": {"S": digest}})
    result = kept("verify", "shop/orders_v1", "--objects", "--json")
    shown = kept("verify", "shop/orders_v1", "--objects").stdout
    document = json.loads(result.stdout)

    assert result.exit_code == 1
    assert document["faults"] == [{"height": fault, "what": "head", "why": f"{why} ({RESTORE})"}]
    assert document["objects"] == {"compared": 2, "expired": 0, "damaged": []}
    assert f"Nothing from block {fault} on can be trusted" in shown


def test_a_chain_without_its_head_is_not_written_as_an_empty_one(kept: Lakegate) -> None:
    """A file without blocks would be read as a line of which nothing was accepted."""
    kept.clients["dynamodb"].delete_item(TableName="ledger", Key=HEAD)
    result = kept("log", "orders_v1", "--yaml")

    assert (result.exit_code, result.stdout) == (1, "")
    assert str(result.exception).startswith("the head of shop/orders_v1 is lost")


def test_blocks_are_verified_though_the_head_is_lost(kept: Lakegate) -> None:
    """A block that was altered is a fault of its own."""
    table = kept.clients["dynamodb"]
    item = table.get_item(TableName="ledger", ConsistentRead=True, Key=HEAD | {"height": {"N": "0"}})["Item"]
    table.put_item(TableName="ledger", Item=item | {"block": {"S": "{"}})
    table.delete_item(TableName="ledger", Key=HEAD)
    faults = json.loads(kept("verify", "shop/orders_v1", "--json").stdout)["faults"]

    assert [(each["height"], each["what"]) for each in faults] == [(0, "altered"), (0, "unreadable"), (2, "head")]


@pytest.mark.parametrize(
    "anchor",
    ["x", "0", "0=", "0=abc", f"-1={'0' * 64}", f"²={'0' * 64}", f"{'9' * 5_000}={'0' * 64}", f"0={'g' * 64}"],
)
def test_a_malformed_anchor_is_a_usage_error(lakegate: Lakegate, anchor: str) -> None:
    """It is not a break of the chain: the error names the expected form, before anything is read."""
    result = str(lakegate("verify", "orders_v1", "--anchor", anchor).exception)

    assert result.startswith(
        "an anchor is HEIGHT=DIGEST, the digest in 64 hexadecimal digits, as `verify` prints it; not "
    )
    assert len(result) < 200


def test_a_usage_error_has_exit_code_2() -> None:
    """Of the program itself, without a stack."""
    result = subprocess.run(
        [sys.executable, "-m", "lakegate.cli.main", "verify", "orders_v1", "--anchor", "0=abc"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("lakegate: an anchor is HEIGHT=DIGEST")


def test_two_anchors_of_one_height_must_agree(kept: Lakegate) -> None:
    """Neither of them is silently left out."""
    digest = kept.dependencies.ledger.head("shop/orders_v1").digest
    same = ["--anchor", f"1={digest}", "--anchor", f"1={digest.upper()}"]

    assert kept.json("verify", "orders_v1", *same)["intact"] is True
    assert str(kept("verify", "orders_v1", *same[:2], "--anchor", f"1={'0' * 64}").exception) == (
        "two anchors of height 1 differ"
    )


@pytest.fixture
def anchored(kept: Lakegate) -> list[str]:
    """Options that name a stack which keeps anchors, in a bucket with object lock."""
    formation, s3 = kept.clients["cloudformation"], kept.clients["s3"]
    template = formation.get_template(StackName="lakegate")["TemplateBody"]
    s3.create_bucket(Bucket="anchors", ObjectLockEnabledForBucket=True)
    outputs = template["Outputs"] | {"AnchorBucket": {"Value": "anchors"}}
    formation.create_stack(StackName="anchored", TemplateBody=json.dumps(template | {"Outputs": outputs}))
    return ["--stack", "anchored"]


def test_a_chain_is_compared_with_the_anchors_that_the_stack_keeps(kept: Lakegate, anchored: list[str]) -> None:
    """Anyone who rewrites the chain and its head is found by an anchor in the locked bucket, which nobody had to name."""
    kept.ok("verify", "orders_v1", "--keep-anchor", *anchored)
    kept.ok("verify", "orders_v1", "--keep-anchor", *anchored)
    digest = kept.dependencies.ledger.head("shop/orders_v1").digest
    keys = [
        each["Key"]
        for each in kept.clients["s3"]
        .get_paginator("list_objects_v2")
        .paginate(Bucket="anchors")
        .build_full_result()["Contents"]
    ]
    kept.clients["s3"].put_object(Bucket="anchors", Key=f"shop/orders_v1/0={'0' * 64}")

    broken = kept("verify", "orders_v1", *anchored)

    assert keys == [f"shop/orders_v1/1={digest}"]
    assert broken.exit_code == 1
    assert kept("verify", "orders_v1").exit_code == 0


def test_a_broken_chain_gives_no_anchor(kept: Lakegate, anchored: list[str]) -> None:
    """What is not intact is not kept as a proof."""
    kept.clients["s3"].put_object(Bucket="anchors", Key=f"shop/orders_v1/0={'0' * 64}")

    assert kept("verify", "orders_v1", "--keep-anchor", *anchored).exit_code == 1
    assert (
        len(
            kept.clients["s3"]
            .get_paginator("list_objects_v2")
            .paginate(Bucket="anchors")
            .build_full_result()["Contents"]
        )
        == 1
    )


def test_a_stack_without_a_bucket_keeps_no_anchors(kept: Lakegate) -> None:
    """The message names the parameter that makes one."""
    assert str(kept("verify", "orders_v1", "--keep-anchor").exception) == (
        "the stack lakegate keeps no anchors: set AnchorDays (docs/deploy.md)"
    )


def test_a_signed_line_of_the_stack_is_verified(lakegate: Lakegate, tmp_path: Path) -> None:
    """From intake to `verify --key`: signed in the commit, read with its signatures, and a removed one is found."""
    keys = SigningKeys(ONE)
    lakegate.dependencies = replace(lakegate.dependencies, signing=keys)
    lakegate.routed()
    lakegate.delivered()
    path = tmp_path / "key.pem"
    path.write_bytes(ONE.pem)
    result = lakegate.ok("verify", "orders_v1", "--key", str(path)).splitlines()
    listed = lakegate.ok("log", "orders_v1", "--yaml")
    lakegate.clients["dynamodb"].update_item(
        TableName="ledger",
        Key={"chain": {"S": "shop/orders_v1"}, "height": {"N": "1"}},
        UpdateExpression="REMOVE signature",
    )

    assert result[:3] == [
        "shop/orders_v1: 2 blocks, intact.",
        f"2 blocks signed by the key {ONE.name}, which block 0 names.",
        f"The given key {ONE.name[:12]} is one of them.",
    ]
    assert listed.count("signature:") == 2
    assert json.loads(lakegate("verify", "orders_v1", "--json").stdout)["faults"] == [
        {"height": 1, "what": "unsigned", "why": f"the key `{ONE.name[:12]}` should have signed it"}
    ]
    assert f"key {ONE.name}, replaces None; by {ONE.arn}" in lakegate.ok("log", "orders_v1").replace("\n", "")
