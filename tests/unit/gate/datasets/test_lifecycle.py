"""The lifecycle of a line: which transitions are legal, and what status a line has at any time."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.base.errors import InputError
from lakegate.base.timestamps import instant_of, moment
from lakegate.gate.datasets.dataset_states import (
    DatasetState,
    Ending,
    Notice,
    StatusChange,
    advance_revision,
    strictest,
)
from lakegate.gate.datasets.dataset_states import DatasetStatus as S
from lakegate.gate.datasets.lifecycle import (
    MIN_DEPRECATED,
    MIN_SUNSET,
    WAY,
    IllegalTransition,
    acknowledge_version,
    begin_draft,
    begin_with_notice,
    deprecate,
    next_recorded,
    reactivate,
    refusal,
    retire,
    sunset,
    warning,
)
from lakegate.gate.datasets.subscriptions import MAX_SUBSCRIPTIONS, add_subscription, remove_subscription, teams

NAME = "shop/orders_v1"
START = datetime(2026, 1, 1, tzinfo=UTC)
ENDING = Ending("replaced", "shop/orders_v2", "https://wiki.example/orders")
DAY = timedelta(days=1)


def at(days: float) -> str:
    """A time so many days after the start."""
    return moment(START + days * DAY)


DEPRECATED = deprecate(DatasetState(NAME), at(0), ENDING)
NOTICE = Notice("2.0.0", NAME, ("finance", "sales"))
WAITING = begin_with_notice(DatasetState("shop/orders_v2"), at(0), NOTICE, timedelta(days=30))


def test_a_deprecation_plans_sunset_and_retirement() -> None:
    """30 days after its deprecation a line is sunset, 7 days after that it is retired, without another command."""
    plan = (StatusChange(S.DEPRECATED, at(0)), StatusChange(S.SUNSET, at(30)), StatusChange(S.RETIRED, at(37)))

    assert DatasetState(NAME, plan, recorded=1, ending=ENDING, listed=False) == DEPRECATED
    assert [DEPRECATED.status_at(at(days)) for days in (-1, 0, 29.9, 30, 36.9, 37)] == [
        S.ACTIVE,
        S.DEPRECATED,
        S.DEPRECATED,
        S.SUNSET,
        S.SUNSET,
        S.RETIRED,
    ]


def test_a_line_can_be_deprecated_on_a_day() -> None:
    """A deprecation that is announced for a day changes nothing before."""
    line = deprecate(DatasetState(NAME), at(0), ENDING, on=at(5), sunset=at(40), retire=at(60))

    assert (0, at(5)) == (line.recorded, line.changes[0].at)
    assert [line.status_at(at(days)) for days in (4, 5, 40, 60)] == [S.ACTIVE, S.DEPRECATED, S.SUNSET, S.RETIRED]
    assert line.planned(at(5)) == (StatusChange(S.SUNSET, at(40)), StatusChange(S.RETIRED, at(60)))


REPEATED: dict[str, tuple[DatasetState, float, Callable[[DatasetState, str], DatasetState]]] = {
    "deprecate": (DEPRECATED, 1, lambda line, now: deprecate(line, now, ENDING)),
    "sunset": (sunset(DEPRECATED, at(31)), 32, sunset),
    "retire": (retire(sunset(DEPRECATED, at(31)), at(40)), 41, retire),
    "reactivate": (reactivate(DEPRECATED, at(2)), 3, reactivate),
    "draft": (advance_revision(begin_draft(DatasetState(NAME), at(0))), 1, begin_draft),
}


@pytest.mark.parametrize("command", REPEATED)
def test_a_command_that_is_repeated_changes_nothing(command: str) -> None:
    """Who got no answer repeats the command."""
    line, days, again = REPEATED[command]

    assert again(line, at(days)) is line


MOVED: dict[str, tuple[Callable[[], DatasetState], tuple[S, ...]]] = {
    "another sunset": (
        lambda: deprecate(DEPRECATED, at(3), ENDING, sunset=at(50)),
        (S.DEPRECATED, S.SUNSET, S.RETIRED),
    ),
    "sunset moved": (lambda: sunset(DEPRECATED, at(3), on=at(50)), (S.DEPRECATED, S.SUNSET, S.RETIRED)),
    "sunset by command": (lambda: sunset(DEPRECATED, at(30)), (S.DEPRECATED, S.SUNSET, S.RETIRED)),
    "retirement moved": (lambda: retire(DEPRECATED, at(3), on=at(90)), (S.DEPRECATED, S.SUNSET, S.RETIRED)),
    "retirement moved in sunset": (lambda: retire(DEPRECATED, at(31), on=at(90)), (S.DEPRECATED, S.SUNSET, S.RETIRED)),
    "active again": (lambda: reactivate(DEPRECATED, at(40)), (S.DEPRECATED, S.SUNSET, S.RETIRED, S.ACTIVE)),
    "not deprecated after all": (
        lambda: reactivate(deprecate(DatasetState(NAME), at(0), ENDING, on=at(5)), at(1)),
        (),
    ),
    "no draft any more": (lambda: reactivate(begin_draft(DatasetState(NAME), at(0)), at(1)), (S.DRAFT, S.ACTIVE)),
}


@pytest.mark.parametrize("command", MOVED)
def test_a_plan_can_be_changed_as_far_as_it_has_not_begun(command: str) -> None:
    """What has begun stays; of the rest, the last command counts."""
    moved, statuses = MOVED[command]
    line = moved()

    assert statuses == tuple(each.status for each in line.changes)
    assert sorted(each.at for each in line.changes) == [each.at for each in line.changes]


def test_a_sunset_line_is_retired_seven_days_later_at_the_earliest() -> None:
    """A sunset that is moved moves a retirement that would be too early, and no other."""
    late = sunset(DEPRECATED, at(3), on=at(50))
    early = sunset(deprecate(DatasetState(NAME), at(0), ENDING, retire=at(80)), at(30))

    assert [at(57), at(80)] == [each.expected(S.RETIRED) for each in (late, early)]


ILLEGAL: dict[str, tuple[Callable[[], DatasetState], str]] = {
    "active to sunset": (
        lambda: sunset(DatasetState(NAME), at(0)),
        "an active line is deprecated first (lakegate deprecate)",
    ),
    "active to retired": (
        lambda: retire(DatasetState(NAME), at(0)),
        "an active line is deprecated first (lakegate deprecate)",
    ),
    "sunset too early": (
        lambda: sunset(DEPRECATED, at(29)),
        "it is deprecated from 2026-01-01 for at least 30 days, so until 2026-01-31T00:00Z",
    ),
    "sunset planned too early": (
        lambda: deprecate(DatasetState(NAME), at(0), ENDING, sunset=at(29)),
        "it is deprecated from 2026-01-01 for at least 30 days, so until 2026-01-31T00:00Z",
    ),
    "retired too early": (
        lambda: retire(DEPRECATED, at(36)),
        "it is sunset from 2026-01-31 for at least 7 days, so until 2026-02-07T00:00Z",
    ),
    "retirement planned too early": (
        lambda: deprecate(DatasetState(NAME), at(0), ENDING, sunset=at(40), retire=at(46)),
        "it is sunset from 2026-02-10 for at least 7 days, so until 2026-02-17T00:00Z",
    ),
    "deprecated to retired": (lambda: retire(DEPRECATED, at(2)), "lakegate reactivate makes it active"),
    "sunset to deprecated": (
        lambda: deprecate(DEPRECATED, at(31), ENDING),
        "is sunset and cannot be deprecated; lakegate reactivate makes it active",
    ),
    "sunset to another sunset": (lambda: sunset(DEPRECATED, at(31), on=at(40)), "is sunset and cannot be sunset"),
    "draft to deprecated": (
        lambda: deprecate(begin_draft(DatasetState(NAME), at(0)), at(1), ENDING),
        "is draft and cannot be deprecated; lakegate reactivate makes it active",
    ),
    "a day that is past": (lambda: deprecate(DatasetState(NAME), at(2), ENDING, on=at(1)), "2026-01-02 is past"),
    "a deprecation that has begun": (
        lambda: deprecate(DEPRECATED, at(2), ENDING, on=at(3)),
        "is deprecated since 2026-01-01: that cannot be moved",
    ),
    "a draft that waits": (
        lambda: reactivate(WAITING, at(1)),
        "takes effect on 2026-01-31, after the notice period of shop/orders_v1: only its subscribers can shorten it",
    ),
}


@pytest.mark.parametrize("transition", ILLEGAL)
def test_an_illegal_transition_is_refused_with_the_legal_way(transition: str) -> None:
    """Nobody jumps over the time that consumers have."""
    refused, way = ILLEGAL[transition]

    with pytest.raises(IllegalTransition, match="shop/orders_v") as caught:
        refused()
    assert way in str(caught.value)


LEGAL = {
    (S.ACTIVE, S.DEPRECATED): timedelta(0),
    (S.DEPRECATED, S.SUNSET): timedelta(days=30),
    (S.SUNSET, S.RETIRED): timedelta(days=7),
    (S.DRAFT, S.ACTIVE): timedelta(0),
    (S.DEPRECATED, S.ACTIVE): timedelta(0),
    (S.SUNSET, S.ACTIVE): timedelta(0),
    (S.RETIRED, S.ACTIVE): timedelta(0),
}
"""Every transition there is, written a second time from docs/lifecycle.md, with the least time before it."""
DAYS = st.none() | st.integers(-5, 60)
COMMANDS = st.sampled_from(["draft", "deprecate", "sunset", "retire", "reactivate", "record"])


@given(st.lists(st.tuples(COMMANDS, st.integers(0, 40), DAYS, DAYS), max_size=12))
def test_no_sequence_of_commands_breaks_the_lifecycle(commands: list[tuple[str, int, int | None, int | None]]) -> None:
    """Every step is legal and late enough; what has begun never changes; recording changes no status."""
    line, days = DatasetState(NAME), 0
    for command, pause, on, other in commands:
        days += pause
        now = at(days)
        while (recorded := next_recorded(line, now)) is not None:
            assert [line.status_at(at(day)) for day in range(days + 100)] == [
                recorded.status_at(at(day)) for day in range(days + 100)
            ]
            line = advance_revision(recorded)
        before = line
        with suppress(IllegalTransition):
            line = _commanded(line, command, days, on, other)
        if before.revision:  # before a line begins as a draft it has no status
            past = range(days)
            assert [before.status_at(at(day)) for day in past] == [line.status_at(at(day)) for day in past]
        assert line.recorded == sum(each.at <= now for each in line.changes)
        assert (line is before) is (line == before)
        line = line if line is before else advance_revision(line)
    _legal(line)


def _commanded(line: DatasetState, command: str, days: int, on: int | None, other: int | None) -> DatasetState:
    now, when = at(days), "" if on is None else at(days + on)
    match command:
        case "draft":
            return begin_draft(line, now)
        case "deprecate":
            return deprecate(line, now, ENDING, on=when, sunset="" if other is None else at(days + other))
        case "sunset":
            return sunset(line, now, on=when)
        case "retire":
            return retire(line, now, on=when)
        case "reactivate":
            return reactivate(line, now)
        case _:
            return line


def _legal(line: DatasetState) -> None:
    first = StatusChange(S.DRAFT if line.changes and line.changes[0].status is S.DRAFT else S.ACTIVE, at(-100))
    steps = [first, *(each for each in line.changes if each.status is not S.DRAFT)]
    for low, high in itertools.pairwise(steps):
        assert instant_of(high.at) - instant_of(low.at) >= LEGAL[low.status, high.status]


# --- the gate


def test_the_door_decides_by_status_and_producer() -> None:
    """A draft is refused unless it is observed, a line in sunset refuses new producers, a retired line everybody."""
    answers = {
        status: [
            refusal(status, known=known, observed=observed) for known in (True, False) for observed in (True, False)
        ]
        for status in S
    }

    assert answers == {
        S.DRAFT: ["", "contract-draft", "", "contract-draft"],
        S.ACTIVE: ["", "", "", ""],
        S.DEPRECATED: ["", "", "", ""],
        S.SUNSET: ["", "", "contract-sunset", "contract-sunset"],
        S.RETIRED: ["contract-retired"] * 4,
    }


def test_the_strictest_of_the_statuses_of_version_and_line_counts() -> None:
    """A retired version of an active line is refused, and so is an active version of a retired line."""
    assert [
        strictest("retired", "active"),
        strictest("active", "retired"),
        strictest("deprecated", "draft"),
        strictest("active", "deprecated"),
        strictest("active", "active"),
    ] == [S.RETIRED, S.RETIRED, S.DRAFT, S.DEPRECATED, S.ACTIVE]


def test_a_warning_names_the_day_the_replacement_and_the_guide() -> None:
    """Who delivers to a line that ends reads until when, and what to use instead."""
    bare = deprecate(DatasetState(NAME), at(0), Ending())

    assert [warning(DEPRECATED, each) for each in S] == [
        "line-draft: shop/orders_v1 is a draft and not in force: this delivery was only observed",
        "",
        (
            "line-deprecated: shop/orders_v1 is deprecated; it is sunset on 2026-01-31; use shop/orders_v2"
            " (https://wiki.example/orders)"
        ),
        (
            "line-sunset: shop/orders_v1 is in sunset, the last days before it is retired; it is retired, and refuses every"
            " delivery, on 2026-02-07; use shop/orders_v2 (https://wiki.example/orders)"
        ),
        "",
    ]
    assert [warning(bare, S.DEPRECATED), warning(DatasetState(NAME), S.SUNSET)] == [
        "line-deprecated: shop/orders_v1 is deprecated; it is sunset on 2026-01-31",
        "line-sunset: shop/orders_v1 is in sunset, the last days before it is retired",
    ]


# --- subscribers and notice


def test_a_team_subscribes_changes_its_causes_and_leaves() -> None:
    """One subscription of each team, sorted; the same again changes nothing."""
    line = add_subscription(add_subscription(DatasetState(NAME), at(0), "sales"), at(1), "finance", ["rejected"])
    more = add_subscription(line, at(2), "sales", ["rejected"])

    assert [
        ("finance", at(1), ("breaking", "deprecated", "rejected")),
        ("sales", at(0), ("breaking", "deprecated")),
    ] == [(each.team, each.since, each.on) for each in line.subscriptions]
    assert [
        teams(line, "rejected"),
        teams(more, "rejected"),
        teams(line, "breaking"),
    ] == [("finance",), ("finance", "sales"), ("finance", "sales")]
    assert add_subscription(more, at(3), "sales", ["rejected"]) is more
    assert remove_subscription(more, "nobody") is more
    assert remove_subscription(remove_subscription(more, "sales"), "finance").subscriptions == ()


@pytest.mark.parametrize("team", ["", " ", "a\nb", "x" * 65, " a"])
def test_a_team_has_a_name(team: str) -> None:
    """What is printed and sent is one short line."""
    with pytest.raises(InputError, match="a team is a name"):
        add_subscription(DatasetState(NAME), at(0), team)


def test_a_line_that_ends_takes_no_new_subscribers() -> None:
    """To a deprecated line a team can subscribe, to one in sunset or retired it cannot."""
    assert teams(add_subscription(DEPRECATED, at(1), "sales"), "deprecated") == ("sales",)
    for days, status in ((30, "sunset"), (37, "retired")):
        with pytest.raises(InputError, match=f"is {status} and takes no new subscribers: use shop/orders_v2"):
            add_subscription(DEPRECATED, at(days), "sales")
    with pytest.raises(InputError, match=r"no new subscribers$"):
        add_subscription(deprecate(DatasetState(NAME), at(0), Ending()), at(30), "sales")


def test_an_unknown_cause_is_refused() -> None:
    """Who asks for what is never sent would wait in vain."""
    with pytest.raises(
        InputError,
        match="`acceptd` cannot be subscribed to; known are `accepted`, `awaiting`, `breaking`, `deprecated`, `drift`, `failed`",
    ):
        add_subscription(DatasetState(NAME), at(0), "sales", ["acceptd"])


def test_a_line_has_a_bounded_number_of_subscriptions() -> None:
    """An event that names all subscribers must fit."""
    line = DatasetState(NAME)
    for number in range(MAX_SUBSCRIPTIONS):
        line = add_subscription(line, at(0), f"team{number}")

    with pytest.raises(InputError, match="has 500 subscriptions"):
        add_subscription(line, at(0), "one more")
    assert len(add_subscription(line, at(0), "team1", ["rejected"]).subscriptions) == MAX_SUBSCRIPTIONS


def test_a_breaking_version_waits_for_its_notice_period() -> None:
    """The new line is a draft until then, and in force without another command."""
    assert [WAITING.status_at(at(days)) for days in (-1, 0, 29.9, 30)] == [S.DRAFT, S.DRAFT, S.DRAFT, S.ACTIVE]
    assert begin_with_notice(WAITING, at(3), NOTICE, timedelta(days=30)) is WAITING
    begun = advance_revision(DEPRECATED)
    assert begin_with_notice(begun, at(3), NOTICE, timedelta(days=30)) is begun


def test_a_draft_that_is_put_in_force_waits_for_the_notice_period_too() -> None:
    """A draft is no way around the notice."""
    line = begin_with_notice(begin_draft(DatasetState("shop/orders_v2"), at(0)), at(10), NOTICE, timedelta(days=30))

    assert [line.status_at(at(days)) for days in (10, 39.9, 40)] == [S.DRAFT, S.DRAFT, S.ACTIVE]


def test_a_breaking_version_is_in_force_when_every_subscriber_has_acknowledged() -> None:
    """The last acknowledgement ends the notice; a team that unsubscribed is not waited for."""
    both = {"finance", "sales"}
    one = acknowledge_version(WAITING, at(1), "2.0.0", "sales", both)
    two = acknowledge_version(one, at(2), "2.0.0", "finance", both)

    assert [each.status_at(at(2)) for each in (one, two)] == [S.DRAFT, S.ACTIVE]
    assert two.planned(at(2)) == ()
    assert acknowledge_version(one, at(2), "2.0.0", "sales", both) is one
    assert acknowledge_version(two, at(3), "2.0.0", "finance", both) is two
    assert acknowledge_version(WAITING, at(1), "2.0.0", "sales", {"sales"}).status_at(at(1)) is S.ACTIVE


@pytest.mark.parametrize(
    ("line", "version", "team", "words"),
    [
        (DatasetState("shop/orders_v2"), "2.0.0", "sales", "has no version 2.0.0 that waits"),
        (WAITING, "2.1.0", "sales", "has no version 2.1.0 that waits"),
        (WAITING, "2.0.0", "marketing", "marketing is no subscriber of shop/orders_v1"),
    ],
)
def test_only_a_subscriber_acknowledges_a_version_that_waits(
    line: DatasetState, version: str, team: str, words: str
) -> None:
    """Nobody ends the notice in the name of others."""
    with pytest.raises(InputError, match=words):
        acknowledge_version(line, at(1), version, team, {"finance", "sales"})


def test_what_is_due_is_the_next_change_or_the_manifest() -> None:
    """A line is looked at when its manifest is behind, then when its next change begins, and else never."""
    listed = DatasetState(NAME, DEPRECATED.changes, recorded=1)

    assert [at(0), at(30), "", ""] == [
        DEPRECATED.due,
        listed.due,
        DatasetState(NAME).due,
        DatasetState(NAME, DEPRECATED.changes, recorded=3).due,
    ]
    assert DEPRECATED.since(at(-1)) == ""


def test_the_legal_way_states_the_least_days() -> None:
    """The message about an illegal transition has the days that the lifecycle enforces."""
    assert re.findall(r"(\d+) days", WAY) == [str(MIN_DEPRECATED.days), str(MIN_SUNSET.days)]
