"""Events are hints: lost, doubled, late or out of order, every delivery comes to the same end, once."""

from __future__ import annotations

import json

import pytest

from lakegate.aws.clients import client
from lakegate.gate.delivery.protocol import State
from tests.e2e.deployed import Deployed, Landed, until


def ended(stack: Deployed, landed: Landed) -> tuple[State, int, int, int]:
    """State, attempts, destinations and blocks of a delivery."""
    row = stack.finished(landed)
    return row.state, row.attempt, len(stack.destinations(row)), stack.blocks(row)


ONCE = (State.PUBLISHED, 1, 1, 1)


def s3_event(stack: Deployed, landed: Landed) -> str:
    """The event of a version, as EventBridge hands it to the queue."""
    detail = {
        "version": "0",
        "bucket": {"name": stack.dependencies.places.landing},
        "object": {"key": landed.key, "version-id": landed.version},
    }
    return json.dumps({"version": "0", "source": "aws.s3", "detail-type": "Object Created", "detail": detail})


def test_a_version_whose_event_was_lost_is_found_by_the_sweep(stack: Deployed) -> None:
    """No event: the deployed sweep lists the landing bucket and takes the version in."""
    landed = stack.upload_unseen(stack.fresh())

    assert stack.row(landed) is None
    assert stack.sweep()["looked_at"] >= 1
    assert ended(stack, landed) == ONCE


def test_a_duplicated_event_starts_one_job(stack: Deployed) -> None:
    """S3 events come at least once: ten of one version, at once, are one workload, one run, one block."""
    landed = stack.upload_unseen(stack.larger())
    queue = stack.resources["LandedQueue"]
    entries = [{"Id": str(number), "MessageBody": s3_event(stack, landed)} for number in range(10)]
    client("sqs").send_message_batch(QueueUrl=queue, Entries=entries)

    assert ended(stack, landed) == ONCE
    assert len(stack.runs(landed)) == 1


@pytest.mark.full  # tests/simulation/test_storms.py has the same fault
def test_an_event_long_after_the_end_changes_nothing(stack: Deployed) -> None:
    """The duplicate of an event that was answered long ago finds its claim."""
    landed = stack.upload(stack.larger())
    before, others = stack.finished(landed), waiting(stack, "LandedQueue")
    client("sqs").send_message(QueueUrl=stack.resources["LandedQueue"], MessageBody=s3_event(stack, landed))
    until("the message is answered", lambda: waiting(stack, "LandedQueue") == others)

    assert before == stack.row(landed)
    assert ended(stack, landed) == ONCE


@pytest.mark.full  # tests/simulation/test_storms.py has duplicates and every order
@pytest.mark.parametrize("events", ["duplicate", "reorder"])
def test_events_of_a_run_in_any_number_and_order_are_one_end(stack: Deployed, events: str) -> None:
    """EMR Serverless sends events twice and out of order: the result is read, not the event."""
    stack.order(times=1, events=events)

    assert ended(stack, stack.upload(stack.larger())) == ONCE


@pytest.mark.full  # tests/simulation: the scenario "result without event"; the lost event of an upload is above
def test_sweep_finds_a_run_whose_end_event_was_lost(stack: Deployed) -> None:
    """EMR Serverless events are best effort: a poll finds the result."""
    stack.order(times=1, events="drop")
    landed = stack.upload(stack.larger())
    until("the run ends", lambda: [each["state"] for each in stack.runs(landed)] == ["SUCCESS"])

    assert stack.row(landed) is not None
    stack.sweep_later(6)
    assert ended(stack, landed) == ONCE


def test_two_versions_of_one_key_are_two_deliveries(stack: Deployed) -> None:
    """A key that is written again while its first version is judged: both are judged, each by its own bytes."""
    first = stack.upload(stack.fresh())
    second = stack.upload(stack.fresh(), first.key)
    bodies = {stack.body(stack.destinations(stack.finished(each))[0]) for each in (first, second)}

    assert {first.body, second.body} == bodies


def test_an_unintelligible_message_blocks_no_other(stack: Deployed) -> None:
    """A message that is not an event keeps no other from being taken in."""
    queue = stack.resources["LandedQueue"]
    client("sqs").send_message(QueueUrl=queue, MessageBody="no event at all")

    assert ended(stack, stack.upload(stack.fresh())) == ONCE


def waiting(stack: Deployed, queue: str) -> int:
    """Messages of a queue that nobody holds, and those that somebody does."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = client("sqs").get_queue_attributes(QueueUrl=stack.resources[queue], AttributeNames=names)["Attributes"]
    return sum(map(int, found.values()))
