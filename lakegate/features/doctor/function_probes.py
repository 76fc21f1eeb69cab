"""The functions: their configuration, what their logs and metrics report, and what their roles may do."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from lakegate.aws.kms_signing import ALGORITHM, MESSAGE_TYPE
from lakegate.aws.settings import read
from lakegate.base.errors import NotFound, SetUpError
from lakegate.features.doctor.examination import CAUSES, DENIED, MINUTES, CauseFinding, ExaminedStack
from lakegate.features.doctor.queue_probes import metric

FUNCTIONS: Final = ("IntakeFunction", "CompletionFunction", "SweepFunction", "NotifyFunction", "ApiFunction")
OPTIONAL: Final = ("AnchorFunction", "PullFunction", "NamingFunction")
"""Functions that a stack has by a parameter."""
PATTERN: Final = '?failed ?unintelligible ?StepFailures ?Unsent ?errorType ?"Task timed out"'
"""Log lines of failures: an unstructured filter pattern of CloudWatch Logs, any of these words."""
FAILURES: Final = frozenset({"failed", "StepFailures", "Unsent"})
PAGES: Final = 3
BY_CODE: Final = (
    ("kms-refused", re.compile(r"KMS.*|DisabledException")),
    ("right-missing", re.compile("|".join(map(re.escape, DENIED)))),
    ("throttled", re.compile(r".*(?:Throttl|TooManyRequests|SlowDown|LimitExceeded|QuotaExceeded|Throughput).*")),
    (
        "endpoint-unreachable",
        re.compile(r".*(?:ConnectTimeout|EndpointConnection|ConnectionClosed|ReadTimeout|Proxy).*"),
    ),
)
"""Causes by the error code that a function logs."""

ENGINE: Final = (
    ("s3:GetObjectVersion", "arn:{partition}:s3:::{landing}/a"),
    ("s3:DeleteObjectVersion", "arn:{partition}:s3:::{landing}/a"),
    ("s3:GetObject", "arn:{partition}:s3:::{lake}/plans/a"),
    ("s3:PutObject", "arn:{partition}:s3:::{lake}/staging/a"),
    ("s3:PutObject", "arn:{partition}:s3:::{lake}/accepted/a"),
    ("s3:PutObject", "arn:{partition}:s3:::{lake}/quarantine/a"),
    ("s3:PutObjectTagging", "arn:{partition}:s3:::{lake}/quarantine/a"),
    ("dynamodb:BatchGetItem", "arn:{partition}:dynamodb:{region}:{account}:table/{registry_table}"),
    ("dynamodb:PutItem", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}"),
    ("dynamodb:PutItem", "arn:{partition}:dynamodb:{region}:{account}:table/{ledger_table}"),
    ("emr-serverless:StartJobRun", "arn:{partition}:emr-serverless:{region}:{account}:/applications/{application}"),
)

RIGHTS: Final = {
    "IntakeFunction": ENGINE,
    "CompletionFunction": ENGINE,
    "SweepFunction": (
        *ENGINE,
        ("dynamodb:Query", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}/index/agenda"),
        ("dynamodb:UpdateItem", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}"),
        ("dynamodb:Scan", "arn:{partition}:dynamodb:{region}:{account}:table/{registry_table}"),
        ("s3:PutObject", "arn:{partition}:s3:::{lake}/plans/a"),
    ),
    "NotifyFunction": (
        ("dynamodb:Query", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}/index/agenda"),
        ("dynamodb:UpdateItem", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}"),
        ("events:PutEvents", "arn:{partition}:events:{region}:{account}:event-bus/{bus}"),
    ),
    "ApiFunction": (
        ("dynamodb:GetItem", "arn:{partition}:dynamodb:{region}:{account}:table/{registry_table}"),
        ("s3:GetObject", "arn:{partition}:s3:::{lake}/plans/a"),
        ("s3:PutObject", "arn:{partition}:s3:::{landing}/a"),
    ),
    "AnchorFunction": (
        ("dynamodb:Scan", "arn:{partition}:dynamodb:{region}:{account}:table/{registry_table}"),
        ("dynamodb:BatchGetItem", "arn:{partition}:dynamodb:{region}:{account}:table/{ledger_table}"),
    ),
    "PullFunction": (
        ("dynamodb:Query", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}/index/agenda"),
        ("s3:GetObject", "arn:{partition}:s3:::{lake}/plans/a"),
        ("s3:PutObject", "arn:{partition}:s3:::{landing}/a"),
    ),
    "NamingFunction": (
        ("dynamodb:Scan", "arn:{partition}:dynamodb:{region}:{account}:table/{registry_table}"),
        ("dynamodb:PutItem", "arn:{partition}:dynamodb:{region}:{account}:table/{workloads_table}"),
        ("s3:GetObject", "arn:{partition}:s3:::{lake}/plans/a"),
    ),
}
"""Rights that the role of each function needs, on a resource of each kind; the job's are below."""
CALLS: Final = (
    ("secretsmanager:GetSecretValue", "arn:{partition}:secretsmanager:{region}:{account}:secret:{validator_secrets}a"),
)
"""Likewise, where validators may be called."""
SIGNS: Final = (("kms:Sign", "{signing_key}"), ("kms:GetPublicKey", "{signing_key}"))
"""Further rights of the functions that commit, where the ledger is signed."""
SIGNED_AS: Final = {"kms:SigningAlgorithm": ALGORITHM, "kms:MessageType": MESSAGE_TYPE}
"""Their way of signing: the policy names it, and the simulator takes what a request would have from its caller."""
SIGNERS: Final = ("IntakeFunction", "CompletionFunction", "SweepFunction")
JOB: Final = (
    ("s3:GetObject", "arn:{partition}:s3:::{lake}/code/a"),
    ("s3:GetObject", "arn:{partition}:s3:::{lake}/staging/a"),
    ("s3:GetObjectVersion", "arn:{partition}:s3:::{lake}/accepted/a"),
    ("s3:PutObject", "arn:{partition}:s3:::{lake}/runs/a"),
)


