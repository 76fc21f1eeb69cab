"""A change set in words, the reasons to pause job runs for it, and the alarms that roll it back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final

from lakegate.aws.open_stack import DeployedStack, ask_service, resources_of
from lakegate.aws.stack_operations import ResourceChange
from lakegate.base.errors import PortError

VERBS: Final = ("replaces", "may replace", "deletes", "changes", "may change", "imports", "creates")
"""In the order in which they are said: what cannot be taken back first."""
MANY: Final = 12
"""From so many resources on their kinds are counted."""
NAMED: Final = frozenset(
    {"AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::KMS::Key", "AWS::IAM::Role", "AWS::IAM::ManagedPolicy"}
)
"""Kinds that have data or rights: what is not new of them is named in any case."""
WATCHED: Final = ("IntakeFails", "CompletionFails", "SweepFails")
"""Alarms that an update is rolled back by; CloudFormation takes five at most (API reference, RollbackConfiguration)."""


def in_words(changes: Iterable[ResourceChange]) -> Iterator[str]:
    """A line for each kind of change."""
    found = tuple(changes)
    for verb in VERBS:
        some = [change for change in found if change.verb == verb]
        if len(some) >= MANY:
            named = [change for change in some if change.kind in NAMED and verb != "creates"]
            kinds = Counter(change.kind.removeprefix("AWS::") for change in some if change not in named)
            counts = ", ".join(f"{number} {kind}" for kind, number in sorted(kinds.items()))
            yield f"{verb} {len(some) - len(named)} resources: {counts}"
            some = named
        if some:
            yield f"{verb} {', '.join(f'{change.name} ({change.kind})' for change in some)}"


def rollback_by_alarms(there: DeployedStack, minutes: int) -> dict[str, Any]:
    """The RollbackConfiguration of an update, by the alarms of the stack.

    An alarm that rings already would roll back at once what is to end it, so it is left out; so are all of them where the caller
    may not see them.
    """
    resources = resources_of(there, ask_service)
    names = [resources[each] for each in WATCHED if each in resources]
    try:
        found = ask_service("cloudwatch", "describe_alarms", AlarmNames=names)["MetricAlarms"] if names else []
    except PortError:
        found = []
    quiet = [each["AlarmArn"] for each in found if each["StateValue"] != "ALARM"]
    triggers = [{"Arn": arn, "Type": "AWS::CloudWatch::Alarm"} for arn in quiet]
    return {"RollbackTriggers": triggers, "MonitoringTimeInMinutes": minutes if triggers else 0}
