"""Notices: one message for each cause, also where it occurs a thousand times."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.base.timestamps import moment
from lakegate.features.notifications.notices import (
    MAX_CAUSES,
    REMEMBERED,
    TRIES_OF_NOTICE,
    ChannelNotice,
    Occurrence,
    OpenCause,
    after_quiet,
    failed,
    occurred,
    retried,
    sent,
)
from lakegate.gate.channel_ports import channel_of
from lakegate.gate.datasets.dataset_states import DatasetState, Subscription
from lakegate.gate.datasets.subscriptions import add_subscription, remove_subscription

START = datetime(2026, 1, 5, 12, tzinfo=UTC)
EMPTY = ChannelNotice("shop/orders_v1", "slack:lakegate-channel-orders")


def at(hours: float) -> str:
    return moment(START + timedelta(hours=hours))


def rejection(number: int, hours: float = 0, key: str = "amount", group: str = "in/") -> Occurrence:
    return Occurrence(f"r{number}", at(hours), "rejected", key, "Rejected", ("amount: wanted",), f"w{number}", group)


def acceptance(number: int, hours: float, group: str = "in/") -> Occurrence:
    return Occurrence(f"a{number}", at(hours), group=group, ends=("rejected", "failed", "warned"))


def messages(notice: ChannelNotice, now: str) -> tuple[ChannelNotice, list[OpenCause]]:
    """Everything that is ready is sent."""
    ready = list(notice.ready(now))
    for each in ready:
        notice = sent(notice, each, now)
    return notice, ready


def test_a_thousand_rejections_of_one_cause_are_three_messages() -> None:
    """One when it begins, one with the number after the digest period, one when it is resolved; not one of each delivery."""
    notice, stated = EMPTY, []
    for number in range(1_000):
        notice = occurred(notice, rejection(number, number / 50))
        notice, ready = messages(notice, at(number / 50))
        stated += ready
    notice, daily = messages(notice, at(24))
    notice, nothing = messages(notice, at(100))
    notice, over = messages(occurred(notice, acceptance(1, 101)), at(101))

    assert [(each.count, each.resolved) for each in (*stated, *daily, *nothing, *over)] == [
        (1, False),
        (1_000, False),
        (1_000, True),
    ]
    assert (notice.causes, notice.due) == ((), "")


def test_other_rules_and_other_producers_are_other_causes() -> None:
    """Each cause has a message of its own; an accepted delivery resolves those of its producer alone."""
    notice = EMPTY
    for number, what in enumerate([("amount", "in/"), ("name", "in/"), ("amount", "other/"), ("amount", "in/")]):
        notice = occurred(notice, rejection(number, 0, *what))
    notice, first = messages(notice, at(0))
    notice, over = messages(occurred(notice, acceptance(9, 1)), at(1))

    assert [(each.group, each.count) for each in first] == [("in/", 2), ("in/", 1), ("other/", 1)]
    assert [(each.group, each.resolved) for each in over] == [("in/", True), ("in/", True)]
    assert [each.group for each in notice.causes] == ["other/"]


def test_a_cause_that_comes_back_has_a_new_message_under_its_old_key() -> None:
    """Receivers recognise it; what is resolved and comes back before that was sent is still one cause."""
    notice, first = messages(occurred(EMPTY, rejection(1)), at(0))
    again = occurred(occurred(notice, acceptance(1, 1)), rejection(2, 2))
    _, nothing = messages(again, at(2))
    notice, over = messages(occurred(notice, acceptance(1, 1)), at(1))
    notice, second = messages(occurred(notice, rejection(3, 3)), at(3))

    assert nothing == []
    assert first[0].id == over[0].id == second[0].id
    assert (second[0].count, second[0].first) == (1, at(3))


def test_what_happens_while_a_message_is_sent_stays_due() -> None:
    """A cause that is resolved or occurs again meanwhile is reported, and nothing is reported as sent that was not."""
    begun = occurred(EMPTY, rejection(1))
    stated = begun.ready(at(0))[0]
    over = sent(occurred(begun, acceptance(1, 1)), stated, at(1))
    resolved = over.ready(at(1))[0]
    back = sent(occurred(over, rejection(2, 2)), resolved, at(2))

    assert (resolved.resolved, resolved.reported) == (True, 1)
    assert [(each.resolved, each.reported) for each in back.ready(at(2))] == [(False, 0)]
    assert sent(over, resolved, at(2)).causes == ()


def test_a_change_of_a_line_is_reported_once() -> None:
    """Each occurrence is a cause of its own, which ends with its message."""
    notice = EMPTY
    for number in range(2):
        notice = occurred(notice, Occurrence(f"d{number}", at(number), "deprecated", title="is deprecated"))
    notice, stated = messages(notice, at(2))

    assert ([each.kind for each in stated], notice.causes) == (["deprecated", "deprecated"], ())


def test_many_causes_are_counted_together() -> None:
    """A line with countless causes has a bounded notice, which ends like any other."""
    notice = EMPTY
    for number in range(MAX_CAUSES + 20):
        notice = occurred(notice, rejection(number, 0, f"rule {number}", f"{number}/"))
    others = notice.causes[-1]
    ended = occurred(notice, acceptance(1, 1, "0/"))

    assert len(notice.causes) == MAX_CAUSES + 1
    assert (others.title, others.count) == ("Further causes: shop/orders_v1", 20)
    assert [each.title for each in ended.causes if each.resolved] == ["Rejected", "Further causes: shop/orders_v1"]


def test_an_event_counts_once() -> None:
    """A repetition changes nothing; the memory of events is bounded; what ends nothing is not written."""
    notice = EMPTY
    for number in range(REMEMBERED + 10):
        notice = occurred(notice, rejection(number))

    assert occurred(notice, rejection(REMEMBERED)) is notice
    assert len(notice.seen) == REMEMBERED
    assert occurred(EMPTY, acceptance(1, 1)) is EMPTY
    assert occurred(notice, acceptance(1, 1, "elsewhere/")) is notice


def test_failures_are_retried_with_growing_pauses_until_a_dead_letter() -> None:
    """After the last try nothing is due until a person retries; a success in between begins the count again."""
    notice, hours, pauses = occurred(EMPTY, rejection(1)), 0.0, []
    while not notice.dead:
        notice = failed(notice, at(hours), "Unanswered: http-503")
        pauses.append(notice.not_before)
        hours += 3
    again = retried(notice)
    cause = again.ready(at(hours))[0]

    assert pauses == [
        moment(START + timedelta(hours=3 * number, minutes=minutes))
        for number, minutes in enumerate([1, 2, 4, 8, 16, 32, 64, 120])
    ]
    assert (len(pauses), notice.due, notice.error) == (TRIES_OF_NOTICE, "", "Unanswered: http-503")
    assert (sent(again, cause, at(hours)).tries, sent(again, cause, at(hours)).error) == (0, "")


def test_a_pause_after_a_failure_delays_every_cause() -> None:
    """A channel that fails is left alone until its next try."""
    notice = failed(occurred(EMPTY, rejection(1)), at(0), "Throttled: http-429")
    more = occurred(notice, rejection(2, 0, "name"))

    assert more.due == moment(START + timedelta(minutes=1))
    assert (more.ready(at(0)), len(more.ready(at(0.1)))) == ((), 2)


@pytest.mark.parametrize(
    ("clock", "quiet", "expected"),
    [
        ("2026-01-05T12:00:00.000000Z", "", "2026-01-05T12:00:00.000000Z"),
        ("2026-01-05T23:30:00.000000Z", "22:00-06:00", "2026-01-06T06:00:00.000000Z"),
        ("2026-01-05T05:59:59.000000Z", "22:00-06:00", "2026-01-05T06:00:00.000000Z"),
        ("2026-01-05T06:00:00.000000Z", "22:00-06:00", "2026-01-05T06:00:00.000000Z"),
        ("2026-01-05T12:30:00.000000Z", "12:00-13:00", "2026-01-05T13:00:00.000000Z"),
        ("2026-01-31T22:30:00.000000Z", "22:00-00:00", "2026-02-01T00:00:00.000000Z"),
    ],
)
def test_quiet_hours_end(clock: str, quiet: str, expected: str) -> None:
    """Within them, also over midnight, what is due waits for their end."""
    assert after_quiet(clock, quiet) == expected


def test_nothing_is_sent_in_quiet_hours() -> None:
    """What began and was resolved at night is one message in the morning."""
    night = replace(EMPTY, quiet="22:00-06:00")
    notice = occurred(occurred(night, rejection(1, 11)), acceptance(1, 12))
    notice, at_night = messages(notice, at(13))
    notice, in_the_morning = messages(notice, at(18))

    assert (at_night, [(each.count, each.resolved) for each in in_the_morning]) == ([], [(1, True)])
    assert notice.causes == ()


EVENTS = st.lists(
    st.tuples(st.sampled_from("rab-"), st.sampled_from(["x", "y"]), st.sampled_from(["in/", "out/"])), max_size=40
)


@given(EVENTS)
def test_messages_of_a_cause_begin_and_end_in_turn(events: list[tuple[str, str, str]]) -> None:
    """Whatever happens when, a receiver learns of the end of each cause that it was told of, and of none twice in a period."""
    notice, open_now = EMPTY, set()
    for hour, (kind, key, group) in enumerate(events):
        what = rejection(hour, hour / 60, key, group) if kind in "rb" else acceptance(hour, hour / 60, group)
        notice = occurred(notice, what)
        if kind != "-":
            notice, stated = messages(notice, at(hour / 60))
            for each in stated:
                assert each.resolved or each.id not in open_now
                (open_now.discard if each.resolved else open_now.add)(each.id)
    for number, group in enumerate(["in/", "out/"]):
        notice = occurred(notice, acceptance(1_000 + number, 2, group))
    notice, stated = messages(notice, at(2))

    assert open_now <= {each.id for each in stated if each.resolved}
    assert (notice.causes, notice.due) == ((), "")


# --- channels and subscriptions


@pytest.mark.parametrize(
    "text",
    [
        "slack:lakegate-channel-orders",
        "teams:team/a",
        "pagerduty:x",
        "webhook:a.b+c=d@e_f",
        "sns:arn:aws:sns:eu-west-1:123456789012:lakegate-channel-orders",
    ],
)
def test_a_channel_is_a_reference(text: str) -> None:
    """The kind, and the name of a secret or the ARN of a topic."""
    assert ":".join(channel_of(text)) == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a channel is one of"),
        ("mail:someone", "a channel is one of"),
        ("slack:", "the name of a secret"),
        ("slack:https://hooks.slack.com/services/T0/B0/secret", "never an address or a key"),
        ("sns:topic", "the ARN of a topic"),
    ],
)
def test_an_address_or_key_is_no_channel(text: str, reason: str) -> None:
    """A secret in the place of its name is refused, and not repeated."""
    with pytest.raises(InputError, match=reason) as refused:
        channel_of(text)

    assert "secret" not in str(refused.value).replace("a secret of Secrets Manager", "")


def test_a_subscription_has_an_audience_channels_and_quiet_hours() -> None:
    """A team has one for each audience; the same again changes nothing; consumers alone are waited for."""
    given_ = {
        "on": ["failed", "rejected"],
        "to": ["slack:b", "slack:a", "slack:a"],
        "quiet": "22:00-06:00",
        "digest": 4,
    }
    line = add_subscription(DatasetState("shop/orders_v1"), at(0), "finance", audience="operator", **given_)  # type: ignore[arg-type]
    both = add_subscription(line, at(1), "sales")
    kinds = ("breaking", "deprecated", "failed", "rejected")

    assert both.subscriptions == (
        Subscription("finance", at(0), kinds, "operator", ("slack:a", "slack:b"), "22:00-06:00", 4),
        Subscription("sales", at(1)),
    )
    assert both.consumers == ("sales",)
    assert add_subscription(both, at(2), "finance", audience="operator", **given_) is both  # type: ignore[arg-type]
    assert remove_subscription(both, "finance") is both
    assert remove_subscription(both, "finance", "operator").subscriptions == (Subscription("sales", at(1)),)


@pytest.mark.parametrize(
    ("given_", "reason"),
    [
        ({"audience": "everybody"}, "an audience is one of"),
        ({"to": ["slack:https://x"]}, "never an address"),
        ({"to": [f"slack:{number}" for number in range(11)]}, "at most 10 channels"),
        ({"quiet": "22-6"}, "quiet hours"),
        ({"quiet": "22:00-22:00"}, "quiet hours"),
        ({"digest": 0}, "1 to 168 hours"),
        ({"on": ["acceptd"]}, "cannot be subscribed to"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(given_: dict[str, object], reason: str) -> None:
    """With what is possible instead."""
    with pytest.raises(InputError, match=reason):
        add_subscription(DatasetState("shop/orders_v1"), at(0), "finance", **given_)  # type: ignore[arg-type]
