"""What is pulled, and when: the current version of a line decides, and whether the line takes deliveries."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest

from lakegate.base.errors import ConditionFailed, InputError
from lakegate.base.timestamps import moment
from lakegate.contract.delivery_policy import Policy, Pull
from lakegate.features.pull import pull_task
from lakegate.features.pull.pull_sources import SourceIdentity
from lakegate.features.pull.pull_task import LEASE, pulls, run_now
from lakegate.gate.datasets.dataset_states import DatasetStatus, StatusChange
from lakegate.gate.datasets.pauses import pause, resume
from lakegate.gate.effects import run
from lakegate.gate.ports import Address
from lakegate.gate.registry.registry_rows import Publication, RegistryPage
from lakegate.gate.registry.registry_store import Registry
from lakegate.gate.scheduled_tasks import PAGES
from tests.deliveries.delivery import plan_of
from tests.simulation.environment import LAKE
from tests.unit.features.pull.pull_stage import LINE, PULL, PullStage, scheduled

SMALL, LARGE, WHOLE = b"id", b"id\n1\n2\n3\n4", b"id\n1\n2\n3"


def test_a_contract_without_a_pull_ends_it() -> None:
    """At its next time; what was being fetched is given up, and the ends stay."""
    stage = scheduled(LARGE)
    stage.tick()
    stage.source.body, stage.source.breaks_at = WHOLE, 5
    stage.tick(1)
    stage.publish("1.1.0", None)
    stage.tick(1)

    assert (stage.row.next, stage.row.fetch, stage.row.plan, stage.landing.uploads) == ("", None, "", {})
    assert stage.ends == [("FETCHED", "")]
    with pytest.raises(InputError, match="is not pulled"):
        run(run_now(stage.dependencies, LINE), stage.env.memory.clock)


def test_a_retired_version_or_line_is_not_pulled() -> None:
    """It accepts no delivery."""
    by_version, by_line = scheduled(SMALL), scheduled(SMALL)
    by_version.publish("1.1.0", status="retired")
    retired = StatusChange(DatasetStatus.RETIRED, "2026-01-01T00:00:00.000000Z")
    by_line.env.memory.datasets.write(replace(by_line.env.memory.datasets.get(LINE), changes=(retired,)))
    for stage in (by_version, by_line):
        stage.tick(1)
        stage.tick(1)

    assert [each.row.next for each in (by_version, by_line)] == ["", ""]
    assert by_version.bodies == by_line.bodies == []


def test_a_paused_line_is_not_pulled() -> None:
    """It waits for the next time of its schedule; after the pause it is pulled again."""
    stage = scheduled(SMALL)
    run(pause(stage.dependencies, LINE, "because"), stage.env.memory.clock)
    stage.tick()
    assert (stage.source.opened, stage.due > stage.env.memory.clock.now()) == ([], True)
    run(resume(stage.dependencies, LINE), stage.env.memory.clock)
    stage.env.dependencies.pauses.end(LINE)
    stage.tick(1)

    assert stage.bodies == [SMALL]


def test_a_line_without_a_route_is_not_fetched() -> None:
    """There is no place to put it: the reason says so."""
    stage = PullStage()
    stage.publish(prefix="")
    stage.tick()
    stage.tick(1)

    assert (stage.ends, stage.source.opened) == ([("FAILED", "no-route")], [])


def test_a_new_version_changes_schedule_and_source() -> None:
    """At the next tick; what is known of another source, or was fetched of it, is not used."""
    stage = scheduled(LARGE)
    stage.tick()
    due = stage.row.next
    stage.publish("1.1.0")
    stage.tick()
    assert (stage.row.next, stage.row.version, stage.row.seen != SourceIdentity()) == (due, "1.1.0", True)
    stage.publish("1.2.0", replace(PULL, schedule="rate(5 minutes)"))
    stage.tick()
    assert (stage.row.next < due, stage.row.schedule) == (True, "rate(5 minutes)")
    stage.publish("1.3.0", Pull("s3://partner/other.csv", "rate(5 minutes)"))
    stage.tick()

    assert (stage.row.seen, stage.row.source) == (SourceIdentity(), "s3://partner/other.csv")


@pytest.mark.parametrize("other", [PULL, replace(PULL, source="https://example.com/")])
def test_a_version_that_is_published_while_it_is_fetched(other: Pull, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same source is continued, another one begun from its beginning, also if the page of the registry was not read."""
    stage = scheduled(LARGE, breaks_at=8)
    stage.tick()
    stage.publish("1.1.0", other)
    monkeypatch.setattr(pull_task, "discover", _nothing)
    stage.tick(0.1)

    assert [at for _, at in stage.source.opened] == [0, 8 if other is PULL else 0]
    assert (stage.bodies, stage.landing.uploads) == ([LARGE], {})


