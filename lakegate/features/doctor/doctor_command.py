"""lakegate doctor; table of probes."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final
from urllib.parse import urlsplit

from lakegate.aws.open_stack import DEFAULT_STACK, DeployedStack, enter_stack, readable_errors, resources_of
from lakegate.base.errors import UnreadableItem
from lakegate.base.text import plural
from lakegate.cli.click_commands import Option
from lakegate.cli.command_runner import CommandResult, command
from lakegate.cli.options import Local, OptionalDelivery, StackName
from lakegate.cli.terminal import Word
from lakegate.features.doctor import aws_probes, delivery_probes, function_probes, queue_probes
from lakegate.features.doctor.aws_probes import enter
from lakegate.features.doctor.delivery_probes import SHORT
from lakegate.features.doctor.examination import (
    SECONDS_OF_EXAMINATION,
    CauseFinding,
    Examination,
    ExaminedStack,
    Level,
    Probe,
    StackReader,
    examine,
    rights_for,
)
from lakegate.gate.delivery.find_deliveries import Delivery, find_delivery
from lakegate.gate.delivery.protocol import State
from lakegate.library.described_deliveries import LATEST, standing

# ---- All probes with their rights ----


TABLES: Final = ("dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query", "dynamodb:Scan")
OBJECTS: Final = ("s3:GetObject", "s3:GetObjectVersion", "s3:ListBucket", "s3:ListBucketVersions")
FUNCTION: Final = "lambda:GetFunctionConfiguration"
ENTRANCE: Final = ("cloudformation:DescribeStacks", "cloudformation:ListStackResources")
"""The rights with which every examination begins."""

PROBES: Final = (
    Probe("stack", ("cloudformation:DescribeStacks",), aws_probes.stack_state),
    Probe("clock", ("cloudformation:DescribeStacks",), aws_probes.clock),
    Probe("rules", ("events:DescribeRule", "events:ListTargetsByRule"), queue_probes.rules),
    Probe("bucket-events", ("s3:GetBucketNotification",), queue_probes.bucket_events),
    Probe("schedules", ("scheduler:GetSchedule",), queue_probes.schedules),
    Probe("mappings", ("lambda:ListEventSourceMappings",), queue_probes.mappings),
    Probe("queues", ("sqs:GetQueueAttributes",), queue_probes.queues),
    Probe("queue-ages", ("cloudwatch:GetMetricData", "sqs:GetQueueAttributes"), queue_probes.ages),
    Probe("bus", ("events:DescribeEventBus",), queue_probes.bus),
    Probe("messages", ("dynamodb:Query",), queue_probes.unsent),
    Probe("alarms", ("cloudwatch:DescribeAlarms", "sns:ListSubscriptionsByTopic"), queue_probes.alarms),
    Probe("watch", ("dynamodb:Scan",), delivery_probes.watch),
    Probe("buckets", ("s3:GetBucketVersioning",), aws_probes.buckets),
    Probe("tables", ("dynamodb:DescribeTable",), aws_probes.tables),
    Probe("recovery", ("dynamodb:DescribeContinuousBackups",), aws_probes.recovery),
    Probe("keys", ("s3:GetEncryptionConfiguration", "dynamodb:DescribeTable", "kms:DescribeKey"), aws_probes.keys),
    Probe("functions", (FUNCTION, "lambda:GetFunctionConcurrency"), function_probes.configuration),
    Probe("throttles", ("cloudwatch:GetMetricData",), function_probes.throttles),
    Probe("logs", ("logs:FilterLogEvents",), function_probes.logs),
    Probe("rights", ("iam:SimulatePrincipalPolicy", FUNCTION), function_probes.rights),
    Probe("application", ("emr-serverless:GetApplication", FUNCTION), aws_probes.application),
    Probe(
        "quota",
        ("servicequotas:ListAWSDefaultServiceQuotas", "servicequotas:ListServiceQuotas", FUNCTION),
        aws_probes.quota,
    ),
    Probe("code", ("s3:GetObject", "s3:ListBucket", FUNCTION), aws_probes.code),
    Probe(
        "network",
        ("emr-serverless:GetApplication", "ec2:DescribeSubnets", "ec2:DescribeRouteTables", "ec2:DescribeVpcEndpoints"),
        aws_probes.network,
    ),
    Probe("contracts", ("dynamodb:Scan",), delivery_probes.contracts),
    Probe("pauses", ("dynamodb:GetItem", "dynamodb:Query"), delivery_probes.pauses),
    Probe("answers", ("dynamodb:GetItem", "dynamodb:Query"), delivery_probes.answers),
    Probe("plans", ("dynamodb:Scan", "s3:GetObject", "s3:ListBucket"), delivery_probes.plans),
    Probe("items", (*TABLES, *OBJECTS), delivery_probes.items),
    Probe("stuck", (*TABLES, *OBJECTS, "emr-serverless:GetJobRun", FUNCTION), delivery_probes.stuck),
    Probe("workload", (*TABLES, *OBJECTS, "emr-serverless:GetJobRun", FUNCTION), delivery_probes.one),
)


# ---- `lakegate doctor` ----


COLOURS = {Level.FAULT: "red", Level.WARNING: "yellow"}
LISTED = 10
"""Workloads of one cause that people see; `--json` has all."""


class Exit(IntEnum):
    """Exit codes of the command."""

    NOTHING = 0
    CAUSE = 1
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class FoundCause:
    """A cause that was found, and its remedy."""

    cause: str
    level: str
    text: str
    remedy: str
    rights: tuple[str, ...]
    """Policies of people that allow the remedy."""
    workload: str | None


@dataclass(frozen=True, slots=True)
class UnknownProbe:
    """A probe that could not look."""

    probe: str
    reason: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """Causes why deliveries do not move."""

    stack: str
    account: str | None
    region: str | None
    workload: str | None
    state: State | None
    findings: tuple[FoundCause, ...]
    unknown: tuple[UnknownProbe, ...]
    probes: int
    seconds: float


@command
def doctor(
    workload: OptionalDelivery = None,
    *,
    timeout: Annotated[float, Option(min=0.1, help="Seconds for all probes together.")] = SECONDS_OF_EXAMINATION,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
) -> CommandResult[DoctorReport]:
    """Find out why deliveries do not move, or why one does not: each cause with what to do. Changes nothing.

    Example: lakegate doctor orders/day.csv

    Exit code: 0 no fault was found, 1 at least one, 3 none but some probe could not look, 2 the examination is impossible.
    A warning is no fault.
    """
    name = enter_stack(stack, local=local)
    ask = StackReader(timeout)
    with readable_errors():
        there = enter(ask, name)
        if isinstance(there, CauseFinding):
            report, delivery, opened = Examination((there,), (), 1, 0.0), None, None
        else:
            opened = there
            examined, delivery = _examine_stack(there, ask, workload)
            report = examine(examined, PROBES, timeout)
    faults = [finding for finding in report.findings if finding.level is Level.FAULT]
    code = Exit.CAUSE if faults else Exit.UNKNOWN if report.unknown else Exit.NOTHING
    return CommandResult(_result(name, opened, delivery, report), _in_words(name, opened, delivery, report), code)


def _examine_stack(
    stack: DeployedStack, ask: StackReader, workload: str | None
) -> tuple[ExaminedStack, Delivery | None]:
    dependencies = stack.dependencies()
    try:
        delivery = find_delivery(dependencies, workload, LATEST) if workload else None
    except UnreadableItem as refused:  # the row of the delivery: a cause, and the others are looked for all the same
        dependencies.left_out.append(refused)
        delivery = None
    return ExaminedStack(
        stack, resources_of(stack, ask), dependencies, ask, delivery, is_embedded(os.environ)
    ), delivery


def is_embedded(environment: Mapping[str, str]) -> bool:
    """Whether AWS is on this machine: the embedded one of a local stack."""
    return urlsplit(environment.get("AWS_ENDPOINT_URL", "")).hostname in {"127.0.0.1", "localhost", "::1"}


def _result(name: str, stack: DeployedStack | None, delivery: Delivery | None, report: Examination) -> DoctorReport:
    findings = (
        FoundCause(
            finding.cause,
            finding.level.value,
            finding.text,
            finding.remedy,
            tuple(rights_for(finding.remedy)),
            finding.workload or None,
        )
        for finding in report.findings
    )
    return DoctorReport(
        name,
        stack.account if stack else None,
        stack.region if stack else None,
        delivery.id if delivery else None,
        delivery.row.state if delivery and delivery.row else None,
        tuple(findings),
        tuple(UnknownProbe(entry.probe, entry.reason) for entry in report.unknown),
        report.probes,
        round(report.seconds, 3),
    )


def _in_words(name: str, stack: DeployedStack | None, delivery: Delivery | None, report: Examination) -> Iterator[Word]:
    if stack is not None:
        place = f"stack {name}, account {stack.account}, region {stack.region}"
        yield f"{place}: {plural(report.probes, 'probe')} in {report.seconds:.1f} s"
    if delivery is not None:
        yield f"workload {delivery.id[:SHORT]}, {delivery.key}: {standing(delivery.row)}"
    for alike in _groups(report.findings):
        first = alike[0]  # of several workloads the first is described, and the others are listed
        yield (f"{first.level:<8}", COLOURS[first.level]), (first.cause, "bold")
        yield f"        {first.text}"
        yield f"        do: {first.remedy}"
        if rights := rights_for(first.remedy):
            yield f"        with: {', '.join(rights)}"
        held = [entry.workload[:SHORT] for entry in alike if entry.workload]
        if held:
            rest = f" and {len(held) - LISTED} more" if len(held) > LISTED else ""
            yield f"        workloads: {', '.join(held[:LISTED])}{rest}"
    yield from (f"unknown {entry.probe}: {entry.reason}" for entry in report.unknown)
    if not report.findings:
        yield "No cause was found." if not report.unknown else "No cause was found by the other probes."


def _groups(findings: tuple[CauseFinding, ...]) -> list[list[CauseFinding]]:
    """Faults first; workloads that one cause holds up are one group."""
    groups: dict[object, list[CauseFinding]] = defaultdict(list)
    for finding in findings:
        groups[finding.cause if finding.workload else finding].append(finding)
    return sorted(groups.values(), key=lambda alike: alike[0].level)
