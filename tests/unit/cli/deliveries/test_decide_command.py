"""`lakegate approve` and `lakegate decline` of a delivery: what a person reads before and afterwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from lakegate.cli.deliveries.wait_for_verdict import WaitExit, exit_code, print_end, wait
from lakegate.gate.delivery.find_deliveries import find_delivery
from lakegate.gate.delivery.protocol import State
from lakegate.library.awaited_deliveries import Waited
from lakegate.library.described_deliveries import delivery_status
from tests.unit.cli.conftest import Lakegate

WORKFLOW = """\
workflow: asking
version: 1.0.0
waitDays: 3
transitions:
  - {from: VALIDATING, when: accepted, to: AWAITING}
"""
NAMED = "customProperties: [{property: lakegate, value: {workflow: asking@1}}]\nschema:\n"
REASON = "the totals are those of last month"


@pytest.fixture
def waiting(lakegate: Lakegate) -> str:
    """The id of a delivery that waits for approval."""
    return lakegate.begin(_waiting)


def _waiting(lakegate: Lakegate) -> str:
    published = lakegate.ok("workflow", "publish", lakegate.file(WORKFLOW.encode(), "asking.yaml"))
    assert published.startswith("Published asking@1.0.0.")
    lakegate.routed(**{"schema:\n": NAMED})
    return lakegate.delivered()


def test_the_workflow_says_how_long_it_waits(lakegate: Lakegate, waiting: str) -> None:
    """In the list, and in the drawing, which has the states of the wait."""
    file = lakegate.file(WORKFLOW.encode(), "asking.yaml")
    drawn = lakegate.ok("workflow", "draw", file, "--format", "mermaid")
    one = lakegate.ok("workflow", "draw", lakegate.file(WORKFLOW.replace("3", "1").encode(), "one.yaml"))

    assert lakegate.ok("workflow", "list") == (
        "asking@1.0.0: at most 3 attempts; VALIDATING accepted → AWAITING; an answer within 3 days\n"
    )
    assert "  AWAITING --> ANSWERED: answered (by a person)\n" in drawn
    assert "asking@1.0.0, at most 3 attempts, an answer within 1 day\n" in one
    assert lakegate.json("status", waiting)["state"] == "AWAITING"


def test_what_waits_says_what_to_do(lakegate: Lakegate, waiting: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`status` has both commands and the judgement; there is no verdict yet, and a wait does not wait for a person."""
    row = lakegate.dependencies.workloads.get(waiting)
    assert row.deadline is not None
    text = lakegate.ok("status", waiting)
    document = lakegate.json("status", waiting)
    waited = Waited(waiting, "orders/day.csv", 26, 0.0)
    wait(lakegate.dependencies, [waited], 900)
    print_end(
        delivery_status(lakegate.dependencies, find_delivery(lakegate.dependencies, waiting, 0)), waited, "upload"
    )

    until = f"{row.deadline:%Y-%m-%d %H:%M:%S} UTC"
    short = waiting[:12]
    assert f"waits  for approval until {until}: lakegate approve {short}, or lakegate decline {short}" in text
    assert "    judged  " in text
    assert (document["verdict"], document["answer"]) == (None, None)
    assert document["awaiting"] == {"verdict": "accepted", "reasons": [], "until": row.deadline.isoformat()}
    assert (waited.finished, exit_code([waited])) == (None, WaitExit.NO_VERDICT)
    assert "It waits for a person" in capsys.readouterr().err


