"""`lakegate stack deploy`: deploy the stack, or its next version, by one command."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final

from lakegate.aws.clients import client
from lakegate.aws.open_stack import (
    DEFAULT_STACK,
    DeployedStack,
    ask_service,
    describe_stack,
    enter_stack,
    find_stack,
    readable_errors,
)
from lakegate.aws.stack_operations import (
    CAPABILITIES,
    LONGEST_WAIT,
    ChangeSet,
    ResourceChange,
    announce_objects,
    await_change_set,
    create,
    discard,
    execute_at_rest,
    is_paused,
    make_change_set,
    reasons_to_pause,
)
from lakegate.base.errors import SetUpError
from lakegate.base.text import sentence
from lakegate.cli import terminal
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command, confirm
from lakegate.cli.options import Local, Timeout, Yes
from lakegate.features.deployment.change_plan import in_words, rollback_by_alarms
from lakegate.features.deployment.parameter_values import (
    DeploymentProfile,
    ParameterValues,
    given_values,
    parameter_values,
)
from lakegate.features.deployment.preflight import REFUSED, Planned, PreflightFinding, preflight
from lakegate.features.deployment.release_folder import (
    ArtifactsBucket,
    FromFolder,
    ReleaseFolder,
    bucket_of_artifacts,
    upload_bundles,
    upload_job,
    upload_template,
)
from lakegate.features.deployment.smoke_command import smoke_test

UNDER_REVIEW: Final = "REVIEW_IN_PROGRESS"
"""The state of a stack that a change set was made for, and that was never created."""
TAGS: Final = ({"Key": "project", "Value": "lakegate"},)
"""Of a new stack. CloudFormation changes the application where tags change, so an update leaves them as they are."""
WATCH_MINUTES: Final = 5
LONGEST_WATCH: Final = 180
"""Minutes (API reference, RollbackConfiguration)."""
UNUSABLE: Final = 2


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment, or the plan of one."""

    stack: str
    region: str
    outcome: str
    """`refused`, `planned`, `unchanged` or `deployed`."""
    findings: tuple[PreflightFinding, ...]
    parameters: tuple[str, ...] = ()
    """The changes of values, in words."""
    changes: tuple[ResourceChange, ...] = ()
    pauses: tuple[str, ...] = ()
    """Why job runs are paused meanwhile."""
    smoke: tuple[str, ...] = ()
    """The steps of the smoke test."""


@dataclass(frozen=True, slots=True)
class DeploymentTarget:
    """The stack, account and region that a deployment goes to, and what it brings."""

    name: str
    account: str
    region: str
    partition: str
    release: ReleaseFolder
    bucket: str
    """Of artifacts."""
    values: ParameterValues
    there: DeployedStack | None
    """The deployed stack; None before the first deployment."""

    @property
    def title(self) -> str:
        """The stack in a sentence."""
        return f"the stack {self.name} in {self.region}"


@command
def deploy(  # noqa: PLR0913 - its options
    *,
    profile: Annotated[
        DeploymentProfile | None,
        Option(help="Set the parameters of a profile; a first deployment has small-files."),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        Option(help="NAME=VALUE of a parameter of the template; may be repeated."),
    ] = None,
    plan: Annotated[bool, Option(help="Check, show what would change, and change nothing.")] = False,
    folder: FromFolder = Path(),
    artifacts: ArtifactsBucket = None,
    allow_replacement: Annotated[bool, Option(help="Let buckets, tables and keys be replaced or removed.")] = False,
    watch: Annotated[
        int, Option(min=0, max=LONGEST_WATCH, help="Minutes after an update in which an alarm rolls it back.")
    ] = WATCH_MINUTES,
    smoke: Annotated[
        bool,
        Option("--smoke/--no-smoke", help="Deliver four small files afterwards, and compare what becomes of them."),
    ] = True,
    timeout: Timeout = LONGEST_WAIT,
    name: Annotated[
        str, Option("--name", "--stack", envvar="LAKEGATE_STACK", help="The CloudFormation stack of Lakegate.")
    ] = DEFAULT_STACK,
    local: Local = False,
    yes: Yes = False,
) -> CommandResult[Deployment]:
    """Deploy the stack, or its next version: check the account, show the changes, upload code, execute, try it.

    Every parameter that is not named keeps its value. Job runs are paused where the changes need it. Nothing is deleted or
    replaced that holds data. A failed update is rolled back.

    Example: lakegate stack deploy --profile small-files --parameter MaxVcpu=32

    Exit code: 0 it is deployed, 2 it is not, or a check refuses it.
    """
    with readable_errors():
        release = ReleaseFolder(folder)
        given = given_values(parameter or (), release.template)
        name = enter_stack(name, local=local)
        planned, target = _planned(name, release, profile, given, artifacts)
        findings = []
        for each in preflight(planned):
            findings.append(each)
            terminal.note(f"{each.level:8} {each.check}: {each.text}")
        checked = Deployment(name, target.region, REFUSED, tuple(findings))
        if any(finding.level == REFUSED for finding in findings):
            return CommandResult(checked, [f"{sentence(target.title)} is not deployed: a check refuses it."], UNUSABLE)
        change_set = _change_set(target, watch, timeout)
        parameters = tuple(target.values.changes)
        pauses = reasons_to_pause(change_set.changes) if target.there else ()
        if pauses and watch:  # no alarm rings in a paused stack, which it would be for longer
            _withdraw(target, change_set)
            change_set = _change_set(target, 0, timeout)
        shown = Deployment(name, target.region, "planned", tuple(findings), parameters, change_set.changes, pauses)
        try:
            effects = _effects(target, shown, allow_replacement=allow_replacement)
            if not plan:
                confirm(effects, yes=yes)
        except BaseException:
            _withdraw(target, change_set)
            raise
        if plan:
            _withdraw(target, change_set)
            return CommandResult(shown, [*effects, "Nothing was changed."])
        stays_paused = _execute(target, change_set, timeout)
        steps = () if stays_paused or not smoke else smoke_test(deployed_stack(target), local=local).steps
        return _done(target, shown, steps, stays_paused=stays_paused)


