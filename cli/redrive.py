"""`lakegate redrive`: give messages of the dead-letter queue back to the functions that could not handle them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import opened
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.functions.adapters.clients import client
from lakegate.functions.adapters.errors import port_errors
from lakegate.functions.events.decode import decode
from lakegate.functions.events.hints import JobMoved, Unintelligible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakegate.cli.aws import DeployedStack

BATCH: Final = 10
HIDDEN_SECONDS: Final = 120
"""How long a message that was received is hidden: it is moved within seconds, or is visible again after an interruption."""
EMPTY_ANSWERS: Final = 3
"""A queue whose answer is empty so often is empty: SQS asks a part of its servers only."""
OTHER_SENDER = 3


@dataclass(slots=True)
class Redriven:
    """What became of the messages."""

    moved: Counter[str] = field(default_factory=Counter)
    """By the queue that they were sent to."""
    kept: Counter[str] = field(default_factory=Counter)
    """By the reason why they are no event of this stack."""


def redrive(
    *,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most so many messages.")] = 1_000,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count them, and move none.")] = False,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Send messages of the dead-letter queue back to the queue of their function. Remove the cause first (`lakegate doctor`).

    A message is sent before it is deleted: after an interruption it may be handled twice, which does no harm. Messages that no
    function can understand stay where they are.

    Example: lakegate redrive --dry-run

    Exit code: 0 none is left, 3 some cannot be understood and were left.
    """
    with opened(stack, local=local) as there:
        result = _redriven(there, limit, dry_run=dry_run)
    if as_json:
        document = {"dry_run": dry_run, "moved": dict(result.moved), "kept": dict(result.kept)}
        terminal.print_json(document)
    else:
        _print(result, dry_run=dry_run)
    raise typer.Exit(OTHER_SENDER if result.kept else 0)


def _redriven(there: DeployedStack, limit: int, *, dry_run: bool) -> Redriven:
    dead = there.output("DeadLetterQueueUrl")
    result, kept, queues = Redriven(), [], dict[str, str]()
    for message in _messages(dead, limit):
        reason, queue = _destination(message["Body"])
        if reason:
            result.kept[reason] += 1
        else:
            result.moved[queue] += 1
        if reason or dry_run:
            kept.append(message["ReceiptHandle"])
            continue
        address = queues.setdefault(queue, there.resource(queue))
        with port_errors():
            client("sqs").send_message(QueueUrl=address, MessageBody=message["Body"])
            client("sqs").delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
    for handle in kept:
        with port_errors():
            client("sqs").change_message_visibility(QueueUrl=dead, ReceiptHandle=handle, VisibilityTimeout=0)
    return result


def _messages(queue: str, limit: int) -> Iterator[dict[str, Any]]:
    """Messages of a queue, each once, until none is visible."""
    count = empty = 0
    while count < limit and empty < EMPTY_ANSWERS:
        with port_errors():
            answer = client("sqs").receive_message(
                QueueUrl=queue, MaxNumberOfMessages=min(BATCH, limit - count), VisibilityTimeout=HIDDEN_SECONDS
            )
        found = answer.get("Messages", [])
        empty = 0 if found else empty + 1
        count += len(found)
        yield from found


def _destination(body: str) -> tuple[str, str]:
    """Why a message goes nowhere, and the logical name of the queue that it goes to."""
    hints = decode(body)
    for hint in hints:
        if isinstance(hint, Unintelligible):
            return str(hint.reason), ""
    return "", "MovedQueue" if any(isinstance(hint, JobMoved) for hint in hints) else "LandedQueue"


def _print(result: Redriven, *, dry_run: bool) -> None:
    console = terminal.answers()
    verb = "would be sent" if dry_run else "sent"
    for queue, count in sorted(result.moved.items()):
        console.print(f"{count} {verb} to {queue}")
    for reason, count in sorted(result.kept.items()):
        console.print(f"{count} left: {reason} (docs/functions.md, The dead-letter queue)", soft_wrap=True)
    if not result.moved and not result.kept:
        console.print("The dead-letter queue is empty.")
