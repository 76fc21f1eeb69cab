"""Faults on request: every way in which a run or its events can go wrong, seen through boto3."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.integrations.local_emr.conftest import Aws, Emr, order, until
from tests.integrations.local_emr.programs import ANSWERING, NOTHING

pytestmark = pytest.mark.usefixtures("no_orders")
ALL_IS_WELL = ["SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "SUCCESS"]


def started(aws: Aws, emr: Emr, result: str, **request: Any) -> str:
    """A run of a program that writes a result."""
    return emr.start(aws.program(ANSWERING, "answering.py"), f"results/{result}", **request)


def plain(aws: Aws, emr: Emr, **request: Any) -> str:
    """A run of a program that does nothing."""
    return emr.start(aws.program(NOTHING, "nothing.py"), **request)


@pytest.mark.parametrize(
    ("end", "state", "result"),
    [
        ("normal", "SUCCESS", b"answered"),
        ("fail-before", "FAILED", None),
        ("fail-after", "FAILED", b"answered"),
    ],
)
def test_a_run_fails_before_or_after_its_result(aws: Aws, emr: Emr, end: str, state: str, result: bytes | None) -> None:
    """FAILED implies nothing about the result: it may be complete, or never have been written."""
    run = emr.ended(started(aws, emr, end, tags={"fault:end": end}))

    assert (state, result) == (run["state"], aws.object(f"results/{end}"))


@pytest.mark.parametrize(("end", "result"), [("hang", None), ("hang-after", b"answered")])
def test_a_run_hangs_until_its_time_is_over(aws: Aws, emr: Emr, end: str, result: bytes | None) -> None:
    """RUNNING, with or without a result, until the time limit; meanwhile other runs pass it."""
    minutes = 30 if result else 5
    run = started(aws, emr, end, tags={"fault:end": end}, executionTimeoutMinutes=minutes)
    emr.reaches(run, "RUNNING")

    assert emr.ended(started(aws, emr, f"beside-{end}"))["state"] == "SUCCESS"
    assert emr.ended(run)["state"] == "CANCELLED"
    assert result == aws.object(f"results/{end}")


def test_a_hung_run_can_be_cancelled(aws: Aws, emr: Emr) -> None:
    """What hangs by order ends by order."""
    run = started(aws, emr, "hung", tags={"fault:end": "hang"})
    emr.reaches(run, "RUNNING")
    emr.client.cancel_job_run(applicationId=emr.application, jobRunId=run)

    assert emr.ended(run)["state"] == "CANCELLED"


def test_a_slow_start_keeps_a_run_scheduled(aws: Aws, emr: Emr) -> None:
    """`start-seconds` pass between SCHEDULED and RUNNING, as capacity takes its time; a cancel does not wait for them."""
    run = started(aws, emr, "slow", tags={"fault:start-seconds": "0.3"})
    never = started(aws, emr, "never", tags={"fault:start-seconds": "1000000"})
    ended = emr.ended(run)
    emr.reaches(never, "SCHEDULED")
    emr.client.cancel_job_run(applicationId=emr.application, jobRunId=never)

    assert ended["state"] == "SUCCESS"
    assert (ended["startedAt"] - ended["createdAt"]).total_seconds() >= 0.3
    assert emr.ended(never)["state"] == "CANCELLED"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"events": "duplicate"}, [state for state in ALL_IS_WELL for _ in range(2)]),
        ({"events": "duplicate", "states": "SUCCESS FAILED"}, [*ALL_IS_WELL, "SUCCESS"]),
        ({"events": "drop", "states": "SUBMITTED PENDING RUNNING"}, ["SCHEDULED", "SUCCESS"]),
        ({"events": "reorder"}, ALL_IS_WELL[::-1]),
        ({"events": "reorder", "states": "RUNNING SUCCESS"}, [*ALL_IS_WELL[:3], "SUCCESS", "RUNNING"]),
    ],
)
def test_events_are_bent_as_asked(aws: Aws, emr: Emr, words: dict[str, str], expected: list[str]) -> None:
    """Dropped, doubled and reordered events: for all states, or for those that are named."""
    run = plain(aws, emr, tags={f"fault:{name}": value for name, value in words.items()})
    emr.reported_states(run)
    emr.reported_states(plain(aws, emr))

    assert expected == [each["detail"]["state"] for each in emr.state_events(run)]
    assert emr.state(run) == "SUCCESS"


def test_a_delayed_event_comes_after_those_of_later_states(aws: Aws, emr: Emr) -> None:
    """`delay-seconds` delay an event while the run continues and sends others."""
    tags = {"fault:events": "delay", "fault:delay-seconds": "1", "fault:states": "PENDING", "fault:end": "hang"}
    run = plain(aws, emr, tags=tags)

    def reported_states() -> list[str] | None:
        found = [each["detail"]["state"] for each in emr.state_events(run)]
        return found if "PENDING" in found else None

    assert until(reported_states, "the delayed event") == ["SUBMITTED", "SCHEDULED", "RUNNING", "PENDING"]
    emr.client.cancel_job_run(applicationId=emr.application, jobRunId=run)


def test_a_dropped_end_event_is_never_sent(aws: Aws, emr: Emr) -> None:
    """With all events dropped only GetJobRun knows: events of a later run arrive, of this one none does."""
    run = plain(aws, emr, tags={"fault:events": "drop"})
    emr.ended(run)
    emr.reported_states(plain(aws, emr))

    assert (emr.state(run), emr.state_events(run)) == ("SUCCESS", [])


# --- orders


def test_an_order_meets_the_next_runs_that_fit(aws: Aws, emr: Emr) -> None:
    """`POST /_faults` is for runs whose starter sets no tags: so many of them, of that name and argument; then all is well."""
    document = {"fault": {"end": "fail-before"}, "match": {"name": "poison", "argument": "results/p"}, "times": 2}
    status, waiting = order(emr, "POST", document)
    names = ["fine", "poison", "poison-2", "poison-3"]
    states = [emr.ended(started(aws, emr, name, name=name))["state"] for name in names]

    assert (200, {"faults": [document]}) == (status, waiting)
    assert states == ["SUCCESS", "FAILED", "FAILED", "SUCCESS"]
    assert order(emr, "GET") == (200, {"faults": []})


def test_a_replayed_request_takes_no_order(aws: Aws, emr: Emr) -> None:
    """The same token again is not a new run: what was ordered waits for one."""
    first = started(aws, emr, "replayed", clientToken="replayed")
    order(emr, "POST", {"fault": {"end": "fail-before"}})

    assert first == started(aws, emr, "replayed", clientToken="replayed")
    assert len(order(emr, "GET")[1]["faults"]) == 1


def test_orders_are_forgotten(aws: Aws, emr: Emr) -> None:
    """`DELETE /_faults` makes everything well again."""
    order(emr, "POST", {"fault": {"end": "fail-before"}, "times": 100})

    assert order(emr, "DELETE") == (200, {"faults": []})
    assert emr.ended(started(aws, emr, "forgotten"))["state"] == "SUCCESS"


@pytest.mark.parametrize(
    ("error", "status"),
    [("ThrottlingException", 429), ("InternalServerException", 500), ("ConflictException", 409)],
)
def test_calls_are_refused_as_ordered(aws: Aws, emr: Emr, error: str, status: int) -> None:
    """An operation answers with AWS's error so often, without its effect; other operations are not touched."""
    order(emr, "POST", {"operation": "StartJobRun", "error": error, "times": 2})
    for _ in range(2):
        with pytest.raises(ClientError, match=error) as refused:
            started(aws, emr, "refused", clientToken=f"refused-{error}")
        assert status == refused.value.response["ResponseMetadata"]["HTTPStatusCode"]
        assert emr.client.list_applications()["applications"]

    assert started(aws, emr, "refused", clientToken=f"refused-{error}")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"fault": {"end": "badly"}},
        {"fault": {"ending": "hang"}},
        {"fault": {"states": "DONE"}},
        {"fault": {"delay-seconds": "soon"}},
        {"fault": {}, "times": 0},
        {"fault": {}, "match": {"run": "x"}},
        {"operation": "StartJobRun", "error": "Nonsense"},
        {"operation": "StartJobRun", "fault": {}},
        {"operation": "EndJobRun"},
        [],
    ],
)
def test_an_order_that_means_nothing_is_refused(emr: Emr, document: object) -> None:
    """A misspelt fault must not look like a passed test: ValidationException, and nothing waits."""
    status, answer = order(emr, "POST", document)

    assert (status, answer["__type"]) == (400, "ValidationException")
    assert order(emr, "GET") == (200, {"faults": []})


def test_tags_that_mean_nothing_are_refused(aws: Aws, emr: Emr) -> None:
    """Likewise for tags: the run is not started."""
    with pytest.raises(ClientError, match=r"ValidationException.*unknown faults: edn; known: end, events"):
        started(aws, emr, "tagged", tags={"fault:edn": "hang"})
