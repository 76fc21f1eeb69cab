from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed, NotFound
from lakegate.gate.delivery.delivery_row import (
    ApprovalAnswer,
    Decision,
    EnforcedVerdict,
    FailedAttempt,
    FailureCause,
    Pin,
    SourceObject,
    Workload,
)
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery_store import Batch, Expected, Member, ObjectArrival, Pause, arrival_key
from lakegate.gate.ledger.blocks import (
    GENESIS,
    Block,
    BlockKind,
    Head,
    LedgerObject,
    Record,
    canonical,
    digest,
    event_id,
)
from lakegate.gate.ledger.ledger_store import CommittedBlock, FinishedDelivery
from lakegate.gate.ports import Message
from lakegate.gate.registry.registry_rows import Proposal, Publication, RegistrySnapshot, Route, SeenParent
from lakegate.verdict.verdict import BrokenRule
from tests.contract.conftest import Ports
from tests.fakes.identity import ALICE, BOB
from tests.unit.gate.ledger.ledger_chain import verify_stored

NOW = datetime(2026, 11, 21, 11, 30, tzinfo=UTC)
SOON = NOW + timedelta(minutes=5)
SOURCE = SourceObject("landing", "shop/day.csv", "v1", '"etag"', 12, "sha256:00")
ROW = Workload("w1", SOURCE, State.RECEIVED, NOW)
PINNED = ROW._replace(state=State.PINNED, pin=Pin("orders/lines_v1", "orders", "1.0.0", "d" * 64), due_at=SOON)
NEWS = Message("w1:gone:0", "w1", "gone", '{"workload": "w1"}', NOW)
DECISION = Decision(
    "accepted",
    ("a reason",),
    "e" * 64,
    broken=(BrokenRule("a rule", "warn", 2), BrokenRule("file/size", "fail")),
    enforced=EnforcedVerdict("rejected", 2),
)
DECIDED = PINNED._replace(id="w2", state=State.DECIDED, attempt=2, decision=DECISION, staged=SOURCE, request="{}")
CHAIN = "orders/lines_v1"
BATCH = Batch("b" * 64, files=2, bytes=1_000, closes_at=NOW)
FIRST, SECOND = Member("w1", 1, 10), Member("w2", 4, 20)


def test_a_row_is_read_as_it_was_written(ports: Ports) -> None:
    """Every field of a workload survives the store."""
    failed = (
        FailedAttempt(1, "r0", FailureCause.RUN_FAILED, NOW),
        FailedAttempt(2, "", FailureCause.TOKEN_TAKEN, SOON),
    )
    full = DECIDED._replace(
        not_before=NOW,
        deadline=SOON,
        arrived=NOW,
        replay_of="w0",
        landed=SOURCE,
        parts=SOURCE,
        run="r",
        first=1,
        limit=4,
    )
    answer = ApprovalAnswer("arn", approved=False, reason="a reason", at="2026-11-21T11:30:00.000000Z")
    full = full._replace(failed=failed, batch="b" * 64, candidate=DECISION, answer=answer)
    ports.workloads.create(full)

    assert full == ports.workloads.get("w2")


def test_a_row_is_created_once(ports: Ports) -> None:
    """The claim: of two workers with one version, one wins."""
    ports.workloads.create(ROW)
    with pytest.raises(ConditionFailed) as refused:
        ports.workloads.create(ROW._replace(attempt=7))

    assert refused.value.reasons == ("state",)
    assert ports.workloads.get("w1") == ROW


def test_an_unknown_row_is_not_found(ports: Ports) -> None:
    """Absence raises NotFound."""
    with pytest.raises(NotFound):
        ports.workloads.get("w0")


@pytest.mark.parametrize("expected", [Expected(State.PINNED, 0), Expected(State.RECEIVED, 1)])
def test_a_write_needs_state_and_attempt(ports: Ports, expected: Expected) -> None:
    """The fence: a writer with another state or another attempt in mind changes nothing at all."""
    ports.workloads.create(ROW)
    with pytest.raises(ConditionFailed) as refused:
        ports.workloads.save(PINNED, expected, message=NEWS, content="c")

    assert refused.value.reasons == ("state",)
    assert ports.workloads.get("w1") == ROW
    assert ports.outbox.pending(10) == ()
    assert ports.agenda.owner("c") is None


def test_commits_to_a_busy_chain_reserve_times_of_their_own(ports: Ports) -> None:
    """The first is now, each further one an interval later; another chain has its own, and who pauses finds it free."""
    step = timedelta(milliseconds=50)
    reserve = ports.agenda.reserve_commit
    begun = [reserve(CHAIN, NOW, step) for _ in range(3)]
    slower = [reserve(CHAIN, NOW, 2 * step), reserve(CHAIN, NOW, step)]

    assert begun == [NOW, NOW + step, NOW + 2 * step]
    assert slower == [NOW + 3 * step, NOW + 5 * step]
    assert reserve("orders/lines_v2", NOW, step) == NOW
    assert reserve(CHAIN, SOON, step) == SOON


def test_the_first_sighting_of_an_object_stays_and_its_event_is_added(ports: Ports) -> None:
    """Whoever sees it later changes nothing; the time of its event is kept whenever it comes, and for three months at most."""
    ports.arrivals.note("w1", NOW)
    ports.arrivals.note("w1", SOON)
    sighted = ports.arrivals.of(["w0", "w1"])
    ports.arrivals.note("w1", SOON, NOW - timedelta(hours=1))
    ports.arrivals.note("w2", SOON, NOW)
    ports.arrivals.note("w1", SOON)

    assert sighted == {"w1": ObjectArrival(NOW)}
    assert ports.arrivals.of(["w2", "w1"]) == {
        "w1": ObjectArrival(NOW, NOW - timedelta(hours=1)),
        "w2": ObjectArrival(SOON, NOW),
    }
    row = ports.table.get(arrival_key("w1"))
    assert row is not None
    assert row.number("expires") == int((NOW + timedelta(days=90)).timestamp())


