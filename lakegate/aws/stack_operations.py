"""Operations on a whole stack: pause, resume, change, repair, delete.

CloudFormation gives a parameter that a change set does not name the default of the template (API reference, `Parameter`): with
`UsePreviousValue` for every other one, only what is named changes.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Any, Final

from lakegate.aws.open_stack import (
    DeployedStack,
    ask_service,
    describe_stack,
    every_page,
    parameters_of,
    resources_of,
    title_of,
)
from lakegate.base.errors import NotFound, SetUpError
from lakegate.base.text import plural

QUEUED: Final = ("IntakeFunction", "CompletionFunction")
OPEN_RUNS: Final = ["SUBMITTED", "QUEUED", "PENDING", "SCHEDULED", "RUNNING", "CANCELLING"]
IDLE: Final = frozenset({"CREATED", "STOPPED", "TERMINATED"})
CAPABILITIES: Final = ("CAPABILITY_IAM",)
"""Capabilities that CloudFormation requires of the caller: the template makes roles and policies, and names none of them."""
LONGEST_WAIT: Final = 3600
"""Seconds: the time limit of a job run."""
TICK_SECONDS: Final = 1.0
BUCKETS: Final = ("LandingBucket", "LakeBucket")
PAUSES: Final[Mapping[str, str]] = {
    "AWS::EMRServerless::Application": "CloudFormation changes it only while it is stopped",
    "JobRole": "runs that are under way have its rights",
}
"""By type or name of a resource, why job runs are paused before it is changed. Source: EMR Serverless, UpdateApplication."""
TABLES: Final = ("RegistryTable", "WorkloadsTable", "LedgerTable")
GIVEN: Final = {name: f"Existing{name}" for name in (*BUCKETS, *TABLES)}
"""By output, the parameter that names a bucket or table which the stack did not make."""
GIVEN_ANCHORS: Final = "ExistingAnchorBucket"
"""Likewise of the bucket of anchors, which a stack without them does not have."""
KEYS: Final = {"KmsKey": "KeyArn", "SigningKey": "SigningKeyArn"}
"""By parameter the output with the ARN of a key that the stack has made."""
NOTHING_TO_CHANGE: Final = re.compile(
    r"didn't contain changes|No updates are to be performed|no changes", re.IGNORECASE
)
"""The reason of a FAILED change set without a change (CloudFormation user guide, "View a change set")."""
STORES: Final = frozenset({"AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::KMS::Key"})
"""Types that hold data: nothing of them is replaced or removed by a command."""
PAGES_AT_ONCE: Final = 10
"""Pages of versions that are deleted together, a request for each: as many connections as a client of botocore keeps."""
EVENT_LIMIT: Final = 5
"""Reasons that are named where an operation failed: the first ones are the causes of the others."""
_VERBS: Final = {
    "Add": "creates",
    "Modify": "changes",
    "Remove": "deletes",
    "Import": "imports",
    "Dynamic": "may change",
}


def pause_stack(there: DeployedStack, timeout: float, *, cancel: bool = False) -> None:
    """Of what a deletion that failed has left, too: what is gone needs no pause. `cancel`: open runs are cancelled."""
    _starts_runs(there)  # who may not ask this is refused before anything is off
    for mapping in event_source_mappings(there):
        ask_service("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=False)
    with suppress(NotFound):
        sweep = there.output("SweepFunction")
        ask_service("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=0)
    waits = "" if cancel else " (--cancel ends them)"
    _until(lambda: _is_at_rest(there, cancel=cancel), timeout, f"a sweep, starts or job runs have not ended{waits}")


def open_runs(there: DeployedStack) -> int:
    """How many job runs wait or run."""
    request: dict[str, Any] = {"applicationId": there.output("ApplicationId"), "states": OPEN_RUNS}
    count = 0
    while True:
        found = ask_service("emr-serverless", "list_job_runs", **request)
        count += len(found["jobRuns"])
        if not found.get("nextToken"):
            return count
        request["nextToken"] = found["nextToken"]


def is_paused(there: DeployedStack) -> bool:
    """Whether the queues reach no function: `pause_stack` has begun, and nobody has resumed since."""
    return all(mapping.get("State") in {"Disabled", "Disabling"} for mapping in event_source_mappings(there))


def resume_stack(there: DeployedStack) -> None:
    """Continue with what has waited since `pause_stack`. The application starts itself with the next job run."""
    for mapping in event_source_mappings(there):
        ask_service("lambda", "update_event_source_mapping", UUID=mapping["UUID"], Enabled=True)
    sweep = there.output("SweepFunction")
    if parameters_of(there).get("ReserveConcurrency") == "yes":
        ask_service("lambda", "put_function_concurrency", FunctionName=sweep, ReservedConcurrentExecutions=1)
    else:
        ask_service("lambda", "delete_function_concurrency", FunctionName=sweep)


def _is_at_rest(there: DeployedStack, *, cancel: bool) -> bool:
    """Whether nothing submits runs any more, none is open, and the application is stopped; stops it where it can be.

    A sweep that is under way may start runs until it ends, and so may who makes the starts of a burst. One run is cancelled
    each time: CancelJobRun has a quota of one call a second ("Endpoints and quotas" of EMR Serverless).
    """
    application = {"applicationId": there.output("ApplicationId")}
    if any(mapping.get("State", "Disabled") != "Disabled" for mapping in event_source_mappings(there)):
        return False
    if _starts_runs(there):
        return False
    runs = ask_service("emr-serverless", "list_job_runs", **application, states=OPEN_RUNS)["jobRuns"]
    if runs:
        left = [run["id"] for run in runs if run["state"] != "CANCELLING"]
        if cancel and left:
            with suppress(NotFound):  # it has ended meanwhile
                ask_service("emr-serverless", "cancel_job_run", **application, jobRunId=left[0])
        return False
    state = ask_service("emr-serverless", "get_application", **application)["application"]["state"]
    if state == "STARTED":
        ask_service("emr-serverless", "stop_application", **application)
    return state in IDLE


def _starts_runs(there: DeployedStack) -> bool:
    """Whether a sweep, or who makes the starts of a burst, is under way. Raises AccessDenied for who may not read the tables."""
    with suppress(NotFound, SetUpError):  # the rest of a deletion that failed has no table
        agenda, now = there.dependencies().agenda, datetime.now(UTC)
        return agenda.is_sweeping(now) or agenda.is_led(now)
    return False


def protect_stack(there: DeployedStack, *, enabled: bool) -> None:
    """Let CloudFormation and DynamoDB refuse to delete the stack and its tables, or let them do it again."""
    for table in TABLES:
        protect_table(there.output(table), enabled=enabled)
    ask_service(
        "cloudformation", "update_termination_protection", StackName=there.name, EnableTerminationProtection=enabled
    )


def protect_table(table: str, *, enabled: bool) -> None:
    """The same for one table; nothing is called where it is so already."""
    found = ask_service("dynamodb", "describe_table", TableName=table)["Table"]
    if bool(found.get("DeletionProtectionEnabled")) is not enabled:
        ask_service("dynamodb", "update_table", TableName=table, DeletionProtectionEnabled=enabled)


def refuse_deletion(there: DeployedStack) -> None:
    """Raise SetUpError where the stack is protected, or others have rules on its event bus.

    EventBridge deletes no bus that has rules (API reference, DeleteEventBus). Nothing is changed: not even paused.
    """
    theirs = _rules_of_others(there)
    if theirs:
        bus = there.output("EventBusName")
        raise SetUpError(f"others have rules on the event bus {bus}: {', '.join(theirs)}. Let them be deleted first")
    if describe_stack(there).get("EnableTerminationProtection"):
        raise SetUpError(f"{title_of(there)} is protected: lakegate stack protect --off permits its deletion")


def delete_stack(there: DeployedStack, timeout: float) -> None:
    """Delete the stack, and wait until it is gone."""
    _delete(describe_stack(there)["StackId"], timeout)


def _delete(stack: str, timeout: float) -> None:
    ask_service("cloudformation", "delete_stack", StackName=stack)

    def is_gone() -> bool:
        status = _of_arn(stack)["StackStatus"]
        if status == "DELETE_FAILED":
            raise SetUpError(f"{_titled(stack)} could not be deleted: {'; '.join(reasons(_events(stack)))}")
        return bool(status == "DELETE_COMPLETE")

    _until(is_gone, timeout, "it is still being deleted")


def own_parameters(there: DeployedStack) -> dict[str, str]:
    """The parameters of a stack that are not the defaults, for a stack that goes on with what a deletion keeps.

    A key that the stack made is named by its ARN: it is kept, too, and data and chains need it. So is the bucket of anchors,
    which nobody can empty. The release names its own code.
    """
    declared = ask_service("cloudformation", "get_template_summary", StackName=there.name)["Parameters"]
    defaults = {each["ParameterKey"]: each.get("DefaultValue", "") for each in declared}
    own = {name: value for name, value in parameters_of(there).items() if value != defaults.get(name)}
    keys = {name: there.output(output) for name, output in KEYS.items() if own.get(name) == "own"}
    anchors = there.outputs.get("AnchorBucket")
    kept = keys | ({GIVEN_ANCHORS: anchors} if anchors else {})
    return {name: value for name, value in (own | kept).items() if name != "JobCode"}


def _rules_of_others(there: DeployedStack) -> list[str]:
    """Names of rules that are no resource of the stack, whose id is `bus|name`; none where the bus is gone."""
    with suppress(NotFound):
        bus = there.output("EventBusName")
        rules = list(every_page(ask_service, "events", "list_rules", "Rules", EventBusName=bus))
        own = {resource.rpartition("|")[2] for resource in resources_of(there, ask_service).values()}
        return [rule["Name"] for rule in rules if rule["Name"] not in own]
    return []


def event_source_mappings(there: DeployedStack) -> Iterator[dict[str, Any]]:
    """The mappings from queues to functions, as Lambda describes them."""
    for output in QUEUED:
        yield from ask_service("lambda", "list_event_source_mappings", FunctionName=there.output(output))[
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
    may_be_replaced: bool = False
    """By a value that is known only during the execution."""

    @property
    def verb(self) -> str:
        """The change of the resource, in a sentence."""
        if self.is_replaced or self.may_be_replaced:
            return "replaces" if self.is_replaced else "may replace"
        return _VERBS.get(self.action, self.action)

    @property
    def sentence(self) -> str:
        """The change in words, for people."""
        return f"{self.verb} {self.name} ({self.kind})"

    @property
    def loses_data(self) -> bool:
        """Whether something that holds data would not be there afterwards."""
        return self.kind in STORES and (self.is_replaced or self.may_be_replaced or self.action == "Remove")


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set that was made, and not executed yet."""

    identity: str
    changes: tuple[ResourceChange, ...]
    """Empty where nothing is to be changed: then there is no change set any more."""
    stack: str = ""
    """The ARN of its stack."""


