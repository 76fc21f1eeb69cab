"""Anomalies at the gate: found with the commit, from the deliveries before it, and no part of the verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.contract.delivery_policy import Anomalies, Replaces
from lakegate.features.anomalies.compare_history import compare, numbers_key, past_deliveries
from lakegate.features.anomalies.robust_band import FEWEST
from lakegate.gate.datasets.delivery_history import history
from lakegate.gate.delivery.advance import advance
from lakegate.gate.delivery.decide_verdict import measured_result
from lakegate.gate.delivery.delivery_row import Anomaly, Workload
from lakegate.gate.delivery.intake import intake
from lakegate.gate.delivery.protocol import State
from lakegate.gate.delivery.transition import DeliveryTurn
from lakegate.gate.effects import Effect, run
from lakegate.gate.table import Put, Row, RowKey, TableName
from lakegate.plan.result import Result
from tests.decisions import recall, waive
from tests.simulation.contract import PLAN
from tests.simulation.environment import LANDING, LINE, PREFIX, Environment
from tests.unit.gate.scenarios import drive, refused_at

DAY = timedelta(days=1).total_seconds()
USUAL = [2_000 + 10 * (at * 7 % 13) for at in range(FEWEST)]


def delivered(env: Environment, rows: int, word: str = "good", wait: float = DAY, name: str = "") -> Workload:
    """A delivery of so many rows that has come to its end, and the time until the next one."""
    row = measured(env, rows, word, name)
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, row)))
    env.memory.clock.sleep(wait)
    return env.dependencies.workloads.get(row.id)


def measured(env: Environment, rows: int, word: str = "good", name: str = "") -> Workload:
    """A delivery whose result is there; its file has one byte a row, and a name of its own unless one is given."""
    number = len(env.uploads)
    upload = env.upload(f"{PREFIX}{name or number}.csv", f"{word}:{number}:".encode().ljust(rows, b"."))
    drive(env.dependencies, intake(env.dependencies, LANDING, upload.version.key))
    for _, job in env.new_jobs():
        run(job, env.memory.clock)
    return env.dependencies.workloads.get(upload.workload)


def with_history(env: Environment | None = None, rows: Sequence[int] = USUAL) -> Environment:
    env = env or Environment()
    for each in rows:
        delivered(env, each)
    return env


def policy(anomalies: Anomalies) -> Environment:
    env = Environment()
    env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, anomalies=anomalies)))
    return env


def texts(row: Workload) -> list[str]:
    return [anomaly.text for anomaly in row.anomalies]


FEW = Anomaly(
    "rows",
    "",
    112.0,
    1791.50939,
    2357.20856,
    2054.99392,
    FEWEST,
    "",
    "rows: 112, usual is 1,792 to 2,357 (median of the last 14 deliveries: 2,055)",
)


def test_a_delivery_with_few_rows_is_accepted_with_an_anomaly() -> None:
    """The row, the event, the index and the verdict: accepted, without a reason."""
    env = with_history()
    row = delivered(env, 112)
    (body,) = [json.loads(each.body) for each in env.memory.messages.values() if each.workload == row.id]
    newest = history(env.dependencies, LINE).entries[0]

    assert row.anomalies == (FEW,)
    assert row.decided.verdict == "accepted"
    assert row.decided.reasons == ()
    assert body["verdict"] == "accepted"
    assert [each["text"] for each in body["anomalies"]] == [FEW.text]
    assert (newest.workload, newest.anomalies) == (row.id, (FEW.text,))


def test_nothing_is_unusual_before_there_is_history_enough() -> None:
    """One delivery fewer, and nothing is said."""
    env = with_history(rows=USUAL[1:])

    assert delivered(env, 112).anomalies == ()


@pytest.mark.parametrize(
    ("anomalies", "fewer", "more"),
    [(Anomalies.BOTH, 1, 1), (Anomalies.DECREASE, 1, 0), (Anomalies.IGNORE, 0, 0)],
)
def test_the_contract_says_which_side_is_warned_of(anomalies: Anomalies, fewer: int, more: int) -> None:
    """A decrease alone, or both, or neither; the numbers are kept in any case."""
    env = with_history(policy(anomalies))

    assert [len(delivered(env, rows).anomalies) for rows in (112, 21_000)] == [fewer, more]
    assert len(past_deliveries(env.dependencies, LINE, 1_000)) == FEWEST + 2


def test_a_late_delivery_is_unusual_and_an_early_one_is_not() -> None:
    """Of delays, less is better."""
    env = with_history(rows=[2_000, *USUAL])
    env.memory.clock.sleep(DAY / 2)
    late, early = delivered(env, 2_050, wait=DAY / 4), delivered(env, 2_050)

    (text,) = texts(late)
    usual = "usual is at most 27.53 hours (median of the last 14 deliveries: 24 hours)"
    assert text == f"time since the accepted delivery before: 36 hours, {usual}"
    assert early.anomalies == ()


def test_rejected_and_waived_deliveries_are_in_no_band_and_are_not_compared() -> None:
    """Their numbers are kept nowhere, also where a person lets them through."""
    env = with_history()
    rejected = delivered(env, 112, "bad")
    until = (env.memory.clock.now() + timedelta(days=9)).isoformat()
    waived = drive(env.dependencies, waive(env.dependencies, rejected.id, "it is known", until))
    rows = [rejected, env.dependencies.workloads.get(str(waived))]

    assert [row.state for row in rows] == [State.QUARANTINED, State.PUBLISHED]
    assert [(row.anomalies, row.extensions) for row in rows] == [((), "{}")] * 2
    assert [each.height for each in past_deliveries(env.dependencies, LINE, 1_000)] == [*range(13, -1, -1)]


def test_what_landed_before_the_others_is_not_late() -> None:
    """It was replayed, or waited for a person: its rows are compared."""
    env = with_history(rows=[2_000, *USUAL])
    row = delivered(env, 112)
    pin = replace(row.pinned, arrived="2020-01-01T00:00:00.000000Z")
    turn = DeliveryTurn(env.dependencies, row._replace(pin=pin, anomalies=()))
    body = measured_result(turn)
    assert body is not None

    assert [each.measure for each in compare(turn, Result.from_bytes(body)).anomalies] == ["rows"]


def test_recalled_deliveries_are_in_no_band() -> None:
    """The next one is not late because of them."""
    env = with_history(rows=[2_000, *USUAL])
    rows = [delivered(env, 112, wait=0), delivered(env, 112, wait=0)]
    before = delivered(env, 110)
    for each in rows:
        drive(env.dependencies, recall(env.dependencies, each.id, "too few rows"))
    after = delivered(env, 110)

    assert (before.anomalies, [each.measure for each in after.anomalies]) == ((), ["rows"])


def replacing() -> Environment:
    """A dataset whose deliveries replace those of the same name, with history enough."""
    env = Environment()
    env.publish("1.0.0", "active", replace(PLAN, policy=replace(PLAN.policy, replaces=Replaces.DELIVERY)))
    return with_history(env, [2_000, *USUAL])


def measures(row: Workload) -> list[str]:
    return [each.measure for each in row.anomalies]


def test_a_delivery_is_not_compared_with_the_one_that_it_replaces() -> None:
    """Twice seen is usual; a correction of the second one is the second time again. Another name is a third one."""
    env = replacing()
    found = [
        measures(delivered(env, rows, name=name)) for rows, name in ((112, "a"), (111, "b"), (110, "b"), (109, "c"))
    ]

    assert found == [["rows"], ["rows"], ["rows"], []]


def test_nor_with_what_came_back_when_the_one_before_was_recalled() -> None:
    """The replaced delivery was recalled, so that the first one of the name counted, which is replaced with it."""
    env = replacing()
    delivered(env, 112, name="b")
    again = delivered(env, 111, name="b")
    drive(env.dependencies, recall(env.dependencies, again.id, "wrong again"))
    other = delivered(env, 110, name="a")
    last = delivered(env, 109, name="b")

    assert (measures(other), measures(last)) == (["rows"], ["rows"])


def test_a_worker_that_crashed_before_the_commit_changes_nothing() -> None:
    """Who goes on compares again, and says the same."""
    env = with_history()
    row = measured(env, 112)
    steps = advance(DeliveryTurn(env.dependencies, row))
    call = next(steps)
    while call.effect is not Effect.COMMIT:
        call = steps.send(call.do())
    steps.close()
    drive(env.dependencies, advance(DeliveryTurn(env.dependencies, env.dependencies.workloads.get(row.id))))

    assert env.dependencies.workloads.get(row.id).anomalies == (FEW,)


def test_a_delivery_is_compared_with_the_one_that_was_committed_first() -> None:
    """Two workers at the same time: the second one's commit is refused, and it compares again at the next height."""
    env = with_history(rows=USUAL[1:])
    row, other = measured(env, 112), measured(env, 2_060)

    def meanwhile() -> None:
        drive(env.dependencies, advance(DeliveryTurn(env.dependencies, other)))

    refused_at(env, Effect.COMMIT, advance(DeliveryTurn(env.dependencies, row)), meanwhile)
    first, second = (env.dependencies.workloads.get(each.id) for each in (other, row))

    assert [(each.height, len(each.anomalies)) for each in (first, second)] == [(13, 0), (14, 1)]