def _nothing(*_: object) -> object:
    yield from ()


def test_a_person_may_pull_now() -> None:
    """The next tick does it; the schedule goes on as before."""
    stage = scheduled(SMALL)
    stage.tick()
    due = stage.row.next
    stage.source.body = LARGE
    run(run_now(stage.dependencies, LINE), stage.env.memory.clock)
    stage.tick()

    assert (len(stage.bodies), stage.row.next) == (2, due)


def test_the_registry_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tick reads some pages, the next one goes on behind them, and begins again after the last."""
    stage = PullStage()
    stage.publish()
    asked, whole = list[str](), Registry.page

    def page(registry: Registry, after: str) -> RegistryPage:
        asked.append(after)
        number = int(after or "0") + 1
        return RegistryPage((), str(number)) if number < PAGES + 3 else whole(registry, "")

    monkeypatch.setattr(Registry, "page", page)
    for _ in range(3):
        stage.tick()

    assert asked == [
        *("", *map(str, range(1, PAGES))),
        *map(str, range(PAGES, PAGES + 3)),
        *("", *map(str, range(1, PAGES))),
    ]
    assert stage.row.schedule == "rate(1 hour)"


def test_a_page_of_many_lines_ends_with_the_time_and_is_gone_on_with() -> None:
    """An owner may publish as many lines as it likes: a tick that never ended would pull nothing of anybody's."""
    stage = PullStage()
    for number in range(30):
        name = f"many{number:02}"
        plan = replace(plan_of({"id": "integer"}), policy=Policy(pull=PULL), contract=name)
        stage.env.memory.objects.put(Address(LAKE, f"plans/{plan.digest}.json"), plan.to_bytes())
        made = Publication(name, "1.0.0", "active", "c", (), plans=(("rows", plan.digest),), labels=(("pull", "rows"),))
        stage.env.memory.registry.publish(made)
    whole, planned = stage.dependencies, []
    for seconds in (100, 100, 100_000, 100_000):
        left = iter(range(seconds, 0, -4))
        stage.dependencies = replace(whole, remaining=partial(next, left, 0))
        stage.tick()
        planned.append(sum(bool(pulls(whole).get(f"many{number:02}/rows_v1").plan) for number in range(30)))

    assert 0 < planned[0] < 30
    assert planned == sorted(planned)
    assert planned[-1] == 30


def test_two_ticks_schedule_a_line_once() -> None:
    """The slower one is too late, and nothing is lost."""
    stage = PullStage()
    stage.publish()
    first = stage.steps()
    call = next(first)
    stage.tick()
    with pytest.raises(ConditionFailed):
        call.do()
    with suppress(StopIteration):
        first.throw(ConditionFailed("pull"))

    assert stage.row.revision == 1


def test_a_line_that_is_being_fetched_is_left_alone() -> None:
    """Neither a new version nor a person takes it from the tick that has it: the fetch would be in vain."""
    stage = scheduled(LARGE)
    stage.env.memory.pulls.write(replace(stage.row, leased=moment(stage.env.memory.clock.now() + LEASE)))
    before = stage.row
    stage.publish("1.1.0")
    stage.tick()
    asked = run(run_now(stage.dependencies, LINE), stage.env.memory.clock)
    stage.env.memory.clock.sleep(LEASE.total_seconds())
    stage.tick()

    assert (asked, before.leased != "") == (before, True)
    assert (stage.row.version, stage.bodies) == ("1.1.0", [LARGE])
