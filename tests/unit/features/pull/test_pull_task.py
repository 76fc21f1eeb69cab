"""Ticks of the scheduler: what is due is fetched once, whole, and from one version of its source."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from lakegate.aws.wiring import detail
from lakegate.base.errors import PortError, Throttled, Unanswered
from lakegate.base.timestamps import instant_of, moment
from lakegate.contract.name_times import time_in
from lakegate.features.notifications.notices import noted
from lakegate.features.pull import pull_task
from lakegate.features.pull.pull_sources import SourceIdentity
from lakegate.features.pull.pull_task import MAX_ENDS, FinishedPull, PullOutcome, PullState, key_of, report_end
from lakegate.gate.datasets.lifecycle import change
from lakegate.gate.datasets.subscriptions import add_subscription
from lakegate.gate.effects import Steps, run
from lakegate.gate.ports import Address
from lakegate.gate.scheduled_tasks import Turn
from lakegate.gate.send_messages import notify
from tests.published_schemas import validate
from tests.simulation.environment import LAKE
from tests.unit.features.pull.pull_stage import LINE, PART, PREFIX, PullStage, scheduled

SMALL, LARGE, WHOLE = b"id", b"id\n1\n2\n3\n4", b"id\n1\n2\n3"
"""Less than a part, several and a rest, several."""


@pytest.mark.parametrize("body", [b"", SMALL, b"id\n1", LARGE, WHOLE])
@pytest.mark.parametrize("size", [len, lambda _: None])
def test_a_source_lands_as_it_is(body: bytes, size: object) -> None:
    """Of any length, whether the source says it or not; below the route, by the time of the schedule and its name."""
    stage = scheduled(body, size=size)
    stage.tick()

    ((key, landed),) = stage.landed.items()
    assert (landed, stage.ends, stage.landing.uploads) == (body, [("FETCHED", "")], {})
    assert re.fullmatch(rf"{PREFIX}\d{{8}}T\d{{6}}Z-[0-9a-f]{{12}}-rows\.csv", key)
    assert (stage.row.ends[0].key, stage.row.ends[0].size) == (key, len(body))


@pytest.mark.parametrize(
    ("modified", "written", "time"),
    [
        ("Tue, 24 Nov 2026 18:00:00 GMT", "20261124T180000Z-", datetime(2026, 11, 24, 18, tzinfo=UTC)),
        ("1732000000 12", "", None),
        ("Tue, 99 Nov 2026 18:00:00 GMT", "", None),
        ("", "", None),
    ],
)
def test_the_key_has_the_time_when_the_source_was_modified(modified: str, written: str, time: datetime | None) -> None:
    """As `snapshotTime` finds it; without one it finds the time of the schedule."""
    row = scheduled(SMALL).row
    key = key_of(PREFIX, row, SourceIdentity(modified=modified))

    assert re.fullmatch(rf"{PREFIX}\d{{8}}T\d{{6}}Z-[0-9a-f]{{12}}-{written}rows\.csv", key)
    assert time_in("%Y%m%dT%H%M%SZ-", key) == (time or instant_of(row.next))


def test_an_unchanged_source_is_not_fetched_again() -> None:
    """The next pull ends as UNCHANGED, one of a changed source with another object."""
    stage = scheduled(LARGE)
    stage.tick()
    stage.tick(1)
    stage.source.body = WHOLE
    stage.tick(1)

    assert stage.ends == [("FETCHED", ""), ("UNCHANGED", ""), ("FETCHED", "")]
    assert sorted(stage.bodies) == sorted([LARGE, WHOLE])


def test_a_pull_is_due_by_its_schedule_only() -> None:
    """Publishing schedules it; a tick before its time does nothing, and one that is late does it once."""
    stage = PullStage()
    stage.publish()
    stage.tick()
    first = stage.row
    stage.tick()

    assert (first.schedule, first.plan != "", stage.source.opened) == ("rate(1 hour)", True, [])
    assert stage.row == first
    stage.tick(7.5)
    assert (len(stage.source.opened), stage.due > stage.env.memory.clock.now()) == (1, True)


def test_a_source_that_gives_no_identity_is_fetched_each_time() -> None:
    """Nothing tells whether it changed; the gate recognises the same content."""
    stage = scheduled(LARGE, says=False)
    stage.tick()
    stage.tick(1)

    assert (stage.ends, stage.bodies) == ([("FETCHED", "")] * 2, [LARGE] * 2)


def test_a_large_source_continues_over_several_ticks() -> None:
    """Behind the last part, as long as the source is the same."""
    stage = scheduled(LARGE)
    stage.source.on_read = lambda _: setattr(stage, "left", 59.0)
    for _ in range(4):
        stage.left = 900.0
        stage.tick(0.1)

    assert [at for _, at in stage.source.opened] == [0, 4, 8]
    assert (stage.bodies, stage.ends, stage.source.read) == ([LARGE], [("FETCHED", "")], len(LARGE))


def test_others_have_their_turn() -> None:
    """A source that takes long is left after four minutes, and is due again at once."""
    stage = scheduled(LARGE)
    stage.source.on_read = lambda _: stage.env.memory.clock.sleep(pull_task.TURN_SECONDS + 1)
    stage.tick()

    assert (stage.row.fetch is not None, stage.row.leased, stage.ends) == (True, "", [])
    assert stage.until_end().outcome == "FETCHED"
    assert stage.bodies == [LARGE]


@pytest.mark.parametrize("at", [0, 4, 8])
def test_a_source_that_breaks_off_is_continued(at: int) -> None:
    """Five minutes later; what arrived is not fetched again."""
    stage = scheduled(LARGE, breaks_at=at)
    stage.tick()
    assert (stage.ends, stage.row.failures) == ([], 1)

    assert stage.until_end().outcome == "FETCHED"
    assert (stage.bodies, stage.source.read) == ([LARGE], len(LARGE))


@pytest.mark.parametrize(("says", "resumes"), [(False, True), (True, False)])
def test_a_source_that_cannot_be_resumed_begins_again(says: bool, resumes: bool) -> None:  # noqa: FBT001 - cases
    """Whole, and never from two readings."""
    stage = scheduled(LARGE, says=says, resumes=resumes, breaks_at=8)
    stage.tick()

    assert stage.until_end().outcome == "FETCHED"
    assert [at for _, at in stage.source.opened] == [0, 0]
    assert (stage.bodies, stage.landing.uploads) == ([LARGE], {})


def test_a_source_that_changes_while_it_is_read_begins_again() -> None:
    """Nothing of the one before is in the object."""
    stage = scheduled(LARGE, breaks_at=8)
    stage.tick()
    stage.source.body = other = b"another content"
    assert stage.until_end().outcome == "FETCHED"

    assert (stage.bodies, stage.landing.uploads) == ([other], {})


def test_a_source_that_changes_all_the_time_is_given_up() -> None:
    """After three attempts; the next time of the schedule tries again."""
    stage = scheduled(LARGE)

    def change(_: int) -> None:
        stage.left = 0.0

    stage.source.on_read = change
    for number in range(9):
        stage.left, stage.source.body = 900.0, b"%d: %s" % (number, LARGE)
        stage.tick(0.09)

    assert (stage.ends[0], stage.bodies, len(stage.landing.uploads)) == (("FAILED", "source-changed"), [], 0)


@pytest.mark.parametrize("size", [lambda body: len(body) + 1, lambda body: len(body) - 1])
@pytest.mark.parametrize("body", [SMALL, LARGE])
def test_a_source_that_lies_about_its_length_brings_nothing(body: bytes, size: object) -> None:
    """Three times; then the pull has failed."""
    stage = scheduled(body, size=size)
    end = stage.until_end()

    assert (end.reason, stage.bodies, stage.landing.uploads) == ("length-differs", [], {})


@pytest.mark.parametrize("size", [len, lambda _: None])
@pytest.mark.parametrize("body", [b"x" * 101, b"x" * 400])
def test_a_source_that_is_too_large_is_refused(body: bytes, size: object) -> None:
    """Also if it does not say how large it is."""
    stage = scheduled(body, size=size)
    stage.tick()

    assert (stage.ends, stage.bodies, stage.landing.uploads) == ([("FAILED", "too-large")], [], {})


def test_a_limit_below_a_part_holds_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is smaller than a part may be larger than a delivery."""
    monkeypatch.setattr(pull_task, "MAX_BYTES", 1)
    stage = scheduled(SMALL, size=lambda _: None)
    stage.tick()

    assert (stage.ends, stage.bodies) == ([("FAILED", "too-large")], [])


