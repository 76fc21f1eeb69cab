"""Every item and object that the stack stores is damaged in every way: all else goes on, and the damaged one is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final

import pytest

from lakegate.base.errors import LakegateError, UnreadableItem
from lakegate.features.doctor import delivery_probes
from lakegate.features.doctor.examination import ExaminedStack
from lakegate.gate.delivery.delivery_row import workload_id
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import run
from lakegate.gate.send_messages import notify
from lakegate.gate.sweep import sweep
from tests.unit.cli.conftest import Lakegate
from tests.unit.cli.deployed_stack import LAKE, LANDING

LINE, OTHER = "shop/orders_v1", "depot/orders_v1"
TABLES: Final = ("registry", "workloads", "ledger")
KEYS: Final = frozenset({"id", "chain", "height"})
INDEXED: Final = frozenset({"shard", "at"})
DAMAGES: Final = ("not JSON", "unknown key", "unknown state", "missing", "older", "newer")
PROMISE = "slaProperties:\n  - {property: frequency, value: 1, unit: d}\nschema:\n"
CHANNEL = "sns:arn:aws:sns:us-east-1:123456789012:lakegate-channel-team"


@dataclass(frozen=True, slots=True)
class AheadClock:
    """A clock of half an hour later, for which nobody waits."""

    def now(self) -> datetime:
        return datetime.now(UTC) + timedelta(minutes=30)

    def sleep(self, seconds: float) -> None:
        """Nothing."""


def later(lakegate: Lakegate) -> Dependencies:
    return replace(lakegate.dependencies, clock=AheadClock())


def lived(lakegate: Lakegate) -> str:
    """A stack with two lines, whose first one has every kind of item. Returns the delivery whose job runs."""
    lakegate.routed(**{"schema:\n": PROMISE})
    lakegate.ok("publish", lakegate.contract(**{"id: shop": "id: depot"}))
    lakegate.ok("route", "add", "stock/", "depot")
    lakegate.ok("subscribe", LINE, "--as", "team", "--on", "rejected", "--to", CHANNEL)
    lakegate.delivered()
    lakegate.delivered(body=b"id,amount\n,1\n", name="bad.csv", failing=1)
    run(notify(lakegate.dependencies), lakegate.dependencies.clock)
    lakegate.delivered(body=b"id,amount\nlast,1\n", name="last.csv")
    workload = lakegate.upload(body=b"id,amount\nx,1\n", name="open.csv")
    lakegate.intake("orders/open.csv")
    lakegate.ok("pause", LINE, "--reason", "r")
    lakegate.dependencies.agenda.keep("landing", "{}")
    lakegate.ok("resume", LINE)
    return workload


def stored_items(lakegate: Lakegate) -> Iterator[tuple[str, dict[str, Any]]]:
    for table in TABLES:
        for item in lakegate.clients["dynamodb"].scan(TableName=table, ConsistentRead=True)["Items"]:
            yield table, item


def key_of(item: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name in KEYS}


def name_of(item: dict[str, Any]) -> str:
    return str(item["id"]["S"]) if "id" in item else f"{item['chain']['S']} {item['height']['N']}"


def kind_of(item: dict[str, Any]) -> str:
    """Of an item: the word before its name, and of the ledger what stands at which key."""
    if "id" in item:
        return str(item["id"]["S"].partition("#")[0])
    chain = str(item["chain"]["S"])
    if "#" in chain:
        first, second = chain.split("#")[:2]
        return second if chain.count("#") > 1 or second == "key" else first
    return "head" if item["height"]["N"] == "-1" else "block"


def damaged(item: dict[str, Any], damage: str) -> dict[str, Any] | None:
    """The item after the damage; None where there is no such damage to it."""
    texts = {name: value["S"] for name, value in item.items() if "S" in value and name not in KEYS | INDEXED}
    documents = {name: json.loads(text) for name, text in texts.items() if text.startswith("{")}
    if damage == "not JSON":
        return item | {name: {"S": "{"} for name in item if name not in KEYS | INDEXED}
    if damage == "unknown key":
        changed = {name: {"S": json.dumps(document | {"zzz": {"a": 1}})} for name, document in documents.items()}
        return item | {"zzz": {"S": "1"}} | changed
    if damage == "unknown state" and "row" in documents:
        row = documents["row"] | {"state": "PARKED"}
        return item | {"state": {"S": "PARKED"}, "row": {"S": json.dumps(row)}}
    if damage == "older":
        return {name: value for name, value in item.items() if name in KEYS | INDEXED | set(documents)}
    if damage == "newer":
        return item | {"format": {"N": "2"}}
    return None


KINDS: Final = (
    *("contract", "version", "route"),
    *("workload", "message", "content", "producer", "cursor", "line", "notice", "promise", "pause"),
    *("head", "block", "event", "verdict", "rule"),
)
LINE_WAITS: Final = frozenset({"route", "line", "head", "pause"})
"""Kinds without which nothing of their line can be judged or committed: its deliveries wait, those of other lines do not."""
UNNAMED: Final = frozenset({"content", "producer", "event", "cursor", "verdict", "rule"})
"""Kinds that are only there or not, and what is derived: made again, or read from what it is derived from."""
PARKED: Final = ("workload", "unknown state")
CASES: Final = [
    pytest.param(kind, damage, marks=() if damage == "not JSON" or (kind, damage) == PARKED else pytest.mark.full)
    for kind in KINDS
    for damage in DAMAGES
    if damage != "unknown state" or kind == "workload"
]


def go_on(lakegate: Lakegate) -> tuple[list[State], str]:
    """New deliveries of both lines, as far as they come in two sweeps. Returns their states, and all that was reported."""
    there, reported = later(lakegate), list[str]()
    keys = ("stock/new.csv", "orders/new.csv")
    versions = [
        lakegate.clients["s3"].put_object(Bucket=LANDING, Key=key, Body=b"id,amount\nz,%d\n" % number)["VersionId"]
        for number, key in enumerate(keys)
    ]
    workloads = [workload_id(LANDING, *each) for each in zip(keys, versions, strict=True)]
    for key in keys:
        try:
            run(intake(there, LANDING, key), there.clock)
        except LakegateError as refused:
            reported.append(str(refused))
    for _ in range(2):
        for each in workloads:
            row = _row(there, each)
            if row is not None and row.state is State.VALIDATING:
                with suppress(LakegateError):
                    lakegate.answer(each)
        swept = run(sweep(there), there.clock)
        notified = run(notify(there), there.clock)
        reported += map(str, (*swept.failures, *notified.failures, *notified.channels.failures))
    rows = [_row(there, each) for each in workloads]
    return [row.state if row else State.RECEIVED for row in rows], "\n".join(reported)


def _row(there: Dependencies, workload: str) -> Any:
    try:
        return there.workloads.get(workload)
    except LakegateError:
        return None


def probed(lakegate: Lakegate) -> str:
    """What the probes of doctor find of stored items, of the kinds that this stack can be asked about."""
    there = later(lakegate)

    def ask(*_: object, **__: object) -> None:
        raise AssertionError

    ask.now = there.clock.now  # type: ignore[attr-defined]
    stack = SimpleNamespace(output=str.lower)
    examined = ExaminedStack(stack, {}, there, ask)  # type: ignore[arg-type]
    found = list(delivery_probes.items(examined))
    for _ in delivery_probes.plans(examined):
        pass
    return "\n".join([*(each.text for each in found), *map(str, there.taken_out())])


def commands(lakegate: Lakegate) -> str:
    """What lists deliveries ends without a traceback, whatever cannot be read. Returns what it left out."""
    told = ""
    rules = {each.rule for entry in lakegate.dependencies.history.entries(LINE) for each in entry.rules}
    new_row = (
        ("history", LINE),
        ("history", LINE, "--verdict", "rejected"),
        *(("history", LINE, "--rule", rule) for rule in rules),
    )
    for words in (("status",), ("cost",), ("history", OTHER), *new_row, ("contracts",)):
        result = lakegate(*words)
        assert result.exit_code == 0 or isinstance(result.exception, LakegateError), (words, result.output)
        told += result.stderr + str(result.exception or "")
    return told


@pytest.mark.parametrize(("kind", "damage"), CASES)
def test_one_damaged_item_stops_nothing_else(lakegate: Lakegate, kind: str, damage: str) -> None:
    """Deliveries of all lines end, but those of a line that lacks what it is judged by; the damaged item is named."""
    lakegate.begin(lived)
    found = [(table, item) for table, item in stored_items(lakegate) if kind_of(item) == kind]
    assert found, sorted({kind_of(item) for _, item in stored_items(lakegate)})
    table, item = max(found, key=lambda each: ("open.csv" in str(each), "at" in each[1], LINE in name_of(each[1])))
    after = damaged(item, damage)
    if after is None:
        lakegate.clients["dynamodb"].delete_item(TableName=table, Key=key_of(item))
    else:
        lakegate.clients["dynamodb"].put_item(TableName=table, Item=after)

    told = commands(lakegate)
    (other, same), reported = go_on(lakegate)
    everything = told + reported + probed(lakegate)

    assert other is State.PUBLISHED, everything
    assert same is State.PUBLISHED or kind in LINE_WAITS, everything
    if damage in {"not JSON", "newer", "unknown state"} and kind not in UNNAMED:
        assert name_of(item) in everything


OBJECTS: Final = ("plans/", "_manifest.json", "_manifest/", "request.json", "result.json", "report.html", "staging/")


@pytest.mark.parametrize(
    "damage", ["not JSON", *(pytest.param(each, marks=pytest.mark.full) for each in ("missing", "unknown key"))]
)
@pytest.mark.parametrize("part", OBJECTS)
def test_one_damaged_object_stops_nothing_else(lakegate: Lakegate, part: str, damage: str) -> None:
    """Deliveries of all lines end, but those that were pinned to a plan that is gone."""
    lakegate.begin(lived)
    s3 = lakegate.clients["s3"]
    keys = [
        each["Key"]
        for each in s3.get_paginator("list_objects_v2").paginate(Bucket=LAKE).build_full_result()["Contents"]
        if part in each["Key"]
    ]
    for key in keys if part != "plans/" else keys[:1]:
        if damage == "missing":
            s3.delete_object(Bucket=LAKE, Key=key)
        elif damage == "not JSON":
            s3.put_object(Bucket=LAKE, Key=key, Body=b"{")
        else:
            body = s3.get_object(Bucket=LAKE, Key=key)["Body"].read()
            s3.put_object(Bucket=LAKE, Key=key, Body=body.replace(b"{", b'{"zzz": 1, ', 1))

    commands(lakegate)
    states, _reported = go_on(lakegate)

    assert State.PUBLISHED in states
    assert states == [State.PUBLISHED] * 2 or part == "plans/"
    for line in (LINE, OTHER):
        head = json.loads(s3.get_object(Bucket=LAKE, Key=f"accepted/{line}/_manifest.json")["Body"].read())
        assert head["height"] == lakegate.dependencies.ledger.head(line).height or part == "plans/"


def test_keys_of_a_newer_release_are_written_again(lakegate: Lakegate) -> None:
    """A row that an older release advances keeps what a newer one has added to it; so do the items of lines."""
    workload = lakegate.begin(lived)
    table = lakegate.clients["dynamodb"]
    for name, attribute in ((f"workload#{workload}", "row"), (f"line#{LINE}", "line"), ("contract#shop", "content")):
        where = "registry" if name.startswith("contract") else "workloads"
        item = table.get_item(TableName=where, ConsistentRead=True, Key={"id": {"S": name}})["Item"]
        content = json.loads(item[attribute]["S"]) | {"zzz": {"a": 1}}
        table.put_item(TableName=where, Item=item | {attribute: {"S": json.dumps(content)}})
    lakegate.answer(workload)
    lakegate.ok("subscribe", LINE, "--as", "others", "--on", "rejected", "--to", CHANNEL)
    lakegate.ok("publish", lakegate.contract("1.1.0", **{"schema:\n": PROMISE}))

    assert lakegate.dependencies.workloads.get(workload).state is State.PUBLISHED
    for name, attribute in ((f"workload#{workload}", "row"), (f"line#{LINE}", "line"), ("contract#shop", "content")):
        where = "registry" if name.startswith("contract") else "workloads"
        item = table.get_item(TableName=where, ConsistentRead=True, Key={"id": {"S": name}})["Item"]
        assert json.loads(item[attribute]["S"])["zzz"] == {"a": 1}, name


def test_a_row_that_contradicts_its_item_is_unreadable(lakegate: Lakegate) -> None:
    """Where only the attribute is another state, no condition would ever hold: that is named, and not tried for ever."""
    workload = lakegate.begin(lived)
    lakegate.clients["dynamodb"].update_item(
        TableName="workloads",
        Key={"id": {"S": f"workload#{workload}"}},
        UpdateExpression="SET #state = :state",
        ExpressionAttributeNames={"#state": "state"},
        ExpressionAttributeValues={":state": {"S": "PARKED"}},
    )
    with pytest.raises(UnreadableItem) as refused:
        lakegate.dependencies.workloads.get(workload)

    assert refused.value.name == f"workload#{workload}"