def test_a_message_of_no_state_is_added_once(ports: Ports) -> None:
    """A second one with its id is not written, also after the first one was sent."""
    again = replace(NEWS, body="other")

    assert [ports.outbox.add(NEWS), ports.outbox.add(again)] == [True, False]
    assert ports.outbox.pending(10) == (NEWS,)
    ports.outbox.sent(NEWS)
    assert (ports.outbox.add(again), ports.outbox.pending(10)) == (False, ())


def test_a_write_of_a_row_that_is_not_there_is_refused(ports: Ports) -> None:
    """Nothing comes to life by a save."""
    with pytest.raises(ConditionFailed):
        ports.workloads.save(PINNED, Expected(State.RECEIVED, 0))


def test_row_message_and_claim_are_one_write(ports: Ports) -> None:
    """Message and claim are written in the transaction of the row."""
    ports.workloads.create(ROW)
    ports.workloads.save(PINNED, Expected(State.RECEIVED, 0), message=NEWS, content="c")

    assert ports.workloads.get("w1") == PINNED
    assert ports.outbox.pending(10) == (NEWS,)
    assert ports.agenda.owner("c") == "w1"


def test_a_content_is_claimed_once(ports: Ports) -> None:
    """Of two deliveries of one content the second is refused, with the reason, and stays where it was."""
    ports.workloads.create(ROW)
    ports.workloads.create(ROW._replace(id="w9"))
    ports.workloads.save(PINNED, Expected(State.RECEIVED, 0), content="c")
    with pytest.raises(ConditionFailed) as refused:
        ports.workloads.save(PINNED._replace(id="w9"), Expected(State.RECEIVED, 0), content="c")

    assert refused.value.reasons == ("content",)
    assert State.RECEIVED is ports.workloads.get("w9").state


def test_a_claim_is_repeated_by_its_owner(ports: Ports) -> None:
    """The claim is idempotent: the content is the workload's own."""
    ports.workloads.create(ROW)
    ports.workloads.save(PINNED, Expected(State.RECEIVED, 0), content="c")
    ports.workloads.save(PINNED._replace(due_at=None), Expected(State.PINNED, 0), content="c")

    assert ports.agenda.owner("c") == "w1"


def test_a_lease_has_one_winner(ports: Ports) -> None:
    """Of two sweeps that saw the same row due, one gets it."""
    ports.workloads.create(ROW)
    ports.workloads.lease(ROW, SOON)
    with pytest.raises(ConditionFailed) as refused:
        ports.workloads.lease(ROW, SOON + timedelta(minutes=1))

    assert refused.value.reasons == ("row",)
    assert ROW._replace(due_at=SOON) == ports.workloads.get("w1")


def test_a_lease_counts_the_tries_until_the_row_is_written(ports: Ports) -> None:
    """A row is created with the try of who claims it; what a worker writes counts for its step."""
    ports.workloads.create(ROW._replace(tries=1))
    claimed = ports.workloads.get("w1").tries
    ports.workloads.lease(ROW, SOON, 2)
    leased = ports.workloads.get("w1").tries
    ports.workloads.save(PINNED, Expected(State.RECEIVED, 0))

    assert (claimed, leased, ports.workloads.get("w1").tries) == (1, 2, 0)


def test_a_closed_row_cannot_be_leased(ports: Ports) -> None:
    """What is not due is nobody's work."""
    closed = ROW._replace(due_at=None)
    ports.workloads.create(closed)
    with pytest.raises(ConditionFailed):
        ports.workloads.lease(closed, SOON)


def test_the_agenda_is_what_is_due_oldest_first(ports: Ports) -> None:
    """Rows due later, and rows that are closed, are not on it; the batch is bounded."""
    for number, minutes in enumerate((3, 1, 2, 60)):
        ports.workloads.create(ROW._replace(id=f"w{number}", due_at=NOW + timedelta(minutes=minutes)))
    ports.workloads.create(ROW._replace(id="closed", due_at=None))
    due = NOW + timedelta(minutes=10)

    assert ports.agenda.due(due, 10) == ("w1", "w2", "w0")
    assert ports.agenda.due(due, 2) == ("w1", "w2")


def test_a_cursor_is_kept_and_taken_back(ports: Ports) -> None:
    """A listing continues where it stopped, and starts again after its end."""
    before = ports.agenda.cursor("landing")
    ports.agenda.keep("landing", "here")
    kept = ports.agenda.cursor("landing")
    ports.agenda.keep("landing", None)

    assert (before, kept, ports.agenda.cursor("landing")) == (None, "here", None)


def test_of_two_who_keep_a_cursor_first_one_counts(ports: Ports) -> None:
    """Both go on with the same."""
    begun = [ports.agenda.keep_first("folder", each) for each in ("one", "another")]

    assert (begun, ports.agenda.cursor("folder")) == (["one", "one"], "one")


def test_starts_beyond_the_burst_get_later_times(ports: Ports) -> None:
    """Whoever finds no token is told when the next one will be there; an idle bucket is full again."""
    step = timedelta(seconds=2)
    begun = [ports.agenda.reserve_start(NOW, step, 3) for _ in range(5)]
    after = NOW + timedelta(seconds=3)
    busy = ports.agenda.reserve_start(after, step, 3)
    idle = NOW + timedelta(minutes=1)
    again = [ports.agenda.reserve_start(idle, step, 3) for _ in range(4)]

    assert begun == [NOW, NOW, NOW, NOW + step, NOW + 2 * step]
    assert busy == NOW + 3 * step
    assert again == [idle, idle, idle, idle + step]


def test_the_last_start_is_the_latest_time_that_was_reserved(ports: Ports) -> None:
    """Where nobody has to wait it is past."""
    step = timedelta(seconds=2)
    never = ports.agenda.last_start(step, 3)
    lasts = []
    for _ in range(5):
        ports.agenda.reserve_start(NOW, step, 3)
        lasts.append(ports.agenda.last_start(step, 3))

    assert never < NOW - timedelta(days=365)
    assert lasts == [NOW + each * step for each in (-2, -1, 0, 1, 2)]