def test_the_same_is_found_at_any_later_time() -> None:
    """What is unusual follows from the blocks below: later deliveries and recalls change nothing."""
    env = with_history(rows=[2_000, *USUAL, 112, 2_030, 21_000])
    rows = sorted(env.memory.workloads.values(), key=lambda row: row.height)
    drive(env.dependencies, recall(env.dependencies, rows[3].id, "too few rows"))

    for row in rows:
        turn = DeliveryTurn(env.dependencies, row._replace(anomalies=(), extensions="{}"))
        body = measured_result(turn)
        assert body is not None
        assert compare(turn, Result.from_bytes(body)) == row
    assert [len(row.anomalies) for row in rows] == [0] * 15 + [1, 0, 1]


def test_numbers_that_cannot_be_read_are_left_out_and_reported() -> None:
    """One damaged row of the history keeps no delivery from being committed."""
    env = with_history(rows=[2_000, *USUAL])
    for height, text in ((3, "[]"), (4, '{"landed": "2026-01-01T00:00:00.000000Z", "of": {"rows/": 1e999}}')):
        key = RowKey(TableName.LEDGER, numbers_key(LINE), height)
        env.memory.table.write(Put(Row(key, {"numbers": text})))

    assert delivered(env, 112).anomalies == ()
    assert [each.name for each in env.dependencies.left_out] == [
        f"{LINE}#verdict#numbers {height}" for height in (4, 3)
    ]


def test_a_contract_without_history_has_no_rows_read() -> None:
    """The policy says so; what it keeps is one row for each accepted delivery."""
    env = policy(Anomalies.IGNORE)
    before = dict(env.memory.workloads)
    row = delivered(env, 112)

    assert before == {}
    assert json.loads(row.extensions) == {
        "numbers": {
            "landed": row.pinned.arrived,
            "of": {"rows/": 112.0, "rejected-rows/": 0.0, "nulls/name": 0.0, "nulls/amount": 0.0, "value/amount": 0.0},
        }
    }
