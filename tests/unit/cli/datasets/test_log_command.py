"""`lakegate log` and `verify`: the chain of a dataset line."""

from __future__ import annotations

import json

import pytest

from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE


@pytest.fixture
def kept(lakegate: Lakegate) -> Lakegate:
    """A line of two deliveries."""
    lakegate.routed()
    lakegate.delivered()
    lakegate.delivered(failing=1, body=b"id,amount\n,1\n", name="bad.csv")
    return lakegate


def test_a_line_is_listed_from_its_top(kept: Lakegate) -> None:
    """Height, time, verdict, version, rows, workload: the newest first; as many as asked for."""
    rows = [line.split() for line in kept.ok("log", "orders_v1").splitlines()[1:]]

    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        ("1", "rejected", "1.0.0", "4"),
        ("0", "accepted", "1.0.0", "4"),
    ]
    assert len(kept.json("log", "shop/orders_v1", "--limit", "1")["blocks"]) == 1


def test_a_line_is_found_by_its_dataset_and_shows_the_files(kept: Lakegate) -> None:
    """`orders` is enough where there is one line of it; each block shows which file it was, and its rejected rows."""
    rows = [line.split() for line in kept.ok("log", "orders").splitlines()]
    listed = kept.json("log", "orders")

    assert rows[0] == ["height", "at", "verdict", "version", "rows", "rejected", "workload", "file"]
    assert [(row[4], row[5], row[7]) for row in rows[1:]] == [
        ("4", "4", "orders/bad.csv"),
        ("4", "0", "orders/day.csv"),
    ]
    assert listed["chain"] == "shop/orders_v1"
    assert [set(each) for block in listed["blocks"] for each in block["objects"]] == [
        {"key", "version", "size", "checksum"}
    ] * 2
    assert [
        (each["file"], each["rows"], each["published_rows"], each["rejected_rows"]) for each in listed["blocks"]
    ] == [
        ("orders/bad.csv", 4, 0, 4),
        ("orders/day.csv", 4, 4, 0),
    ]


def test_a_line_lists_who_replayed_between_its_deliveries(kept: Lakegate) -> None:
    """A record has the caller's ARN, as STS names it, and what was done; the chain stays intact."""
    quarantined = kept.json("log", "orders")["blocks"][0]["workload"]
    kept.ok("replay", quarantined)
    caller = kept.dependencies.identity.caller()
    newest = kept.json("log", "orders")["blocks"][0]
    line = kept.ok("log", "orders").splitlines()[1].split()

    assert (newest["kind"], newest["actor"], newest["content"]["workload"]) == ("replay", caller, quarantined)
    assert (line[0], line[2], line[3:]) == ("2", "replay", ["workload", f"{quarantined};", "by", caller])
    assert kept.json("verify", "orders", "--objects")["intact"]


def test_a_contract_lists_who_published_it(kept: Lakegate) -> None:
    """Its own chain has a record for each version, with the caller's ARN; it is verified like any other."""
    kept.ok("publish", kept.contract("1.0.1"))
    caller = kept.dependencies.identity.caller()
    blocks = kept.json("log", "_contracts/shop")["blocks"]

    assert [(each["kind"], each["actor"], each["content"]["version"]) for each in blocks] == [
        ("publication", caller, "1.0.1"),
        ("publication", caller, "1.0.0"),
    ]
    assert f"version 1.0.1, status active; by {caller}" in kept.ok("log", "_contracts/shop")
    assert kept.json("verify", "_contracts/shop")["height"] == 1


def test_a_block_whose_row_is_gone_is_listed_without_its_file(kept: Lakegate) -> None:
    """A table restored to an earlier time: the ledger still lists finished deliveries."""
    for item in kept.clients["dynamodb"].scan(TableName="workloads", ConsistentRead=True)["Items"]:
        kept.clients["dynamodb"].delete_item(TableName="workloads", Key={"id": item["id"]})
        archived = f"runs/{item['id']['S'].partition('#')[2]}/row.json"
        kept.clients["s3"].delete_object(Bucket=LAKE, Key=archived)
    listed = kept.json("log", "orders")["blocks"]

    assert [(each["file"], each["rows"], each["published_rows"], each["rejected_rows"]) for each in listed] == [
        (None, 4, None, 1),
        (None, 4, None, 0),
    ]


