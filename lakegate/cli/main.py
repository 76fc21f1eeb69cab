"""The `lakegate` command. A command is a function, or a `CommandGroup`, and a line of `CORE`, or of the table of features."""

from __future__ import annotations

import ast
import gc
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from io import UnsupportedOperation
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.exceptions import NoSuchCommand
from click.shell_completion import CompletionItem

from lakegate.aws.open_stack import settle_region
from lakegate.base.errors import ContractError, LakegateError, SetUpError
from lakegate.base.extension_points import ROOT, advice, load_extension, names, place_of
from lakegate.base.text import first_paragraph
from lakegate.base.text import printable as escaped
from lakegate.cli import terminal
from lakegate.cli.click_commands import CONTEXT, CommandGroup, Group, click_command

CORE: Final[Mapping[str, Mapping[str, str]]] = {
    "Start here": {
        "check": "lakegate.cli.contracts.check_command:check",
        "publish": "lakegate.cli.contracts.publish_command:publish",
        "route": "lakegate.cli.contracts.route_command:app",
        "upload": "lakegate.cli.deliveries.upload_command:upload",
        "get": "lakegate.cli.datasets.get_command:get",
    },
    "Write contracts": {
        "schema": "lakegate.cli.contracts.schema_command:schema",
        "withdraw": "lakegate.cli.contracts.withdraw_command:withdraw",
        "contracts": "lakegate.cli.contracts.contracts_command:contracts",
        "show": "lakegate.cli.contracts.contracts_command:show",
        "deprecate": "lakegate.cli.datasets.lifecycle_command:deprecate",
        "sunset": "lakegate.cli.datasets.lifecycle_command:sunset",
        "retire": "lakegate.cli.datasets.lifecycle_command:retire",
        "reactivate": "lakegate.cli.datasets.lifecycle_command:reactivate",
    },
    "Check": {
        "lint": "lakegate.cli.contracts.lint_command:lint",
        "plan": "lakegate.cli.contracts.plan_command:plan",
        "explain": "lakegate.cli.contracts.explain_command:explain",
        "diff": "lakegate.cli.contracts.diff_command:diff",
    },
    "Deliver": {
        "status": "lakegate.cli.deliveries.status_command:status",
        "reasons": "lakegate.cli.deliveries.status_command:reasons",
        "history": "lakegate.cli.datasets.history_command:history",
    },
    "Read data": {
        "subscribe": "lakegate.cli.datasets.subscribe_command:subscribe",
        "unsubscribe": "lakegate.cli.datasets.subscribe_command:unsubscribe",
        "subscribers": "lakegate.cli.datasets.subscribe_command:subscribers",
        "acknowledge": "lakegate.cli.datasets.subscribe_command:acknowledge",
    },
    "Decide": {
        "replay": "lakegate.cli.deliveries.replay_command:replay",
        "waive": "lakegate.cli.deliveries.decide_command:waive",
        "approve": "lakegate.cli.deliveries.decide_command:approve",
        "decline": "lakegate.cli.deliveries.decide_command:decline",
        "cancel": "lakegate.cli.deliveries.decide_command:cancel",
        "recall": "lakegate.cli.deliveries.decide_command:recall",
    },
    "Operate": {
        "pause": "lakegate.cli.datasets.pause_command:pause",
        "resume": "lakegate.cli.datasets.pause_command:resume",
        "redrive": "lakegate.cli.stack.stack_command:redrive",
        "report": "lakegate.cli.datasets.report_command:report",
        "observe": "lakegate.cli.datasets.report_command:app",
        "stack": "lakegate.cli.stack.stack_command:app",
    },
    "Ledger": {
        "log": "lakegate.cli.datasets.log_command:log",
        "verify": "lakegate.cli.datasets.verify_command:verify",
        "restore": "lakegate.cli.datasets.restore_command:restore",
    },
    "This machine": {
        "use": "lakegate.cli.stack.use_command:use",
        "local": "infra.local.local_command:app",
        "demo": "infra.local.demo_command:demo",
    },
}
"""The core's commands in the groups of `lakegate --help`: by name the module and its function or `CommandGroup`."""
POINT: Final = "commands"
"""Extension point: functions and `CommandGroup`s of features.

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


class _LakegateGroup(Group):
    """All commands. A module is imported when its command is used: no command waits for the imports of another."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands whose programs are there."""
        del ctx
        return list(available())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One command; SetUpError where it runs programs that are not there."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        if cmd_name not in available():
            raise SetUpError(
                f"`lakegate {cmd_name}` runs programs of a clone of Lakegate, and this is an installed package."
            )
        return _command(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the words name; NoSuchCommand has those that are spelled nearly so."""
        if args[0] not in COMMANDS and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise NoSuchCommand(args[0], possibilities=available(), ctx=ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Options, and the names of commands without their descriptions: those would import all modules at each Tab."""
        names = [CompletionItem(name) for name in available() if name.startswith(incomplete)]
        return names + super(click.Group, self).shell_complete(ctx, incomplete)

    def sections(self, ctx: click.Context) -> Mapping[str, Mapping[str, str]]:
        """The groups with descriptions that are read and not imported: no library of theirs is needed."""
        del ctx
        return {
            title: {name: _description(name) for name in group if name in available()}
            for title, group in GROUPS.items()
        }

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what a command returns
        """Run the command, in the region of the environment; `main` ends it where Ctrl-C or a closed pipe did, not click."""
        settle_region()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise click.Abort from None
        except BrokenPipeError:
            raise SystemExit(CLOSED_PIPE) from None


@cache
def _command(name: str) -> click.Command:
    module, attribute = _place(COMMANDS[name])
    found = getattr(import_module(module), attribute)
    if not isinstance(found, CommandGroup):
        return click_command(name, found)
    rows = [each for each in names(POINT) if each.split(" ")[:-1] == [name]]
    return found.click_group(name, {row.removeprefix(f"{name} "): load_extension(POINT, row) for row in rows})


def _place(place: str) -> tuple[str, str]:
    """Module and attribute of a command, by its place or its row of the extension point."""
    module, _, attribute = (place if ":" in place else place_of(POINT, place)).partition(":")
    return module, attribute


def _description(name: str) -> str:
    """The description of a command in the list of all: of its function's docstring, or the `help` of its `CommandGroup`."""
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
                text = next(ast.literal_eval(option.value) for option in options if option.arg == "help")
    return first_paragraph(text)


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version  # noqa: PLC0415 -- only this option needs it

        click.echo(f"lakegate {version('lakegate')}")
        ctx.exit()


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell and not ctx.resilient_parsing:
        from click.shell_completion import get_completion_class  # noqa: PLC0415 -- only this option needs it

        found = get_completion_class(shell)
        assert found is not None
        click.echo(found(app, {}, "lakegate", "_LAKEGATE_COMPLETE").source())
        ctx.exit()


app = _LakegateGroup(
    "lakegate",
    help="Data contracts enforced at the door of a data lake.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    params=[
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help="Print the version and stop.",
        ),
        click.Option(
            ["--completion"],
            type=click.Choice(["bash", "zsh", "fish", "powershell"]),
            is_eager=True,
            expose_value=False,
            callback=_print_completion,
            help='Print what a shell reads to complete commands, such as: eval "$(lakegate --completion bash)".',
        ),
    ],
)


def main() -> None:
    """Run the command; what a user can cause ends in one sentence on standard error, never in a traceback."""
    # imports make many objects and hardly any garbage: to look for it 180 times takes a `check` of few rows 7 % of its time
    gc.set_threshold(200_000)
    try:
        _run()
    except (SystemExit, BrokenPipeError) as ended:
        if _is_read(ended):
            raise
        # end as every program does whose reader has gone, such as `head`: the code of the verdict was not seen
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            with suppress(UnsupportedOperation):
                os.dup2(nowhere, stream.fileno())
        sys.exit(CLOSED_PIPE)


def _run() -> NoReturn:
    """Run the command to its exit code. BrokenPipeError where nobody reads what it writes, its errors included."""
    try:
        sys.exit(app.main(prog_name="lakegate", standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
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
    except (KeyboardInterrupt, click.Abort):
        terminal.say_interrupted()
        sys.exit(terminal.INTERRUPTED)


def _is_read(ended: BaseException) -> bool:
    """Whether standard output took all that was written."""
    if isinstance(ended, BrokenPipeError) or isinstance(ended.__context__, BrokenPipeError):
        return False
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        return False
    return True


if __name__ == "__main__":
    main()
