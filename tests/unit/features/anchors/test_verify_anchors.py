"""`lakegate verify --anchors`: rewritten, truncated and deleted chains are found by daily anchors, and so are changed anchors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lakegate.aws.kms_signing import KmsKey
from lakegate.aws.wiring import SystemClock
from lakegate.features.anchors.anchors import AnchorStore, keep_anchor_of_today
from lakegate.gate.effects import run
from lakegate.gate.ledger.blocks import GENESIS, canonical, digest, from_json
from lakegate.gate.ledger.signatures import signed_text
from lakegate.gate.ports import SigningKeys
from tests.fakes.signing import MemoryKey
from tests.unit.cli.conftest import Lakegate
from tests.unit.gate.ledger.signing import ONE, TWO

BUCKET, LINE = "anchors", "shop/orders_v1"
HERE = ["--stack", "anchored"]


def signs(lakegate: Lakegate, *keys: MemoryKey) -> None:
    of = {"anchors": AnchorStore(BUCKET, 30)}.__getitem__
    lakegate.dependencies = replace(lakegate.dependencies, signing=SigningKeys(*keys), of=of)


class At:
    """A clock so many days later."""

    def __init__(self, days: int) -> None:
        self.days = days

    def now(self) -> datetime:
        return SystemClock().now() + timedelta(days=self.days)


def anchored(lakegate: Lakegate, day: int) -> None:
    """The anchor of a day, counted from today."""
    dependencies = replace(lakegate.dependencies, clock=At(day))  # type: ignore[arg-type] # as much of a clock as is asked
    assert run(keep_anchor_of_today(dependencies), SystemClock()).is_complete


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """A signed line of two deliveries with anchors of three days, the last one of today; its stack names bucket and key."""
    signs(lakegate, ONE)
    lakegate.begin(_of_three_days)
    return lakegate


def _of_three_days(lakegate: Lakegate) -> None:
    lakegate.clients["s3"].create_bucket(Bucket=BUCKET, ObjectLockEnabledForBucket=True)
    lakegate.routed()
    lakegate.delivered()
    anchored(lakegate, -2)
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    anchored(lakegate, -1)
    anchored(lakegate, 0)
    formation = lakegate.clients["cloudformation"]
    template = formation.get_template(StackName="lakegate")["TemplateBody"]
    outputs = {"AnchorBucket": {"Value": BUCKET}, "SigningKeyArn": {"Value": ONE.arn}}
    template = template | {"Outputs": template["Outputs"] | outputs}
    formation.create_stack(StackName="anchored", TemplateBody=json.dumps(template))


@pytest.fixture
def key(tmp_path: Path) -> list[str]:
    path = tmp_path / "key.pem"
    path.write_bytes(ONE.pem)
    return ["--key", str(path)]


def verified(kept: Lakegate, *words: str, place: str = "stack") -> tuple[int, Any]:
    found = kept("verify", *words, "--anchors", place, "--json", *HERE)
    assert not found.stderr, found.stderr
    return found.exit_code, json.loads(found.stdout)


def faults(kept: Lakegate, *words: str, place: str = "stack") -> list[tuple[str, str, int | None]]:
    code, document = verified(kept, *words, place=place)
    assert (code, document["intact"]) == ((1, False) if document["faults"] else (0, True))
    return [(each["what"], each["where"], each["height"]) for each in document["faults"]]


def keys_of(kept: Lakegate) -> list[str]:
    return [
        each["Key"]
        for each in kept.clients["s3"]
        .get_paginator("list_objects_v2")
        .paginate(Bucket=BUCKET, Prefix="_daily/")
        .build_full_result()["Contents"]
    ]


def test_every_anchored_chain_is_verified(kept: Lakegate, key: list[str]) -> None:
    """Without a line all of them, those of contracts, too; who signed the anchors, and that the given key did."""
    words = kept.ok("verify", "--anchors", "stack", *key, *HERE).splitlines()
    code, document = verified(kept, *key)
    first, _, last = (each.split("/")[1] for each in keys_of(kept))

    assert words == [
        f"3 documents of anchors, {first} to {last}.",
        f"3 of them signed by the key {ONE.name}.",
        f"The given key {ONE.name[:12]} is one of them.",
        "2 chains compared: each is intact, and has every block that the anchors name.",
    ]
    assert (code, document) == (
        0,
        {
            "anchors": {
                "documents": 3,
                "first": first,
                "last": last,
                "finished": True,
                "without": [],
                "keys": [{"key": ONE.name, "signed": 3}],
                "proven_by": "key",
            },
            "chains": 2,
            "intact": True,
            "faults": [],
        },
    )
    assert verified(kept)[1]["anchors"]["proven_by"] is None
    assert "The anchors themselves name these keys: only --key proves whose they are." in kept.ok(
        "verify", "orders_v1", "--anchors", "s3://anchors", *HERE
    )


def stored(kept: Lakegate, chain: str = LINE) -> list[Any]:
    """All items of a chain, its head first."""
    asked = {"KeyConditionExpression": "chain = :chain", "ExpressionAttributeValues": {":chain": {"S": chain}}}
    found: list[Any] = kept.clients["dynamodb"].query(TableName="ledger", ConsistentRead=True, **asked)["Items"]
    return found


def write(kept: Lakegate, items: list[Any], chain: str = LINE) -> None:
    """Exactly these."""
    for each in stored(kept, chain):
        kept.clients["dynamodb"].delete_item(TableName="ledger", Key={name: each[name] for name in ("chain", "height")})
    for each in items:
        kept.clients["dynamodb"].put_item(TableName="ledger", Item=each)


def rewritten(kept: Lakegate, by: MemoryKey) -> list[Any]:
    """Every delivery says something else, every link is good, and every block is signed: what controls tables and key can do."""
    head, *items = stored(kept)
    previous, made = GENESIS, []
    for item in items:
        block = replace(from_json(item["block"]["S"]), previous=previous, system_time="2026-11-22T00:00:00.000000Z")
        previous = digest(block)
        text = {"S": canonical(block).decode()}
        signature = {"B": by.sign(signed_text(previous))}
        made.append({**item, "block": text, "digest": {"S": previous}, "signature": signature})
    return [{**head, "digest": {"S": previous}}, *made]


def cut(kept: Lakegate, top: int) -> list[Any]:
    """Only the blocks up to a height, under a head that says so."""
    head, *items = stored(kept)
    return [{**head, "top": {"N": str(top)}, "digest": items[top]["digest"]}, *items[: top + 1]]


def test_a_chain_that_was_rewritten_and_signed_again_is_found(kept: Lakegate, key: list[str]) -> None:
    """Whoever controls the tables and the signing key makes a chain that is intact to every other check, and not to anchors."""
    write(kept, rewritten(kept, ONE))

    assert json.loads(kept("verify", "orders_v1", *key, "--json", *HERE).stdout)["intact"] is True
    assert faults(kept, *key) == [("rewritten", LINE, None)]
    assert faults(kept, "orders_v1", *key) == [("rewritten", LINE, None)]
    assert faults(kept, "_contracts/shop", *key) == []
    words = kept("verify", "--anchors", "stack", *HERE).stdout.splitlines()
    assert words[-1].startswith(f"rewritten: {LINE}: block 1 is not the one that the anchor of ")


def test_a_chain_that_was_cut_off_with_its_head_is_found(kept: Lakegate) -> None:
    """It is intact by itself."""
    write(kept, cut(kept, 1))

    assert json.loads(kept("verify", "orders_v1", "--json", *HERE).stdout)["intact"] is True
    assert faults(kept) == [("truncated", LINE, None)]


def test_a_fork_below_an_anchor_is_found(kept: Lakegate) -> None:
    """Cut off, and continued by other deliveries until it is as high as before."""
    write(kept, cut(kept, 1))
    kept.delivered(body=b"id,amount\nz,9\n", name="other.csv")

    assert faults(kept) == [("rewritten", LINE, None)]


def test_a_chain_that_is_gone_is_found(kept: Lakegate) -> None:
    """Its name is in the anchors, wherever it was removed; without its head alone, the blocks are compared with the anchors."""
    head = stored(kept)[0]
    kept.clients["dynamodb"].delete_item(TableName="ledger", Key={name: head[name] for name in ("chain", "height")})
    headless = faults(kept)
    write(kept, [])
    write(kept, [], "_contracts/shop")

    assert headless == [("head", LINE, 3)]
    assert faults(kept) == [("missing-chain", "_contracts/shop", None), ("missing-chain", LINE, None)]


def test_a_record_of_a_person_is_covered_by_the_anchors_signature(kept: Lakegate, key: list[str]) -> None:
    """Chains of contracts are not signed: who rewrites one is found by the signed anchor, which nobody else can make."""
    chain = "_contracts/shop"
    head, item = stored(kept, chain)
    block = replace(from_json(item["block"]["S"]), actor="arn:aws:iam::123456789012:user/mallory")
    told = {"S": digest(block)}
    write(kept, [{**head, "digest": told}, {**item, "block": {"S": canonical(block).decode()}, "digest": told}], chain)

    assert faults(kept, *key) == [("rewritten", chain, None)]


def test_what_was_put_over_an_anchor_is_found(kept: Lakegate, key: list[str]) -> None:
    """The locked version is read, and proves what it did; the other one, and a delete marker, are faults."""
    s3, (first, second, _) = kept.clients["s3"], keys_of(kept)
    s3.put_object(Bucket=BUCKET, Key=first, Body=b"{}")
    s3.delete_object(Bucket=BUCKET, Key=second)

    assert faults(kept, *key) == [("missing-anchor", second, None), ("altered-anchor", first, None)]
    write(kept, rewritten(kept, ONE))
    assert faults(kept, *key)[2:] == [("rewritten", LINE, None)]


def copied(kept: Lakegate, folder: Path) -> dict[str, Path]:
    """A copy of the bucket, as `aws s3 sync` makes it."""
    found = {}
    for each in keys_of(kept):
        found[each] = folder / each
        found[each].parent.mkdir(parents=True)
        found[each].write_bytes(kept.clients["s3"].get_object(Bucket=BUCKET, Key=each)["Body"].read())
    return found


def _deleted(paths: list[Path]) -> None:
    paths[1].unlink()


def _replaced(paths: list[Path]) -> None:
    paths[1].write_bytes(paths[1].read_bytes().replace(b'"height":', b'"height":1'))


def _exchanged(paths: list[Path]) -> None:
    one, other = paths[1].read_bytes(), paths[2].read_bytes()
    paths[1].write_bytes(other)
    paths[2].write_bytes(one)


def _stray(paths: list[Path]) -> None:
    paths[0].with_name("notes.txt").write_text("x")


@pytest.mark.parametrize(
    ("attack", "found"),
    [
        (_deleted, [("missing-anchor", 1)]),
        (_replaced, [("anchor-signature", 1), ("altered-anchor", 1)]),
        (_exchanged, [("misplaced-anchor", 1), ("misplaced-anchor", 2)]),
        (_stray, [("misplaced-anchor", None)]),
    ],
)
def test_a_copy_of_the_anchors_is_verified(
    kept: Lakegate,
    key: list[str],
    tmp_path: Path,
    attack: Callable[[list[Path]], None],
    found: list[tuple[str, int | None]],
) -> None:
    """From a folder, with the chain in a file, without a stack; deleted, replaced and exchanged documents are found."""
    folder, chain = tmp_path / "copy", tmp_path / "chain.yaml"
    paths = copied(kept, folder)
    chain.write_text(kept.ok("log", "orders_v1", "--yaml"))
    words = ("verify", LINE, "--anchors", str(folder), "--yaml", str(chain), *key, "--json")
    before = json.loads(kept.ok(*words, "--stack", "none"))
    attack(list(paths.values()))
    after = json.loads(kept(*words, "--stack", "none").stdout)

    assert (before["intact"], before["chains"], before["anchors"]["proven_by"]) == (True, 1, "key")
    keys = [*paths, None]
    told = [(each["what"], keys.index(each["where"]) if each["where"] in paths else None) for each in after["faults"]]
    assert set(found) <= set(told)


def test_a_chain_in_a_file_that_was_rewritten_is_found(kept: Lakegate, tmp_path: Path) -> None:
    """Signed again, it is intact; the anchors say that it is another one."""
    write(kept, rewritten(kept, ONE))
    chain = tmp_path / "chain.yaml"
    chain.write_text(kept.ok("log", "orders_v1", "--yaml"))
    assert json.loads(kept("verify", LINE, "--yaml", str(chain), "--json").stdout)["intact"] is True

    assert faults(kept, LINE, "--yaml", str(chain)) == [("rewritten", LINE, None)]


def test_days_without_an_anchor_are_told(kept: Lakegate, monkeypatch: pytest.MonkeyPatch) -> None:
    """The function did not run: no fault, if another anchor followed; without one for two days there is a fault."""
    anchored(kept, 3)
    words = kept.ok("verify", "--anchors", "stack", *HERE).splitlines()
    now = SystemClock().now()
    monkeypatch.setattr(SystemClock, "now", lambda _: now + timedelta(days=6))
    late = verified(kept)[1]["faults"]
    elsewhere = faults(kept, place=f"s3://{BUCKET}/")

    assert (
        words[1]
        == "No anchor was written on "
        + ", ".join((now + timedelta(days=each)).date().isoformat() for each in (1, 2))
        + "."
    )
    assert [(each["what"], each["where"]) for each in late] == [("missing-anchor", None)]
    assert elsewhere == []


def test_an_anchor_that_is_not_finished_is_told(kept: Lakegate) -> None:
    """The next run of the function finishes it: no fault."""
    dependencies = replace(kept.dependencies, clock=At(1))  # type: ignore[arg-type] # likewise
    next(steps := keep_anchor_of_today(dependencies, 1)).do()
    steps.close()

    assert "is not finished: the next run of its function does that." in kept.ok("verify", "--anchors", "stack", *HERE)


def test_many_faults_are_cut_for_people(kept: Lakegate) -> None:
    """All of them are in the JSON."""
    for number in range(60):
        kept.clients["s3"].put_object(Bucket=BUCKET, Key=f"_daily/{number}\x9b", Body=b"x")
    words = kept("verify", "--anchors", "stack", *HERE).stdout

    assert words.splitlines()[-1] == "… and 10 more: --json lists them all."
    assert "\x9b" not in words
    assert len(verified(kept)[1]["faults"]) == 60


def test_anchors_of_a_stack_that_signs_nothing(lakegate: Lakegate) -> None:
    """They prove what they name as long as they are locked; nothing says who wrote them."""
    lakegate.clients["s3"].create_bucket(Bucket=BUCKET)
    signs(lakegate)
    lakegate.routed()
    anchored(lakegate, 0)

    assert "They are not signed." in lakegate.ok("verify", "--anchors", f"s3://{BUCKET}").splitlines()


@pytest.fixture
def kms(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which keys KMS was asked for; all of them are one."""
    asked: list[str] = []

    def public_key(self: KmsKey) -> bytes:
        asked.append(self.arn)
        return ONE.public_key()

    monkeypatch.setattr(KmsKey, "public_key", public_key)
    return asked


