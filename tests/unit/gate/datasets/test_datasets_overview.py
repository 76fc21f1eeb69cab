"""The overview of all datasets: what it says of each, what it reads, and how a sweep keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from lakegate.base.errors import ConditionFailed
from lakegate.gate.datasets.dataset_states import (
    DatasetDeadlines,
    DatasetState,
    DatasetStatus,
    Deadline,
    Notice,
    StatusChange,
)
from lakegate.gate.datasets.datasets_overview import keep_overview, kept_overview, overview
from lakegate.gate.effects import Call, Effect, run
from lakegate.gate.lake_layout import OVERVIEW, OVERVIEW_PAGE
from lakegate.gate.ledger.ledger_store import FinishedDelivery, History
from lakegate.gate.ports import Address
from lakegate.report.overview_page import DatasetSummary, PlannedStep, StandingCause
from lakegate.verdict.verdict import Verdict
from tests.simulation.environment import LAKE, LINE, Environment
from tests.simulation.stage import Fault, Stage, settle
from tests.unit.gate.notified_gate import OPERATOR, Gate
from tests.unit.gate.scenarios import KEY

GOOD, BAD = Verdict.ACCEPTED, Verdict.REJECTED


def judged(stage: Stage, *bodies: bytes) -> Environment:
    """The environment after these deliveries, one after the other."""
    for body in bodies:
        stage.env.upload(f"{KEY}{len(stage.env.uploads)}", body)
        settle(stage)
    return stage.env


def staged() -> Stage:
    return Stage(Environment(), lambda _: Fault.NONE)


def effects(env: Environment) -> list[Effect]:
    """What a turn of the keeper does."""
    done = []
    steps = keep_overview(env.dependencies)
    answer: object = None
    try:
        while True:
            call: Call = steps.send(answer)
            done.append(call.effect)
            answer = call.do()
    except StopIteration:
        return done


def of(env: Environment) -> DatasetSummary:
    (found,) = overview(env.dependencies).datasets
    return found


def test_a_dataset_is_summed_up_from_registry_index_and_deadlines() -> None:
    """Verdicts are the newest first; the share is of the rows that were measured."""
    stage = staged()
    env = stage.env
    env.dependencies.deadlines.write(
        DatasetDeadlines(
            LINE, "2020-01-01T00:00:00.000000Z", "1.0.0", (Deadline("frequency", 60), Deadline("freshness", 9))
        )
    )
    before = of(env)
    found = of(judged(stage, b"good:1", b"bad:1"))
    entries = env.dependencies.history.entries(LINE)

    assert before == DatasetSummary(
        dataset=LINE,
        name=None,
        owner=None,
        version="1.0.0",
        status="active",
        last_accepted="2020-01-01T00:00:00.000000Z",
        due="2020-01-01T00:00:09.000000Z",
        missed=True,
        verdicts=(),
        rows=0,
        rejected_rows=0,
        rejected_share=None,
        broken_rules=(),
        causes=(),
        planned=(),
        height=-1,
    )
    rows, rejected = sum(each.rows or 0 for each in entries), sum(each.rejected_rows or 0 for each in entries)
    assert rejected
    assert (found.verdicts, found.height, found.rows, found.rejected_rows, found.rejected_share) == (
        (BAD, GOOD),
        1,
        rows,
        rejected,
        rejected / rows,
    )
    assert found.broken_rules == ("name", "amount")
    assert found.last_accepted is not None
    assert found.last_accepted > "2020-01-01"
    assert (found.attention, found.is_rejected, found.open) == (True, True, ("name", "amount"))


def test_name_and_owner_are_those_of_the_current_version() -> None:
    """They are labels, which publishing takes from the document."""
    env = Environment()
    snapshot = env.dependencies.registry.contract(LINE.partition("/")[0])
    (version,) = snapshot.versions
    env.dependencies.registry.publish(
        replace(version, labels=(("name", "Web <shop>"), ("owner", "sales"), ("owner", "other")))
    )
    found = of(env)

    assert (found.name, found.owner, found.title) == ("Web <shop>", "sales", "Web <shop>")


def test_what_is_planned_is_of_the_dataset_and_of_the_one_that_follows_it() -> None:
    """A later status, and the version that waits for the subscribers; what has begun is none."""
    env = Environment()
    later, latest = "2999-01-01T00:00:00.000000Z", "2999-02-01T00:00:00.000000Z"
    states = env.dependencies.datasets
    states.write(DatasetState(LINE, (StatusChange(DatasetStatus.DEPRECATED, latest),)))
    contract, _, _ = LINE.rpartition("/")
    (version,) = env.dependencies.registry.contract(contract).versions
    env.dependencies.registry.publish(replace(version, version="2.0.0"))
    following = LINE.replace("_v1", "_v2")
    states.write(
        DatasetState(
            following,
            (StatusChange(DatasetStatus.DRAFT, ""), StatusChange(DatasetStatus.ACTIVE, later)),
            notice=Notice("2.0.0", LINE, ("finance",)),
        )
    )
    first, second = overview(env.dependencies).datasets

    assert (first.dataset, first.planned) == (LINE, (PlannedStep("2.0.0", later), PlannedStep("deprecated", latest)))
    assert (second.dataset, second.status, second.planned) == (following, "draft", (PlannedStep("active", later),))


def test_open_causes_are_those_of_notices_each_once() -> None:
    """Two channels are notified of one cause; a resolved one is none; it is counted by its channel."""
    gate = Gate()
    for channel in (OPERATOR, "slack:other"):
        gate.subscribe(channel, "rejected")
    gate.ends("quarantined", "rejected")
    gate.turn()
    gate.ends("quarantined", "rejected")
    gate.turn()
    (cause,) = of(gate.env).causes
    gate.ends("published", "accepted")
    gate.turn()

    assert cause == StandingCause("rejected", cause.title, 2, cause.since)
    assert LINE in cause.title
    assert of(gate.env).causes == ()


def test_no_chain_is_read_and_the_index_only_where_the_chain_has_grown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The index is asked for datasets without an overview; once it is kept, for those with a later delivery alone."""
    stage = staged()
    env = judged(stage, b"good:1")
    run(keep_overview(env.dependencies), env.dependencies.clock)
    asked: list[str] = []
    entries = History.entries

    def counted(history: History, chain: str, **given: Any) -> tuple[FinishedDelivery, ...]:
        asked.append(chain)
        return entries(history, chain, **given)

    monkeypatch.setattr(History, "entries", counted)
    kept = of(env)
    unread = list(asked)
    judged(stage, b"good:2")
    env.memory.objects.delete(Address(LAKE, OVERVIEW))
    asked.clear()
    found = of(env)

    assert (unread, asked, kept.verdicts, found.verdicts) == ([], [LINE], (GOOD,), (GOOD, GOOD))


