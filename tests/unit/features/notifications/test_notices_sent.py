"""From the outbox to channels: who is notified of what, and that nothing waits for a channel."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from lakegate.base.errors import ConditionFailed, NotFound, PortError, Throttled, Unanswered
from lakegate.contract.delivery_policy import Policy
from lakegate.features.notifications import notices
from lakegate.features.notifications.notices import DUE_PER_TURN, deliver, retry
from lakegate.features.notifications.notification_text import footer
from lakegate.gate.datasets.dataset_states import DatasetRowStore, Ending
from lakegate.gate.datasets.lifecycle import change, deprecate
from lakegate.gate.datasets.subscriptions import add_subscription, remove_subscription
from lakegate.gate.delivery.delivery_row import Anomaly, Decision, FailedAttempt, FailureCause
from lakegate.gate.delivery.protocol import State
from lakegate.gate.effects import Alarm, Effect, run
from lakegate.gate.ports import Message
from lakegate.gate.send_messages import notify
from lakegate.verdict.verdict import Counts
from tests.simulation.environment import PREFIX
from tests.unit.gate.notified_gate import CONSUMER, LINE, OPERATOR, PRODUCER, REASONS, Gate


def test_a_thousand_rejections_are_one_message_and_one_resolution() -> None:
    """The event bus has every event; a channel one message for the cause, and one when a delivery is accepted."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    for _ in range(10):
        for _ in range(100):
            gate.ends("quarantined", "rejected")
        gate.turn()
    during = gate.sent()
    gate.turn(24)
    daily = gate.sent()
    gate.ends("published", "accepted", ())
    gate.turn()

    assert (during, daily, gate.sent()) == (
        [(OPERATOR, "rejected", 100, False)],
        [(OPERATOR, "rejected", 1_000, False)],
        [(OPERATOR, "rejected", 1_000, True)],
    )
    assert len(gate.env.memory.notifier.sent) == 1_001


