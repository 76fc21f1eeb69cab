"""The `lakegate` command. A command is a function, or a `typer.Typer`, of a module of this folder, and a line of `GROUPS`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from typer._click.shell_completion import CompletionItem
from typer.core import TyperGroup

from lakegate.cli import terminal
from lakegate.cli.escape import escaped
from lakegate.cli.extras import advice
from lakegate.cli.region import settle_region
from lakegate.contracts.errors import ContractError, LakegateError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typer._click import Context  # what the method of typer takes

GROUPS: Final[Mapping[str, Mapping[str, str]]] = {
    "Write contracts": {
        "new": "lakegate.cli.new:new",
        "init": "lakegate.cli.init:init",
        "convert": "lakegate.cli.convert:convert",
        "schema": "lakegate.cli.schema:schema",
        "publish": "lakegate.cli.publish:publish",
        "withdraw": "lakegate.cli.withdraw:withdraw",
        "proposals": "lakegate.cli.proposed:proposals",
        "approve": "lakegate.cli.approve:approve",
        "contracts": "lakegate.cli.published:contracts",
        "show": "lakegate.cli.published:show",
        "deprecate": "lakegate.cli.lifecycle:deprecate",
        "sunset": "lakegate.cli.lifecycle:sunset",
        "retire": "lakegate.cli.lifecycle:retire",
        "reactivate": "lakegate.cli.lifecycle:reactivate",
    },
    "Check": {
        "check": "lakegate.cli.check:check",
        "lint": "lakegate.cli.lint:lint",
        "plan": "lakegate.cli.plan:plan",
        "explain": "lakegate.cli.explain:explain",
        "diff": "lakegate.cli.diff:diff",
    },
    "Deliver": {
        "upload": "lakegate.cli.upload:upload",
        "deliver": "lakegate.cli.deliver:deliver",
        "status": "lakegate.cli.status:status",
        "reasons": "lakegate.cli.reasons:reasons",
        "history": "lakegate.cli.history:history",
        "pull": "lakegate.cli.pull:app",
    },
    "Operate": {
        "doctor": "lakegate.cli.doctor:doctor",
        "route": "lakegate.cli.route:app",
        "replay": "lakegate.cli.replay:replay",
        "waive": "lakegate.cli.waive:waive",
        "decline": "lakegate.cli.answer:decline",
        "pause": "lakegate.cli.pause:pause",
        "resume": "lakegate.cli.pause:resume",
        "redrive": "lakegate.cli.redrive:redrive",
        "workflow": "lakegate.cli.workflow:app",
        "validator": "lakegate.cli.validator:app",
        "notify": "lakegate.cli.notifications:app",
        "report": "lakegate.cli.line_report:report",
        "observe": "lakegate.cli.observe:app",
        "cost": "lakegate.cli.cost:cost",
        "drift": "lakegate.cli.drift:drift",
        "stack": "lakegate.cli.stack:app",
    },
    "Ledger and data": {
        "get": "lakegate.cli.get:get",
        "subscribe": "lakegate.cli.subscriptions:subscribe",
        "unsubscribe": "lakegate.cli.subscriptions:unsubscribe",
        "subscribers": "lakegate.cli.subscriptions:subscribers",
        "acknowledge": "lakegate.cli.subscriptions:acknowledge",
        "dataset": "lakegate.cli.dataset:app",
        "log": "lakegate.cli.ledger:log",
        "verify": "lakegate.cli.verify:verify",
        "erase": "lakegate.cli.erase:erase",
        "restore": "lakegate.cli.restore:restore",
        "verify-release": "lakegate.cli.verify_release:verify_release",
    },
    "This machine": {
        "local": "lakegate.cli.local:app",
        "demo": "lakegate.cli.demo:demo",
    },
}
"""The groups of `lakegate --help`, in its order: by name of a command the module and its function or `typer.Typer`."""
COMMANDS: Final[Mapping[str, str]] = {name: place for group in GROUPS.values() for name, place in group.items()}
UNUSABLE = 2
CLOSED_PIPE = 141
"""128 and the number of SIGPIPE: what a shell reports of a program that writes to a closed pipe."""


class _Modules(Mapping[str, Any]):
    """Commands by name. A module is imported when its command is used: no command waits for the imports of another."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer's own class is private
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    """All commands."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as typer passes them
        super().__init__(**settings)
        self.commands = _Modules()  # type: ignore[assignment]  # nobody adds commands later

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Options, and the names of commands without their descriptions: those would import all modules at each Tab."""
        names = [CompletionItem(name) for name in COMMANDS if name.startswith(incomplete)]
        return names + super(TyperGroup, self).shell_complete(ctx, incomplete)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - likewise
        settle_region()
        return super().invoke(ctx)


@cache
def _command(name: str) -> Any:  # noqa: ANN401 - likewise
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    command = typer.main.get_command(found)
    command.name = name
    command.rich_help_panel = next(title for title, group in GROUPS.items() if name in group)  # type: ignore[attr-defined]  # typer reads it
    return command


app = typer.Typer(
    name="lakegate",
    cls=_Group,
    help="Data contracts enforced at the door of a data lake.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command; what a user can cause ends in one sentence on standard error, never in a traceback."""
    try:
        app()
    except ContractError as error:
        terminal.say_refused(error)
        sys.exit(UNUSABLE)
    except LakegateError as error:
        sys.stderr.write(f"lakegate: {escaped(str(error))}\n")
        sys.exit(UNUSABLE)
    except ModuleNotFoundError as error:
        lacking = advice(error)
        if lacking is None:
            raise
        sys.stderr.write(f"lakegate: {lacking}\n")
        sys.exit(UNUSABLE)
    except KeyboardInterrupt:
        _interrupted()
    except (SystemExit, BrokenPipeError) as ended:
        if isinstance(ended, SystemExit) and ended.code == terminal.INTERRUPTED:
            _interrupted()
        if _is_read(ended):
            raise
        # end as every program does whose reader has gone, such as `head`: the code of the verdict was not seen
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(CLOSED_PIPE)


def _is_read(ended: BaseException) -> bool:
    """Whether standard output took all that was written; typer ends with 1 where a pipe was closed, which is "rejected" here."""
    if isinstance(ended, BrokenPipeError) or isinstance(ended.__context__, BrokenPipeError):
        return False
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return False
    return True


def _interrupted() -> NoReturn:
    terminal.say_interrupted()
    sys.exit(terminal.INTERRUPTED)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # noqa: PLC0415 -- only this option needs it

        typer.echo(f"lakegate {version('lakegate')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Data contracts enforced at the door of a data lake."""
    del version


if __name__ == "__main__":
    main()
