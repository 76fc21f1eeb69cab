"""The runner of rows that are due: bounded, fenced by revision, and no row stops another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest

from lakegate.base.errors import ConditionFailed, Throttled, TransactionConflict, UnreadableItem
from lakegate.base.timestamps import instant_of, moment
from lakegate.gate.datasets.dataset_states import advance_revision
from lakegate.gate.dependencies import Dependencies
from lakegate.gate.effects import Steps, run
from lakegate.gate.scheduled_tasks import TRIES_OF_CHANGE, ScheduledTask, Turn, change_row, run_due, run_row
from tests.simulation.environment import Environment


@dataclass(frozen=True)
class Counter:
    """A row that counts its steps."""

    name: str
    due: str
    steps: int = 0
    revision: int = 1


@dataclass
class Counters:
    """Rows in memory; names of `unreadable` cannot be read."""

    rows: dict[str, Counter]
    unreadable: set[str] = field(default_factory=set)
    refusals: int = 0
    """Writes that somebody else comes before."""
    fails: bool = False
    """Whether the index does not answer."""

    def get(self, name: str) -> Counter:
        if name in self.unreadable:
            raise UnreadableItem(name, "it is not JSON")
        return self.rows[name]

    def name_of(self, row: Counter) -> str:
        return row.name

    def write(self, row: Counter) -> Counter:
        if self.refusals:
            self.refusals -= 1
            before = self.rows[row.name]
            self.rows[row.name] = replace(before, revision=before.revision + 1)
        if self.rows[row.name].revision != row.revision:
            raise ConditionFailed("counter")
        self.rows[row.name] = after = advance_revision(row)
        return after

    def due(self, now: datetime, limit: int) -> tuple[str, ...]:
        if self.fails:
            raise Throttled("Query")
        return tuple(sorted(name for name, each in self.rows.items() if each.due and instant_of(each.due) <= now))[
            :limit
        ]


def counted(_: Dependencies, row: Counter, now: str) -> Steps[Counter]:
    """One step more, and again an hour later; the third is the last."""
    yield from ()
    due = "" if row.steps == 2 else moment(instant_of(now) + timedelta(hours=1))
    return replace(row, steps=row.steps + 1, due=due)


@pytest.fixture
def env() -> Environment:
    return Environment()


def counters(env: Environment, *names: str) -> Counters:
    now = moment(env.memory.clock.now())
    return Counters({name: Counter(name, now) for name in names})


def task_of(rows: Counters, **changes: object) -> ScheduledTask[Counter]:
    end = lambda _, after: "ended" if not after.due else None  # noqa: E731 - the end of the tests
    return replace(ScheduledTask(lambda _: rows, counted, end), **changes)  # type: ignore[arg-type] # fields


def turn_of(env: Environment, task: ScheduledTask[Counter], *also: str) -> Turn:
    turn = Turn()
    run(run_due(env.dependencies, turn, task, also), env.memory.clock)
    return turn


def test_a_row_is_stepped_whenever_it_is_due_until_it_ends(env: Environment) -> None:
    """A turn before its time leaves it alone, also where it is told of it."""
    rows = counters(env, "a")
    task, turns = task_of(rows), list[Turn]()
    for hours in (0, 0.5, 0.5, 1, 1):
        env.memory.clock.sleep(hours * 3_600)
        turns.append(turn_of(env, task, "a"))

    assert (rows.rows["a"].steps, rows.rows["a"].due, rows.rows["a"].revision) == (3, "", 4)
    assert [each.ends for each in turns] == [[], [], [], [("a", "ended")], []]


def test_no_row_stops_another(env: Environment) -> None:
    """One cannot be read, the step of another one raises: both are reported by their names, and the last is stepped."""
    rows = counters(env, "a", "b", "c")
    rows.unreadable.add("a")

    def step(dependencies: Dependencies, row: Counter, now: str) -> Steps[Counter]:
        if row.name == "b":
            raise ZeroDivisionError
        return counted(dependencies, row, now)

    turn = turn_of(env, task_of(rows, step=step))

    assert [str(each) for each in turn.failures] == [
        str(UnreadableItem("a", "it is not JSON")),
        "ZeroDivisionError @ b",
    ]
    assert (rows.rows["c"].steps, turn.looked_at) == (1, 3)


@pytest.mark.parametrize(
    ("changes", "left", "stepped"), [({"most": 2}, 900.0, 2), ({"enough": 30.0}, 29.0, 0), ({}, 900.0, 3)]
)
def test_a_turn_is_bounded_by_number_and_time(
    env: Environment, changes: dict[str, object], left: float, stepped: int
) -> None:
    """The other rows are left to the next turn."""
    rows = counters(env, "a", "b", "c")
    env.dependencies = replace(env.dependencies, remaining=lambda: left)
    turn_of(env, task_of(rows, **changes))

    assert sum(each.steps for each in rows.rows.values()) == stepped


def test_an_index_that_does_not_answer_is_a_failure_of_the_turn(env: Environment) -> None:
    """What may be due besides waits, too."""
    rows = counters(env, "a")
    rows.fails = True

    assert ([str(each) for each in turn_of(env, task_of(rows)).failures], rows.rows["a"].steps) == (["Query"], 0)


def test_of_two_workers_one_writes_a_row(env: Environment) -> None:
    """The other one says nothing: whoever was first goes on."""
    rows = counters(env, "a")
    rows.refusals = 1
    turn = turn_of(env, task_of(rows))

    assert (turn.failures, turn.ends, rows.rows["a"].steps) == ([], [], 0)


def test_a_lost_answer_is_found_again(env: Environment) -> None:
    """The row is as this worker has written it: that is its end."""
    rows = counters(env, "a")
    rows.rows["a"] = replace(rows.rows["a"], steps=2)
    steps = run_row(env.dependencies, task_of(rows), "a")
    next(steps).do()
    with pytest.raises(StopIteration) as ended:
        steps.throw(ConditionFailed("counter"))

    assert ended.value.value == "ended"


@pytest.mark.parametrize("refusals", [TRIES_OF_CHANGE - 1, TRIES_OF_CHANGE])
def test_a_change_is_made_again_where_somebody_was_first(env: Environment, refusals: int) -> None:
    """By a function of the row as it is then, within bounds; the same row is not written."""
    rows = counters(env, "a")
    rows.refusals = refusals
    change = change_row(env.dependencies, task_of(rows), "a", lambda row: replace(row, steps=9))
    if refusals == TRIES_OF_CHANGE:
        with pytest.raises(TransactionConflict):
            run(change, env.memory.clock)
        return
    run(change, env.memory.clock)
    same = change_row(env.dependencies, task_of(rows), "a", lambda row: row)

    assert (rows.rows["a"].steps, list(same)) == (9, [])
