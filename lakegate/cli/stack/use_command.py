"""`lakegate use`: the stack that commands ask where they are not told."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from lakegate.base.errors import InputError
from lakegate.base.text import quote
from lakegate.cli import remembered_stack
from lakegate.cli.click_commands import Argument
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.remembered_stack import RememberedStack

LOCAL: Final = "local"
NONE: Final = "none"
NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9:/-]{0,1023}", re.ASCII)
"""Of a stack, or its ARN."""


@dataclass(frozen=True, slots=True)
class UsedStack:
    """The stack that commands ask; null: they ask the stack `lakegate`, or whatever they are told."""

    used: RememberedStack | None
    file: str


@command
def use(
    stack: Annotated[
        str | None, Argument(help="`local`, the name of a stack, or `none`; by default it is shown.")
    ] = None,
) -> CommandResult[UsedStack]:
    """Remember which stack commands ask: the local one, or one in AWS by its name; for you, on this machine.

    Options (--stack, --local, --api) and environment variables (LAKEGATE_STACK, LAKEGATE_LOCAL, LAKEGATE_API) win. Commands that
    deploy or change a stack are always told which one.

    Example: lakegate use local
    """
    if stack is not None:
        remembered_stack.write(_wanted(stack))
    used, file = remembered_stack.read(), remembered_stack.place()
    return CommandResult(UsedStack(used, str(file)), [_in_words(used, file)])


def _wanted(stack: str) -> RememberedStack | None:
    if stack == NONE:
        return None
    if stack == LOCAL:
        return RememberedStack("", local=True)
    if not NAME.fullmatch(stack):
        raise InputError(f"{quote(stack)} is no name of a stack: `local`, `none`, or a name as CloudFormation has it")
    return RememberedStack(stack, local=False)


def _in_words(used: RememberedStack | None, file: Path) -> str:
    if used is None:
        return "No stack is remembered: commands ask the stack lakegate, or the one that they are told."
    return f"Commands ask {'the local stack' if used.local else f'the stack {used.stack}'} ({file})."