@pytest.mark.parametrize(
    ("failure", "attempts"), [(PortError("http-404"), 1), (Unanswered("http-503"), 3), (Throttled("http-429"), 3)]
)
def test_a_source_that_fails(failure: PortError, attempts: int) -> None:
    """What may pass is tried three times, everything else is an end at once."""
    stage = scheduled(SMALL, failure=failure)
    end = stage.until_end()

    assert (end.outcome, end.reason, len(stage.source.opened)) == ("FAILED", str(failure), attempts)
    stage.source.failure = None
    stage.tick(1)
    assert stage.bodies == [SMALL]


def test_an_error_without_text_has_a_name() -> None:
    """A reason is never empty."""
    stage = scheduled(SMALL, failure=PortError())

    assert stage.until_end().reason == "PortError"


def test_a_source_that_takes_too_long_is_given_up() -> None:
    """Six hours after it began, over all ticks; or at the end of a tick, if it cannot be resumed."""
    stage = scheduled(LARGE, breaks_at=8)
    stage.tick()
    stage.tick(7)
    other = scheduled(LARGE, resumes=False)
    other.source.on_read = lambda _: setattr(other, "left", 59.0)
    other.left = 900.0
    other.tick()

    assert stage.ends == other.ends == [("FAILED", "too-slow")]
    assert stage.landing.uploads == other.landing.uploads == {}