def make_change_set(there: DeployedStack, timeout: float, **request: object) -> ChangeSet:
    """A change set of the deployed template with the parameters as they are; `request` adds to CreateChangeSet or replaces.

    Raises SetUpError where CloudFormation cannot make it, with its reason.
    """
    stack = describe_stack(there)
    kept = [{"ParameterKey": each["ParameterKey"], "UsePreviousValue": True} for each in stack.get("Parameters", ())]
    if not {"TemplateBody", "TemplateURL"} & request.keys():
        request = {"UsePreviousTemplate": True, **request}
    capabilities = stack.get("Capabilities") or CAPABILITIES
    return await_change_set(
        timeout, **{"StackName": stack["StackId"], "Capabilities": capabilities, "Parameters": kept, **request}
    )


def await_change_set(timeout: float, **request: object) -> ChangeSet:
    """The change set that a request of CreateChangeSet describes, once it is made. Raises SetUpError if it is not."""
    made = ask_service("cloudformation", "create_change_set", ChangeSetName=f"lakegate-{uuid.uuid4().hex}", **request)
    identity, stack, found = made["Id"], made["StackId"], {}

    def is_made() -> bool:
        nonlocal found
        found = ask_service("cloudformation", "describe_change_set", ChangeSetName=identity)
        return found["Status"] in {"CREATE_COMPLETE", "FAILED"}

    _until(is_made, timeout, f"the change set {identity} is still being made")
    if found["Status"] == "FAILED":
        discard(ChangeSet(identity, (), stack))
        reason = found.get("StatusReason", "")
        if not NOTHING_TO_CHANGE.search(reason):
            raise SetUpError(f"CloudFormation cannot change {_titled(stack)}: {reason}")
        return ChangeSet(identity, (), stack)
    return ChangeSet(identity, tuple(_changes(found)), stack)