def _planned(
    name: str, release: ReleaseFolder, profile: DeploymentProfile | None, given: dict[str, str], artifacts: str | None
) -> tuple[Planned, DeploymentTarget]:
    caller = ask_service("sts", "get_caller_identity")
    region, account = str(client("cloudformation").meta.region_name), str(caller["Account"])
    there = find_stack(name, ask_service)
    stack = describe_stack(there) if there else None
    if stack and stack["StackStatus"] == UNDER_REVIEW:
        there = stack = None
    before = {each["ParameterKey"]: each["ParameterValue"] for each in stack.get("Parameters", ())} if stack else None
    values = parameter_values(release.template, before, profile, given, release.job)
    planned = Planned(name, release.template, values, stack, {"arn": str(caller["Arn"]), "region": region})
    partition = str(caller["Arn"]).split(":")[1]
    bucket = artifacts or bucket_of_artifacts(account, region)
    return planned, DeploymentTarget(name, account, region, partition, release, bucket, values, there)


def _change_set(target: DeploymentTarget, watch: int, timeout: float) -> ChangeSet:
    """The change set of a deployment. What it is made of is uploaded before."""
    address = upload_template(target.release, target.bucket, target.account, terminal.note, partition=target.partition)
    request: dict[str, Any] = {
        "TemplateURL": address,
        "Parameters": target.values.request,
    }
    if target.there:
        return make_change_set(
            target.there, timeout, **request, RollbackConfiguration=rollback_by_alarms(target.there, watch)
        )
    return await_change_set(
        timeout,
        **request,
        StackName=target.name,
        ChangeSetType="CREATE",
        OnStackFailure="ROLLBACK",
        Capabilities=CAPABILITIES,
        Tags=TAGS,
    )


def _effects(target: DeploymentTarget, shown: Deployment, *, allow_replacement: bool) -> list[str]:
    """The effects that are confirmed, in words. Raises SetUpError where data would be lost."""
    lost = [change.sentence for change in shown.changes if change.loses_data]
    if lost and not allow_replacement:
        raise SetUpError(
            f"nothing was changed: the update {'; '.join(lost)}. Where that is wanted, and its data is safe: --allow-replacement"
        )
    return [
        *(f"{target.title} {word}" for word in in_words(shown.changes)),
        *(f"parameter {parameter}" for parameter in shown.parameters),
        *(f"job runs are paused meanwhile ({pause})" for pause in shown.pauses),
    ]


def _withdraw(target: DeploymentTarget, change_set: ChangeSet) -> None:
    """Delete a change set that is not executed, and the stack that was only made for it."""
    if change_set.changes:
        discard(change_set)
    if not target.there:
        ask_service("cloudformation", "delete_stack", StackName=change_set.stack)


def _execute(target: DeploymentTarget, change_set: ChangeSet, timeout: float) -> bool:
    """Upload the code and execute the change set, around a pause where it is needed; returns whether the stack stays paused."""
    lake = target.there.output("LakeBucket") if target.there else target.values.effective["ExistingLakeBucket"]
    upload_bundles(target.release, target.bucket, target.account, terminal.note)
    if lake:
        upload_job(target.release, lake, target.account, terminal.note)
    was_paused = target.there is not None and is_paused(target.there)
    if change_set.changes:
        if target.there:
            execute_at_rest(target.there, change_set, timeout, terminal.note)
        else:
            create(change_set, timeout, terminal.note)
    there = deployed_stack(target)
    if not lake:
        upload_job(target.release, there.output("LakeBucket"), target.account, terminal.note)
    if target.values.effective["ExistingLandingBucket"] and announce_objects(there.output("LandingBucket")):
        terminal.note(f"{there.output('LandingBucket')} sends its events to EventBridge now")
    return was_paused


def deployed_stack(target: DeploymentTarget) -> DeployedStack:
    """The stack as it is after the deployment."""
    there = find_stack(target.name, ask_service)
    if there is None:
        raise SetUpError(f"{target.title} is not there any more: somebody deleted it")
    return there


def _done(
    target: DeploymentTarget, shown: Deployment, steps: tuple[str, ...], *, stays_paused: bool
) -> CommandResult[Deployment]:
    outcome = "deployed" if shown.changes else "unchanged"
    words = "is deployed" if shown.changes else "is as it should be: nothing was to be changed"
    deployment = replace(shown, outcome=outcome, smoke=steps)
    lines = [f"{sentence(target.title)} {words}."]
    if target.there is None:
        lines.append(
            "In its first hour alarms of what has not run yet may ring (docs/runbooks.md): they end by themselves."
        )
    if stays_paused:
        lines.append(f"It was paused before, and stays so: lakegate stack resume --stack {target.name}")
    return CommandResult(deployment, lines)
