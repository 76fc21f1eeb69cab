"""`lakegate replay --state`: many deliveries are replayed once each, however often the command is run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakegate.base.errors import InputError
from lakegate.gate.delivery.delivery_row import replay_id
from lakegate.gate.delivery.protocol import State
from tests.unit.cli.conftest import Lakegate


def body(number: int) -> bytes:
    return f"id,amount\n,{number}\n".encode()


@pytest.fixture
def failed(lakegate: Lakegate) -> list[str]:
    """Three deliveries that FAILED, the oldest first."""
    return list(lakegate.begin(_three_failed))


def _three_failed(lakegate: Lakegate) -> tuple[str, ...]:
    lakegate.routed()
    return tuple(_failed(lakegate, number) for number in range(3))


def _failed(lakegate: Lakegate, number: int) -> str:
    workload = lakegate.upload(name=f"{number}.csv", body=body(number))
    lakegate.intake(f"orders/{number}.csv")
    lakegate.fail(workload)
    return workload


def numbers(document: Any) -> tuple[int, int, int]:
    return document["selected"], document["started"], document["refused"]


def test_all_that_failed_are_replayed_once(lakegate: Lakegate, failed: list[str]) -> None:
    """The oldest first; a second run starts nothing, because they are being judged."""
    first = lakegate.json("replay", "--state", "FAILED")
    second = lakegate.json("replay", "--state", "FAILED")

    assert [each["judged_by"] for each in first["deliveries"]] == failed
    assert (numbers(first), numbers(second)) == ((3, 3, 0), (0, 0, 0))
    assert {lakegate.dependencies.workloads.get(each).attempt for each in failed} == {2}


def test_quarantined_deliveries_are_replayed_once(lakegate: Lakegate) -> None:
    """Each gets one replay; what came of a replay is not replayed under the same version."""
    lakegate.routed()
    rejected = [lakegate.delivered(1, body=body(number), name=f"{number}.csv") for number in range(2)]
    first = lakegate.json("replay", "--state", "QUARANTINED", "--line", "orders_v1")
    for each in rejected:
        lakegate.answer(replay_id(each), failing=1)
    second = lakegate.json("replay", "--state", "QUARANTINED", "--line", "orders_v1")

    assert {each["workload"]: each["judged_by"] for each in first["deliveries"]} == {
        each: replay_id(each) for each in rejected
    }
    assert numbers(second) == (0, 0, 0)


@pytest.mark.parametrize("words", [(), ("--contract", "shop@1.0.1")], ids=["valid", "named"])
def test_a_replay_that_was_rejected_is_replayed_under_another_version(
    lakegate: Lakegate, words: tuple[str, ...]
) -> None:
    """Such as after a withdrawal, and once."""
    lakegate.routed()
    many = ("replay", "--state", "QUARANTINED", "--line", "orders_v1", *words)
    rejected = lakegate.delivered(1)
    lakegate.json(*many[:5])
    first = replay_id(rejected)
    lakegate.answer(first, failing=1)
    lakegate.ok("publish", lakegate.contract(version="1.0.1"))
    second = lakegate.json(*many)
    lakegate.answer(replay_id(first), failing=1)
    third = lakegate.json(*many)

    assert [(each["workload"], each["judged_by"]) for each in second["deliveries"]] == [(first, replay_id(first))]
    assert numbers(third) == (0, 0, 0)


def test_a_replay_that_no_route_covers_yet_is_left(lakegate: Lakegate) -> None:
    """It would be rejected as before; it is replayed once there is a route."""
    lakegate.routed()
    unrouted = lakegate.upload()
    lakegate.ok("route", "remove", "orders/")
    lakegate.intake()
    lakegate.json("replay", "--state", "QUARANTINED")
    again = lakegate.json("replay", "--state", "QUARANTINED")
    lakegate.ok("route", "add", "orders/", "shop")
    routed = lakegate.json("replay", "--state", "QUARANTINED")

    assert numbers(again) == (0, 0, 0)
    assert [each["judged_by"] for each in routed["deliveries"]] == [replay_id(replay_id(unrouted))]


def test_a_replay_that_failed_is_one_of_those_that_failed(lakegate: Lakegate) -> None:
    """It has no verdict, as an upload that failed."""
    lakegate.routed()
    again = replay_id(lakegate.delivered(1))
    lakegate.json("replay", "--state", "QUARANTINED")
    lakegate.fail(again)
    replayed = lakegate.json("replay", "--state", "FAILED")

    assert [each["judged_by"] for each in replayed["deliveries"]] == [again]


def test_an_interrupted_run_is_resumed(lakegate: Lakegate, failed: list[str]) -> None:
    """Run again, it starts the rest: here two at a time."""
    runs = [numbers(lakegate.json("replay", "--state", "FAILED", "--limit", "2")) for _ in range(3)]

    assert runs == [(2, 2, 0), (1, 1, 0), (0, 0, 0)]
    assert {lakegate.dependencies.workloads.get(each).state for each in failed} == {State.VALIDATING}


def test_a_dry_run_starts_nothing(lakegate: Lakegate, failed: list[str]) -> None:
    """It lists what would be replayed."""
    printed = lakegate.ok("replay", "--state", "FAILED", "--dry-run").splitlines()

    assert [line.partition(" ")[0] for line in printed[:-1]] == [each[:12] for each in failed]
    assert printed[-1] == "3 selected, nothing was started (--dry-run), 0 refused"
    assert {lakegate.dependencies.workloads.get(each).state for each in failed} == {State.FAILED}


@pytest.mark.parametrize(
    ("option", "ahead", "selected"), [("--since", -1, 3), ("--since", 1, 0), ("--until", -1, 0), ("--until", 1, 3)]
)
def test_times_limit_what_is_replayed(
    lakegate: Lakegate, failed: list[str], option: str, ahead: int, selected: int
) -> None:
    """By the time of the latest step, in UTC."""
    time = f"{datetime.now(UTC) + timedelta(hours=ahead):%Y-%m-%dT%H:%M}"

    document = lakegate.json("replay", "--state", "FAILED", "--dry-run", option, time)

    assert document["selected"] == selected <= len(failed)


def test_other_lines_and_states_are_left_alone(lakegate: Lakegate, failed: list[str]) -> None:
    """A line that is not known is refused; another state selects none of these."""
    assert failed
    assert numbers(lakegate.json("replay", "--state", "QUARANTINED")) == (0, 0, 0)
    assert "is not a dataset" in str(lakegate("replay", "--state", "FAILED", "--line", "elsewhere").exception)


def test_one_that_is_refused_does_not_stop_the_others(lakegate: Lakegate) -> None:
    """The summary has the reason, and the exit code shows that something is left."""
    lakegate.routed()
    rejected = [lakegate.delivered(1, body=body(number), name=f"{number}.csv") for number in range(2)]
    copies = (
        lakegate.clients["s3"]
        .get_paginator("list_object_versions")
        .paginate(Bucket="lakegate-lake", Prefix="quarantine/")
        .build_full_result()["Versions"]
    )
    lost = next(each for each in copies if rejected[0] in each["Key"])
    lakegate.clients["s3"].delete_object(Bucket="lakegate-lake", Key=lost["Key"])
    result = lakegate("replay", "--state", "QUARANTINED")

    assert result.exit_code == 3
    assert "0.csv: the quarantined copy is not there any more\n" in result.stdout
    assert "1.csv: is being judged\n" in result.stdout
    assert result.stdout.endswith("2 selected, 1 started, 1 refused\n")


@pytest.mark.parametrize(
    "words", [[], ["a" * 64, "--state", "FAILED"], ["--state", "FAILED", "--wait"]], ids=["nothing", "both", "wait"]
)
def test_one_or_many(lakegate: Lakegate, words: list[str]) -> None:
    """Anyone who names neither, or both, reads what to do."""
    assert isinstance(lakegate("replay", *words).exception, InputError)
