"""Problems and failed checks as SARIF."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from lakegate.base.errors import Problem
from lakegate.lints.findings import LintLevel
from lakegate.lints.lint_codes import CODES
from lakegate.lints.linter import Examined
from lakegate.plan.result import Sample
from lakegate.report.delivery_report import Report
from lakegate.report.verdict_text import CheckedDelivery
from lakegate.verdict.check_status import CheckOutcome, Status

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
STANDARD_INPUT = "-"
PROBLEM_LEVELS = {LintLevel.ERROR: "error", LintLevel.WARNING: "warning"}


def problems_of(judged: Mapping[str, Examined]) -> Iterator[tuple[str, LintLevel, Problem]]:
    """Every problem with its document and its level, in order of documents and lines."""
    for name, examined in judged.items():
        found = [(LintLevel.ERROR, error) for error in examined.errors] + [
            (LintLevel.WARNING, warning) for warning in examined.warnings
        ]
        yield from (
            (name, level, problem) for level, problem in sorted(found, key=lambda one: (one[1].line or 0, one[1].path))
        )


def sarif_problems(judged: Mapping[str, Examined], unreadable: Mapping[str, str], version: str) -> dict[str, Any]:
    """One run of SARIF 2.1.0; rules are the codes that were found, and what cannot be read makes the run a failed one."""
    problems = list(problems_of(judged))
    codes = sorted({problem.code for _, _, problem in problems})
    driver = {"name": "lakegate", "version": version, "rules": [_rule(code) for code in codes]}
    results = [_problem_result(name, level, problem, codes) for name, level, problem in problems]
    notes = [
        {
            "level": "error",
            "message": {"text": why},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": uri_of(name)}}}],
        }
        for name, why in unreadable.items()
    ]
    return sarif_log(driver, results, notes)


def sarif_log(
    driver: dict[str, Any], results: Sequence[dict[str, Any]], notes: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """A log of one run (SARIF 2.1.0 §3.14); a run with notifications has failed."""
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": not notes, "toolExecutionNotifications": notes}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": CODES[code].words},
        "defaultConfiguration": {"level": PROBLEM_LEVELS[CODES[code].level]},
        "properties": {"family": CODES[code].family},
    }


def _problem_result(name: str, level: LintLevel, problem: Problem, codes: list[str]) -> dict[str, Any]:
    region = {"startLine": problem.line or 1} | ({"startColumn": problem.column} if problem.column else {})
    physical = {"artifactLocation": {"uri": uri_of(name)}, "region": region}
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": PROBLEM_LEVELS[level],
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": physical, "logicalLocations": [{"fullyQualifiedName": problem.path}]}],
        "partialFingerprints": {"codeAndPath/v1": f"{problem.code}@{problem.path}"},
    }


def uri_of(name: str) -> str:
    """The name of an input as a URI reference (SARIF 2.1.0 §3.4.3)."""
    if name == STANDARD_INPUT:
        return "stdin"
    path = Path(name)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix().encode("utf-8", "replace"))


LEVELS: Final = {Status.FAIL: "error", Status.ERROR: "error", Status.WARN: "warning"}
SHOWN_LOCATIONS: Final = 20
"""Failing rows of a check."""


def sarif(deliveries: Sequence[CheckedDelivery]) -> Iterator[str]:
    """A log of SARIF 2.1.0: one result for each reason, at its first failing row; further rows are related locations."""
    driver: dict[str, Any] = {"name": "lakegate", "version": version("lakegate"), "rules": []}
    notes = [
        {"level": "error", "message": {"text": str(delivery.error)}}
        for delivery in deliveries
        if delivery.report is None
    ]
    found = [
        (delivery.report, reason)
        for delivery in deliveries
        if delivery.report is not None
        for reason in delivery.report.judgement.reasons
        if reason.status in LEVELS
    ]
    rules = {reason.id: reason.rule for _, reason in found}
    driver["rules"] = [{"id": name, "shortDescription": {"text": rule}} for name, rule in rules.items()]
    results = [_result(report, reason, list(rules).index(reason.id)) for report, reason in found]
    yield json.dumps(sarif_log(driver, results, notes), indent=2)


def _result(report: Report, outcome: CheckOutcome, index: int) -> dict[str, Any]:
    rows = [_location(report, sample) for sample in outcome.samples[:SHOWN_LOCATIONS]]
    first = rows[0] if rows else _whole(report.files[0])
    logical = [{"fullyQualifiedName": ", ".join(outcome.fields) or report.plan.dataset}]
    more = {"relatedLocations": rows[1:]} if rows[1:] else {}
    return {
        "ruleId": outcome.id,
        "ruleIndex": index,
        "level": LEVELS[outcome.status],
        "message": {"text": report.message(outcome)},
        "locations": [first | {"logicalLocations": logical}],
    } | more


def _whole(name: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": uri_of(name)}}}


def _location(report: Report, sample: Sample) -> dict[str, Any]:
    """The row of a text; a row of a binary file is not a line, and is named in words."""
    at = _whole(report.files[sample.part])
    if report.plan.storage.format.is_text:
        at["physicalLocation"]["region"] = {"startLine": sample.row}
    return at | {"message": {"text": report.place(sample)}}