def test_one_worker_at_a_time_makes_the_starts(ports: Ports) -> None:
    """Another one may when the first has ended, or said that it would by then; who says so late ends nobody else's turn."""
    second, agenda = timedelta(seconds=1), ports.agenda
    agenda.reserve_start(NOW, second, 3)
    led = [agenda.is_led(NOW)]
    agenda.lead_starts(NOW, NOW + 9 * second)
    led += [agenda.is_led(NOW + each * second) for each in (8, 9)]
    with pytest.raises(ConditionFailed):
        agenda.lead_starts(NOW + 8 * second, NOW + 20 * second)
    agenda.end_lead(NOW + 9 * second)
    agenda.lead_starts(NOW + 8 * second, NOW + 20 * second)
    agenda.lead_starts(NOW + 21 * second, NOW + 30 * second)
    agenda.end_lead(NOW + 20 * second)
    with pytest.raises(ConditionFailed):
        agenda.lead_starts(NOW + 21 * second, NOW + 30 * second)
    agenda.reserve_start(NOW, second, 3)

    assert led == [False, True, False]
    assert agenda.last_start(second, 3) == NOW - second


def test_a_sent_message_is_pending_no_more(ports: Ports) -> None:
    """Marking is idempotent, also for a message that expired long ago; the others are pending, the oldest first."""
    ports.workloads.create(ROW)
    for number in range(3):
        earlier = replace(NEWS, id=f"m{number}", at=NOW - timedelta(seconds=number))
        ports.workloads.save(ROW, Expected(State.RECEIVED, 0), message=earlier)
    for _ in range(2):
        ports.outbox.sent(replace(NEWS, id="m1"))
    ports.outbox.sent(replace(NEWS, id="expired"))

    assert [message.id for message in ports.outbox.pending(10)] == ["m2", "m0"]
    assert [message.id for message in ports.outbox.pending(1)] == ["m2"]


def block(height: int, previous: str, workload: str = "w2") -> Block:
    return Block(
        BlockKind.PUBLISHED,
        height,
        previous,
        "2026-11-21T11:30:00.000000Z",
        CHAIN,
        workload,
        "1.0.0",
        "d" * 64,
        "accepted",
        (LedgerObject("accepted/orders/x", "v9", 12, "sha256:00"),),
        10,
        0,
        None,
    )


def committed(row: Workload) -> Workload:
    return row._replace(state=State.PUBLISHED)


HERE = Expected(State.DECIDED, 2)


def test_the_commit_is_row_block_head_and_message(ports: Ports) -> None:
    """One transaction: afterwards all four say the same."""
    ports.workloads.create(DECIDED)
    first = block(0, GENESIS)
    ports.ledger.commit(first, committed(DECIDED), HERE, NEWS)

    assert committed(DECIDED) == ports.workloads.get("w2")
    assert (first,) == ports.ledger.blocks(CHAIN)
    assert Head(0, digest(first)) == ports.ledger.head(CHAIN)
    assert ports.outbox.pending(10) == (NEWS,)


def test_a_delivery_is_committed_once(ports: Ports) -> None:
    """Whatever its row says: the ledger knows where its block is, and refuses another one with the reason `repeated`."""
    assert ports.ledger.committed("w2") is None
    ports.workloads.create(DECIDED)
    first = block(0, GENESIS)
    ports.ledger.commit(first, committed(DECIDED), HERE, NEWS)
    ports.workloads.save(DECIDED, Expected(State.PUBLISHED, 2))
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.commit(block(1, digest(first)), committed(DECIDED), HERE, replace(NEWS, id="w2:published:1"))

    assert refused.value.reasons == ("repeated",)
    assert (ports.workloads.get("w2"), ports.ledger.blocks(CHAIN)) == (DECIDED, (first,))
    assert ports.ledger.committed("w2") == CommittedBlock(CHAIN, 0)


def test_the_last_delivery_of_a_name_is_found_in_its_chain(ports: Ports) -> None:
    """A commit without a name changes none; one that is refused neither; the same name in another chain is another one.

    What is not superseded by the block was accepted meanwhile: the commit is refused.
    """
    name, other, previous = "a" * 64, "b" * 64, GENESIS
    for height, (given, supersedes) in enumerate(((name, ()), (name, (0,)), ("", ()), (other, ()))):
        row = DECIDED._replace(id=f"w{height}")
        ports.workloads.create(row)
        own = replace(block(height, previous, row.id), supersedes=supersedes)
        ports.ledger.commit(own, committed(row), HERE, replace(NEWS, id=row.id), given)
        previous = digest(own)
    last = DECIDED._replace(id="w4")
    ports.workloads.create(last)
    for height, supersedes, reason in ((3, (1,), "head"), (4, (), "name"), (4, (0,), "name")):
        own = replace(block(height, previous, "w4"), supersedes=supersedes)
        with pytest.raises(ConditionFailed) as refused:
            ports.ledger.commit(own, committed(last), HERE, NEWS, name)
        assert refused.value.reasons == (reason,)

    assert [ports.ledger.accepted_as(CHAIN, each) for each in (name, other, "c" * 64)] == [1, 3, None]
    assert ports.ledger.accepted_as("orders/lines_v2", name) is None


def test_an_empty_chain_has_a_head_below_the_first_block(ports: Ports) -> None:
    """The first block is built like any other."""
    assert Head(-1, GENESIS) == ports.ledger.head(CHAIN)
    assert ports.ledger.blocks(CHAIN) == ()


@pytest.mark.parametrize("built_on", [(0, "1" * 64), (1, GENESIS)])
def test_a_block_needs_the_head_it_was_built_on(ports: Ports, built_on: tuple[int, str]) -> None:
    """A block on another head or height is refused with the reason `head`, and nothing is written."""
    ports.workloads.create(DECIDED)
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.commit(block(*built_on), committed(DECIDED), HERE, NEWS)

    assert refused.value.reasons == ("head",)
    assert ports.workloads.get("w2") == DECIDED
    assert ports.outbox.pending(10) == ()


def test_a_block_on_another_digest_is_refused(ports: Ports) -> None:
    """The right height is not enough: a block on any but the digest of the top is refused, and nothing is written."""
    other = DECIDED._replace(id="w3")
    ports.workloads.create(DECIDED)
    ports.workloads.create(other)
    first = block(0, GENESIS)
    ports.ledger.commit(first, committed(DECIDED), HERE, NEWS)
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.commit(block(1, "1" * 64, other.id), committed(other), HERE, replace(NEWS, id="w3:published:2"))

    assert refused.value.reasons == ("head",)
    assert ports.ledger.blocks(CHAIN) == (first,)
    assert ports.workloads.get("w3") == other