def test_each_message_about_a_cause_has_an_id_of_its_own() -> None:
    """A receiver drops what has an id that it knows: a digest and a resolution have others, a repeated message has not."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    for hours in (0, 24, 24):
        gate.ends("quarantined", "rejected")
        gate.turn(hours)
    gate.ends("published", "accepted", ())
    gate.turn()
    messages = [each for _, each in gate.env.memory.channels.sent]

    assert [(each.times, each.resolved) for each in messages] == [(1, False), (2, False), (3, False), (3, True)]
    assert len({each.id for each in messages}) == len(messages)


def test_a_message_that_is_repeated_has_the_id_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever sent it ended before it could be noted: the receiver gets it twice, and keeps one."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.ends("quarantined", "rejected")
    with monkeypatch.context() as broken:
        broken.setattr(notices, "sent", lambda before, **_: before)
        gate.turn()
    gate.turn(1)
    first, *others = [each.id for _, each in gate.env.memory.channels.sent]

    assert others
    assert {*others} == {first}


def test_subscribers_are_notified_of_what_they_asked_for() -> None:
    """Each kind of end has its kind of notification; deliveries that are gone have none."""
    gate = Gate()
    gate.subscribe(CONSUMER, "rejected")
    gate.subscribe(OPERATOR, "warned", "failed", audience="operator")
    failure = FailedAttempt(1, "run", FailureCause.RUN_HUNG, gate.env.memory.clock.now())
    sent = []
    ends = [("quarantined", "rejected"), ("published", "accepted_with_warnings"), ("failed", None), ("gone", None)]
    for kind, verdict in ends:
        gate.ends(kind, verdict, failed=(failure,) if kind == "failed" else ())
        gate.turn()
        sent.append(sorted(gate.sent()))

    assert sent == [
        [(CONSUMER, "rejected", 1, False)],
        [(OPERATOR, "warned", 1, False), (CONSUMER, "rejected", 1, True)],
        [(OPERATOR, "failed", 1, False)],
        [],
    ]


def test_new_data_is_notified_once_for_each_delivery() -> None:
    """Who asked for warnings, too, gets one message of each delivery; a resolution is sent beside it."""
    gate = Gate()
    gate.subscribe(CONSUMER, "accepted", "rejected")
    gate.subscribe(OPERATOR, "accepted", "warned", audience="operator")
    sent = []
    for kind, verdict in (
        ("published", "accepted"),
        ("published", "accepted"),
        ("quarantined", "rejected"),
        ("published", "accepted_with_warnings"),
    ):
        gate.ends(kind, verdict)
        gate.turn()
        sent.append(sorted(gate.sent()))

    assert sent == [
        [(OPERATOR, "accepted", 1, False), (CONSUMER, "accepted", 1, False)],
        [(OPERATOR, "accepted", 1, False), (CONSUMER, "accepted", 1, False)],
        [(CONSUMER, "rejected", 1, False)],
        [(OPERATOR, "warned", 1, False), (CONSUMER, "accepted", 1, False), (CONSUMER, "rejected", 1, True)],
    ]


def test_a_notification_of_new_data_says_how_to_read_it() -> None:
    """The line, the route, how many rows there are, and the command."""
    gate = Gate()
    gate.subscribe(CONSUMER, "accepted")
    row = gate.ends("published", "accepted", ())
    counted = replace(row.decision, counts=Counts(12, 12, 0)) if row.decision else None
    gate.env.memory.workloads[row.id] = row._replace(decision=counted)
    gate.turn()
    [(_, found)] = gate.env.memory.channels.sent

    assert (found.kind, found.title, found.text, found.workload) == (
        "accepted",
        f"Accepted: {LINE}, below {PREFIX}",
        ("12 rows", f"To read it: lakegate get {LINE} FOLDER"),
        row.id,
    )


def test_a_notification_of_new_data_says_what_is_unusual_of_it() -> None:
    """To who asked for accepted data, and to who asked for warnings; in printable signs."""
    gate = Gate()
    gate.subscribe(CONSUMER, "accepted")
    gate.subscribe(OPERATOR, "warned", audience="operator")
    row = gate.ends("published", "accepted_with_warnings", ("a: b",))
    text = "nulls in \u202ea: 30 %, usual is at most 1 % (median of the last 30 deliveries: 0 %)"
    unusual = (Anomaly("nulls", "\u202ea", 0.3, None, 0.01, 0.0, 30, "", text),)
    gate.env.memory.workloads[row.id] = row._replace(anomalies=unusual)
    gate.turn()
    told = {found.kind: found.text for _, found in gate.env.memory.channels.sent}
    words = f"Anomaly: {text}".replace("\u202e", "\\u202e")

    assert told == {
        "accepted": ("a: b", words, f"To read it: lakegate get {LINE} FOLDER"),
        "warned": ("a: b", words),
    }


def test_a_notification_of_new_data_says_that_it_was_accepted_with_warnings() -> None:
    """Who asked for accepted data alone reads the broken rules, too; however many there are, the command is there."""
    gate = Gate()
    gate.subscribe(CONSUMER, "accepted")
    broken = tuple(f"column_{number}: wanted at least 95 % present" for number in range(9))
    row = gate.ends("published", "accepted_with_warnings", broken)
    counted = replace(row.decision, counts=Counts(2_000, 2_000, 0)) if row.decision else None
    gate.env.memory.workloads[row.id] = row._replace(decision=counted)
    gate.turn()
    [(_, found)] = gate.env.memory.channels.sent

    assert found.title == f"Accepted with warnings: {LINE}, below {PREFIX}"
    assert found.text == ("2,000 rows", *broken[:3], f"To read it: lakegate get {LINE} FOLDER")


def test_a_notification_of_new_data_says_what_it_replaces() -> None:
    """For who asked for accepted data, and for who asked for warnings."""
    gate = Gate()
    gate.subscribe(CONSUMER, "accepted")
    gate.subscribe(OPERATOR, "warned", audience="operator")
    row = gate.ends("published", "accepted_with_warnings", ("a: b",), supersedes=(9,))
    gate.turn()
    told = {found.kind: found.text for _, found in gate.env.memory.channels.sent}
    words = f"Takes the place of height 9: lakegate status {row.id[:12]} names it"

    assert told == {
        "accepted": (words, "a: b", f"To read it: lakegate get {LINE} FOLDER"),
        "warned": (words, "a: b"),
    }


def test_a_breaking_version_comes_with_the_commands() -> None:
    """What changes and how to agree; that the dataset before goes on. A stricter parent has neither."""
    gate = Gate()
    gate.subscribe(CONSUMER)
    planned = [{"status": "active", "at": "2026-12-30T08:00:00.000000Z"}]
    ending = {"reason": "", "replacement": "", "guide": ""}
    breaking = {"line": "orders/lines_v2", "status": "draft", "planned": planned, **ending}
    breaking |= {"version": "2.0.0", "follows": LINE}
    now = gate.env.memory.clock.now()
    gate.env.memory.post(Message("b", "", "breaking", json.dumps(breaking), now, "orders/lines_v2"))
    gate.turn()
    [(_, found)] = gate.env.memory.channels.sent

    assert (found.title, found.text) == (
        "2.0.0 breaks orders/lines_v1",
        (
            "active from 2026-12-30 08:00 UTC",
            "orders/lines_v1 goes on beside it until it is retired",
            "What changes: lakegate diff orders orders@2.0.0",
            "When you are ready: lakegate acknowledge orders/lines_v1@2.0.0 --as TEAM",
        ),
    )


def test_a_recall_names_the_delivery_what_is_current_again_and_the_commands() -> None:
    """A restoration likewise; a channel of lineage gets neither. An event of an earlier release says less."""
    gate = Gate()
    gate.subscribe(CONSUMER)
    gate.subscribe("openlineage:backend", "lineage")
    recall = {"line": LINE, "workload": "b" * 64, "height": 9, "actor": "a", "reason": "wrong month", "current": False}
    known = recall | {"accepted_at": "2026-11-21T15:26:06.120934Z"}
    known |= {"changed_with": [{"workload": "c" * 64, "height": 4}]}
    now, told = gate.env.memory.clock.now(), []
    for number, (kind, body) in enumerate(
        [
            ("recalled", known),
            ("restored", known | {"current": True}),
            ("recalled", known | {"changed_with": []}),
            ("recalled", recall),
        ]
    ):
        gate.env.memory.post(Message(str(number), "", kind, json.dumps(body), now, LINE))
        assert not gate.turn().channels.failures
        [(_, found)] = gate.env.memory.channels.sent
        gate.env.memory.channels.sent.clear()
        assert (found.workload, footer(found).split(" · ")[-1]) == ("b" * 64, f"lakegate status {'b' * 12}")
        told.append((found.title, found.text))

    about = f"delivery {'b' * 12} of {LINE}, height 9"
    reason, accepted = "Reason: wrong month", "Accepted at 2026-11-21 15:26 UTC"
    other = f"{'c' * 12} (height 4)"
    gone = "Its rows are not part of the dataset any more"
    command = f"To have the current state in a folder: lakegate get {LINE} FOLDER"
    assert not gate.env.memory.channels.reported
    again = ("Its rows are part of the dataset again", f"Not current any more: {other}")
    assert told == [
        (f"Recalled: {about}", (reason, accepted, gone, f"Current again: {other}", command)),
        (f"Restored: {about}", (reason, accepted, *again, command)),
        (f"Recalled: {about}", (reason, accepted, gone, "No other delivery is current again", command)),
        (f"Recalled: {about}", (reason, gone, command)),
    ]


def test_a_notification_names_the_line_the_producer_the_reasons_and_the_delivery() -> None:
    """What a person needs to begin, in printable signs; no key of the producer."""
    gate = Gate()
    gate.subscribe(CONSUMER, "rejected", "failed")
    row = gate.ends("quarantined", "rejected", ("a: \u202eevil", "duplicate-content"))
    gate.turn()
    [(_, rejected)] = gate.env.memory.channels.sent
    gate.env.memory.channels.sent.clear()
    gate.ends("failed", None, failed=(FailedAttempt(1, "run", FailureCause.RUN_HUNG, gate.env.memory.clock.now()),))
    gate.turn()
    [(_, failed)] = gate.env.memory.channels.sent

    assert (rejected.title, rejected.text, rejected.workload, rejected.dataset) == (
        f"Rejected: {LINE}, below {PREFIX}",
        ("a: \\u202eevil", "duplicate-content"),
        row.id,
        LINE,
    )
    assert (failed.title, failed.text) == (f"No verdict: {LINE}, below {PREFIX}", ("run-hung",))


def test_producers_are_notified_once_the_contract_agrees() -> None:
    """Consumers first: by default a producer is notified of the lifecycle of the line alone."""
    gate = Gate()
    gate.subscribe(PRODUCER, "rejected", audience="producer")
    gate.subscribe(CONSUMER, "rejected")
    gate.ends("quarantined", "rejected")
    gate.turn()
    before = gate.sent()
    plan = json.loads(gate.env.dependencies.plan(gate.row))
    plan["policy"]["notify_producers"] = True
    gate.env.dependencies.plans[gate.row.pin.plan] = json.dumps(plan).encode()  # type: ignore[union-attr]
    gate.ends("quarantined", "rejected", ("other",))
    gate.turn()
    agreed = gate.sent()
    decide = partial(deprecate, ending=Ending("old", "new", "https://wiki.example"))
    run(change(gate.env.dependencies, LINE, "deprecate", decide), gate.env.dependencies.clock)
    gate.turn()

    assert Policy().notify_producers is False
    assert before == [(CONSUMER, "rejected", 1, False)]
    assert sorted(agreed) == [(CONSUMER, "rejected", 1, False), (PRODUCER, "rejected", 1, False)]
    assert sorted(to for to, *_ in gate.env.memory.channels.sent) == [CONSUMER, PRODUCER]
    assert gate.env.memory.channels.sent[0][1].text == (
        "sunset from 2026-02-04 12:02 UTC",
        "retired from 2026-02-11 12:02 UTC",
        "Reason: old",
        "Use instead: new",
        "Guide: https://wiki.example",
    )


def test_a_change_of_a_line_names_what_changes() -> None:
    """A breaking version reaches the subscribers of the line before; drift those who asked, with its fields."""
    gate = Gate()
    gate.subscribe(CONSUMER, "drift")
    now = gate.env.memory.clock.now()
    lifecycle = {
        "line": "orders/lines_v2",
        "status": "draft",
        "planned": [],
        "reason": "",
        "replacement": "",
        "guide": "",
    }
    breaking = {**lifecycle, "version": "2.0.0", "follows": LINE}
    fields = [{"difference": "missing", "field": each, "objects": 2} for each in ("amount", None)]
    drift = {
        "line": LINE,
        "contract_version": "1.0.0",
        "compared": 20,
        "drifted": 2,
        "newest_height": 7,
        "fields": fields,
    }
    for name, kind, body in [("orders/lines_v2", "breaking", breaking), (LINE, "drift", drift)]:
        gate.env.memory.post(Message(f"{name}:{kind}", "", kind, json.dumps(body), now, name))
    gate.turn()

    assert sorted((each.kind, each.title, each.text) for _, each in gate.env.memory.channels.sent) == [
        (
            "breaking",
            "2.0.0 breaks orders/lines_v1",
            (
                "orders/lines_v1 goes on beside it until it is retired",
                "What changes: lakegate diff orders orders@2.0.0",
                "When you are ready: lakegate acknowledge orders/lines_v1@2.0.0 --as TEAM",
            ),
        ),
        (
            "drift",
            "Drift: 2 of 20 objects of orders/lines_v1 differ from 1.0.0",
            ("amount: missing (2)", "object: missing (2)"),
        ),
    ]


def test_a_plan_that_cannot_be_read_agrees_to_nothing() -> None:
    """A producer is not notified by mistake, and nobody else waits."""
    gate = Gate()
    gate.subscribe(PRODUCER, "rejected", audience="producer")
    gate.subscribe(CONSUMER, "rejected")
    gate.ends("quarantined", "rejected")
    lost = replace(gate.env.dependencies, plans={}, objects=gate.env.memory.objects)
    gate.env.memory.objects.read = lambda _: (_ for _ in ()).throw(NotFound())  # type: ignore[method-assign]
    with pytest.raises(Alarm):
        lost.terms(gate.row)
    gate.env.dependencies = lost
    gate.turn()

    assert gate.sent() == [(CONSUMER, "rejected", 1, False)]


def test_a_channel_that_fails_delays_nothing_else() -> None:
    """The event bus and other channels are served; the failing one is asked once a turn, later, and gets it in the end."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.subscribe(CONSUMER, "rejected")
    gate.env.memory.channels.broken[OPERATOR] = Unanswered("TimeoutError")
    gate.ends("quarantined", "rejected")
    first, _, nothing = gate.turn(), gate.turn(), gate.turn()
    while_broken = gate.sent()
    gate.env.memory.channels.broken.clear()
    gate.turn(0.1)

    assert [str(each) for each in first.channels.failures] == ["TimeoutError"]
    assert (nothing.channels.failures, nothing.failures) == ([], [])
    assert while_broken == [(CONSUMER, "rejected", 1, False)]
    assert gate.sent() == [(OPERATOR, "rejected", 1, False)]
    assert len(gate.env.memory.notifier.sent) == 1


