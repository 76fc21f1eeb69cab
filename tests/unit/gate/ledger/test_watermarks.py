"""The watermark of a line, never earlier than before; rows that are late, changed or missing as outcomes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import Mode, Policy, Treatment
from lakegate.gate.ledger.watermarks import watermark_after
from lakegate.plan.result import Result
from lakegate.plan.slice_order import Merged, MergedSnapshot, WrittenSlice
from lakegate.verdict.verdict import counts_of, judge
from tests.unit.verdict.test_verdict import CLEAN, answer, check, measured, plan, statuses, verdict

MAY = "2026-05-01T00:00:00.000000Z"
times = st.datetimes().map(lambda at: at.replace(tzinfo=UTC))


def a_slice(latest: str = MAY, late: int = 0) -> WrittenSlice:
    return WrittenSlice("file:/s", 9, "e", 1, 0, (latest, latest), f"f9680c00120{'0' * 64}", f"f1620{'0' * 64}", late)


@given(st.lists(times, min_size=1, max_size=4), st.integers(0, 527_040), st.none() | times, times)
def test_a_watermark_never_moves_back(
    events: list[datetime], minutes: int, before: datetime | None, judged: datetime
) -> None:
    """It is the latest event time, or the judging time before it, minus the delay, unless the one before is later."""
    found = answer(slices=tuple(a_slice(moment(each)) for each in events), watermark=moment(before) if before else "")
    first = datetime(1, 1, 1, tzinfo=UTC)
    latest = min(max(events), judged)
    behind = latest - first
    expected = latest - timedelta(minutes=minutes) if behind > timedelta(minutes=minutes) else first

    assert watermark_after(plan(policy=Policy(watermark_minutes=minutes)), found, moment(judged)) == moment(
        max(expected, before) if before else expected
    )


@pytest.mark.parametrize("before", ["", MAY])
@pytest.mark.parametrize("found", [answer(slices=()), answer(slices=(a_slice("2027-01-01T00:00:00.000000Z"),))])
def test_a_watermark_stays_without_a_delay_or_without_rows(before: str, found: Result) -> None:
    """A contract that declares no delay moves none; neither does a delivery without slices."""
    minutes = None if found.slices else 5

    given_plan, given_result = plan(policy=Policy(watermark_minutes=minutes)), replace(found, watermark=before)

    assert watermark_after(given_plan, given_result, MAY) == before


@pytest.mark.parametrize(
    ("policy", "status", "decided"),
    [
        (Policy(), "pass", "accepted"),
        (Policy(late_events=Treatment.WARN), "warn", "accepted_with_warnings"),
        (Policy(late_events=Treatment.REJECT), "fail", "rejected"),
        (Policy(late_events=Treatment.REJECT, mode=Mode.OBSERVE), "fail", "accepted_with_warnings"),
    ],
)
def test_late_events_are_an_outcome_of_the_file(policy: Policy, status: str, decided: str) -> None:
    """Counted over all slices; the contract grades it, and `mode: observe` rejects nothing."""
    found = answer(measured(CLEAN), slices=(a_slice(late=1), a_slice(late=2)), watermark=MAY)

    assert statuses(plan(check(), policy=policy), found) == {"r/n": "pass", "file/late-events": status}
    assert verdict(plan(check(), policy=policy), found).value == decided
    assert statuses(plan(check()), answer(measured(CLEAN), slices=(a_slice(),))) == {"r/n": "pass"}


MERGE = Merged(0, known=4, changed=1, vanished=2)
CHANGED = "1 row has a key (id) that is known with other values: they are not published"
VANISHED = "the delivery has no row of 2 keys of the line (id): what was published stays"


@pytest.mark.parametrize(
    ("policy", "outcomes", "decided"),
    [
        (Policy(), {"merge/changed": ("warn", CHANGED)}, "accepted_with_warnings"),
        (Policy(changed_rows=Treatment.ACCEPT), {"merge/changed": ("pass", CHANGED)}, "accepted"),
        (Policy(changed_rows=Treatment.REJECT), {"merge/changed": ("fail", CHANGED)}, "rejected"),
        (
            Policy(changed_rows=Treatment.ACCEPT, vanished_rows=Treatment.REJECT),
            {"merge/changed": ("pass", CHANGED), "merge/vanished": ("fail", VANISHED)},
            "rejected",
        ),
    ],
)
def test_rows_that_differ_from_the_line_are_outcomes(
    policy: Policy, outcomes: dict[str, tuple[str, str]], decided: str
) -> None:
    """As the contract grades them; rows that are repeated are not counted as published."""
    found = answer(measured(CLEAN), merge=MERGE)
    own = plan(check(), policy=replace(policy, merge_key=("id",)))
    judgement = judge(own, found)

    assert {each.id: (each.status.value, each.message) for each in judgement.outcomes[:-1]} == outcomes
    assert judgement.verdict.value == decided
    assert counts_of(own, judgement).published_rows == (0 if decided == "rejected" else 5)
    assert statuses(own, answer(measured(CLEAN), merge=Merged(0, 3, 0, 0))) == {"r/n": "pass"}


OLD, NEWER = "2026-05-01T00:00:00.000000Z", "2026-05-02T00:00:00.000000Z"
LATE = f"the snapshot is of {OLD}, and one of {NEWER} came before: it changes nothing"
TWICE = "2 rows have no key (id) of their own: a null is in it, or an earlier row has it; the delivery changes nothing"
UNNAMED = "the time of the snapshot is not known: its name has no time as `snapshotTime: %Y%m%d` says"
UNDATED = "the time of the snapshot is not known: its accepted rows do not have one time in the column at (`eventTime`)"


@pytest.mark.parametrize(
    ("policy", "snapshot", "outcomes", "decided"),
    [
        (Policy(), MergedSnapshot(NEWER, OLD, 0, 3, 2, 1), {}, "accepted"),
        (Policy(), MergedSnapshot(OLD, NEWER), {"merge/late-snapshot": ("warn", LATE)}, "accepted_with_warnings"),
        (
            Policy(late_events=Treatment.REJECT),
            MergedSnapshot(OLD, NEWER),
            {"merge/late-snapshot": ("fail", LATE)},
            "rejected",
        ),
        (Policy(), MergedSnapshot(OLD, OLD, 2), {"merge/keys": ("fail", TWICE)}, "rejected"),
        (Policy(snapshot_time="%Y%m%d"), MergedSnapshot("", OLD), {"merge/time": ("fail", UNNAMED)}, "rejected"),
        (
            Policy(event_time="at", mode=Mode.OBSERVE),
            MergedSnapshot("", OLD, 2),
            {"merge/time": ("fail", UNDATED), "merge/keys": ("fail", TWICE)},
            "accepted_with_warnings",
        ),
    ],
)
def test_why_a_snapshot_changes_nothing_is_an_outcome(
    policy: Policy, snapshot: MergedSnapshot, outcomes: dict[str, tuple[str, str]], decided: str
) -> None:
    """What it changes is none. With `mode: observe` it is accepted, and changes nothing either."""
    found = answer(measured(CLEAN), merge=Merged(0, 4, 0, 0, snapshot=snapshot))
    judgement = judge(plan(check(), policy=replace(policy, merge_key=("id",))), found)

    assert {each.id: (each.status.value, each.message) for each in judgement.outcomes[:-1]} == outcomes
    assert judgement.verdict.value == decided
    assert snapshot.is_merged is not bool(outcomes)


@pytest.mark.parametrize("mark", ["2026-05-01", None])
def test_a_result_has_a_time_as_watermark(mark: object) -> None:
    """A result with another text is none."""
    document = answer().to_json() | {"watermark": mark}

    with pytest.raises(InputError, match="watermark"):
        Result.from_json(document)
