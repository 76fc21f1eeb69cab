"""`lakegate notify`: test a channel, list notifications that could not be delivered, and send them again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from lakegate.aws.open_stack import DeployedStack, ask_service
from lakegate.base.errors import SetUpError
from lakegate.base.json_codec import select_fields
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, gate_command, stack_command
from lakegate.contract.contract_model import DATASET_KEY
from lakegate.features.notifications.notices import ChannelNotice, dead_notices, notices
from lakegate.features.notifications.notices import retry as send_again
from lakegate.gate.channel_ports import channel_of
from lakegate.gate.dependencies import Dependencies

MAX_NOTICES = 1_000
"""Notices that are listed or sent again at once."""
NOT_DELIVERED = 1
app = CommandGroup(help="Channels that subscribers are notified by.")


@dataclass(frozen=True, slots=True)
class TestedChannel:
    """Whether a test reached its channel."""

    delivered: bool
    error: str


@dataclass(frozen=True, slots=True)
class DeadNotice:
    """A notification that was given up."""

    dataset: str = field(metadata=DATASET_KEY)
    channel: str
    error: str
    tries: int


@dataclass(frozen=True, slots=True)
class DeadNotices:
    """Notifications that were given up."""

    dead: tuple[DeadNotice, ...]


@dataclass(frozen=True, slots=True)
class RetriedNotices:
    """The number of notifications that are sent again."""

    retried: int


@app.command("test")
@stack_command
def try_channel(
    there: DeployedStack,
    *,
    to: Annotated[str, Option(help="The channel, such as slack:lakegate-channel-orders.")],
) -> CommandResult[TestedChannel]:
    """Send a test to a channel, by the function of the stack: with its rights, its network and the secret that it reads.

    Example: lakegate notify test --to slack:lakegate-channel-orders

    Exit code: 0 delivered, 1 refused or not reached, 2 there is no such kind of channel.
    """
    channel_of(to)
    payload = json.dumps({"test": to}).encode()
    response = ask_service("lambda", "invoke", FunctionName=there.output("NotifyFunction"), Payload=payload)
    content: Any = json.loads(response["Payload"].read())
    if "FunctionError" in response or not isinstance(content, dict) or "delivered" not in content:
        raise SetUpError("the function notify failed: its log names the error (lakegate doctor)")
    text = "Delivered." if content["delivered"] else f"Not delivered: {content['error']}"
    return CommandResult(
        TestedChannel(content["delivered"], content["error"]), [text], 0 if content["delivered"] else NOT_DELIVERED
    )


@app.command("dead")
@gate_command
def list_dead(
    dependencies: Dependencies,
) -> CommandResult[DeadNotices]:
    """List the channels that were given up after several tries: which dataset, and the last error.

    Example: lakegate notify dead
    """
    found = _dead(dependencies)
    words = [f"{notice.dataset}  {notice.channel}  {notice.error}" for notice in found]
    return CommandResult(select_fields(DeadNotices, dead=found), words or ["None."])


@app.command("retry")
@gate_command
def retry(
    dependencies: Dependencies,
    *,
    to: Annotated[str, Option(help="Only this channel; all without it.", show_default=False)] = "",
) -> CommandResult[RetriedNotices]:
    """Send again what was given up, with the next turn of the function notify. Remove the cause first (`lakegate notify test`).

    Example: lakegate notify retry --to slack:lakegate-channel-orders
    """
    chosen = [notice for notice in _dead(dependencies) if to in {"", notice.channel}]
    for each in chosen:
        dependencies.run(send_again(dependencies, each.id))
    return CommandResult(RetriedNotices(len(chosen)), [f"{len(chosen)} will be sent again."])


def _dead(dependencies: Dependencies) -> list[ChannelNotice]:
    found = map(notices(dependencies).get, dead_notices(dependencies, MAX_NOTICES))
    return [notice for notice in found if notice.dead]
