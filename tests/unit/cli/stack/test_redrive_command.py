"""`lakegate redrive`: messages go back to the queue of their function; what nobody understands stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest

from functions import completion_handler, intake_handler
from lakegate.aws import open_stack
from lakegate.aws.lambda_events import decode
from tests.fakes.quick_moto import REGION
from tests.simulation.environment import Environment
from tests.unit.cli.conftest import Lakegate

EVENTS = Path(__file__).parents[2] / "aws/events"
QUEUES = ("LandedQueue", "MovedQueue", "DeadLetterQueue")


@pytest.fixture
def queues(lakegate: Lakegate) -> dict[str, str]:
    """A stack `queues` with three queues, by logical name."""
    resources = {name: {"Type": "AWS::SQS::Queue"} for name in QUEUES}
    outputs = {"DeadLetterQueueUrl": {"Value": {"Ref": "DeadLetterQueue"}}}
    template = json.dumps({"Resources": resources, "Outputs": outputs})
    lakegate.clients["cloudformation"].create_stack(StackName="queues", TemplateBody=template)
    found = lakegate.clients["cloudformation"].describe_stack_resources(StackName="queues")["StackResources"]
    return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found}


def send(queue: str, *bodies: str) -> None:
    for body in bodies:
        boto3.client("sqs", region_name=REGION).send_message(QueueUrl=queue, MessageBody=body)


def bodies(queue: str) -> list[str]:
    found = boto3.client("sqs", region_name=REGION).receive_message(QueueUrl=queue, MaxNumberOfMessages=10)
    return [each["Body"] for each in found.get("Messages", ())]


def event(file: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((EVENTS / file).read_text())[0]["document"]
    return document


def landed(key: str = "orders/day.csv") -> str:
    document = event("s3-eventbridge.json")
    document["detail"]["object"]["key"] = key
    return json.dumps(document)


MOVED = json.dumps(event("emr-serverless.json"))
INVOKED = json.dumps(event("lambda-destination.json"))
FUNCTIONS = {"LandedQueue": "IntakeFunction", "MovedQueue": "CompletionFunction"}


def test_messages_go_back_to_their_queue(lakegate: Lakegate, queues: dict[str, str]) -> None:
    """Unchanged, and each once; then the dead-letter queue is empty."""
    send(queues["DeadLetterQueue"], *(landed(f"orders/{number}.csv") for number in range(4)), MOVED)
    first = lakegate("redrive", "--stack", "queues", "--json")
    second = lakegate("redrive", "--stack", "queues")

    assert (first.exit_code, json.loads(first.stdout)) == (
        0,
        {"dry_run": False, "moved": {"LandedQueue": 4, "MovedQueue": 1}, "kept": {}},
    )
    assert sorted(bodies(queues["LandedQueue"])) == [landed(f"orders/{number}.csv") for number in range(4)]
    assert bodies(queues["MovedQueue"]) == [MOVED]
    assert (second.exit_code, second.stdout) == (0, "The dead-letter queue is empty.\n")


@pytest.mark.parametrize("message", [landed(), MOVED, INVOKED], ids=["object", "run", "invocation"])
def test_a_message_goes_to_the_queue_whose_function_takes_it(
    message: str, lakegate: Lakegate, queues: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever any destination of the template puts into the dead-letter queue: the function does act on it."""
    send(queues["DeadLetterQueue"], message)
    (moved,) = json.loads(lakegate("redrive", "--stack", "queues", "--json").stdout)["moved"]

    taken: list[object] = []
    handler, act = {"IntakeFunction": (intake_handler, "take"), "CompletionFunction": (completion_handler, "carry_on")}[
        FUNCTIONS[moved]
    ]
    monkeypatch.setattr(handler, act, taken.append)
    monkeypatch.setattr(handler, "dependencies", lambda: Environment().dependencies)
    context = SimpleNamespace(function_name="f", memory_limit_in_mb=128, invoked_function_arn="arn", aws_request_id="r")
    handler.handler({"Records": [{"messageId": "m", "body": message}]}, context)  # type: ignore[arg-type]

    assert taken == [decode(message)]