def test_what_is_published_at_its_time_says_so(lakegate: Lakegate, capsys: pytest.CaptureFixture[str]) -> None:
    """`workflow` names the time, `status` the date with the judgement; nobody waits for it, or approves, but may decline it."""
    text = WORKFLOW.replace("waitDays: 3", "delayHours: 2").replace("to: AWAITING", "to: SCHEDULED")
    other = text.replace("delayHours: 2", 'publishAt: "06:00Z"').replace("1.0.0", "1.1.0")
    lakegate.ok("workflow", "publish", lakegate.file(text.encode(), "later.yaml"))
    lakegate.routed(**{"schema:\n": NAMED})
    workload = lakegate.delivered()
    drawn = [lakegate.ok("workflow", "draw", lakegate.file(each.encode(), "x.yaml")) for each in (text, other)]
    one = lakegate.json("workflow", "draw", lakegate.file(text.replace("2", "1").encode(), "x.yaml"))
    row, waited = lakegate.dependencies.workloads.get(workload), Waited(workload, "orders/day.csv", 26, 0.0)
    assert row.deadline is not None
    wait(lakegate.dependencies, [waited], 900)
    print_end(
        delivery_status(lakegate.dependencies, find_delivery(lakegate.dependencies, workload, 0)), waited, "upload"
    )
    document, status = lakegate.json("status", workload), lakegate.ok("status", workload)
    refused, declined = lakegate("approve", workload), lakegate.json("decline", workload, "--reason", REASON)

    assert lakegate.ok("workflow", "list").endswith("VALIDATING accepted → SCHEDULED; published 2 hours later\n")
    assert [each.splitlines()[0] for each in drawn] == [
        "asking@1.0.0, at most 3 attempts, published 2 hours later",
        "asking@1.1.0, at most 3 attempts, published at 06:00Z",
    ]
    assert "SCHEDULED   due" in drawn[0]
    assert "(at its time)" in drawn[0]
    assert (one["publish_at"], one["delay_hours"]) == (None, 1)
    date = f"{row.deadline:%Y-%m-%d %H:%M:%S} UTC"
    assert f"waits  to be published at {date}, unless: lakegate decline {workload[:12]}\n" in status
    assert (document["state"], document["publish_at"]) == ("SCHEDULED", row.deadline.isoformat())
    assert (document["verdict"], document["awaiting"], waited.finished) == (None, None, None)
    assert "It is published at its time" in capsys.readouterr().err
    assert "it needs no approval: it is published at" in str(refused.exception)
    assert (declined["state"], declined["reasons"]) == (
        "QUARANTINED",
        [f"declined: {REASON} (by {declined['answer']['actor']})"],
    )


def test_an_approved_delivery_is_published(lakegate: Lakegate, waiting: str) -> None:
    """By its landing key or its id; a second command shows the same, and declining is refused."""
    answer = lakegate.json("approve", "orders/day.csv")
    actor = answer["answer"]["actor"]
    declined = lakegate("decline", waiting, "--reason", REASON)
    (record,) = [each for each in lakegate.json("log", "orders_v1")["blocks"] if each["kind"] == "approval"]

    assert answer == {
        "workload": waiting,
        "state": "PUBLISHED",
        "verdict": "accepted",
        "answer": {"actor": actor, "approved": True, "reason": "", "at": answer["answer"]["at"]},
        "reasons": [],
    }
    assert lakegate.ok("approve", waiting).splitlines() == [
        f"{waiting} is approved by {actor}: published.",
        f"lakegate status {waiting[:12]}",
    ]
    assert f"it was approved before, by {actor}" in str(declined.exception)
    assert record["content"] == {"workload": waiting, "attempt": 1, "verdict": "accepted"}
    assert f"  approved  by {actor} at " in lakegate.ok("status", waiting)


def test_a_declined_delivery_is_rejected(lakegate: Lakegate, waiting: str) -> None:
    """The reason is the person's, with the name; the exit code is that of what was wanted."""
    answer = lakegate.json("decline", waiting, "--reason", f" {REASON} ")
    actor = answer["answer"]["actor"]
    status = lakegate.json("status", waiting)

    assert (answer["state"], answer["verdict"], answer["answer"]["reason"]) == ("QUARANTINED", "rejected", REASON)
    assert status["reasons"] == answer["reasons"] == [f"declined: {REASON} (by {actor})"]
    assert (status["awaiting"], status["answer"]) == (None, answer["answer"])
    assert f"declined: {REASON}" in lakegate.ok("reasons", waiting)
    assert "  declined  by " in lakegate.ok("status", waiting)