def test_a_failing_channel_is_asked_once_a_turn() -> None:
    """Notices of other lines with the same channel wait, so that a receiver that hangs costs one time limit."""
    gate = Gate()
    decide = partial(add_subscription, team="t", on=["rejected"], to=[OPERATOR])
    for name in (LINE, "orders/other_v1"):
        run(change(gate.env.dependencies, name, "", decide), gate.env.dependencies.clock)
    assert gate.row.pin is not None
    gate.ends("quarantined", "rejected")
    gate.ends("quarantined", "rejected", pin=replace(gate.row.pin, dataset="orders/other_v1"))
    gate.env.memory.channels.broken[OPERATOR] = PortError("http-404")
    done = gate.turn().channels

    assert [str(each) for each in done.failures] == ["http-404"]


def test_a_dead_letter_waits_for_a_person() -> None:
    """After the last try nothing is sent; it is counted, and sent once somebody retries."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.env.memory.channels.broken[OPERATOR] = PortError("http-404")
    gate.ends("quarantined", "rejected")
    for _ in range(12):
        done = gate.turn(3).channels
    gate.env.memory.channels.broken.clear()
    gate.ends("quarantined", "rejected")
    still = gate.turn(3).channels
    [dead] = notices.dead_notices(gate.env.dependencies, 10)
    for _ in range(2):
        run(retry(gate.env.dependencies, dead), gate.env.dependencies.clock)
    run(retry(gate.env.dependencies, "nothing"), gate.env.dependencies.clock)
    gate.turn()
    after = gate.turn().channels

    assert (done.dead, done.failures, still.dead, still.sent, after.dead) == (1, [], 1, 0, 0)
    assert gate.sent() == [(OPERATOR, "rejected", 2, False)]


def test_who_has_unsubscribed_is_not_notified() -> None:
    """Also of what happened before; nothing stays due."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected", quiet="12:00-13:00")
    gate.ends("quarantined", "rejected")
    gate.turn()
    run(
        change(gate.env.dependencies, LINE, "", lambda line, _: remove_subscription(line, OPERATOR)),
        gate.env.dependencies.clock,
    )
    gate.turn(2)
    after = gate.turn(2)

    assert gate.sent() == []
    assert gate.env.dependencies.rows("notices").due(gate.env.memory.clock.now(), 10) == ()
    assert after.channels.failures == []


