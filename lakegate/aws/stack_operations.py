"""Operations on a whole stack: pause, change, repair, delete.

CloudFormation gives a parameter that a change set does not name the default of the template (API reference, `Parameter`): with
`UsePreviousValue` for every other one, only what is named changes.
"""

from __future__ import annotations

import re
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lakegate.aws.open_stack import asked, described, resources_of, title_of
from lakegate.errors import NotFound, SetUpError
from lakegate.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from lakegate.aws.open_stack import DeployedStack

QUEUED: Final = ("IntakeFunction", "CompletionFunction")
OPEN_RUNS: Final = ["SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "CANCELLING"]
IDLE: Final = frozenset({"CREATED", "STOPPED", "TERMINATED"})
LONGEST_WAIT: Final = 3600
"""Seconds: the time limit of a job run."""
TICK_SECONDS: Final = 1.0
BUCKETS: Final = ("LandingBucket", "LakeBucket")
TABLES: Final = ("RegistryTable", "WorkloadsTable", "LedgerTable")
GIVEN: Final = {name: f"Existing{name}" for name in (*BUCKETS, *TABLES)}
"""By output, the parameter that names a bucket or table which the stack did not make."""
NOTHING_TO_CHANGE: Final = re.compile(
    r"didn't contain changes|No updates are to be performed|no changes", re.IGNORECASE
)
"""The reason of a FAILED change set without a change (CloudFormation user guide, "View a change set")."""
STORES: Final = frozenset({"AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::KMS::Key"})
"""Types that hold data: nothing of them is replaced or removed by a command."""
_VERBS: Final = {
    "Add": "creates",
    "Modify": "changes",
    "Remove": "deletes",
    "Import": "imports",
    "Dynamic": "may change",
}


def pause_stack(there: DeployedStack, timeout: float) -> None:
    """Of what a deletion that failed has left, too: what is gone needs no pause."""
    for mapping in event_source_mappings(there):
        asked("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=False)
    with suppress(NotFound):
        sweep = there.output("SweepFunction")
        asked("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=0)
    _until(lambda: _is_at_rest(there), timeout, "job runs have not ended")


def _is_at_rest(there: DeployedStack) -> bool:
    """Whether nothing submits runs any more, none is open, and the application is stopped; stops it where it can be."""
    application = {"applicationId": there.output("ApplicationId")}
    if any(mapping.get("State", "Disabled") != "Disabled" for mapping in event_source_mappings(there)):
        return False
    if asked("emr-serverless", "list_job_runs", **application, states=OPEN_RUNS)["jobRuns"]:
        return False
    state = asked("emr-serverless", "get_application", **application)["application"]["state"]
    if state == "STARTED":
        asked("emr-serverless", "stop_application", **application)
    return state in IDLE


def protect_stack(there: DeployedStack, *, enabled: bool) -> None:
    """Let CloudFormation and DynamoDB refuse to delete the stack and its tables, or let them do it again."""
    for table in TABLES:
        protect_table(there.output(table), enabled=enabled)
    asked("cloudformation", "update_termination_protection", StackName=there.name, EnableTerminationProtection=enabled)


def protect_table(table: str, *, enabled: bool) -> None:
    """The same for one table; nothing is called where it is so already."""
    found = asked("dynamodb", "describe_table", TableName=table)["Table"]
    if bool(found.get("DeletionProtectionEnabled")) is not enabled:
        asked("dynamodb", "update_table", TableName=table, DeletionProtectionEnabled=enabled)


def refuse_deletion(there: DeployedStack) -> None:
    """Raise SetUpError where the stack is protected, or others have rules on its event bus.

    EventBridge deletes no bus that has rules (API reference, DeleteEventBus). Nothing is changed: not even paused.
    """
    theirs = _rules_of_others(there)
    if theirs:
        bus = there.output("EventBusName")
        raise SetUpError(f"others have rules on the event bus {bus}: {', '.join(theirs)}. Let them be deleted first")
    if described(there).get("EnableTerminationProtection"):
        raise SetUpError(f"{title_of(there)} is protected: lakegate stack protect --off permits its deletion")


def delete_stack(there: DeployedStack, timeout: float) -> None:
    """Delete the stack, and wait until it is gone."""
    identity = described(there)["StackId"]
    asked("cloudformation", "delete_stack", StackName=identity)

    def gone() -> bool:
        status = asked("cloudformation", "describe_stacks", StackName=identity)["Stacks"][0]["StackStatus"]
        if status == "DELETE_FAILED":
            raise SetUpError(f"{title_of(there)} could not be deleted: {'; '.join(reasons(identity))}")
        return bool(status == "DELETE_COMPLETE")

    _until(gone, timeout, "it is still being deleted")


def _rules_of_others(there: DeployedStack) -> list[str]:
    """Names of rules that are no resource of the stack, whose id is `bus|name`; none where the bus is gone."""
    with suppress(NotFound):
        rules = asked("events", "list_rules", EventBusName=there.output("EventBusName"))["Rules"]
        own = {each.rpartition("|")[2] for each in resources_of(there, asked).values()}
        return [each["Name"] for each in rules if each["Name"] not in own]
    return []


def event_source_mappings(there: DeployedStack) -> Iterator[dict[str, Any]]:
    """The mappings from queues to functions, as Lambda describes them."""
    for output in QUEUED:
        yield from asked("lambda", "list_event_source_mappings", FunctionName=there.output(output))[
            "EventSourceMappings"
        ]


@dataclass(frozen=True, slots=True)
class ResourceChange:
    """The change of one resource by a change set."""

    action: str
    """As CloudFormation has it: `Add`, `Modify`, `Remove`, `Import`, `Dynamic`."""
    name: str
    """In the template."""
    kind: str
    is_replaced: bool

    @property
    def sentence(self) -> str:
        """For people."""
        verb = "replaces" if self.is_replaced else _VERBS.get(self.action, self.action)
        return f"{verb} {self.name} ({self.kind})"

    @property
    def loses_data(self) -> bool:
        """Whether something that holds data would not be there afterwards."""
        return self.kind in STORES and (self.is_replaced or self.action == "Remove")


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set that was made, and not executed yet."""

    identity: str
    changes: tuple[ResourceChange, ...]
    """Empty where nothing is to be changed: then there is no change set any more."""


def make_change_set(there: DeployedStack, timeout: float, **request: object) -> ChangeSet:
    """A change set of the deployed template with the parameters as they are; `request` adds to CreateChangeSet or replaces.

    Raises SetUpError where CloudFormation cannot make it, with its reason.
    """
    stack = described(there)
    made = asked(
        "cloudformation",
        "create_change_set",
        **{
            "StackName": stack["StackId"],
            "ChangeSetName": f"lakegate-{uuid.uuid4().hex}",
            "UsePreviousTemplate": True,
            "Capabilities": stack.get("Capabilities") or ["CAPABILITY_IAM"],
            "Parameters": [
                {"ParameterKey": each["ParameterKey"], "UsePreviousValue": True} for each in stack.get("Parameters", ())
            ],
            **request,
        },
    )
    identity, found = made["Id"], {}

    def is_made() -> bool:
        nonlocal found
        found = asked("cloudformation", "describe_change_set", ChangeSetName=identity)
        return found["Status"] in {"CREATE_COMPLETE", "FAILED"}

    _until(is_made, timeout, f"the change set {identity} is still being made")
    if found["Status"] == "FAILED":
        discard(ChangeSet(identity, ()))
        reason = found.get("StatusReason", "")
        if not NOTHING_TO_CHANGE.search(reason):
            raise SetUpError(f"CloudFormation cannot change {title_of(there)}: {reason}")
        return ChangeSet(identity, ())
    return ChangeSet(identity, tuple(_changes(found)))


def _changes(found: Mapping[str, Any]) -> Iterator[ResourceChange]:
    identity = found["ChangeSetId"]
    while True:
        for each in found.get("Changes", ()):
            change = each["ResourceChange"]
            is_replaced = change.get("Replacement") == "True"
            yield ResourceChange(change["Action"], change["LogicalResourceId"], change["ResourceType"], is_replaced)
        if not found.get("NextToken"):
            return
        found = asked("cloudformation", "describe_change_set", ChangeSetName=identity, NextToken=found["NextToken"])


def discard(change_set: ChangeSet) -> None:
    """Delete a change set that is not executed."""
    asked("cloudformation", "delete_change_set", ChangeSetName=change_set.identity)


def execute(there: DeployedStack, change_set: ChangeSet, timeout: float) -> None:
    """Execute a change set, and wait for its end. Raises SetUpError with the reasons where it was rolled back."""
    stack = described(there)
    began = stack.get("LastUpdatedTime")
    asked("cloudformation", "execute_change_set", ChangeSetName=change_set.identity)

    def is_over() -> bool:
        nonlocal stack
        stack = described(there)  # for a moment it may still be as it was before
        return stack.get("LastUpdatedTime") != began and not stack["StackStatus"].endswith("_IN_PROGRESS")

    _until(is_over, timeout, f"{title_of(there)} is still being changed")
    if stack["StackStatus"] != "UPDATE_COMPLETE":
        raise SetUpError(f"{title_of(there)} is {stack['StackStatus']}: {'; '.join(reasons(stack['StackId']))}")


def reasons(identity: str) -> list[str]:
    """Reasons why the latest operation on a stack failed, by resource, the first failure first."""
    events = asked("cloudformation", "describe_stack_events", StackName=identity)["StackEvents"]
    failed = [each for each in events if each["ResourceStatus"].endswith("_FAILED") and "ResourceStatusReason" in each]
    return [f"{each['LogicalResourceId']}: {each['ResourceStatusReason']}" for each in reversed(failed)][:5]


def restore_drift(there: DeployedStack, timeout: float) -> ChangeSet:
    """A change set that creates again what was deleted by hand, and sets back what was changed.

    CloudFormation user guide, "Using drift-aware change sets". Raises SetUpError, and leaves no change set, where something
    that holds data would be replaced or deleted.
    """
    found = make_change_set(there, timeout, DeploymentMode="REVERT_DRIFT")
    if lost := [each.sentence for each in found.changes if each.loses_data]:
        discard(found)
        raise SetUpError(
            f"nothing was changed: the repair {'; '.join(lost)}. docs/restore.md has how to restore data first"
        )
    return found


def announce_objects(bucket: str) -> bool:
    """Let a bucket send its events to EventBridge, beside the notifications that it has. Returns whether it did not before.

    PutBucketNotificationConfiguration replaces the whole configuration (S3 API reference), so the others are sent again.
    """
    found = asked("s3", "get_bucket_notification_configuration", Bucket=bucket)
    kept = {name: value for name, value in found.items() if name != "ResponseMetadata"}
    if "EventBridgeConfiguration" in kept:
        return False
    kept["EventBridgeConfiguration"] = {}
    asked("s3", "put_bucket_notification_configuration", Bucket=bucket, NotificationConfiguration=kept)
    return True


def delete_bucket(bucket: str) -> None:
    """Delete all versions in a bucket, then the bucket.

    Raises SetUpError where versions cannot be deleted: DeleteObjects answers 200, and names them in `Errors` (S3 API reference).
    """
    while found := asked("s3", "list_object_versions", Bucket=bucket):
        versions = [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]
        if not versions:
            break
        keys = [{"Key": each["Key"], "VersionId": each["VersionId"]} for each in versions]
        answer = asked("s3", "delete_objects", Bucket=bucket, Delete={"Objects": keys, "Quiet": True})
        if refused := answer.get("Errors"):
            codes = ", ".join(sorted({each.get("Code", "unknown") for each in refused}))
            raise SetUpError(
                f"{len(refused)} of {counted(len(keys), 'version')} in {bucket} cannot be deleted ({codes}): look at its object "
                "lock and policy; run the command again, it continues"
            )
    asked("s3", "delete_bucket", Bucket=bucket)


def _until(holds: Callable[[], bool], timeout: float, otherwise: str) -> None:
    limit = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > limit:
            raise SetUpError(f"{otherwise} within {timeout:.0f} seconds: run the command again, it continues")
        time.sleep(TICK_SECONDS)