def test_an_upload_that_is_gone_begins_again() -> None:
    """The lifecycle of the bucket may have ended it."""
    stage = scheduled(LARGE, breaks_at=8)
    stage.tick()
    stage.landing.uploads.clear()

    assert stage.until_end().outcome == "FETCHED"
    assert stage.bodies == [LARGE]


@pytest.mark.parametrize("step", range(14))
def test_two_ticks_at_once_fetch_once(step: int) -> None:
    """The lease lets one of them through, at any step of the other."""
    stage = scheduled(LARGE)
    first = stage.steps()
    answers = _driven(first)
    for _ in range(step):
        next(answers, None)
    stage.tick()
    list(answers)

    assert (stage.bodies, stage.ends) == ([LARGE], [("FETCHED", "")])


def _driven(steps: Steps[Turn]) -> Iterator[None]:
    """Perform a tick effect by effect."""
    call = next(steps, None)
    while call is not None:
        try:
            answer = call.do()
        except PortError as refused:
            act = partial(steps.throw, refused)
        else:
            act = partial(steps.send, answer)
        try:
            call = act()
        except StopIteration:
            return
        yield


def test_a_tick_that_is_out_of_time_begins_nothing() -> None:
    """The next one does."""
    stage = scheduled(SMALL)
    stage.left = 59.0
    stage.tick()

    assert (stage.source.opened, stage.row.leased) == ([], "")


def test_an_error_of_one_line_does_not_stop_others() -> None:
    """It is returned for the log: a plan that is not what its digest says, when it is due, and when it is scheduled."""
    stage = scheduled(SMALL)
    found = []
    for version in ("1.0.0", "1.1.0"):
        stage.publish(version)
        plan = stage.env.memory.registry.contract("partner").routes[0].plan
        stage.env.memory.objects.put(Address(LAKE, f"plans/{plan}.json"), b"another plan")
        stage.dependencies.plans.clear()
        found.append([str(each) for each in stage.tick(0.5).failures])

    assert found == [[f"plan-differs @ {LINE}"] * times for times in (1, 2)]