@pytest.mark.parametrize(
    ("there", "expected", "height", "reasons"),
    [
        (DECIDED._replace(state=State.PUBLISHED), HERE, 0, ("state",)),
        (DECIDED, Expected(State.DECIDED, 1), 0, ("state",)),
        (DECIDED._replace(decision=replace(DECISION, result="f" * 64)), HERE, 0, ("state",)),
        (DECIDED, Expected(State.DECIDED, 1), 1, ("state", "head")),
    ],
    ids=["another state", "another attempt", "another result", "another head, too"],
)
def test_a_commit_needs_the_decision_it_was_made_for(
    ports: Ports, there: Workload, expected: Expected, height: int, reasons: tuple[str, ...]
) -> None:
    """Another state, attempt or result digest: refused with the reasons, and neither block nor message appears."""
    ports.workloads.create(there)
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.commit(block(height, GENESIS), committed(DECIDED), expected, NEWS)

    assert refused.value.reasons == reasons
    assert ports.workloads.get("w2") == there
    assert ports.ledger.blocks(CHAIN) == ()
    assert ports.outbox.pending(10) == ()


def test_a_chain_grows_and_is_read_above_a_height(ports: Ports) -> None:
    """The manifest reads only what is new."""
    blocks = []
    previous = GENESIS
    for height in range(3):
        row = DECIDED._replace(id=f"w{height}")
        ports.workloads.create(row)
        blocks.append(block(height, previous, row.id))
        ports.ledger.commit(blocks[-1], committed(row), HERE, replace(NEWS, id=row.id))
        previous = digest(blocks[-1])

    assert tuple(blocks) == ports.ledger.blocks(CHAIN)
    assert tuple(blocks[2:]) == ports.ledger.blocks(CHAIN, 1)


@pytest.mark.moto_gap("TransactWriteItems applies a repeated token again")
def test_a_repeated_commit_is_one_commit(ports: Ports) -> None:
    """The token is of the content: within ten minutes a repetition is answered with success."""
    ports.workloads.create(DECIDED)
    for _ in range(2):
        ports.ledger.commit(block(0, GENESIS), committed(DECIDED), HERE, NEWS)

    assert len(ports.ledger.blocks(CHAIN)) == 1


REPLAY = Record(
    "replay",
    0,
    GENESIS,
    "2026-11-21T11:30:00.000000Z",
    CHAIN,
    ALICE,
    "e" * 64,
    {"workload": "w1", "state": "FAILED", "attempt": 3, "replayed_by": "w1"},
)


def test_a_record_extends_the_chain_of_deliveries(ports: Ports) -> None:
    """Records and deliveries are blocks of one chain: each is built on the one below, and read in order."""
    ports.ledger.append(REPLAY)
    above = block(1, digest(REPLAY))
    ports.workloads.create(DECIDED)
    ports.ledger.commit(above, committed(DECIDED), HERE, NEWS)
    last = replace(REPLAY, height=2, previous=digest(above), event="f" * 64)
    ports.ledger.append(last)

    assert ports.ledger.blocks(CHAIN) == (REPLAY, above, last)
    assert ports.ledger.head(CHAIN) == Head(2, digest(last))
    assert verify_stored(ports.ledger.texts(CHAIN), digest(last)) == ()


@pytest.mark.parametrize(("height", "previous"), [(1, GENESIS), (0, "1" * 64)])
def test_a_record_needs_the_head_it_was_built_on(ports: Ports, height: int, previous: str) -> None:
    """A record on another head is refused with the reason `head`, and nothing is written."""
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.append(replace(REPLAY, height=height, previous=previous))

    assert refused.value.reasons == ("head",)
    assert ports.ledger.blocks(CHAIN) == ()
    ports.ledger.append(REPLAY)


def test_an_act_is_recorded_once(ports: Ports) -> None:
    """The event of a record is unique among all chains, however late it is repeated."""
    ports.ledger.append(REPLAY)
    other = replace(REPLAY, chain="orders/heads_v1")
    with pytest.raises(ConditionFailed) as refused:
        ports.ledger.append(other)

    assert refused.value.reasons == ("event",)
    assert ports.ledger.blocks(other.chain) == ()


ROUTE = Route("landing", "shop/", "orders", "lines", 1, "1.0.0", "active", "d" * 64)
LABELS = (("owner", "sales"), ("tag", "eu"), ("tag", "hourly"))
PUBLICATION = Publication("orders", "1.0.0", "active", "contracts/orders/1.0.0", (ROUTE,))


def test_a_published_route_is_found_by_its_prefix(ports: Ports) -> None:
    """One batch answers which of the candidate prefixes have a route, in this bucket only."""
    ports.registry.publish(PUBLICATION)

    assert ports.registry.routes("landing", ("shop/orders/", "shop/")) == (ROUTE,)
    assert ports.registry.routes("another", ("shop/",)) == ()
    assert ports.registry.routes("landing", ()) == ()


def test_a_new_version_takes_the_routes_of_its_line(ports: Ports) -> None:
    """Status, version and plan of a route change in one transaction."""
    newer = replace(ROUTE, version="1.1.0", plan="e" * 64)
    ports.registry.publish(PUBLICATION)
    ports.registry.publish(replace(PUBLICATION, version="1.1.0", document="contracts/orders/1.1.0", routes=(newer,)))

    assert (newer,) == ports.registry.routes("landing", ("shop/",))


def test_a_version_is_published_with_one_content(ports: Ports) -> None:
    """What was published under a number stays; its status may change."""
    ports.registry.publish(PUBLICATION)
    ports.registry.publish(replace(PUBLICATION, status="deprecated", routes=(replace(ROUTE, status="deprecated"),)))
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(replace(PUBLICATION, document="contracts/other"))

    assert refused.value.reasons == ("version",)
    assert ports.registry.routes("landing", ("shop/",))[0].status == "deprecated"


