"""lakegate stack pause, resume, repair, protect, delete; redrive."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import click

from lakegate.aws.open_stack import OTHER_SENDER, DeployedStack, ask_service, parameters_of, send_again, title_of
from lakegate.aws.stack_operations import (
    BUCKETS,
    GIVEN,
    GIVEN_ANCHORS,
    LONGEST_WAIT,
    TABLES,
    announce_objects,
    delete_bucket,
    delete_stack,
    discard,
    execute_at_rest,
    open_runs,
    own_parameters,
    pause_stack,
    protect_stack,
    protect_table,
    reasons_to_pause,
    refuse_deletion,
    restore_drift,
    resume_stack,
)
from lakegate.base.errors import InputError
from lakegate.base.text import plural, sentence
from lakegate.cli import terminal
from lakegate.cli.click_commands import CommandGroup, Option
from lakegate.cli.command_runner import CommandResult, confirm, stack_command
from lakegate.cli.options import Timeout, Yes

# ---- `lakegate redrive` ----


@dataclass(frozen=True, slots=True)
class RedrivenMessages:
    """Counts of redriven messages of the dead-letter queue."""

    dry_run: bool
    moved: dict[str, int]
    """By queue."""
    kept: dict[str, int]
    """By reason."""


@stack_command
def redrive(
    there: DeployedStack,
    *,
    limit: Annotated[int, Option(min=1, max=100_000, help="At most so many messages.")] = 1_000,
    dry_run: Annotated[bool, Option(help="Count them, and move none.")] = False,
) -> CommandResult[RedrivenMessages]:
    """Send messages of the dead-letter queue back to the queue of their function. Remove the cause first (`lakegate doctor`).

    A message is sent before it is deleted: after an interruption it may be handled twice, which does no harm. Messages that no
    function can understand stay where they are.

    Example: lakegate redrive --dry-run

    Exit code: 0 none is left, 3 some cannot be understood and were left.
    """
    result = send_again(there, limit, dry_run=dry_run)
    found = RedrivenMessages(dry_run, dict(result.moved), dict(result.kept))
    return CommandResult(found, _in_words(found), OTHER_SENDER if result.kept else 0)


def _in_words(found: RedrivenMessages) -> Iterator[str]:
    verb = "would be sent" if found.dry_run else "sent"
    yield from (f"{count} {verb} to {queue}" for queue, count in sorted(found.moved.items()))
    for reason, count in sorted(found.kept.items()):
        yield f"{count} left: {reason} (docs/functions.md, The dead-letter queue)"
    if not found.moved and not found.kept:
        yield "The dead-letter queue is empty."


# ---- `lakegate stack` ----
# CloudFormation changes and deletes an EMR Serverless application only while that is stopped, and a stopped one starts itself
# with the next job run. So everything that submits runs is paused first: the queues keep their events for 14 days, sweep is
# disabled. `resume` continues all of it.


app = CommandGroup(help="Deploy, estimate, prove, pause, resume, repair, protect or delete a stack.")


@dataclass(frozen=True, slots=True)
class StackPause:
    """Whether a stack takes in nothing."""

    stack: str
    region: str
    paused: bool


@dataclass(frozen=True, slots=True)
class DeletedStack:
    """A stack that is deleted, and the buckets and tables that are kept."""

    stack: str
    region: str
    deleted: bool
    kept: tuple[str, ...]
    parameters: dict[str, str]
    """Of a stack that goes on with what was kept; empty where something of it is gone."""


@dataclass(frozen=True, slots=True)
class StackProtection:
    """Whether AWS refuses to delete a stack and its tables."""

    stack: str
    region: str
    protected: bool


@dataclass(frozen=True, slots=True)
class RepairedStack:
    """A stack that is as its template says, and what was done for that."""

    stack: str
    region: str
    changes: tuple[str, ...]


@app.command("pause")
@stack_command
def pause(
    there: DeployedStack,
    *,
    cancel: Annotated[bool, Option(help="Cancel the job runs that wait or run.")] = False,
    yes: Yes = False,
    timeout: Timeout = LONGEST_WAIT,
) -> CommandResult[StackPause]:
    """Take in nothing more, wait until the running jobs have ended, and stop the application: then it can be updated.

    Uploads and events wait until `resume`. The command is idempotent. A delivery whose run is cancelled is judged again after
    `resume`; that is one of its attempts.

    `stack deploy` pauses by itself where an update needs it.

    Example: lakegate stack pause

    Exit code: 0 it is at rest, 2 it is not, within the time; what was paused stays paused.
    """
    if cancel and (count := open_runs(there)):
        confirm([f"{title_of(there)}: {plural(count, 'job run')} cancelled, each of which is an attempt"], yes=yes)
    pause_stack(there, timeout, cancel=cancel)
    return CommandResult(
        StackPause(there.name, there.region, paused=True), [sentence(f"{title_of(there)} is at rest.")]
    )


@app.command("resume")
@stack_command
def resume(
    there: DeployedStack,
) -> CommandResult[StackPause]:
    """Continue with what has waited. The application starts itself with the next delivery.

    Example: lakegate stack resume
    """
    resume_stack(there)
    return CommandResult(
        StackPause(there.name, there.region, paused=False), [sentence(f"{title_of(there)} continues.")]
    )


@app.command("repair")
@stack_command
def repair(there: DeployedStack, *, yes: Yes = False, timeout: Timeout = LONGEST_WAIT) -> CommandResult[RepairedStack]:
    """Create again what was deleted from the stack by hand, and set back what was changed. Every parameter stays as it is.

    Shows each change, and asks, before anything is done. Job runs are paused where the changes need it. Other notifications of
    the landing bucket are kept.

    Example: lakegate stack repair

    Exit code: 0 it is as its template says, 2 it is not.
    """
    change_set = restore_drift(there, timeout)
    changes = [change.sentence for change in change_set.changes]
    try:
        pauses = [f"job runs are paused meanwhile ({pause})" for pause in reasons_to_pause(change_set.changes)]
        confirm([*(f"{title_of(there)}: {change}" for change in changes), *pauses], yes=yes)
    except (InputError, click.Abort):
        discard(change_set)
        raise
    if changes:
        execute_at_rest(there, change_set, timeout, terminal.note)
    if announce_objects(there.output("LandingBucket")):
        changes.append(f"sends the events of {there.output('LandingBucket')} to EventBridge again")
    done = "; ".join(changes) or "nothing was changed by hand, so nothing was done"
    return CommandResult(
        RepairedStack(there.name, there.region, tuple(changes)), [sentence(f"{title_of(there)}: {done}")]
    )


@app.command("protect")
@stack_command
def protect(
    there: DeployedStack,
    *,
    off: Annotated[bool, Option(help="Take the protection away, before a deletion.")] = False,
) -> CommandResult[StackProtection]:
    """Let AWS refuse to delete the stack and its tables, whoever asks.

    Example: lakegate stack protect
    """
    protect_stack(there, enabled=not off)
    words = (
        f"{title_of(there)} and its tables can{'' if off else 'not'} be deleted{'' if off else ': --off permits it'}."
    )
    return CommandResult(StackProtection(there.name, there.region, protected=not off), [sentence(words)])


@app.command("delete")
@stack_command
def delete(
    there: DeployedStack,
    *,
    data: Annotated[bool, Option(help="Delete the stack's buckets and tables, too, with all data.")] = False,
    yes: Yes = False,
    timeout: Timeout = LONGEST_WAIT,
) -> CommandResult[DeletedStack]:
    """Delete the stack, once it is at rest. Buckets and tables are kept, unless --data deletes them; given ones always are.

    A stack that is deployed with the parameters that the answer names goes on with what was kept.

    Example: lakegate stack delete --yes

    Exit code: 0 it is deleted, 2 it is not.
    """
    refuse_deletion(there)
    given = parameters_of(there)
    outputs = {name: there.output(name) for name in (*BUCKETS, *TABLES)}
    made = {name: outputs[name] for name, parameter in GIVEN.items() if not given.get(parameter)}
    own = own_parameters(there)
    anchors = [own[GIVEN_ANCHORS]] if GIVEN_ANCHORS in own else []
    names = list(made.values())
    effect = f"deletes {', '.join(names)} with all data" if data else f"keeps {', '.join([*names, *anchors])}"
    confirm([f"{title_of(there)} is deleted, which {effect}"], yes=yes)
    pause_stack(there, timeout)
    delete_stack(there, timeout)
    if data:
        for name, store in made.items():
            if name in BUCKETS:
                delete_bucket(store)
            else:
                protect_table(store, enabled=False)
                ask_service("dynamodb", "delete_table", TableName=store)
    kept = {name: store for name, store in outputs.items() if not data or name not in made}
    again = own | {GIVEN[name]: store for name, store in kept.items()} if len(kept) == len(outputs) else {}
    stores = (*kept.values(), *anchors)
    words = f"{title_of(there)} is deleted" + (f"; kept: {', '.join(stores)}" if stores else ".")
    lines = [sentence(words)]
    if again:
        values = [word for name, value in again.items() for word in ("--parameter", f"{name}={value}")]
        lines.append(
            f"To go on with them: {shlex.join(['lakegate', 'stack', 'deploy', '--name', there.name, *values])}"
        )
    if again.get("SigningKey"):
        key = again["SigningKey"]
        lines.append(
            f"Then let the new roles sign by {key} (docs/deploy.md, The key that signs): its policy names the old ones."
        )
    return CommandResult(DeletedStack(there.name, there.region, deleted=True, kept=stores, parameters=again), lines)