def _titled(stack: str) -> str:
    """The stack of an ARN in a sentence, as `title_of` has it."""
    _arn, _aws, _service, region, _account, resource = stack.split(":", 5)
    return f"the stack {resource.split('/')[1]} in {region}"


def _changes(found: Mapping[str, Any]) -> Iterator[ResourceChange]:
    identity = found["ChangeSetId"]
    while True:
        for each in found.get("Changes", ()):
            change = each["ResourceChange"]
            replacement = change.get("Replacement")
            yield ResourceChange(
                change["Action"],
                change["LogicalResourceId"],
                change["ResourceType"],
                replacement == "True",
                replacement == "Conditional",
            )
        if not found.get("NextToken"):
            return
        found = ask_service(
            "cloudformation", "describe_change_set", ChangeSetName=identity, NextToken=found["NextToken"]
        )


def discard(change_set: ChangeSet) -> None:
    """Delete a change set that is not executed."""
    ask_service("cloudformation", "delete_change_set", ChangeSetName=change_set.identity)


def execute(change_set: ChangeSet, timeout: float, report: Callable[[str], None] = lambda _: None) -> None:
    """Execute a change set, report each event, and wait for its end. Raises SetUpError with the reasons of a rollback."""
    stack = _of_arn(change_set.stack)
    began = (stack.get("LastUpdatedTime"), stack["StackStatus"])
    seen = {event["EventId"] for event in _events(change_set.stack)}
    events: list[dict[str, Any]] = []
    ask_service("cloudformation", "execute_change_set", ChangeSetName=change_set.identity)

    def is_over() -> bool:
        nonlocal stack
        stack = _of_arn(change_set.stack)  # for a moment it may still be as it was before
        fresh = [event for event in _events(change_set.stack) if event["EventId"] not in seen]
        for each in reversed(fresh):
            seen.add(each["EventId"])
            report(_told(each))
        events[:0] = fresh
        is_at_rest = not stack["StackStatus"].endswith("_IN_PROGRESS")
        return is_at_rest and (stack.get("LastUpdatedTime"), stack["StackStatus"]) != began

    _until(is_over, timeout, f"{_titled(change_set.stack)} is still being changed")
    if stack["StackStatus"] not in {"UPDATE_COMPLETE", "CREATE_COMPLETE"}:
        raise SetUpError(f"{_titled(change_set.stack)} is {stack['StackStatus']}: {'; '.join(reasons(events))}")


