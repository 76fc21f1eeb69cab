"""lakegate stack pause, resume, delete; redrive."""

from __future__ import annotations

from typing import Annotated

import typer

from lakegate.aws.open_stack import (
    BUCKETS,
    DEFAULT_STACK,
    LONGEST_WAIT,
    OTHER_SENDER,
    TABLES,
    Redriven,
    asked,
    delete_bucket,
    delete_stack,
    event_source_mappings,
    opened,
    parameters_of,
    pause_stack,
    send_again,
    title_of,
)
from lakegate.cli import terminal
from lakegate.cli.command_runner import AsJson, Local, StackName, Yes, confirm
from lakegate.cli.deliveries.wait_for_verdict import Timeout
from lakegate.text import printable as escaped

# ---- `lakegate redrive`: give messages of the dead-letter queue back to the functions that could not handle them ----


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
        result = send_again(there, limit, dry_run=dry_run)
    if as_json:
        document = {"dry_run": dry_run, "moved": dict(result.moved), "kept": dict(result.kept)}
        terminal.print_json(document)
    else:
        _print(result, dry_run=dry_run)
    raise typer.Exit(OTHER_SENDER if result.kept else 0)


def _print(result: Redriven, *, dry_run: bool) -> None:
    console = terminal.answers()
    verb = "would be sent" if dry_run else "sent"
    for queue, count in sorted(result.moved.items()):
        console.print(f"{count} {verb} to {queue}")
    for reason, count in sorted(result.kept.items()):
        console.print(f"{count} left: {reason} (docs/functions.md, The dead-letter queue)", soft_wrap=True)
    if not result.moved and not result.kept:
        console.print("The dead-letter queue is empty.")


# ---- `lakegate stack`: pause a deployed stack before it is changed, resume it, delete it ---------------------------
#
# CloudFormation changes and deletes an EMR Serverless application only while that is stopped, and a stopped one
# starts itself with
# the next job run. So everything that submits runs is paused first: the queues keep their events for 14 days, sweep
# is disabled.
# `resume` continues all of it.


app = typer.Typer(no_args_is_help=True, add_completion=False, help="Pause, resume or delete a deployed stack.")


@app.command("pause")
def pause(
    *, timeout: Timeout = LONGEST_WAIT, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False
) -> None:
    """Take in nothing more, wait until the running jobs have ended, and stop the application: then it can be updated.

    Uploads and events wait until `resume`. The command is idempotent.

    Example: lakegate stack pause && sam deploy && lakegate stack resume

    Exit code: 0 it is at rest, 2 it is not, within the time; what was paused stays paused.
    """
    with opened(stack, local=local) as there:
        pause_stack(there, timeout)
    _answer(
        {"stack": there.name, "region": there.region, "paused": True}, f"{title_of(there)} is at rest.", as_json=as_json
    )


@app.command("resume")
def resume(*, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """Continue with what has waited. The application starts itself with the next delivery.

    Example: lakegate stack resume
    """
    with opened(stack, local=local) as there:
        for mapping in event_source_mappings(there):
            asked("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=True)
        sweep = there.output("SweepFunction")
        if parameters_of(there).get("ReserveConcurrency") == "yes":
            asked("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=1)
        else:
            asked("lambda", "delete_function_concurrency", FunctionName=sweep)
    _answer(
        {"stack": there.name, "region": there.region, "paused": False}, f"{title_of(there)} continues.", as_json=as_json
    )


@app.command("delete")
def delete(  # noqa: PLR0913 - a command has these options
    *,
    data: Annotated[
        bool, typer.Option("--data", help="Delete the stack's buckets and tables, too, with all data.")
    ] = False,
    yes: Yes = False,
    timeout: Timeout = LONGEST_WAIT,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Delete the stack, once it is at rest. Buckets and tables are kept, unless --data deletes them; given buckets always are.

    Example: lakegate stack delete --yes

    Exit code: 0 it is deleted, 2 it is not.
    """
    with opened(stack, local=local) as there:
        made = {name: there.output(name) for name, given in BUCKETS.items() if not parameters_of(there).get(given)}
        tables = {name: there.output(name) for name in TABLES}
        names = [*made.values(), *tables.values()]
        effect = f"deletes {', '.join(names)} with all data" if data else f"keeps {', '.join(names)}"
        confirm([f"{title_of(there)} is deleted, which {effect}"], yes=yes)
        pause_stack(there, timeout)
        delete_stack(there, timeout)
        if data:
            for bucket in made.values():
                delete_bucket(bucket)
            for table in tables.values():
                asked("dynamodb", "delete_table", TableName=table)
    answer = {"stack": there.name, "region": there.region, "deleted": True, "kept": [] if data else names}
    _answer(answer, f"{title_of(there)} is deleted" + ("." if data else f"; kept: {', '.join(names)}"), as_json=as_json)


def _answer(document: dict[str, object], sentence: str, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(document)
    else:
        terminal.answers().print(escaped(sentence[0].upper() + sentence[1:]), markup=False, soft_wrap=True)