def functions(examined: ExaminedStack) -> tuple[str, ...]:
    """The functions that the stack has, or has to have."""
    return (*FUNCTIONS, *examined.there(*OPTIONAL))


def configuration(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """Every function is there, active, not stopped, and has valid settings."""
    for part in functions(examined):
        function = examined.name(part)
        try:
            found = examined.ask("lambda", "get_function_configuration", FunctionName=function)
            reserved = examined.ask("lambda", "get_function_concurrency", FunctionName=function)
        except NotFound:
            yield CAUSES["function-missing"].found(function=function, stack=examined.stack.name)
            continue
        if found.get("State", "Active") in {"Failed", "Inactive"} or found.get("LastUpdateStatus") == "Failed":
            reason = found.get("StateReasonCode") or found.get("LastUpdateStatusReasonCode") or "no reason given"
            yield CAUSES["function-inactive"].found(function=function, state=found.get("State"), reason=reason)
        if reserved.get("ReservedConcurrentExecutions") == 0:
            yield CAUSES["function-stopped"].found(function=function)
        try:
            read(found.get("Environment", {}).get("Variables", {}))
        except SetUpError as mistakes:
            yield CAUSES["settings-wrong"].found(function=function, mistakes=mistakes)


def throttles(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """No function was throttled by Lambda."""
    for part in functions(examined):
        function = examined.name(part)
        count = sum(metric(examined, "AWS/Lambda", "Throttles", "Sum", FunctionName=function))
        if count:
            yield CAUSES["function-throttled"].found(function=function, count=round(count), minutes=MINUTES)


def logs(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The causes that the functions themselves logged: only codes and names, no text of producers."""
    for part in functions(examined):
        function, group = examined.name(part), examined.name(part.removesuffix("Function") + "Log")
        lines = Counter(_lines(examined, group))
        for (kind, text), count in lines.items():
            yield _report_log(function, group, kind, text, count)


def _lines(examined: ExaminedStack, group: str) -> Iterator[tuple[str, str]]:
    """Kind and text of every failure that is logged."""
    since = examined.ask.now() - timedelta(minutes=MINUTES)
    more: dict[str, Any] = {} if examined.embedded else {"filterPattern": PATTERN}  # it knows no alternatives
    for _ in range(PAGES):
        page = examined.ask(
            "logs",
            "filter_log_events",
            logGroupName=group,
            startTime=int(since.timestamp() * 1000) // 60_000 * 60_000,
            **more,
        )
        for event in page.get("events", ()):
            yield from _line(event["message"])
        if not page.get("nextToken"):
            return
        more |= {"nextToken": page["nextToken"]}


def _line(message: str) -> Iterator[tuple[str, str]]:
    try:
        line = json.loads(message)
    except ValueError:
        line = {"errorType": "Task timed out"} if "Task timed out" in message else {}
    if not isinstance(line, dict):
        return
    if line.get("message") == "unintelligible":
        yield "unintelligible", str(line.get("reason", ""))
    elif line.get("message") in FAILURES:
        yield "failed", str(line.get("detail") or line.get("error", ""))
    elif "errorType" in line:
        yield "failed", str(line["errorType"])


def _report_log(function: str, group: str, kind: str, text: str, count: int) -> CauseFinding:
    operation, _, code = text.rpartition(": ")
    if kind == "unintelligible":
        return CAUSES["message-poisoned"].found(function=function, reason=text, count=count, minutes=MINUTES)
    if " @ " in text:
        alarm, _, workload = text.partition(" @ ")
        return CAUSES["protocol-alarm"].found(workload, code=alarm)
    cause = next((cause for cause, codes in BY_CODE if codes.fullmatch(code)), "function-fails")
    names: dict[str, object] = {"function": function, "who": function, "code": text, "count": count}
    names |= {"minutes": MINUTES, "action": operation or "do that", "place": "its log has it", "error": text}
    return CAUSES[cause].found("", **names, log=group)


def rights(examined: ExaminedStack) -> Iterator[CauseFinding]:
    """The roles of the functions and of the job may do what their work takes: IAM's own policy simulator."""
    settings = examined.settings()
    for part in functions(examined):
        wanted = RIGHTS[part]
        found = examined.ask("lambda", "get_function_configuration", FunctionName=examined.name(part))
        signs, calls = SIGNS if settings.signing_key else (), CALLS if settings.validator_hosts else ()
        more = (*signs, *calls) if part in SIGNERS else ()
        yield from _report_denied(examined, found["Role"], examined.name(part), (*wanted, *more))
    yield from _report_denied(examined, settings.job_role, "the job", JOB)


def _report_denied(
    examined: ExaminedStack, role: str, who: str, wanted: tuple[tuple[str, str], ...]
) -> Iterator[CauseFinding]:
    settings, stack = examined.settings(), examined.stack
    names = {
        **{name: getattr(settings, name) for name in settings.__dataclass_fields__},
        "account": stack.account,
        "region": stack.region,
        "partition": role.split(":")[1],
    }
    entries = [
        {"ContextKeyName": key, "ContextKeyType": "string", "ContextKeyValues": [value]}
        for key, value in SIGNED_AS.items()
    ]
    for action, place in wanted:
        arn = place.format(**names)
        asked = {"PolicySourceArn": role, "ActionNames": [action], "ResourceArns": [arn], "ContextEntries": entries}
        response = examined.ask("iam", "simulate_principal_policy", **asked)
        if response["EvaluationResults"][0]["EvalDecision"] != "allowed":
            yield CAUSES["right-missing"].found(who=who, action=action, place=arn)