def reasons_to_pause(changes: Iterable[ResourceChange]) -> tuple[str, ...]:
    """Why job runs must be paused; empty where they need not."""
    return tuple(
        f"{change.name}: {PAUSES[key]}"
        for change in changes
        if change.action != "Add"
        for key in (change.kind, change.name)
        if key in PAUSES
    )


def create(change_set: ChangeSet, timeout: float, report: Callable[[str], None]) -> None:
    """Execute the change set of a new stack. One that fails leaves no stack, bucket, table or key. Raises SetUpError.

    It is rolled back, and then deleted: what has the policy `RetainExceptOnCreate` is deleted by a rollback, and is kept "for all
    other stack operations, such as stack deletion" (CloudFormation user guide, DeletionPolicy).
    """
    try:
        execute(change_set, timeout, report)
    except SetUpError:
        if _of_arn(change_set.stack)["StackStatus"] == "ROLLBACK_COMPLETE":
            _delete(change_set.stack, timeout)
        raise


def execute_at_rest(
    there: DeployedStack, change_set: ChangeSet, timeout: float, report: Callable[[str], None] = lambda _: None
) -> None:
    """Execute a change set, around a pause where its changes need one. Afterwards the stack goes on, unless it was paused before.

    A pause that fails, or that somebody interrupts, leaves neither the change set nor a paused stack.
    """
    needs_pause = bool(reasons_to_pause(change_set.changes))
    was_paused = needs_pause and is_paused(there)
    try:
        if needs_pause:
            report("pausing: job runs end, and events wait")
            try:
                pause_stack(there, timeout)
            except BaseException:
                discard(change_set)
                raise
        execute(change_set, timeout, report)
    finally:
        if needs_pause and not was_paused and not is_changing(change_set.stack):
            resume_stack(there)


def is_changing(stack: str) -> bool:
    """Whether an operation on the stack of an ARN has not ended."""
    return bool(_of_arn(stack)["StackStatus"].endswith("_IN_PROGRESS"))


def _of_arn(stack: str) -> dict[str, Any]:
    """The stack as it is now; also when it is deleted."""
    arn: dict[str, Any] = ask_service("cloudformation", "describe_stacks", StackName=stack)["Stacks"][0]
    return arn


def _events(stack: str) -> list[dict[str, Any]]:
    """The latest events of the stack of an ARN, the newest first: CloudFormation describes a hundred at a time."""
    events: list[dict[str, Any]] = ask_service("cloudformation", "describe_stack_events", StackName=stack)[
        "StackEvents"
    ]
    return events


def _told(event: Mapping[str, Any]) -> str:
    """An event in a line; of a failure its reason comes first."""
    words = f"{event['LogicalResourceId']} {event['ResourceStatus']}"
    return f"{event['ResourceStatusReason']}: {words}" if _has_failed(event) else words