NAMED = {
    "own": ("queues-named", json.dumps({"object": "s3://partner-exports/out/rows.csv"}), "queues-named"),
    "of an owner": ("queues-named-sales", json.dumps({"object": "s3://partner-exports/a"}), "queues-named-sales"),
    "EventBridge": ("queues-named-sales", landed("out/rows.csv"), "queues-named-sales"),
    "no object": ("queues-named-sales", "no document", ""),
    "a run": ("queues-named-sales", MOVED, ""),
    "of another queue": ("queues-LandedQueue-1", json.dumps({"object": "s3://partner-exports/a"}), ""),
    "of no queue": ("", json.dumps({"object": "s3://partner-exports/a"}), ""),
    "of another stack": ("queues-name", json.dumps({"object": "s3://partner-exports/a"}), ""),
}
"""The queue that SQS moved a message from, its body, and the queue that it goes back to."""


@pytest.mark.parametrize("case", NAMED)
def test_a_message_that_names_an_object_goes_back_to_its_own_queue(
    case: str, lakegate: Lakegate, queues: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what SQS says, and never by its text: the queue decides whose objects it may name."""
    came_from, body, wanted = NAMED[case]
    sqs = boto3.client("sqs", region_name=REGION)
    addresses = {name: sqs.create_queue(QueueName=name)["QueueUrl"] for name in ("queues-named", "queues-named-sales")}
    send(queues["DeadLetterQueue"], body)
    right = open_stack._messages  # noqa: SLF001 - moto does not say where a message came from

    def messages(queue: str, limit: int) -> Iterator[dict[str, Any]]:
        for each in right(queue, limit):
            arn = f"arn:aws:sqs:{REGION}:123456789012:{came_from}"
            yield each | ({"Attributes": {"DeadLetterQueueSourceArn": arn}} if came_from else {})

    monkeypatch.setattr(open_stack, "_messages", messages)
    result = lakegate("redrive", "--stack", "queues", "--json")

    assert json.loads(result.stdout)["moved"] == ({wanted: 1} if wanted else {})
    assert {name: bodies(address) for name, address in addresses.items()} == {
        name: [body] * (name == wanted) for name in addresses
    }
    assert bodies(queues["LandedQueue"]) == bodies(queues["MovedQueue"]) == []
    assert bodies(queues["DeadLetterQueue"]) == [body] * (not wanted)


def test_what_nobody_understands_stays(lakegate: Lakegate, queues: dict[str, str]) -> None:
    """It would only come back; the reason is shown, and the message is visible again."""
    send(queues["DeadLetterQueue"], "no document", landed())
    result = lakegate("redrive", "--stack", "queues")

    assert (result.exit_code, result.stdout) == (
        3,
        "1 sent to LandedQueue\n1 left: not-json (docs/functions.md, The dead-letter queue)\n",
    )
    assert bodies(queues["DeadLetterQueue"]) == ["no document"]


def test_a_dry_run_moves_nothing(lakegate: Lakegate, queues: dict[str, str]) -> None:
    """It counts, and every message stays visible."""
    send(queues["DeadLetterQueue"], landed(), MOVED)
    result = lakegate("redrive", "--stack", "queues", "--dry-run")

    assert result.stdout == "1 would be sent to LandedQueue\n1 would be sent to MovedQueue\n"
    assert sorted(bodies(queues["DeadLetterQueue"])) == sorted([landed(), MOVED])
    assert bodies(queues["LandedQueue"]) == []


def test_no_more_messages_than_the_limit_are_moved(lakegate: Lakegate, queues: dict[str, str]) -> None:
    """The rest stays for the next run."""
    send(queues["DeadLetterQueue"], *(landed(f"{number}") for number in range(3)))
    result = lakegate("redrive", "--stack", "queues", "--limit", "2")

    assert result.stdout == "2 sent to LandedQueue\n"
    assert len(bodies(queues["DeadLetterQueue"])) == 1
