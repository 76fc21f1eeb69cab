"""`lakegate notify`: test a channel, list notifications that could not be delivered, and send them again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakegate.aws.open_stack import DEFAULT_STACK, asked, opened
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Local, StackName
from lakegate.errors import SetUpError
from lakegate.features.notifications.notices import retry as send_again
from lakegate.gate.channel_kinds import channel_of
from lakegate.gate.effects import run
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from lakegate.features.notifications.notices import ChannelNotice
    from lakegate.gate.dependencies import Dependencies

MOST = 1_000
"""Notices that are listed or sent again at once."""
NOT_DELIVERED = 1
app = typer.Typer(
    no_args_is_help=True, help="Channels that subscribers are notified by.", pretty_exceptions_enable=False
)


@app.callback()
def notify() -> None:
    """Channels that subscribers are notified by (docs/notifications.md)."""


@app.command("test")
def try_channel(
    *,
    to: Annotated[str, typer.Option(help="The channel, such as slack:lakegate-channel-orders.", show_default=False)],
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Send a test to a channel, by the function of the stack: with its rights, its network and the secret that it reads.

    Example: lakegate notify test --to slack:lakegate-channel-orders

    Exit code: 0 delivered, 1 refused or not reached, 2 there is no such kind of channel.
    """
    channel_of(to)
    with opened(stack, local=local) as there:
        payload = json.dumps({"test": to}).encode()
        answer = asked("lambda", "invoke", FunctionName=there.output("NotifyFunction"), Payload=payload)
        content: Any = json.loads(answer["Payload"].read())
    if "FunctionError" in answer or not isinstance(content, dict) or "delivered" not in content:
        raise SetUpError("the function notify failed: its log names the error (lakegate doctor)")
    if as_json:
        terminal.print_json(content)
    else:
        text = "Delivered." if content["delivered"] else f"Not delivered: {content['error']}"
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
    if not content["delivered"]:
        raise typer.Exit(NOT_DELIVERED)


@app.command()
def dead(*, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """List the channels that were given up after several tries: which line, and the last error.

    Example: lakegate notify dead
    """
    with opened(stack, local=local) as there:
        found = _dead(there.dependencies())
    if as_json:
        names = ("line", "channel", "error", "tries")
        terminal.print_json({"dead": [{name: getattr(each, name) for name in names} for each in found]})
        return
    for each in found:
        text = f"{each.line}  {each.channel}  {each.error}"
        terminal.answers().print(escaped(text), markup=False, soft_wrap=True)
    if not found:
        terminal.answers().print("None.")


@app.command()
def retry(
    *,
    to: Annotated[str, typer.Option(help="Only this channel; all without it.", show_default=False)] = "",
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Send again what was given up, with the next turn of the function notify. Remove the cause first (`lakegate notify test`).

    Example: lakegate notify retry --to slack:lakegate-channel-orders
    """
    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        chosen = [each for each in _dead(dependencies) if to in {"", each.channel}]
        for each in chosen:
            run(send_again(dependencies, each.id), dependencies.clock)
    if as_json:
        terminal.print_json({"retried": len(chosen)})
    else:
        terminal.answers().print(f"{len(chosen)} will be sent again.")


def _dead(dependencies: Dependencies) -> list[ChannelNotice]:
    found = (dependencies.of("notices").get(each) for each in dependencies.of("notices").dead(MOST))
    return [each for each in found if each is not None and each.dead]
