"""The tables on DynamoDB: items, indexes and requests; tests/contract/test_rows.py has the conditions of every write."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.stub import Stubber
from hypothesis import given
from hypothesis import strategies as st

from lakegate.aws.wiring import StsIdentity
from lakegate.base.errors import (
    ConditionFailed,
    IdempotencyMismatch,
    InputError,
    PortError,
    Throttled,
    TransactionConflict,
    UnreadableItem,
)
from lakegate.gate.delivery.delivery_row import (
    Anomaly,
    Decision,
    FailedAttempt,
    Pin,
    SourceObject,
    Waiver,
    Workload,
    workload_of,
    workload_row,
)
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Agenda, Expected, Workloads, message_of, message_row
from lakegate.gate.ledger.blocks import GENESIS, Block, BlockKind, LedgerObject, digest
from lakegate.gate.ledger.ledger_store import Ledger
from lakegate.gate.ports import Message
from lakegate.gate.registry.registry_rows import Publication, RegistrySnapshot, Route
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.table import SHARDS, Delete, Row, RowKey, TableName, shards
from lakegate.plan.billed_cost import BilledCost
from lakegate.verdict.verdict import Counts
from tests.fakes.identity import ALICE
from tests.unit.aws.conftest import Cloud

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
SOURCE = SourceObject("landing", "in/orders.csv", "v1", '"etag"', 12, "crc32:AAAAAA==")
ROW = Workload("w1", SOURCE, State.RECEIVED, NOW)
NEWS = Message("m1", "w1", "published", '{"rows":1}', NOW)
CHAIN = "orders/lines_v1"

times = st.datetimes(timezones=st.just(UTC))
sources = st.builds(SourceObject, st.text(), st.text(), st.text(), size=st.integers(0, 2**53))
extensions = st.dictionaries(st.text(max_size=3).map("new-{}".format), st.integers() | st.text()).map(json.dumps)
"""Members of rows that only features or a newer release know."""
decisions = st.builds(
    Decision, st.text(), st.tuples(st.text()), counts=st.none() | st.builds(Counts), extensions=extensions
)
amounts = st.floats(0, 1e15)
words = st.text(min_size=1)
anomalies = st.builds(
    Anomaly,
    words,
    st.text(),
    amounts,
    st.none() | amounts,
    st.none() | amounts,
    amounts,
    st.integers(0, 99),
    st.text(),
    words,
)
workloads = st.builds(
    Workload,
    st.text(),
    source=sources,
    state=st.sampled_from(State),
    due_at=st.none() | times,
    pin=st.none() | st.builds(Pin, st.text()),
    staged=st.none() | sources,
    landed=st.none() | sources,
    not_before=st.none() | times,
    deadline=st.none() | times,
    arrived=st.none() | times,
    decision=st.none() | decisions,
    candidate=st.none() | decisions,
    failed=st.tuples(st.builds(FailedAttempt, at=times)),
    expires=st.just(0),
    archived=st.just(False),
    waiver=st.none() | st.builds(Waiver, *(st.text(min_size=1),) * 4),
    cost=st.none() | st.builds(BilledCost, amounts, amounts, amounts, st.just("USD"), st.just("2026-11-21")),
    extensions=extensions,
    anomalies=st.lists(anomalies, max_size=2).map(tuple),
)


def decided(name: str = "w1") -> Workload:
    return ROW._replace(id=name, state=State.DECIDED, attempt=1, decision=Decision("accepted", result="r1"))


def published(name: str = "w1") -> Workload:
    return decided(name)._replace(state=State.PUBLISHED, due_at=None)


def block(height: int = 0, previous: str = GENESIS, name: str = "w1") -> Block:
    return Block(
        kind=BlockKind.PUBLISHED,
        height=height,
        previous=previous,
        system_time="2026-11-21T11:30:00.000000Z",
        chain=CHAIN,
        workload=name,
        contract_version="1.0.0",
        plan="p",
        verdict="accepted",
        objects=(LedgerObject("accepted/k", "v1", 12, ""),),
        rows=1,
        rejected_rows=0,
        event_time=None,
    )


def ledger_of(cloud: Cloud) -> Ledger:
    return Ledger(cloud.table())


def failed_conditions(act: Any, *call: Any, **named: Any) -> tuple[str, ...]:
    with pytest.raises(ConditionFailed) as failed:
        act(*call, **named)
    return failed.value.reasons


def sent(workload: Workload) -> Row:
    """The row as another process reads it: of text."""
    row = workload_row(workload)
    return Row(row.key, {**row.values, "row": row.text("row")})


@given(workloads)
def test_a_row_comes_back_as_it_was_written(workload: Workload) -> None:
    """Every field of a workload survives the table, whatever it holds."""
    assert workload == workload_of(sent(workload))


@pytest.mark.parametrize("member", ["of a newer release", "extensions", "unknown", "due_at"])
def test_what_a_newer_release_has_written_of_a_delivery_is_kept(member: str) -> None:
    """Also under the name of a field that is not stored under it."""
    held = json.dumps({member: {"a": [1]}})
    judged = Decision("accepted", extensions=held)
    workload = ROW._replace(extensions=held, decision=judged, candidate=judged)
    written = json.loads(sent(workload).text("row"))
    assert [each[member] for each in (written, written["decision"], written["candidate"])] == [{"a": [1]}] * 3
    assert workload_of(sent(workload)) == workload


@given(
    st.builds(
        Message, st.text(), st.text(), st.text(), st.text().map(json.dumps), times.filter(lambda at: at.year < 9990)
    )
)
def test_a_message_comes_back_as_it_was_written(message: Message) -> None:
    """Every field of a message survives the table; its body is JSON."""
    assert message == message_of(message_row(message))


def test_a_place_of_another_form_begins_the_listing_again(cloud: Cloud) -> None:
    """A cursor is derived: one that cannot be read counts as absent, but one that was kept first and for ever."""
    agenda = Agenda(cloud.table())
    cloud.dynamodb.put_item(TableName="workloads", Item={"id": {"S": "cursor#landing"}, "cursor": {"N": "1"}})

    assert agenda.cursor("landing") is None
    with pytest.raises(UnreadableItem, match="cursor#landing"):
        agenda.keep_first("landing", "1")


def test_what_is_due_is_found_oldest_first_over_all_shards(cloud: Cloud) -> None:
    """Open workloads that are due are found in the order of their due times, closed ones and later ones are not."""
    table, agenda = Workloads(cloud.table()), Agenda(cloud.table())
    names = [f"w{n}" for n in range(4 * SHARDS)]
    for n, name in enumerate(names):
        table.create(ROW._replace(id=name, due_at=NOW - timedelta(seconds=n)))
    table.create(ROW._replace(id="later", due_at=NOW + timedelta(microseconds=1)))
    table.create(ROW._replace(id="closed", due_at=None))
    used = {
        item["shard"]["S"]
        for item in cloud.dynamodb.scan(TableName="workloads", ConsistentRead=True)["Items"]
        if "shard" in item
    }

    assert tuple(reversed(names)) == agenda.due(NOW, 100)
    assert tuple(reversed(names))[:3] == agenda.due(NOW, 3)
    assert set(shards("due")) == used


def route(prefix: str = "in/", contract: str = "orders", major: int = 1) -> Route:
    return Route("landing", prefix, contract, "lines", major, f"{major}.0.0", "active", "p1")


def publication(*routes: Route, document: str = "d1", retired: tuple[str, ...] = ()) -> Publication:
    return Publication("orders", "1.0.0", "active", document, routes, retired)


def test_a_version_keeps_what_was_recorded_when_it_was_published(cloud: Cloud) -> None:
    """How many rules may go unmeasured is read back; members of a newer release are left unread."""
    registry = Registry(cloud.table(), "landing")
    written = replace(publication(), unmeasured_rules=2)
    registry.publish(written)
    key = {"id": {"S": "version#orders#1.0.0"}}
    content = json.loads(
        cloud.dynamodb.get_item(TableName="registry", ConsistentRead=True, Key=key)["Item"]["content"]["S"]
    )
    newer = {":newer": {"S": json.dumps(content | {"member": 1})}}
    cloud.dynamodb.update_item(
        TableName="registry",
        Key=key,
        UpdateExpression="SET content = :newer",
        ExpressionAttributeValues=newer,
    )

    assert registry.snapshot().versions == (written,)


def test_a_contract_reads_one_item(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    """Publishing scans nothing, whether or not the contract is known."""
    registry = Registry(cloud.table(), "landing")
    registry.publish(publication(route("in/")))
    monkeypatch.setattr(Registry, "snapshot", None)
    registry.publish(publication(route("out/")))
    registry.publish(Publication("new", "1.0.0", "active", "d", ()))

    assert [each.prefix for each in registry.contract("orders").routes] == ["in/", "out/"]


def test_a_contract_fits_into_one_item(cloud: Cloud) -> None:
    """What DynamoDB would refuse is refused with its reason, and nothing is written."""
    registry = Registry(cloud.table(), "landing")
    plans = tuple((f"d{number}", "x" * 64) for number in range(6_000))
    with pytest.raises(InputError, match="390,000 bytes"):
        registry.publish(replace(publication(), plans=plans))

    assert registry.contract("orders") == RegistrySnapshot()


def test_what_a_batch_left_out_is_asked_for_again(cloud: Cloud) -> None:
    """Keys that DynamoDB did not process are asked for again, a few times, and then count as throttled."""
    registry = Registry(cloud.table(), "landing")
    unprocessed = {"registry": {"Keys": [{"id": {"S": "route#landing/in/"}}]}}
    item: dict[str, Any] = {"id": {"S": "route#landing/in/"}}
    item |= {name: {"S": getattr(route(), name)} for name in ("bucket", "prefix", "contract", "dataset")}
    item |= {"version": {"S": "1.0.0"}, "status": {"S": "active"}, "plan": {"S": "p1"}, "major": {"N": "1"}}
    with Stubber(cloud.dynamodb) as stub:
        stub.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": unprocessed})
        stub.add_response("batch_get_item", {"Responses": {"registry": [item]}, "UnprocessedKeys": {}})
        found = registry.routes("landing", ("in/",))
        for _ in range(3):
            stub.add_response("batch_get_item", {"Responses": {}, "UnprocessedKeys": unprocessed})
        with pytest.raises(Throttled):
            registry.routes("landing", ("in/",))

    assert (route(),) == found


def test_a_route_that_cannot_be_read_matters_where_it_is_the_most_specific(cloud: Cloud) -> None:
    """Below a route that can be read a shorter one decides nothing; a longer one might be another line's."""
    registry = Registry(cloud.table(), "landing")
    for prefix in ("in/", "in/deep/"):
        publication = Publication(
            "orders", "1.0.0", "active", "contracts/1", (route(prefix),), plans=(("lines", "p1"),)
        )
        registry.publish(publication)
    damaged = {"id": {"S": "route#landing/in/"}, "major": {"S": "{"}}
    cloud.dynamodb.put_item(TableName="registry", Item=damaged)

    assert registry.routes("landing", ("in/", "in/deep/")) == (route("in/deep/"),)
    with pytest.raises(UnreadableItem, match="route#landing/in/"):
        registry.routes("landing", ("in/",))