def test_a_cancelled_delivery_is_rejected(lakegate: Lakegate, waiting: str) -> None:
    """By its landing key or its id; a second command shows the same, and who cancelled it is in `status` and `log`."""
    answer = lakegate.json("cancel", "orders/day.csv", "--reason", f" {REASON} ")
    actor = answer["answer"]["actor"]
    (record,) = [each for each in lakegate.json("log", "orders_v1")["blocks"] if each["kind"] == "cancellation"]

    assert answer == {
        "workload": waiting,
        "state": "QUARANTINED",
        "verdict": "rejected",
        "answer": {"actor": actor, "approved": False, "reason": REASON, "at": answer["answer"]["at"]},
        "reasons": [f"cancelled: {REASON} (by {actor})"],
    }
    assert lakegate.ok("cancel", waiting, "--reason", "another").splitlines() == [
        f"{waiting} is cancelled by {actor}: quarantined.",
        f"lakegate status {waiting[:12]}",
    ]
    assert f" cancelled  by {actor} at " in lakegate.ok("status", waiting)
    assert f"cancelled: {REASON}" in lakegate.ok("reasons", waiting)
    assert record["content"] == {"workload": waiting, "reason": REASON}
    assert "cancellation" in lakegate.ok("log", "orders_v1")
    assert "rejected as `cancelled` cannot be waived" in str(
        lakegate(
            "waive", waiting, "--reason", REASON, "--expires", f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}"
        ).exception
    )


def test_what_is_decided_is_not_cancelled(lakegate: Lakegate) -> None:
    """The command ends with 2, and says why."""
    lakegate.routed()
    workload = lakegate.delivered()
    refused = lakegate("cancel", workload, "--reason", REASON)

    assert (str(refused.exception), lakegate.json("status", workload)["state"]) == (
        "it is PUBLISHED already",
        "PUBLISHED",
    )


def test_an_accepted_delivery_is_recalled_and_restored(lakegate: Lakegate) -> None:
    """By its landing key or its id; `status`, `log`, `history` and `report` say so; restored, it counts again."""
    lakegate.routed()
    workload = lakegate.delivered()
    answer = lakegate.json("recall", "orders/day.csv", "--reason", f" {REASON} ")
    by = answer["decided"]
    state = lakegate.json("status", workload)
    (record,) = [each for each in lakegate.json("log", "orders_v1")["blocks"] if each["kind"] == "recall"]
    listed = lakegate.json("history", "orders_v1")["deliveries"]
    reports = [lakegate.json("report", "orders_v1")]
    texts = [lakegate.ok(*words) for words in (("status",), ("log", "orders_v1"), ("history", "orders_v1"))]
    back = lakegate.ok("restore", workload, "--reason", "it was right")
    reports.append(lakegate.json("report", "orders_v1"))

    assert answer == {
        "workload": workload,
        "line": "shop/orders_v1",
        "height": 0,
        "not_current": "recalled",
        "decided": {"actor": by["actor"], "reason": REASON, "at": by["at"]},
    }
    assert (state["not_current"], state["recall"], state["state"]) == ("recalled", by, "PUBLISHED")
    assert record["content"] == {"workload": workload, "height": 0, "reason": REASON}
    assert [each["not_current"] for each in listed] == ["recalled"]
    assert ["recalled" in each for each in texts] == [True, True, True]
    assert back.splitlines()[1:] == ["Height 0 of shop/orders_v1 is current.", f"lakegate status {workload[:12]}"]
    counts = [(each["deliveries"]["accepted"], each["recalled"], each["rules"] == []) for each in reports]
    assert (lakegate.json("status", workload)["not_current"], counts) == (None, [(1, 1, True), (1, 0, False)])