def test_a_prefix_belongs_to_one_contract(ports: Ports) -> None:
    """Another contract cannot take a prefix, nor anything together with it: P18's first line."""
    ports.registry.publish(PUBLICATION)
    own = replace(ROUTE, prefix="theft/", contract="theft")
    thief = Publication("theft", "1.0.0", "active", "contracts/theft", (own, replace(ROUTE, contract="theft")))
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(thief)

    assert refused.value.reasons == ("prefix",)
    assert ports.registry.routes("landing", ("shop/", "theft/")) == (ROUTE,)


def test_a_retired_prefix_is_free(ports: Ports) -> None:
    """A prefix that its contract gives up is routed no longer; one of another contract cannot be taken away."""
    ports.registry.publish(replace(PUBLICATION, routes=(ROUTE, replace(ROUTE, prefix="old/"))))
    ports.registry.publish(replace(PUBLICATION, retired=("old/", "never/")))
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(Publication("theft", "1.0.0", "active", "contracts/theft", (), ("shop/",)))

    assert refused.value.reasons == ("prefix",)
    assert ports.registry.routes("landing", ("shop/", "old/")) == (ROUTE,)


def test_a_contract_is_its_versions_and_routes(ports: Ports) -> None:
    """One read has what was written of the contract, and nothing of another one."""
    assert ports.registry.contract("orders") == RegistrySnapshot()
    newer = replace(PUBLICATION, version="1.1.0", document="contracts/b", plans=(("lines", "e" * 64),), routes=())
    moved = replace(ROUTE, prefix="moved/")
    ports.registry.publish(PUBLICATION)
    ports.registry.publish(Publication("other", "1.0.0", "active", "contracts/other", ()))
    ports.registry.publish(newer)
    ports.registry.publish(replace(newer, routes=(moved,), retired=("shop/",), unmeasured_rules=2, labels=LABELS))

    assert replace(newer, unmeasured_rules=2, labels=LABELS) in ports.registry.snapshot().versions
    assert ports.registry.contract("orders") == RegistrySnapshot(
        (replace(PUBLICATION, routes=()), replace(newer, unmeasured_rules=2, labels=LABELS)), (moved,), 3
    )