def test_no_block_is_written_over(cloud: Cloud) -> None:
    """Even with a head that was set back, a height that is taken stays what it is."""
    table, ledger = Workloads(cloud.table()), ledger_of(cloud)
    for name in ("w1", "w2"):
        table.create(decided(name))
    ledger.commit(block(), published(), Expected(State.DECIDED, 1), NEWS)
    cloud.dynamodb.delete_item(TableName="ledger", Key={"chain": {"S": CHAIN}, "height": {"N": "-1"}})
    again = block(name="w2")

    assert failed_conditions(ledger.commit, again, published("w2"), Expected(State.DECIDED, 1), NEWS) == ("head",)


def test_a_commit_has_the_token_of_its_block(cloud: Cloud) -> None:
    """The token is of the content, so that ten minutes of repetitions are one commit."""
    Workloads(cloud.table()).create(decided())
    tokens: list[str] = []

    def listen(params: Any, **_: Any) -> None:
        tokens.append(params["ClientRequestToken"])

    cloud.dynamodb.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", listen)
    ledger_of(cloud).commit(block(), published(), Expected(State.DECIDED, 1), NEWS)
    cloud.dynamodb.meta.events.unregister("provide-client-params.dynamodb.TransactWriteItems", listen)

    assert [digest(block())[:36]] == tokens


