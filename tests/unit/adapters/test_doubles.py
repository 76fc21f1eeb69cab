"""Random calls of in-memory double and adapter must have the same answers: the simulation runs on what AWS does.

The protocol was tested on the doubles. Every difference of an adapter is either a defect of one of them, or
a gap of moto's that is named here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lakegate.aws.delivery_tables import DynamoAgenda, DynamoOutbox, DynamoWorkloads
from lakegate.aws.dynamodb_table import DEFINITIONS
from lakegate.aws.ledger_table import DynamoLedger
from lakegate.aws.registry_table import DynamoRegistry
from lakegate.errors import ConditionFailed, PortError
from lakegate.gate.delivery.delivery_row import Decision, SourceObject, Workload
from lakegate.gate.delivery.protocol import State
from lakegate.gate.ledger.blocks import Block, BlockKind
from lakegate.gate.ports import Address, Message, ObjectVersion, VersionPage
from lakegate.gate.registry.registry_rows import Publication, Route
from lakegate.gate.table import Expected
from tests.fakes import Memory

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.adapters.conftest import Cloud

EXAMPLES = 300 if "LAKEGATE_FULL" in os.environ else 8
ONE_CLOUD = settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[
        Phase.explicit,
        Phase.reuse,
        Phase.generate,
    ],  # shrinking takes minutes here, and one failing story is short
    suppress_health_check=[HealthCheck.function_scoped_fixture],  # each example uses keys and names of its own
)
RUNS = count()
NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)


def recreate(cloud: Cloud, table: str) -> None:
    cloud.dynamodb.delete_table(TableName=table)
    cloud.dynamodb.create_table(TableName=table, BillingMode="PAY_PER_REQUEST", **DEFINITIONS[table])


def outcome_of(act: Callable[[], Any]) -> Any:
    """The answer, or the error with its reasons."""
    try:
        return act()
    except ConditionFailed as failed:
        return ("ConditionFailed", failed.reasons)
    except PortError as error:
        return type(error).__name__


@dataclass
class Store:
    """One store with its own names for versions and ETags."""

    port: Any
    run: str
    written: list[ObjectVersion] = field(default_factory=list)

    def at(self, key: str, nth: int | None) -> Address:
        named = [each for each in self.written if each.key == self.key(key)]
        version = None if nth is None else named[nth % len(named)].version if named else "unknown"
        return Address("landing", self.key(key), version)

    def key(self, key: str) -> str:
        return f"{self.run}/{key}"

    def etag(self, known: int) -> str:
        return self.written[known % len(self.written)].etag if self.written and known else '"none"'

    def plain(self, answer: Any) -> Any:
        """What two stores can agree on: which version in the order of writing, how large."""
        if isinstance(answer, ObjectVersion):
            ordinal = next((n for n, each in enumerate(self.written) if each.version == answer.version), None)
            return (answer.key.removeprefix(self.run), ordinal, answer.size)
        if isinstance(answer, VersionPage):
            return [(*self.plain(each), each.current) for each in answer.versions]
        return answer

    def keep(self, answer: Any) -> Any:
        if isinstance(answer, ObjectVersion):
            self.written.append(answer)
        return self.plain(answer)


keys = st.sampled_from(["a", "a/b", "ä +%", "_b"])
nths = st.none() | st.integers(0, 3)
known = st.integers(0, 3)
bodies = st.sampled_from([b"", b"1", b"22", b"333"])
store_steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), keys, bodies, st.sampled_from(["", "absent", "etag"]), known),
        st.tuples(st.just("copy"), keys, nths, known, keys),
        st.tuples(st.just("head"), keys, nths),
        st.tuples(st.just("read"), keys, nths, st.integers(0, 3), st.none() | st.integers(0, 3)),
        st.tuples(st.just("delete"), keys, nths),
        st.tuples(st.just("versions"), st.sampled_from(["", "a", "ä"])),
    ),
    max_size=15,
)


def put(store: Store, key: str, body: bytes, condition: str, etag: int) -> Any:
    given_etag = store.etag(etag) if condition == "etag" else None
    to = Address("landing", store.key(key))
    return store.keep(outcome_of(lambda: store.port.put(to, body, absent=condition == "absent", etag=given_etag)))


def copy(store: Store, key: str, nth: int | None, etag: int, to: str) -> Any:
    # Without `absent`: no emulator refuses a copy onto an existing key. Only the double shows what that condition does.
    source, target = store.at(key, nth), Address("landing", store.key(to))
    return store.keep(outcome_of(lambda: store.port.copy(source, store.etag(etag), target)))


def head(store: Store, key: str, nth: int | None) -> Any:
    return store.plain(outcome_of(lambda: store.port.head(store.at(key, nth))))


def read_range(store: Store, key: str, nth: int | None, start: int, length: int | None) -> Any:
    return outcome_of(lambda: store.port.read(store.at(key, nth), start, length))


def delete(store: Store, key: str, nth: int | None) -> Any:
    return outcome_of(lambda: store.port.delete(store.at(key, nth)))


def versions(store: Store, prefix: str) -> Any:
    return store.plain(outcome_of(lambda: store.port.versions("landing", store.key(prefix))))


STORE_STEPS: dict[str, Callable[..., Any]] = {
    "put": put,
    "copy": copy,
    "head": head,
    "read": read_range,
    "delete": delete,
    "versions": versions,
}


@ONE_CLOUD
@given(store_steps)
def test_both_stores_answer_alike(cloud: Cloud, steps: list[tuple[Any, ...]]) -> None:
    """Puts, copies, deletes, reads and listings in any order: the same versions, the same refusals."""
    run = f"run-{next(RUNS)}"
    double, real = Store(Memory.of("landing").objects, run), Store(cloud.store(), run)
    answers = [(STORE_STEPS[name](double, *values), STORE_STEPS[name](real, *values)) for name, *values in steps]

    assert [answer for answer, _ in answers] == [answer for _, answer in answers]


names = st.sampled_from(["w1", "w2"])
states = st.sampled_from([State.RECEIVED, State.PINNED, State.DECIDED])
attempts = st.integers(0, 1)
dues = st.sampled_from([None, NOW, NOW + timedelta(minutes=1)])
results = st.sampled_from(["r1", "r2"])
row_steps = st.lists(
    st.one_of(
        st.tuples(st.just("create"), names, states, attempts, dues, results),
        st.tuples(
            st.just("save"),
            names,
            states,
            attempts,
            dues,
            results,
            states,
            attempts,
            st.booleans(),
            st.none() | results,
        ),
        st.tuples(st.just("lease"), names, dues),
        st.tuples(st.just("commit"), names, results, attempts, st.booleans()),
        st.tuples(st.just("look"), names),
    ),
    max_size=15,
)


@dataclass
class Rows:
    """One table of rows with its ledger."""

    workloads: Any
    agenda: Any
    outbox: Any
    ledger: Any
    run: str
    sent: int = 0


def row(rows: Rows, name: str, *values: Any) -> Workload:
    state, attempt, due, result = values
    source = SourceObject("landing", name, "v1")
    return Workload(rows.run + name, source, state, due, attempt=attempt, decision=Decision("accepted", result=result))


def news(rows: Rows, name: str) -> Message:
    rows.sent += 1
    return Message(f"{rows.run}-{rows.sent:03}", rows.run + name, "published", "{}", NOW + timedelta(seconds=rows.sent))


def create(rows: Rows, *values: Any) -> Any:
    return outcome_of(lambda: rows.workloads.create(row(rows, *values)))


def save(rows: Rows, name: str, *values: Any) -> Any:
    state, attempt, due, result, seen_state, seen_attempt, send, content = values
    message = news(rows, name) if send else None
    claim = rows.run + content if content else None
    after, seen = row(rows, name, state, attempt, due, result), Expected(seen_state, seen_attempt)
    return outcome_of(lambda: rows.workloads.save(after, seen, message=message, content=claim))


def lease(rows: Rows, name: str, due: datetime | None) -> Any:
    seen = row(rows, name, State.RECEIVED, 0, due, "")
    if outcome_of(lambda: rows.workloads.get(seen.id)) == "NotFound":
        return None  # the double reads the row first, and nobody leases what they have not read
    return outcome_of(lambda: rows.workloads.lease(seen, NOW + timedelta(minutes=2)))


def commit(rows: Rows, name: str, result: str, attempt: int, on_head: bool) -> Any:  # noqa: FBT001 - drawn at random
    chain = f"{rows.run}/lines_v1"
    head_of = rows.ledger.head(chain)
    previous = head_of.digest if on_head else "f" * 64
    rows.sent += 1
    block = Block(
        kind=BlockKind.PUBLISHED,
        height=head_of.height + 1,
        previous=previous,
        system_time=f"2026-11-21T11:30:00.{rows.sent:06}Z",
        chain=chain,
        workload=rows.run + name,
        contract_version="1.0.0",
        plan="p",
        verdict="accepted",
        objects=(),
        rows=1,
        rejected_rows=0,
        event_time=None,
    )
    after = row(rows, name, State.PUBLISHED, attempt, None, result)
    return outcome_of(lambda: rows.ledger.commit(block, after, Expected(State.DECIDED, attempt), news(rows, name)))


def look(rows: Rows, name: str) -> Any:
    """Everything that can be read."""
    pending = [message for message in rows.outbox.pending(1000) if message.id.startswith(rows.run)]
    for message in pending[:1]:
        rows.outbox.sent(message)
    due = [each for each in rows.agenda.due(NOW, 1000) if each.startswith(rows.run)]
    chain = f"{rows.run}/lines_v1"
    owners = [rows.agenda.owner(rows.run + content) for content in ("r1", "r2")]
    return (
        outcome_of(lambda: rows.workloads.get(rows.run + name)),
        pending,
        due,
        owners,
        rows.ledger.head(chain),
        rows.ledger.blocks(chain),
    )


ROW_STEPS: dict[str, Callable[..., Any]] = {
    "create": create,
    "save": save,
    "lease": lease,
    "commit": commit,
    "look": look,
}


@ONE_CLOUD
@given(row_steps)
def test_both_tables_answer_alike(cloud: Cloud, steps: list[tuple[Any, ...]]) -> None:
    """Claims, writes, leases and commits in any order: the same rows, messages, claims and blocks, the same reasons."""
    run = f"run-{next(RUNS)}-"
    recreate(cloud, "workloads")
    memory, table = Memory.of("landing"), cloud.table("workloads")
    double = Rows(memory.rows, memory.rows, memory.rows, memory.ledger, run)
    ledger = DynamoLedger(cloud.table("ledger"), table)
    real = Rows(DynamoWorkloads(table), DynamoAgenda(table), DynamoOutbox(table), ledger, run)
    steps = [*steps, ("look", "w1"), ("look", "w2")]
    answers = [(ROW_STEPS[name](double, *values), ROW_STEPS[name](real, *values)) for name, *values in steps]

    assert [answer for answer, _ in answers] == [answer for _, answer in answers]


prefixes = st.sampled_from(["a/", "a/b/", "c/"])
contracts = st.sampled_from(["orders", "bills"])
publications = st.lists(
    st.tuples(contracts, st.sampled_from(["1.0.0", "1.1.0"]), st.sampled_from(["d1", "d2"]), st.sets(prefixes)),
    max_size=8,
)


@ONE_CLOUD
@given(publications)
def test_both_registries_answer_alike(cloud: Cloud, published: list[tuple[str, str, str, set[str]]]) -> None:
    """Publications in any order: the same routes, and the same refusals of versions and prefixes."""
    recreate(cloud, "registry")
    answers = []
    real = DynamoRegistry(cloud.table("registry"), "landing", cloud.table("ledger"))
    registries: tuple[Any, ...] = (Memory.of("landing").registry, real)
    for registry in registries:
        for contract, version, document, wanted in published:
            routes = tuple(
                Route("landing", each, contract, "lines", 1, version, "active", document) for each in sorted(wanted)
            )
            publication = Publication(contract, version, "active", document, routes)
            answers.append(outcome_of(partial(registry.publish, publication)))
        answers.append(set(registry.routes("landing", ("a/", "a/b/", "c/"))))

    assert answers[: len(answers) // 2] == answers[len(answers) // 2 :]


@pytest.mark.xfail(strict=True, reason="moto 5.2.5 ignores If-None-Match of CopyObject, as every free emulator does")
def test_a_copy_onto_an_existing_key_is_refused_if_it_must_be_absent(cloud: Cloud) -> None:
    """`absent` keeps a copy from writing over another object: in the double as in S3."""
    store = Store(cloud.store(), "run")
    put(store, "a", b"1", "", 0)
    source = store.written[0]
    at = Address(source.bucket, source.key, source.version)

    assert outcome_of(lambda: store.port.copy(at, source.etag, at, absent=True)) == ("ConditionFailed", ("absent",))