def _has_failed(event: Mapping[str, Any]) -> bool:
    """Whether an event is a failure with a reason of its own: what is cancelled behind another failure has none."""
    reason = event.get("ResourceStatusReason") or ""
    return event["ResourceStatus"].endswith("_FAILED") and bool(reason) and "cancelled" not in reason


def reasons(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Reasons of failures by resource, the first failure first; `events` begin with the newest."""
    failed = [
        f"{event['LogicalResourceId']}: {event['ResourceStatusReason']}" for event in events if _has_failed(event)
    ]
    return failed[::-1][:EVENT_LIMIT]


def restore_drift(there: DeployedStack, timeout: float) -> ChangeSet:
    """A change set that creates again what was deleted by hand, and sets back what was changed.

    CloudFormation user guide, "Using drift-aware change sets". Without alarms: those of the last deployment would count again
    (API reference, RollbackConfiguration), and one that rings is what the repair is to end. Raises SetUpError, and leaves no
    change set, where something that holds data would be replaced or deleted.
    """
    alarms_of_no_deployment = {"RollbackTriggers": [], "MonitoringTimeInMinutes": 0}
    change_set = make_change_set(
        there, timeout, DeploymentMode="REVERT_DRIFT", RollbackConfiguration=alarms_of_no_deployment
    )
    if lost := [change.sentence for change in change_set.changes if change.loses_data]:
        discard(change_set)
        raise SetUpError(
            f"nothing was changed: the repair {'; '.join(lost)}. docs/restore.md has how to restore data first"
        )
    return change_set


def announce_objects(bucket: str) -> bool:
    """Let a bucket send its events to EventBridge, beside the notifications that it has. Returns whether it did not before.

    PutBucketNotificationConfiguration replaces the whole configuration (S3 API reference), so the others are sent again.
    """
    found = ask_service("s3", "get_bucket_notification_configuration", Bucket=bucket)
    kept = {name: value for name, value in found.items() if name != "ResponseMetadata"}
    if "EventBridgeConfiguration" in kept:
        return False
    kept["EventBridgeConfiguration"] = {}
    ask_service("s3", "put_bucket_notification_configuration", Bucket=bucket, NotificationConfiguration=kept)
    return True


def delete_bucket(bucket: str) -> None:
    """Delete all versions in a bucket, then the bucket.

    Raises SetUpError where versions cannot be deleted: DeleteObjects answers 200, and names them in `Errors` (S3 API reference).
    """
    while pages := list(islice(_pages_of_versions(bucket), PAGES_AT_ONCE)):
        with ThreadPoolExecutor(PAGES_AT_ONCE) as threads:
            refused = [code for codes in threads.map(partial(_delete_versions, bucket), pages) for code in codes]
        if refused:
            versions = plural(sum(map(len, pages)), "version")
            raise SetUpError(
                f"{len(refused)} of {versions} in {bucket} cannot be deleted ({', '.join(sorted(set(refused)))}): look at its "
                "object lock and policy; run the command again, it continues"
            )
    ask_service("s3", "delete_bucket", Bucket=bucket)


def _pages_of_versions(bucket: str) -> Iterator[list[dict[str, str]]]:
    """The versions and delete markers of a bucket, a page of S3 at a time; some pages have markers only."""
    markers: dict[str, str] = {}
    while True:
        found = ask_service("s3", "list_object_versions", Bucket=bucket, **markers)
        if versions := [*found.get("Versions", ()), *found.get("DeleteMarkers", ())]:
            yield [{"Key": version["Key"], "VersionId": version["VersionId"]} for version in versions]
        if not found.get("IsTruncated"):
            return
        markers = {"KeyMarker": found["NextKeyMarker"], "VersionIdMarker": found["NextVersionIdMarker"]}


def _delete_versions(bucket: str, versions: list[dict[str, str]]) -> list[str]:
    """The code of each version that could not be deleted."""
    response = ask_service("s3", "delete_objects", Bucket=bucket, Delete={"Objects": versions, "Quiet": True})
    return [each.get("Code", "unknown") for each in response.get("Errors", ())]


def _until(holds: Callable[[], bool], timeout: float, otherwise: str) -> None:
    limit = time.monotonic() + timeout
    while not holds():
        if time.monotonic() > limit:
            raise SetUpError(f"{otherwise} within {timeout:.0f} seconds: run the command again, it continues")
        time.sleep(TICK_SECONDS)