def test_a_delivery_that_was_accepted_long_ago_is_found_by_its_verdict() -> None:
    """Ten newer ones were rejected."""
    env = judged(staged(), b"good:1", *(b"bad:%d" % number for number in range(10)))
    env.memory.objects.delete(Address(LAKE, OVERVIEW))
    found = of(env)

    assert found.verdicts == (BAD,) * 10
    assert found.last_accepted == env.dependencies.history.entries(LINE, verdict="accepted")[0].at


def test_a_sweep_keeps_document_and_page_and_writes_only_changes() -> None:
    """Both are what `overview` says; a second turn has nothing to write."""
    env = judged(staged(), b"good:1")
    env.memory.objects.delete(Address(LAKE, OVERVIEW))
    first, second = effects(env), effects(env)
    page = env.dependencies.read_lake(OVERVIEW_PAGE).decode()

    assert (first, second) == ([Effect.WRITE_OVERVIEW] * 2, [])
    assert kept_overview(env.dependencies).datasets == overview(env.dependencies).datasets
    assert LINE in page
    assert f'href="../runs/{env.dependencies.history.entries(LINE)[0].workload}/report.html"' in page


def test_a_damaged_overview_is_made_again() -> None:
    """It is derived: nothing of it is needed."""
    env = judged(staged(), b"good:1")
    for damaged in (b"{", b"[" * 100_000, b'{"at": 1}', json.dumps({"at": "x", "datasets": [{}]}).encode()):
        env.memory.objects.put(Address(LAKE, OVERVIEW), damaged)
        run(keep_overview(env.dependencies), env.dependencies.clock)
        assert kept_overview(env.dependencies).datasets == (of(env),)


def test_a_turn_without_time_keeps_what_it_did_not_read() -> None:
    """No page of the registry is begun: nothing is lost, and nothing is written."""
    env = judged(staged(), b"good:1")
    before = env.dependencies.read_lake(OVERVIEW)
    env.upload(KEY, b"good:2")
    run(keep_overview(replace(env.dependencies, remaining=lambda: 1.0)), env.dependencies.clock)

    assert env.dependencies.read_lake(OVERVIEW) == before


def test_another_sweep_that_was_first_is_not_overwritten() -> None:
    """The document is written on the ETag that was read."""
    env = judged(staged(), b"good:1")
    env.memory.objects.put(Address(LAKE, OVERVIEW), b"{}")
    steps = keep_overview(env.dependencies)
    page = next(steps)
    document = steps.send(page.do())
    env.memory.objects.put(Address(LAKE, OVERVIEW), b"another")
    with pytest.raises(ConditionFailed) as refused:
        document.do()
    with pytest.raises(StopIteration):
        steps.throw(refused.value)

    assert env.dependencies.read_lake(OVERVIEW) == b"another"
