"""`lakegate stack`: pause a deployed stack before it is changed, resume it, delete it.

CloudFormation changes and deletes an EMR Serverless application only while that is stopped, and a stopped one starts itself with
the next job run. So everything that submits runs is paused first: the queues keep their events for 14 days, sweep is disabled.
`resume` continues all of it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from lakegate.cli import terminal
from lakegate.cli.aws import asked, opened
from lakegate.cli.confirm import Yes, confirm
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, StackName
from lakegate.cli.waiting import Timeout  # noqa: TC001 - typer reads the annotation
from lakegate.contracts.errors import SetUpError
from lakegate.functions.ports.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakegate.cli.aws import DeployedStack

QUEUED: Final = ("IntakeFunction", "CompletionFunction")
OPEN_RUNS: Final = ["SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "CANCELLING"]
IDLE: Final = frozenset({"CREATED", "STOPPED", "TERMINATED"})
LONGEST_WAIT: Final = 3600
"""Seconds: the time limit of a job run."""
TICK_SECONDS: Final = 1.0
TABLES: Final = ("RegistryTable", "WorkloadsTable", "LedgerTable")
BUCKETS: Final = {"LandingBucket": "ExistingLandingBucket", "LakeBucket": "ExistingLakeBucket"}
"""Buckets by output, and the parameter that names one which the stack did not make."""

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
        _pause(there, timeout)
    _answer(
        {"stack": there.name, "region": there.region, "paused": True}, f"{_named(there)} is at rest.", as_json=as_json
    )


@app.command("resume")
def resume(*, stack: StackName = DEFAULT_STACK, local: Local = False, as_json: AsJson = False) -> None:
    """Continue with what has waited. The application starts itself with the next delivery.

    Example: lakegate stack resume
    """
    with opened(stack, local=local) as there:
        for mapping in _mappings(there):
            asked("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=True)
        sweep = there.output("SweepFunction")
        if _parameters(there).get("ReserveConcurrency") == "yes":
            asked("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=1)
        else:
            asked("lambda", "delete_function_concurrency", FunctionName=sweep)
    _answer(
        {"stack": there.name, "region": there.region, "paused": False}, f"{_named(there)} continues.", as_json=as_json
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
        made = {name: there.output(name) for name, given in BUCKETS.items() if not _parameters(there).get(given)}
        tables = {name: there.output(name) for name in TABLES}
        names = [*made.values(), *tables.values()]
        effect = f"deletes {', '.join(names)} with all data" if data else f"keeps {', '.join(names)}"
        confirm([f"{_named(there)} is deleted, which {effect}"], yes=yes)
        _pause(there, timeout)
        _delete(there, timeout)
        if data:
            for bucket in made.values():
                _delete_bucket(bucket)
            for table in tables.values():
                asked("dynamodb", "delete_table", TableName=table)
    answer = {"stack": there.name, "region": there.region, "deleted": True, "kept": [] if data else names}
    _answer(answer, f"{_named(there)} is deleted" + ("." if data else f"; kept: {', '.join(names)}"), as_json=as_json)


def _pause(there: DeployedStack, timeout: float) -> None:
    """Of what a deletion that failed has left, too: what is gone needs no pause."""
    for mapping in _mappings(there):
        asked("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=False)
    with suppress(NotFound):
        sweep = there.output("SweepFunction")
        asked("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=0)
    _until(lambda: _is_at_rest(there), timeout, "job runs have not ended")


def _is_at_rest(there: DeployedStack) -> bool:
    """Whether nothing submits runs any more, none is open, and the application is stopped; stops it where it can be."""
    application = {"applicationId": there.output("ApplicationId")}
    if any(mapping.get("State", "Disabled") != "Disabled" for mapping in _mappings(there)):
        return False
    if asked("emr-serverless", "list_job_runs", **application, states=OPEN_RUNS)["jobRuns"]:
        return False
    state = asked("emr-serverless", "get_application", **application)["application"]["state"]
    if state == "STARTED":
        asked("emr-serverless", "stop_application", **application)
    return state in IDLE


def _delete(there: DeployedStack, timeout: float) -> None:
    identity = asked("cloudformation", "describe_stacks", StackName=there.name)["Stacks"][0]["StackId"]
    asked("cloudformation", "delete_stack", StackName=identity)

    def gone() -> bool:
        status = asked("cloudformation", "describe_stacks", StackName=identity)["Stacks"][0]["StackStatus"]
        if status == "DELETE_FAILED":
            raise SetUpError(f"{_named(there)} could not be deleted: {'; '.join(_reasons(identity))}")
        return bool(status == "DELETE_COMPLETE")

    _until(gone, timeout, "it is still being deleted")


def _reasons(identity: str) -> list[str]:
    events = asked("cloudformation", "describe_stack_events", StackName=identity)["StackEvents"]
    failed = [each for each in events if each["ResourceStatus"] == "DELETE_FAILED" and "ResourceStatusReason" in each]
    return [f"{each['LogicalResourceId']}: {each['ResourceStatusReason']}" for each in failed]


def _delete_bucket(bucket: str) -> None:
    while found := asked("s3", "list_object_versions", Bucket=bucket):
        versions = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        if not versions:
            break
        keys = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]
        asked("s3", "delete_objects", Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
    asked("s3", "delete_bucket", Bucket=bucket)


def _mappings(there: DeployedStack) -> Iterator[dict[str, Any]]:
    for output in QUEUED:
        yield from asked("lambda", "list_event_source_mappings", FunctionName=there.output(output))[
            "EventSourceMappings"
        ]


def _parameters(there: DeployedStack) -> dict[str, str]:
    found = asked("cloudformation", "describe_stacks", StackName=there.name)["Stacks"][0].get("Parameters", ())
    return {each["ParameterKey"]: each["ParameterValue"] for each in found}


def _until(holds: Callable[[], bool], timeout: float, otherwise: str) -> None:
    limit = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > limit:
            raise SetUpError(f"{otherwise} within {timeout:.0f} seconds: run the command again, it continues")
        time.sleep(TICK_SECONDS)


def _named(there: DeployedStack) -> str:
    return f"the stack {there.name} in {there.region}"


def _answer(document: dict[str, object], sentence: str, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(document)
    else:
        terminal.answers().print(escaped(sentence[0].upper() + sentence[1:]), markup=False, soft_wrap=True)