def test_nothing_is_sent_where_time_is_short() -> None:
    """What is due stays due for the next turn."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.ends("quarantined", "rejected")
    gate.env.dependencies = replace(gate.env.dependencies, remaining=lambda: 5.0)
    gate.turn()
    short = gate.sent()
    gate.env.dependencies = replace(gate.env.dependencies, remaining=lambda: 50.0)
    gate.turn()

    assert (short, gate.sent()) == ([], [(OPERATOR, "rejected", 1, False)])


def test_a_message_whose_delivery_is_unknown_is_sent_to_the_bus_alone() -> None:
    """Its row is looked up when it is sent."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    row = gate.ends("quarantined", "rejected")
    del gate.env.memory.workloads[row.id]
    gate.ends("gone", None, pin=None)
    done = gate.turn()

    assert (len(done.sent), done.failures, gate.sent()) == (2, [], [])


def test_a_turn_that_is_interrupted_counts_nothing_twice() -> None:
    """Before each effect of a turn the function may end; the next turn repeats it, and the count is right."""
    for stop in range(1, 5):
        gate = Gate()
        gate.subscribe(OPERATOR, "rejected")
        gate.ends("quarantined", "rejected")
        gate.env.memory.clock.sleep(60)
        steps = notify(gate.env.dependencies)
        call = next(steps)
        for _ in range(stop):
            call = steps.send(call.do())
        steps.close()
        gate.ends("quarantined", "rejected")
        gate.turn(0.1)
        gate.turn(24)

        times = [each.times for _, each in gate.env.memory.channels.sent]
        assert times[-1] == 2, stop


