"""The `lakegate` command. A command is one module of this folder and one line below."""

from __future__ import annotations

import sys
from typing import Annotated, NoReturn

import typer

from cli import local, route, terminal
from cli.check import check
from cli.contracts import tell
from cli.demo import demo
from cli.get import get
from cli.ledger import log
from cli.lint import lint
from cli.plan import plan
from cli.publish import publish
from cli.reasons import reasons
from cli.replay import replay
from cli.seen import seen
from cli.shelf import contracts, show
from cli.status import status
from cli.upload import upload
from cli.verify import verify
from contracts.errors import ContractError, LakegateError

app = typer.Typer(
    name="lakegate",
    help="Data contracts enforced at the door of a data lake.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.command("lint")(lint)
app.command("plan")(plan)
app.command("check")(check)
app.command("publish")(publish)
app.command("contracts")(contracts)
app.command("show")(show)
app.add_typer(route.app, name="route")
app.command("upload")(upload)
app.command("status")(status)
app.command("reasons")(reasons)
app.command("replay")(replay)
app.command("get")(get)
app.command("log")(log)
app.command("verify")(verify)
app.add_typer(local.app, name="local")
app.command("demo")(demo)

UNUSABLE = 2


def main() -> None:
    """Run the command; what a user can cause ends in one sentence on standard error, never in a traceback."""
    try:
        app()
    except ContractError as error:
        tell(error)
        sys.exit(UNUSABLE)
    except LakegateError as error:
        sys.stderr.write(f"lakegate: {seen(str(error))}\n")
        sys.exit(UNUSABLE)
    except KeyboardInterrupt:
        _interrupted()
    except SystemExit as ended:
        if ended.code == terminal.INTERRUPTED:
            _interrupted()
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(UNUSABLE)


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