@pytest.mark.parametrize("refused", [None, Throttled("write")])
def test_an_alarm_keeps_no_lease(refused: PortError | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is due again at once, so that what an operator repairs is pulled by the next tick."""
    stage = scheduled(SMALL)
    due, pulls = stage.row.next, type(stage.env.memory.pulls)
    plan = stage.env.memory.registry.contract("partner").routes[0].plan
    body = stage.env.memory.objects.current(LAKE)[f"plans/{plan}.json"]
    stage.env.memory.objects.put(Address(LAKE, f"plans/{plan}.json"), b"another plan")
    stage.dependencies.plans.clear()
    write = pulls.write

    def written(rows: Any, row: PullState) -> PullState:
        if refused is not None and row.revision > 1:
            raise refused
        return write(rows, row)

    monkeypatch.setattr(pulls, "write", written)
    failures = [str(each) for each in stage.tick().failures]
    monkeypatch.setattr(pulls, "write", write)
    after = (stage.row.next, stage.row.leased != "", stage.row.due > due)
    stage.env.memory.objects.put(Address(LAKE, f"plans/{plan}.json"), body)
    stage.tick(0 if refused is None else 0.4)

    assert (failures, after) == ([f"plan-differs @ {LINE}"], (due, refused is not None, refused is not None))
    assert stage.ends == [("FETCHED", "")]


def test_a_pull_that_fails_is_reported_and_so_is_the_next_that_does_not() -> None:
    """Each failure is an event; subscribers get one message for its cause, and one for its end."""
    stage = scheduled(SMALL, failure=PortError("host-refused"))
    decide = partial(add_subscription, team="t", audience="producer", on=["pull"], to=["slack:t"])
    run(change(stage.dependencies, LINE, "", decide), stage.env.memory.clock)
    events: list[list[tuple[str, Any]]] = []
    shown: list[list[tuple[str, str, tuple[str, ...], bool]]] = []
    for failure in (PortError("host-refused"), PortError("host-refused"), None, None):
        stage.source.failure = failure
        stage.tick(1)
        stage.env.memory.clock.sleep(60)
        stage.env.memory.notifier.sent.clear()
        stage.env.memory.channels.sent.clear()
        run(notify(stage.dependencies), stage.env.memory.clock)
        sent = {each.id: each for each in stage.env.memory.notifier.sent if each.kind == "pull"}.values()
        for each in sent:
            validate("line-event", detail(each))
        events.append([(body["outcome"], body["reason"]) for body in (json.loads(each.body) for each in sent)])
        shown.append([(each.kind, each.title, each.text, each.resolved) for _, each in stage.env.memory.channels.sent])

    (again,) = [row for row in shown[0] if not row[3]]
    assert events == [[("FAILED", "host-refused")], [("FAILED", "host-refused")], [("FETCHED", None)], []]
    assert again[:2] == ("pull", f"Not fetched: {LINE}, host-refused")
    assert again[2][0].startswith("It is tried again at 20")
    assert [[(each[0], each[3]) for each in one] for one in shown] == [[("pull", False)], [], [("pull", True)], []]


def test_the_message_of_a_pull_that_is_never_due_again() -> None:
    """The schedule names a year that is over."""
    stage = scheduled(SMALL)
    row = replace(stage.row, schedule="cron(0 0 1 1 ? 2026)")
    end = FinishedPull(PullOutcome.FAILED, moment(stage.env.memory.clock.now()), reason="x")
    run(report_end(stage.dependencies, row, end, None, row.next), stage.env.memory.clock)
    (message,) = stage.env.memory.messages.values()
    validate("line-event", detail(message))
    what = noted(stage.dependencies, message)

    assert what is not None
    assert what.what.reasons == ("It is not tried again",)


def test_ends_are_remembered_within_bounds() -> None:
    """The latest ones."""
    stage = scheduled(SMALL)
    for _ in range(MAX_ENDS + 2):
        stage.tick(1)

    assert len(stage.row.ends) == MAX_ENDS
    assert len(LARGE) > PART