def test_turns_at_the_same_time_lose_nothing() -> None:
    """A notice that another turn has written is read again; the same write twice is one."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.ends("quarantined", "rejected")
    gate.env.memory.clock.sleep(60)
    steps = notify(gate.env.dependencies)
    call = next(steps)
    while call.effect is not Effect.WRITE_ROW:
        call = steps.send(call.do())
    gate.turn()
    with pytest.raises(ConditionFailed):
        call.do()
    call = steps.throw(ConditionFailed("notice"))
    assert call.effect is Effect.MARK_SENT
    steps.close()

    gate.ends("quarantined", "rejected")
    gate.env.memory.clock.sleep(60)
    steps = notify(gate.env.dependencies)
    call = next(steps)
    while call.effect is not Effect.WRITE_ROW:
        call = steps.send(call.do())
    call.do()
    call = steps.throw(ConditionFailed("notice"))
    assert call.effect is Effect.MARK_SENT
    steps.close()
    [notice] = gate.env.memory.notices.values()
    assert [each.count for each in notice.causes] == [2]


def test_a_notice_that_others_write_all_the_time_is_left_to_the_next_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message stays in the outbox."""
    gate = Gate()
    gate.subscribe(OPERATOR, "rejected")
    gate.ends("quarantined", "rejected")
    monkeypatch.setattr(DatasetRowStore, "write", lambda *_: (_ for _ in ()).throw(ConditionFailed("notice")))
    done = gate.turn()

    assert [type(each).__name__ for each in done.failures] == ["TransactionConflict"]
    assert len(gate.env.dependencies.outbox.pending(10)) == 1