def test_a_file_name_cannot_write_on_the_terminal(lakegate: Lakegate) -> None:
    """It is shown with escapes."""
    lakegate.routed()
    name = "\u202e[red]\x9b31m.csv"
    workload = lakegate.json("upload", lakegate.file(), "--to", "orders/", "--as", name)["workload"]
    lakegate.intake(f"orders/{name}")
    lakegate.answer(workload)

    assert lakegate.ok("log", "orders").rstrip().endswith(r"orders/\u202e[red]\x9b31m.csv")


def test_an_intact_chain_is_verified_with_its_anchor(kept: Lakegate) -> None:
    """The anchor it prints is one it accepts."""
    result = kept.ok("verify", "orders_v1")
    anchor = result.split("elsewhere: ")[1].strip()

    assert result.startswith("shop/orders_v1: 2 blocks, intact.\n")
    assert kept.json("verify", "orders_v1", "--anchor", anchor)["intact"] is True
    assert kept.json("log", "orders_v1")["blocks"][0]["digest"] == anchor.partition("=")[2]


@pytest.mark.parametrize(("height", "expected"), [(0, 0), (1, 1)])
def test_a_block_that_was_changed_is_found(kept: Lakegate, height: int, expected: int) -> None:
    """Exit code 1, and from which block on nothing can be trusted."""
    key = {"chain": {"S": "shop/orders_v1"}, "height": {"N": str(height)}}
    client = kept.clients["dynamodb"]
    text = client.get_item(TableName="ledger", ConsistentRead=True, Key=key)["Item"]["block"]["S"].replace(
        '"rows":4', '"rows":5'
    )
    change = {"UpdateExpression": "SET #b = :b", "ExpressionAttributeNames": {"#b": "block"}}
    client.update_item(TableName="ledger", Key=key, ExpressionAttributeValues={":b": {"S": text}}, **change)
    people, machine = kept("verify", "orders_v1"), kept("verify", "orders_v1", "--json")

    assert (people.exit_code, machine.exit_code) == (1, 1)
    assert f"Nothing from block {expected} on can be trusted." in people.stdout
    assert json.loads(machine.stdout)["faults"][0] == {"height": expected, "what": "altered", "why": None}


def test_a_block_that_its_schema_refuses_is_reported(kept: Lakegate) -> None:
    """With its height, the place in it and the rule, for people and for machines."""
    key = {"chain": {"S": "shop/orders_v1"}, "height": {"N": "1"}}
    client = kept.clients["dynamodb"]
    text = client.get_item(TableName="ledger", ConsistentRead=True, Key=key)["Item"]["block"]["S"].replace(
        '"rows":4', '"rows":-4'
    )
    client.put_item(TableName="ledger", Item={**key, "block": {"S": text}})
    why = "block.json does not fit its schema at rows (rule: minimum)"

    assert f"  block 1: schema: {why}\n" in kept("verify", "orders_v1").stdout
    assert {"height": 1, "what": "schema", "why": why} in json.loads(kept("verify", "orders_v1", "--json").stdout)[
        "faults"
    ]


def test_an_anchor_that_differs_is_a_break(kept: Lakegate) -> None:
    """A chain rewritten from its first block proves its own order; the anchor proves that it was rewritten."""
    assert kept("verify", "orders_v1", "--anchor", f"0={'0' * 64}").exit_code == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["log", "none_v1"], "none_v1 is not a dataset; similar are `shop/orders_v1`"),
        (["verify", "orders_v1", "--anchor", "x"], "an anchor is HEIGHT=DIGEST"),
    ],
)
def test_what_is_missing_is_reported(kept: Lakegate, words: list[str], expected: str) -> None:
    """The known lines are named."""
    assert str(kept(*words).exception).startswith(expected)


def test_before_anything_is_published_there_is_no_dataset_to_name(lakegate: Lakegate) -> None:
    """The command that comes first is named."""
    refused = str(lakegate("log", "orders").exception)

    assert refused == "orders is not a dataset: no contract is published yet (lakegate publish)"


def test_a_line_without_deliveries_is_empty(lakegate: Lakegate) -> None:
    """Published, and no finished delivery yet: intact, and nothing to list."""
    lakegate.routed()

    assert lakegate.ok("log", "orders_v1") == "No delivery was published or quarantined there yet.\n"
    assert lakegate.json("verify", "orders_v1")["height"] == -1


def test_a_chain_older_than_the_list_is_found_by_its_whole_name(kept: Lakegate) -> None:
    """Lines that nobody publishes any more, and days long ago."""
    for item in kept.clients["dynamodb"].scan(TableName="registry", ConsistentRead=True)["Items"]:
        kept.clients["dynamodb"].delete_item(TableName="registry", Key={"id": item["id"]})

    assert kept.json("verify", "shop/orders_v1")["height"] == 1