def test_the_key_of_the_stack_is_fetched_from_kms(kept: Lakegate, kms: list[str]) -> None:
    """Of a line and of anchors; both say that an own copy is stronger evidence."""
    own = "It was fetched from KMS just now: a copy of your own, kept elsewhere, is stronger evidence (docs/ledger.md)."
    new_row = kept.ok("verify", "orders_v1", "--key", "kms", *HERE).splitlines()
    of_anchors = kept.ok("verify", "--anchors", "stack", "--key", "kms", *HERE).splitlines()
    document = json.loads(kept("verify", "orders_v1", "--key", "kms", "--json", *HERE).stdout)

    assert new_row[2:4] == [f"The given key {ONE.name[:12]} is one of them.", own]
    assert of_anchors[2:4] == [f"The given key {ONE.name[:12]} is one of them.", own]
    assert document["signatures"]["proven_by"] == "kms"
    assert verified(kept, "--key", "kms")[1]["anchors"]["proven_by"] == "kms"
    assert set(kms) == {ONE.arn}


def test_another_key_than_the_stacks_is_found(kept: Lakegate, tmp_path: Path) -> None:
    """No document is signed by it."""
    path = tmp_path / "other.pem"
    path.write_bytes(TWO.pem)

    assert faults(kept, "--key", str(path)) == [("unknown-key", None, None)]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name a dataset; without one, --anchors verifies every chain that is anchored"),
        (
            ["orders_v1", "--anchors", "stack", "--objects"],
            "leave out --anchor, --keep-anchor, --objects, --derivation, --integrity, --replay and --data",
        ),
        (["--anchors", "stack", "--yaml", "x"], "--yaml has one chain: name its dataset"),
        (["--anchors", "stack"], "the stack lakegate keeps no anchors: set AnchorDays"),
        (["--anchors", "nowhere"], "nowhere is not a folder"),
        (["--anchors", "s3://lakegate-lake/x"], "there is no anchor at s3://lakegate-lake/x"),
        (["orders_v1", "--key", "kms"], "the stack lakegate signs nothing: set SigningKey"),
        (["orders_v1", "--key", "kms", "--yaml", "x"], "--yaml asks no stack: leave out --key kms"),
    ],
)
def test_what_cannot_be_verified_is_a_usage_error(lakegate: Lakegate, words: list[str], message: str) -> None:
    """The message says what to give instead."""
    lakegate.routed()

    assert message in str(lakegate("verify", *words).exception)
