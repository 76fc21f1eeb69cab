"""The `lakegate` command. A command is a function, or a `typer.Typer`, and a line of `CORE`, or of the table of features."""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand, TyperGroup

from lakegate.aws.open_stack import settle_region
from lakegate.cli import terminal
from lakegate.errors import ContractError, LakegateError, SetUpError
from lakegate.extension_points import ROOT, advice, loaded, names, place_of
from lakegate.text import printable as escaped

if TYPE_CHECKING:
    from typer._click import Context, HelpFormatter  # what the methods of typer take

CORE: Final[Mapping[str, Mapping[str, str]]] = {
    "Write contracts": {
        "schema": "lakegate.cli.contracts.schema_command:schema",
        "publish": "lakegate.cli.contracts.publish_command:publish",
        "withdraw": "lakegate.cli.contracts.withdraw_command:withdraw",
        "contracts": "lakegate.cli.contracts.contracts_command:contracts",
        "show": "lakegate.cli.contracts.contracts_command:show",
        "deprecate": "lakegate.cli.datasets.lifecycle_command:deprecate",
        "sunset": "lakegate.cli.datasets.lifecycle_command:sunset",
        "retire": "lakegate.cli.datasets.lifecycle_command:retire",
        "reactivate": "lakegate.cli.datasets.lifecycle_command:reactivate",
    },
    "Check": {
        "check": "lakegate.cli.contracts.check_command:check",
        "lint": "lakegate.cli.contracts.lint_command:lint",
        "plan": "lakegate.cli.contracts.plan_command:plan",
        "explain": "lakegate.cli.contracts.explain_command:explain",
        "diff": "lakegate.cli.contracts.diff_command:diff",
    },
    "Deliver": {
        "upload": "lakegate.cli.deliveries.upload_command:upload",
        "status": "lakegate.cli.deliveries.status_command:status",
        "reasons": "lakegate.cli.deliveries.status_command:reasons",
        "history": "lakegate.cli.datasets.history_command:history",
    },
    "Decide": {
        "replay": "lakegate.cli.deliveries.replay_command:replay",
        "waive": "lakegate.cli.deliveries.decide_command:waive",
        "approve": "lakegate.cli.deliveries.decide_command:approve",
        "decline": "lakegate.cli.deliveries.decide_command:decline",
    },
    "Operate": {
        "route": "lakegate.cli.contracts.route_command:app",
        "pause": "lakegate.cli.datasets.pause_command:pause",
        "resume": "lakegate.cli.datasets.pause_command:resume",
        "redrive": "lakegate.cli.stack.stack_command:redrive",
        "report": "lakegate.cli.datasets.report_command:report",
        "observe": "lakegate.cli.datasets.report_command:app",
        "stack": "lakegate.cli.stack.stack_command:app",
    },
    "Ledger and data": {
        "get": "lakegate.cli.datasets.get_command:get",
        "subscribe": "lakegate.cli.datasets.subscribe_command:subscribe",
        "unsubscribe": "lakegate.cli.datasets.subscribe_command:unsubscribe",
        "subscribers": "lakegate.cli.datasets.subscribe_command:subscribers",
        "acknowledge": "lakegate.cli.datasets.subscribe_command:acknowledge",
        "log": "lakegate.cli.datasets.log_command:log",
        "verify": "lakegate.cli.datasets.verify_command:verify",
        "restore": "lakegate.cli.datasets.restore_command:restore",
    },
    "This machine": {
        "local": "infra.local.local_command:app",
        "demo": "infra.local.demo_command:demo",
    },
}
"""The core's commands in the groups of `lakegate --help`: by name the module and its function or `typer.Typer`."""
POINT: Final = "commands"
"""Extension point: functions and `typer.Typer`s of features.

The name of a row is `NAME before COMMAND`, which follows in the help, `NAME in GROUP` for the last ones of a group, or
`COMMAND NAME`, which adds to a command of the core that has commands of its own.
"""


def _groups() -> Mapping[str, Mapping[str, str]]:
    """All commands: those of the core, each behind the commands of features that stand before it."""
    found: dict[str, dict[str, str]] = {}
    for title, group in CORE.items():
        found[title] = {}
        for name, place in group.items():
            found[title] |= _of_features(f" before {name}") | {name: place}
        found[title] |= _of_features(f" in {title}")
    return found


def _of_features(ending: str) -> dict[str, str]:
    """The rows whose names end so, by what is before that."""
    return {row.removesuffix(ending): row for row in names(POINT) if row.endswith(ending)}


GROUPS: Final[Mapping[str, Mapping[str, str]]] = _groups()
"""The groups of `lakegate --help`, in its order: by name of a command its place, or its row of the extension point."""
COMMANDS: Final[Mapping[str, str]] = {name: place for group in GROUPS.values() for name, place in group.items()}
UNUSABLE = 2
CLOSED_PIPE = 141
"""128 and the number of SIGPIPE: what a shell reports of a program that writes to a closed pipe."""


def available() -> tuple[str, ...]:
    """The commands whose programs are there: those of `infra` in a clone only."""
    return tuple(
        name for name, place in COMMANDS.items() if not place.startswith("infra.") or (ROOT / "infra").is_dir()
    )


class _Modules(Mapping[str, Any]):
    """Commands by name. A module is imported when its command is used: no command waits for the imports of another."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - typer's own class is private
        if name in COMMANDS and name not in available():
            raise SetUpError(
                f"`lakegate {name}` runs programs of a clone of Lakegate, and this is an installed package."
            )
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(available())

    def __len__(self) -> int:
        return len(available())


class _Group(TyperGroup):
    """All commands."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - as typer passes them
        super().__init__(**settings)
        self.commands = _Modules()  # type: ignore[assignment]  # nobody adds commands later

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        """Options, and the names of commands without their descriptions: those would import all modules at each Tab."""
        names = [CompletionItem(name) for name in available() if name.startswith(incomplete)]
        return names + super(TyperGroup, self).shell_complete(ctx, incomplete)

    def format_help(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The list of commands, whose descriptions are read and not imported: no library of theirs is needed."""
        commands, self.commands = self.commands, {name: _description(name) for name in available()}
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = commands

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - likewise
        settle_region()
        return super().invoke(ctx)


@cache
def _command(name: str) -> Any:  # noqa: ANN401 - likewise
    module, attribute = _place(COMMANDS[name])
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        alone.command(name)(found)
        found = alone
    for row in (each for each in names(POINT) if each.split(" ")[:-1] == [name]):
        found.command(row.removeprefix(f"{name} "))(loaded(POINT, row))
    command = typer.main.get_command(found)
    command.name = name
    return command


def _place(place: str) -> tuple[str, str]:
    """Module and attribute of a command, by its place or its row of the extension point."""
    module, _, attribute = (place if ":" in place else place_of(POINT, place)).partition(":")
    return module, attribute


def _description(name: str) -> TyperCommand:
    """A command as the list of all commands has it: the docstring of its function, or the `help` of its `typer.Typer`."""
    module, attribute = _place(COMMANDS[name])
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    text = None
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=found) if found == attribute:
                text = ast.get_docstring(node)
            case (
                ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(keywords=options))
                | ast.AnnAssign(target=ast.Name(id=found), value=ast.Call(keywords=options))
            ) if found == attribute:
                text = next(ast.literal_eval(each.value) for each in options if each.arg == "help")
    panel = next(title for title, group in GROUPS.items() if name in group)
    return TyperCommand(name, help=text, rich_help_panel=panel)


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
    # imports make many objects and hardly any garbage: to look for it 180 times takes a `check` of few rows 7 % of its time
    gc.set_threshold(200_000)
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
