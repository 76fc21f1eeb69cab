"""`lakegate doctor`: why deliveries do not move, and what to do."""

from __future__ import annotations

import os
from collections import defaultdict
from enum import IntEnum
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from lakegate.cli import terminal
from lakegate.cli.account import standing
from lakegate.cli.aws import entered, readable_errors
from lakegate.cli.escape import escaped
from lakegate.cli.options import DEFAULT_STACK, AsJson, Local, OptionalDelivery, StackName
from lakegate.cli.probes.causes import CauseFinding, Level
from lakegate.cli.probes.deliveries import SHORT
from lakegate.cli.probes.entrance import enter
from lakegate.cli.probes.examination import Examination, ExaminedStack, examine
from lakegate.cli.probes.reading import SECONDS, StackReader
from lakegate.cli.probes.table import PROBES
from lakegate.cli.status import LATEST
from lakegate.contracts.words import counted
from lakegate.functions.ports.errors import UnreadableItem
from lakegate.functions.usecases.deliveries import named

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from lakegate.cli.aws import DeployedStack
    from lakegate.functions.usecases.delivery import Delivery

COLOURS = {Level.FAULT: "red", Level.WARNING: "yellow"}
LISTED = 10
"""Workloads of one cause that people see; `--json` has all."""


class Exit(IntEnum):
    """Exit codes of the command."""

    NOTHING = 0
    CAUSE = 1
    UNKNOWN = 3


def doctor(
    workload: OptionalDelivery = None,
    *,
    timeout: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for all probes together.")] = SECONDS,
    stack: StackName = DEFAULT_STACK,
    local: Local = False,
    as_json: AsJson = False,
) -> None:
    """Find out why deliveries do not move, or why one does not: each cause with what to do. Changes nothing.

    Example: lakegate doctor orders/day.csv

    Exit code: 0 no cause was found, 1 at least one, 3 none but some probe could not look, 2 the examination is impossible.
    """
    name = entered(stack, local=local)
    ask = StackReader(timeout)
    with readable_errors():
        there = enter(ask, name)
        if isinstance(there, CauseFinding):
            report, delivery, opened = Examination((there,), (), 1, 0.0), None, None
        else:
            opened = there
            examined, delivery = _examined(there, ask, workload)
            report = examine(examined, PROBES, timeout)
    document = _document(name, opened, delivery, report)
    if as_json:
        terminal.print_json(document)
    else:
        _print(name, opened, delivery, report)
    faults = [each for each in report.findings if each.level is Level.FAULT]
    raise typer.Exit(Exit.CAUSE if faults else Exit.UNKNOWN if report.unknown else Exit.NOTHING)


def _examined(stack: DeployedStack, ask: StackReader, workload: str | None) -> tuple[ExaminedStack, Delivery | None]:
    dependencies = stack.dependencies()
    try:
        delivery = named(dependencies, workload, LATEST) if workload else None
    except UnreadableItem as refused:  # the row of the delivery: a cause, and the others are looked for all the same
        dependencies.left_out.append(refused)
        delivery = None
    resources: dict[str, str] = {}
    more: dict[str, str] = {}
    while True:
        page = ask("cloudformation", "list_stack_resources", StackName=stack.name, **more)
        for each in page["StackResourceSummaries"]:
            resources[each["LogicalResourceId"]] = each.get("PhysicalResourceId", "")
        if not page.get("NextToken"):
            break
        more = {"NextToken": page["NextToken"]}
    return ExaminedStack(stack, resources, dependencies, ask, delivery, is_embedded(os.environ)), delivery


def is_embedded(environment: Mapping[str, str]) -> bool:
    """Whether AWS is on this machine: the embedded one of a local stack."""
    return urlsplit(environment.get("AWS_ENDPOINT_URL", "")).hostname in {"127.0.0.1", "localhost", "::1"}


def _document(name: str, stack: DeployedStack | None, delivery: Delivery | None, report: Examination) -> dict[str, Any]:
    return {
        "stack": name,
        "account": stack.account if stack else None,
        "region": stack.region if stack else None,
        "workload": delivery.id if delivery else None,
        "state": delivery.row.state.value if delivery and delivery.row else None,
        "findings": [
            {
                "cause": each.cause,
                "level": each.level.value,
                "text": each.text,
                "remedy": each.remedy,
                "workload": each.workload or None,
            }
            for each in report.findings
        ],
        "unknown": [{"probe": each.probe, "reason": each.reason} for each in report.unknown],
        "probes": report.probes,
        "seconds": round(report.seconds, 3),
    }


def _print(name: str, stack: DeployedStack | None, delivery: Delivery | None, report: Examination) -> None:
    console = terminal.answers()
    if stack is not None:
        place = f"stack {name}, account {stack.account}, region {stack.region}"
        console.print(
            f"{place}: {counted(report.probes, 'probe')} in {report.seconds:.1f} s", markup=False, soft_wrap=True
        )
    if delivery is not None:
        text = f"workload {delivery.id[:SHORT]}, {delivery.key}: {standing(delivery.row)}"
        console.print(escaped(text), markup=False, soft_wrap=True)
    for alike in _groups(report.findings):
        _print_cause(console, alike)
    for unknown in report.unknown:
        console.print(f"unknown {unknown.probe}: {escaped(unknown.reason)}", markup=False, soft_wrap=True)
    if not report.findings:
        console.print("No cause was found." if not report.unknown else "No cause was found by the other probes.")


def _groups(findings: tuple[CauseFinding, ...]) -> list[list[CauseFinding]]:
    """Faults first; workloads that one cause holds up are one group."""
    groups: dict[object, list[CauseFinding]] = defaultdict(list)
    for each in findings:
        groups[each.cause if each.workload else each].append(each)
    return sorted(groups.values(), key=lambda alike: alike[0].level)


def _print_cause(console: Console, alike: list[CauseFinding]) -> None:
    """A cause; of several workloads the first is described, and the others are listed."""
    first = alike[0]
    console.print(f"{first.level:<8}", style=COLOURS[first.level], end="")
    console.print(first.cause, style="bold")
    console.print(f"        {escaped(first.text)}", markup=False, soft_wrap=True)
    console.print(f"        do: {escaped(first.remedy)}", markup=False, soft_wrap=True)
    held = [each.workload[:SHORT] for each in alike if each.workload]
    if held:
        rest = f" and {len(held) - LISTED} more" if len(held) > LISTED else ""
        console.print(f"        workloads: {', '.join(held[:LISTED])}{rest}", soft_wrap=True)