@pytest.mark.parametrize(
    ("code", "reasons", "error"),
    [
        ("TransactionCanceledException", ["None", "ConditionalCheckFailed"], ConditionFailed),
        ("TransactionCanceledException", ["TransactionConflict", "ConditionalCheckFailed"], ConditionFailed),
        ("TransactionCanceledException", ["TransactionConflict", "None"], TransactionConflict),
        ("TransactionCanceledException", ["ThrottlingError", "None"], Throttled),
        ("TransactionCanceledException", ["None", "ProvisionedThroughputExceeded"], Throttled),
        ("TransactionCanceledException", ["ValidationError", "None"], PortError),
        ("TransactionInProgressException", None, TransactionConflict),
        ("IdempotentParameterMismatchException", None, IdempotencyMismatch),
        ("ProvisionedThroughputExceededException", None, Throttled),
        ("ValidationException", None, PortError),
    ],
)
def test_every_end_of_a_transaction_has_its_error(
    cloud: Cloud, code: str, reasons: list[str] | None, error: type[PortError]
) -> None:
    """A cancelled transaction becomes the port's error, without the items that it would have written."""
    details = {"CancellationReasons": [{"Code": each, "Message": "canary"} for each in reasons]} if reasons else {}
    with Stubber(cloud.dynamodb) as stub:
        stub.add_client_error("transact_write_items", code, "canary", 400, modeled_fields=details)
        with pytest.raises(PortError) as raised:
            cloud.table().transact([Delete(RowKey(TableName.WORKLOADS, each)) for each in ("one", "two")])

    assert error is type(raised.value)
    assert "canary" not in str(raised.value)


class Caller:
    """STS, which counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def get_caller_identity(self) -> dict[str, str]:
        self.asked += 1
        return {"Arn": ALICE}


def test_the_caller_is_asked_once() -> None:
    """STS names the caller; the credentials of a command do not change."""
    sts = Caller()
    identity = StsIdentity(sts)

    assert ([identity.caller(), identity.caller()], sts.asked) == ([ALICE, ALICE], 1)