def test_a_landing_key_means_its_newest_accepted_delivery(lakegate: Lakegate) -> None:
    """Also beside a newer rejected one; twice is once, and `restore` by the key takes back what was recalled."""
    lakegate.routed()
    first = lakegate.delivered()
    second = lakegate.delivered(body=b"id,amount\na,1\nb,2\nc,3\ne,5\n")
    lakegate.delivered(1, body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")
    asked = [
        *[("recall", "orders/day.csv")] * 2,
        ("restore", "orders/day.csv"),
        ("recall", first),
        ("recall", "orders/day.csv"),
    ]
    answers = [lakegate.json(*words, "--reason", REASON) for words in asked]

    assert [each["workload"] for each in answers] == [second, second, second, first, second]
    assert [each["not_current"] for each in answers] == ["recalled", "recalled", None, "recalled", "recalled"]
    assert [each.get("changed_with") for each in answers] == [None] * 5


def test_a_replay_that_was_accepted_is_recalled_by_its_key(lakegate: Lakegate) -> None:
    """The upload itself was rejected; the replay has its key."""
    lakegate.routed()
    lakegate.delivered(1)
    replay = lakegate.json("replay", "orders/day.csv")["workload"]
    lakegate.answer(replay)

    assert lakegate.json("recall", "orders/day.csv", "--reason", REASON)["workload"] == replay


def test_what_a_recall_brings_back_is_named(lakegate: Lakegate) -> None:
    """What the delivery had replaced is current again, unless a later one replaces it; restored, it leaves again."""
    lakegate.routed(**{"schema:\n": "customProperties: [{property: lakegate, value: {replaces: delivery}}]\nschema:\n"})
    first, second, third = (lakegate.delivered(body=b"id,amount\n%s,1\n" % name) for name in (b"a", b"b", b"c"))
    why = ("--reason", REASON)
    middle = lakegate.json("recall", second, *why)
    lakegate.json("restore", second, *why)
    recalled = lakegate.json("recall", "orders/day.csv", *why)
    words = lakegate.ok("recall", third, *why).splitlines()
    restored = lakegate.ok("restore", third, *why).splitlines()

    (at,) = (each["at"] for each in lakegate.json("log", "orders_v1")["blocks"] if each.get("workload") == second)
    assert "changed_with" not in middle
    assert (recalled["workload"], recalled["changed_with"]) == (
        third,
        [{"workload": second, "height": 1, "at": at}],
    )
    assert words[1:3] == [
        "Height 2 of shop/orders_v1 is not current: recalled.",
        f"Current again: {second[:12]} of {at[:10]} (height 1)",
    ]
    assert restored[1:3] == [
        "Height 2 of shop/orders_v1 is current.",
        f"Not current any more: {second[:12]} of {at[:10]} (height 1)",
    ]
    assert lakegate.json("status", first)["not_current"] == "superseded"


def test_a_recall_of_what_was_not_accepted_is_refused(lakegate: Lakegate) -> None:
    """Each refusal says what is wrong, and `restore` needs a reason or a file."""
    lakegate.routed()
    workload = lakegate.delivered(1, body=b"id,amount\n,1\nb,2\nc,3\nd,4\n")
    asked = {
        (
            "recall",
            workload,
            "--reason",
            REASON,
        ): f"only an accepted delivery can be recalled or restored, and {workload[:12]} is QUARANTINED",
        ("restore", workload): "a delivery is restored with --reason, a lost object with a file that has its bytes",
        ("restore", workload, lakegate.file(b"x"), "--contract", "shop"): "--contract is for deliveries",
    }
    assert {words: str(lakegate(*words).exception) for words in asked} == asked


def test_an_answer_that_is_not_carried_out_yet(
    lakegate: Lakegate, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who may not go on leaves it to the sweep: the exit code is 3."""
    monkeypatch.setattr("lakegate.gate.carry_out_decision.advance_decided", _left)
    result = lakegate("approve", waiting)

    assert result.exit_code == 3
    assert "answered by a person, being decided" in result.stdout
    assert lakegate.dependencies.workloads.get(waiting).state is State.ANSWERED


def _left(_dependencies: object, row: object) -> object:
    yield from ()
    return row.id  # type: ignore[attr-defined]  # a row


def test_options_of_the_other_meaning_are_refused(lakegate: Lakegate) -> None:
    """A delivery has no proposal, and without the API no contract."""
    of_version = lakegate("approve", "orders/day.csv", "--yes")
    of_api = lakegate("decline", "orders/day.csv", "--reason", REASON, "--contract", "shop")

    assert "--proposal and --yes are for contract versions" in str(of_version.exception)
    assert "--contract is for --api" in str(of_api.exception)