def test_pages_have_every_contract_once(ports: Ports, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few items a page reads, all pages together are the registry; a place that no page had finds no others."""
    monkeypatch.setattr("lakegate.gate.registry.registry_store.PAGE_ITEMS", 2)
    names = [f"shop{number}" for number in range(5)]
    for name in names:
        ports.registry.publish(Publication(name, "1.0.0", "active", f"contracts/{name}", (), labels=LABELS))
    found, page = [], ports.registry.page("")
    while page.after:
        found += page.contracts
        page = ports.registry.page(page.after)
    found += page.contracts

    assert sorted(version.contract for each in found for version in each.versions) == names
    assert {version.labels for each in found for version in each.versions} == {LABELS}


def test_workflows_are_listed_apart(ports: Ports) -> None:
    """What has an id that begins with an underscore is no contract: it is listed by its prefix alone."""
    ports.registry.publish(PUBLICATION)
    workflow = Publication("_workflow:once", "1.0.0", "active", "contracts/once", ())
    ports.registry.publish(workflow)
    page = ports.registry.page("")
    listed = [*page.contracts, *(ports.registry.page(page.after).contracts if page.after else ())]

    assert ports.registry.snapshot("_workflow:").versions == (workflow,)
    assert ports.registry.snapshot() == RegistrySnapshot((replace(PUBLICATION, routes=()),), PUBLICATION.routes)
    assert {version.contract for each in listed for version in each.versions} == {PUBLICATION.contract}
    assert ports.registry.contract("_workflow:once").versions == (workflow,)


def test_a_decision_is_written_if_the_contract_is_as_it_was_seen(ports: Ports) -> None:
    """Of two writers who have seen the same, the second one is refused and writes nothing."""
    seen = ports.registry.contract("orders")
    ports.registry.publish(PUBLICATION, seen)
    late = replace(PUBLICATION, version="1.1.0", document="contracts/b", routes=())
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(late, seen)

    assert refused.value.reasons == ("contract",)
    assert [each.version for each in ports.registry.contract("orders").versions] == ["1.0.0"]


def test_a_publication_and_its_record_are_one_write(ports: Ports) -> None:
    """Both are written, or neither: the registry refuses for the record, and the ledger for the registry."""
    record = replace(REPLAY, chain="_contracts/orders")
    unseen = ports.registry.contract("orders")
    ports.registry.publish(PUBLICATION, unseen, record)
    above = replace(record, height=1, previous=digest(record), event="f" * 64)
    late = replace(PUBLICATION, version="1.1.0", document="contracts/b", routes=())
    refusals = []
    for seen, each in ((unseen, above), (None, replace(above, height=2)), (None, replace(above, event=record.event))):
        with pytest.raises(ConditionFailed) as refused:
            ports.registry.publish(late, seen, each)
        refusals.append(refused.value.reasons)

    assert refusals == [("contract",), ("head",), ("event",)]
    assert [each.version for each in ports.registry.contract("orders").versions] == ["1.0.0"]
    assert ports.ledger.blocks("_contracts/orders") == (record,)


def test_a_child_is_listed_with_its_parent(ports: Ports) -> None:
    """Both are written in one transaction, if nobody has written the parent since it was read."""
    needs = (("acme@1.0.0", "contracts/acme"),)
    child = Publication("shop", "1.0.0", "active", "contracts/shop", (), needs=needs)
    ports.registry.publish(Publication("acme", "1.0.0", "active", "contracts/acme", ()))
    seen = ports.registry.contract("acme")
    ports.registry.publish(child, parent=SeenParent("acme", seen))
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(replace(child, version="1.1.0"), parent=SeenParent("acme", seen))

    assert refused.value.reasons == ("parent",)
    assert ports.registry.contract("shop").versions == (child,)
    assert ports.registry.contract("acme").children == ("shop",)
    assert child in ports.registry.snapshot().versions
    ports.registry.publish(Publication("acme", "1.1.0", "active", "contracts/acme/1.1.0", ()))
    assert ports.registry.contract("acme").children == ("shop",)


@pytest.mark.parametrize(
    "what",
    [
        {"inherited_from": "2027-01-01T00:00:00.000000Z"},
        {"shared_with": ("hr.*", "taxi")},
        {"own": ("sales.*",)},
        {"own": (), "inherited_from": "2027-01-01T00:00:00.000000Z"},
    ],
)
def test_a_version_is_read_as_it_was_written(ports: Ports, what: dict[str, Any]) -> None:
    """Its day, and what keeps owners apart, are in the item of the version, in that of the contract and in a proposal."""
    version = replace(PUBLICATION, routes=(), plans=(), **what)
    ports.registry.publish(version)
    proposal = replace(PROPOSAL, publication=replace(version, version="1.1.0"), base=1)
    ports.registry.propose(proposal, None)

    assert ports.registry.contract("orders").versions == (version,)
    assert version in ports.registry.snapshot().versions
    assert ports.registry.proposal("orders", "1.1.0") == proposal


PROPOSAL = Proposal(
    replace(PUBLICATION, routes=(), plans=(("lines", "d" * 64),), labels=LABELS),
    ALICE,
    "2026-11-21T11:30:00+00:00",
    "2026-12-05T11:30:00+00:00",
    0,
)


def test_a_proposal_takes_the_place_of_the_one_that_was_seen(ports: Ports) -> None:
    """It is read as it was written; anyone who has seen another one, or another revision of the contract, is refused."""
    changed, moved = replace(PROPOSAL, proposer=BOB), replace(PROPOSAL, base=3)
    ports.registry.propose(PROPOSAL, None)
    refusals = []
    for proposal, seen in ((changed, None), (PROPOSAL, changed), (moved, PROPOSAL)):
        with pytest.raises(ConditionFailed) as refused:
            ports.registry.propose(proposal, seen)
        refusals.append(refused.value.reasons)
    before = ports.registry.proposal("orders", "1.0.0")
    ports.registry.propose(changed, PROPOSAL)

    assert refusals == [("proposal",), ("proposal",), ("contract",)]
    assert (before, ports.registry.proposals()) == (PROPOSAL, (changed,))
    assert ports.registry.proposal("orders", "1.0.1") is None


def test_an_approval_removes_its_proposal_with_what_it_writes(ports: Ports) -> None:
    """Another proposal than the approved one refuses all of it."""
    ports.registry.propose(PROPOSAL, None)
    record = replace(REPLAY, chain="_contracts/orders")
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.publish(PUBLICATION, RegistrySnapshot(), record, proposal=replace(PROPOSAL, proposer=BOB))
    missing = ports.registry.contract("orders")
    ports.registry.publish(PUBLICATION, RegistrySnapshot(), record, proposal=PROPOSAL)

    assert refused.value.reasons == ("proposal",)
    assert (missing, ports.registry.proposals()) == (RegistrySnapshot(), ())
    assert [each.version for each in ports.registry.contract("orders").versions] == ["1.0.0"]
    assert ports.ledger.blocks("_contracts/orders") == (record,)


def test_a_declined_proposal_is_removed_with_its_record(ports: Ports) -> None:
    """Another proposal than the declined one refuses both, and nothing is declined twice."""
    ports.registry.propose(PROPOSAL, None)
    record = replace(REPLAY, chain="_contracts/orders")
    with pytest.raises(ConditionFailed) as refused:
        ports.registry.decline(replace(PROPOSAL, proposer=BOB), record)
    waiting, recorded = ports.registry.proposals(), ports.ledger.blocks("_contracts/orders")
    ports.registry.decline(PROPOSAL, record)
    with pytest.raises(ConditionFailed) as repeated:
        ports.registry.decline(PROPOSAL, record)

    assert (refused.value.reasons, waiting, recorded) == (("proposal",), (PROPOSAL,), ())
    assert set(repeated.value.reasons) == {"proposal", "head", "event"}
    assert ports.registry.proposals() == ()
    assert ports.ledger.blocks("_contracts/orders") == (record,)


def test_the_shelf_is_all_that_was_published(ports: Ports) -> None:
    """Versions with the plans of their datasets, and routes as they are now: what a person is shown."""
    newer = replace(PUBLICATION, version="1.1.0", document="contracts/b", plans=(("lines", "e" * 64),), routes=())
    moved = replace(ROUTE, prefix="moved/")
    ports.registry.publish(replace(PUBLICATION, plans=(("heads", "c" * 64), ("lines", "d" * 64))))
    ports.registry.publish(newer)
    ports.registry.publish(replace(newer, routes=(moved,), retired=("shop/",)))
    snapshot = ports.registry.snapshot()

    assert sorted((each.version, tuple(dataset for dataset, _plan in each.plans)) for each in snapshot.versions) == [
        ("1.0.0", ("heads", "lines")),
        ("1.1.0", ("lines",)),
    ]
    assert newer in snapshot.versions
    assert (moved,) == snapshot.routes


def test_a_batch_takes_members_until_it_has_enough_of_them(ports: Ports) -> None:
    """The first member creates it; its limits are those of the item, whatever later members bring."""
    ports.batches.join(BATCH, FIRST)
    ports.batches.join(BATCH._replace(files=9, bytes=9_000, closes_at=SOON), SECOND)
    with pytest.raises(ConditionFailed):
        ports.batches.join(BATCH, FIRST._replace(workload="w3"))

    assert ports.batches.get(BATCH.id) == BATCH._replace(members=(FIRST, SECOND))


def test_a_batch_takes_members_until_it_has_enough_bytes(ports: Ports) -> None:
    """One member of as many bytes fills it."""
    ports.batches.join(BATCH, FIRST._replace(size=BATCH.bytes))
    with pytest.raises(ConditionFailed):
        ports.batches.join(BATCH, SECOND)

    assert len(ports.batches.get(BATCH.id).members) == 1


def test_a_member_joins_once(ports: Ports) -> None:
    """A repeated request adds nothing; another attempt of the workload is another member."""
    ports.batches.join(BATCH, FIRST)
    with pytest.raises(ConditionFailed):
        ports.batches.join(BATCH, FIRST)
    ports.batches.join(BATCH, FIRST._replace(attempt=2))

    assert [each.attempt for each in ports.batches.get(BATCH.id).members] == [1, 2]


def test_a_batch_is_closed_once_with_the_members_that_were_seen(ports: Ports) -> None:
    """A member that joined meanwhile refuses the closing; a closed batch takes neither a member nor another request."""
    ports.batches.join(BATCH, FIRST)
    seen = ports.batches.get(BATCH.id)
    ports.batches.join(BATCH, SECOND)
    with pytest.raises(ConditionFailed):
        ports.batches.close(seen, "{}")
    now = ports.batches.get(BATCH.id)
    ports.batches.close(now, '{"name": 1}')
    with pytest.raises(ConditionFailed):
        ports.batches.close(now, "{}")
    ports.batches.started(BATCH.id, "run-1")

    assert ports.batches.get(BATCH.id) == now._replace(request='{"name": 1}', run="run-1")


def test_a_closed_batch_takes_no_member(ports: Ports) -> None:
    """Although it is not full."""
    ports.batches.join(BATCH, FIRST)
    ports.batches.close(ports.batches.get(BATCH.id), "{}")
    with pytest.raises(ConditionFailed):
        ports.batches.join(BATCH, SECOND)

    assert ports.batches.get(BATCH.id).members == (FIRST,)


def test_a_batch_that_nobody_joined_is_not_there(ports: Ports) -> None:
    """Members create it."""
    with pytest.raises(NotFound):
        ports.batches.get(BATCH.id)


def test_an_empty_registry_has_an_empty_shelf(ports: Ports) -> None:
    """Nothing published is not an error."""
    assert RegistrySnapshot() == ports.registry.snapshot()


def test_a_chain_is_read_as_the_texts_it_was_digested_from(ports: Ports) -> None:
    """Anyone who verifies a chain reads the bytes, and nothing that was made of them."""
    ports.workloads.create(DECIDED)
    first = block(0, GENESIS)
    ports.ledger.commit(first, committed(DECIDED), HERE, NEWS)

    assert (canonical(first),) == tuple(ports.ledger.texts(CHAIN))
    assert tuple(ports.ledger.texts("another")) == ()
    assert verify_stored(ports.ledger.texts(CHAIN), ports.ledger.head(CHAIN).digest) == ()


def finished(ports: Ports, *deliveries: tuple[str, tuple[str, ...]]) -> None:
    """Commit deliveries to one line: each with its verdict and the rules that it breaks."""
    previous = GENESIS
    for height, (verdict, rules) in enumerate(deliveries):
        name = f"h{height}"
        broken = tuple(BrokenRule(rule, "fail", 3) for rule in rules)
        decision = replace(
            DECISION, verdict=verdict, reasons=(), broken=broken, enforced=EnforcedVerdict("rejected", 3)
        )
        row = DECIDED._replace(id=name, decision=decision)
        ports.workloads.create(row)
        kind = BlockKind.QUARANTINED if verdict == "rejected" else BlockKind.PUBLISHED
        one = replace(block(height, previous, name), verdict=verdict, kind=kind)
        ports.ledger.commit(one, committed(row), HERE, replace(NEWS, id=name))
        previous = digest(one)


def test_a_committed_delivery_is_an_entry_of_its_line(ports: Ports) -> None:
    """The commit writes the index too: verdict, rows, rules and producer are found without a row being read."""
    finished(ports, ("rejected", ("not null",)))

    assert ports.history.entries(CHAIN) == (
        FinishedDelivery(
            0,
            "2026-11-21T11:30:00.000000Z",
            "h0",
            None,
            "quarantined",
            "rejected",
            "1.0.0",
            10,
            0,
            (BrokenRule("not null", "fail", 3),),
            EnforcedVerdict("rejected", 3),
            True,
            producer="shop/",
        ),
    )


def test_a_history_is_found_by_rule_and_by_verdict(ports: Ports) -> None:
    """Each is a query of its own; the newest come first, below a height and up to a limit."""
    finished(
        ports,
        ("rejected", ("a", "b")),
        ("accepted", ()),
        ("accepted_with_warnings", ("b",)),
        ("rejected", ("b", "'; --#rule#")),
    )

    def heights(**which: Any) -> tuple[int, ...]:
        return tuple(each.height for each in ports.history.entries(CHAIN, **which))

    assert heights() == (3, 2, 1, 0)
    assert heights(limit=2) == (3, 2)
    assert heights(below=3, limit=2) == (2, 1)
    assert heights(below=0) == ()
    assert heights(rule="b") == (3, 2, 0)
    assert heights(rule="b", below=3, limit=1) == (2,)
    assert heights(rule="'; --#rule#") == (3,)
    assert heights(rule="c") == ()
    assert heights(verdict="rejected") == (3, 0)
    assert heights(verdict="accepted", below=1) == ()
    assert ports.history.entries("orders/lines_v2") == ()
    assert len(ports.ledger.blocks(CHAIN)) == 4


def test_records_are_no_deliveries(ports: Ports) -> None:
    """What people did has heights of the same chain, and is not part of its history."""
    finished(ports, ("accepted", ()))
    head = ports.ledger.head(CHAIN)
    content = {"workload": "h0", "state": "QUARANTINED", "attempt": 1, "replayed_by": "f" * 64}
    record = Record(
        "replay", 1, head.digest, "2026-11-21T11:31:00.000000Z", CHAIN, "arn:aws:iam::1:user/x", "e" * 64, content
    )
    ports.ledger.append(record)

    assert [each.height for each in ports.history.entries(CHAIN)] == [0]


PAUSE = Pause(CHAIN, NOW, "arn:aws:iam::1:user/x", "a reason")
HELD = ROW._replace(state=State.HELD, held=CHAIN, due_at=NOW)
RECEIVED, AT_HELD = Expected(State.RECEIVED, 0), Expected(State.HELD, 0)


def refusals_of(ports: Ports, row: Workload, expected: Expected) -> tuple[str, ...]:
    with pytest.raises(ConditionFailed) as refused:
        ports.workloads.save(row, expected)
    return refused.value.reasons


def test_a_pause_begins_is_resumed_and_ends(ports: Ports) -> None:
    """Each step needs the one before; a line that is being resumed can be paused again, with another reason."""
    assert ports.pauses.pause_of(CHAIN) is None
    with pytest.raises(ConditionFailed):
        ports.pauses.resume(CHAIN, SOON)
    ports.pauses.begin(PAUSE)
    assert (ports.pauses.pause_of(CHAIN), ports.pauses.listed()) == (PAUSE, (CHAIN,))
    for refused in (
        lambda: ports.pauses.begin(replace(PAUSE, reason="another")),
        lambda: ports.pauses.end(CHAIN),
    ):
        with pytest.raises(ConditionFailed):
            refused()
    ports.pauses.resume(CHAIN, SOON)
    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, resumed=SOON)
    ports.pauses.begin(replace(PAUSE, reason="another"))
    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, reason="another")
    ports.pauses.resume(CHAIN, SOON)
    ports.pauses.end(CHAIN)

    assert (ports.pauses.pause_of(CHAIN), ports.pauses.listed()) == (None, ())


def test_a_delivery_of_a_paused_line_is_held_and_not_pinned(ports: Ports) -> None:
    """The condition is part of the write: anyone who looked before the pause began pins nothing after it."""
    ports.workloads.create(ROW)
    assert refusals_of(ports, HELD, RECEIVED) == ("pause",)
    ports.pauses.begin(PAUSE)
    assert refusals_of(ports, PINNED, RECEIVED) == ("pause",)
    ports.workloads.save(HELD, RECEIVED)

    assert ports.workloads.get("w1") == HELD
    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, held=1)
    assert (ports.pauses.held(CHAIN, 10), ports.agenda.due(SOON, 10)) == (("w1",), ())
    assert refusals_of(ports, HELD, RECEIVED) == ("state",)
    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, held=1)


def test_a_held_delivery_is_pinned_once_its_line_is_resumed(ports: Ports) -> None:
    """The pause ends with the last one that is held; what arrives before is held behind it."""
    ports.workloads.create(ROW)
    ports.pauses.begin(PAUSE)
    ports.workloads.save(HELD, RECEIVED)
    after = PINNED._replace(held=CHAIN)
    assert refusals_of(ports, after, AT_HELD) == ("pause",)
    ports.pauses.resume(CHAIN, SOON)
    with pytest.raises(ConditionFailed):
        ports.pauses.end(CHAIN)
    ports.workloads.create(ROW._replace(id="w9"))
    assert refusals_of(ports, PINNED._replace(id="w9"), RECEIVED) == ("pause",)
    ports.workloads.save(after, AT_HELD)

    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, resumed=SOON)
    assert (ports.pauses.held(CHAIN, 10), ports.agenda.due(SOON, 10)) == ((), ("w9", "w1"))
    ports.pauses.end(CHAIN)


def test_a_held_delivery_that_is_gone_is_counted_no_more(ports: Ports) -> None:
    """Also while its dataset is paused: the producer deleted the version, or it cannot be read."""
    for name in ("w1", "w2"):
        ports.workloads.create(ROW._replace(id=name))
    ports.pauses.begin(PAUSE)
    for name in ("w1", "w2"):
        ports.workloads.save(HELD._replace(id=name), RECEIVED)
    ports.workloads.save(HELD._replace(state=State.GONE, due_at=None), AT_HELD)

    assert ports.pauses.pause_of(CHAIN) == replace(PAUSE, held=1)
    assert ports.pauses.held(CHAIN, 10) == ("w2",)


def test_a_held_delivery_does_not_move_to_another_paused_line(ports: Ports) -> None:
    """Its route was changed meanwhile: the line that it belongs to now must not be paused."""
    other = replace(PAUSE, dataset="orders/other_v1")
    ports.workloads.create(ROW)
    ports.pauses.begin(PAUSE)
    ports.workloads.save(HELD, RECEIVED)
    ports.pauses.resume(CHAIN, SOON)
    ports.pauses.begin(other)
    elsewhere = PINNED._replace(held=CHAIN, pin=Pin(other.dataset, "orders", "1.0.0", "d" * 64))

    assert refusals_of(ports, elsewhere, AT_HELD) == ("pause",)
    assert ports.pauses.listed() == (CHAIN, other.dataset) or ports.pauses.listed() == (other.dataset, CHAIN)


def test_what_is_held_is_listed_in_order_of_arrival(ports: Ports) -> None:
    """By the time at which it landed, whenever it was taken in; bounded."""
    ports.pauses.begin(PAUSE)
    for number, minutes in enumerate((3, 1, 2)):
        ports.workloads.create(ROW._replace(id=f"w{number}"))
        ports.workloads.save(HELD._replace(id=f"w{number}", due_at=NOW + timedelta(minutes=minutes)), RECEIVED)

    assert ports.pauses.held(CHAIN, 10) == ("w1", "w2", "w0")
    assert ports.pauses.held(CHAIN, 2) == ("w1", "w2")
    assert ports.pauses.held("orders/lines_v2", 2) == ()


def test_heads_of_many_chains_are_read_at_once(ports: Ports) -> None:
    """In the order that is asked for, more than one batch of them, chains without a block among them."""
    ports.ledger.append(REPLAY)
    other = replace(REPLAY, chain="other/lines_v1", event=event_id("replay", "other"))
    ports.ledger.append(other)
    names = [*(f"none/{number}" for number in range(150)), CHAIN, "other/lines_v1"]
    none = Head(-1, GENESIS)

    assert ports.ledger.heads(names) == (*[none] * 150, Head(0, digest(REPLAY)), Head(0, digest(other)))
    assert ports.ledger.heads(()) == ()
    places = [*((name, 0) for name in names), (CHAIN, 1)]
    assert ports.ledger.digests(places) == (*[""] * 150, digest(REPLAY), digest(other), "")


def test_what_has_an_underscore_is_listed_by_its_prefix(ports: Ports) -> None:
    """A page of the registry has contracts, or workflows."""
    workflow = Publication("_workflow:strict", "1.0.0", "active", "contracts/y", ())
    contract = Publication("orders", "1.0.0", "active", "contracts/x", (), plans=(("lines", "p"),))
    for each in (workflow, contract):
        ports.registry.publish(each)

    listed = [
        [one.versions[0] for one in ports.registry.page("", each).contracts if one.versions] for each in ("", "_")
    ]
    assert listed == [[contract], [workflow]]