def test_a_table_that_does_not_answer_is_a_failure_of_the_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was sent to the bus is still reported as sent."""
    gate = Gate()
    monkeypatch.setattr(DatasetRowStore, "due", lambda *_: (_ for _ in ()).throw(Throttled("Query")))
    done = run(deliver(gate.env.dependencies), gate.env.dependencies.clock)

    assert ([str(each) for each in done.failures], done.sent, DUE_PER_TURN) == (["Query"], 0, 1_000)


def test_who_is_asked_gets_the_commands() -> None:
    """One message for each delivery that waits, with both commands and the end; none if somebody has answered already."""
    gate = Gate()
    gate.subscribe(OPERATOR, "awaiting")
    judged = Decision("accepted_with_warnings", REASONS[:1], "")
    end = gate.env.memory.clock.now()
    first = gate.ends("awaiting", candidate=judged, deadline=end)
    second = gate.ends("awaiting", candidate=judged, deadline=end)
    done = gate.ends("awaiting", candidate=judged, deadline=end)
    gate.env.memory.workloads[done.id] = done._replace(state=State.PUBLISHED, decision=judged, candidate=None)
    gate.turn()
    sent = [each for _, each in gate.env.memory.channels.sent]

    assert [(each.kind, each.workload) for each in sent] == [("awaiting", first.id), ("awaiting", second.id)]
    asked = (
        f"To publish it: lakegate approve {first.id}",
        f'To reject it: lakegate decline {first.id} --reason "…"',
        f"Without an answer it is rejected at {end:%Y-%m-%d %H:%M} UTC",
        REASONS[0],
    )
    assert [each for each in asked if not any(each in line for line in sent[0].text)] == []
    assert sent[0].title == "Waits for approval: orders/lines_v1, below shop/orders/"
