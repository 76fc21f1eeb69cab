"""The answer of `check` for other programs: JUnit XML, SARIF, annotations of GitHub, a summary in Markdown."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree as ET

from lakegate.cli.annotations import sarif_log, uri_of, workflow_command
from lakegate.cli.escape import escaped, markdown
from lakegate.cli.judgement_text import WORDS
from lakegate.contracts.judge.judgement import counts_of
from lakegate.contracts.judge.outcomes import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.plan.result import Sample
    from lakegate.contracts.report.delivery import Report


class CheckFormat(StrEnum):
    """The form of the answer."""

    TEXT = "text"
    JSON = "json"
    JUNIT = "junit"
    SARIF = "sarif"
    GITHUB = "github"
    MARKDOWN = "markdown"


LEVELS: Final = {Status.FAIL: "error", Status.ERROR: "error", Status.WARN: "warning"}
SHOWN: Final = 20
"""Failing rows of a check."""


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """What a format writes: a judged delivery, or the error that kept it from being judged."""

    files: tuple[str, ...]
    report: Report | None = None
    error: LakegateError | None = None


def junit(answers: Sequence[CheckAnswer]) -> Iterator[str]:
    """A test suite for each table with a test case for each check: `failure` rejects, `skipped` was not measured, warnings pass.

    The schema that Jenkins and GitLab read: testsuites > testsuite > testcase > failure | error | skipped | system-out.
    """
    root = ET.Element("testsuites", name="lakegate")
    total: Counter[str] = Counter()
    for each in answers:
        total.update(_suite(root, each))
    for name, count in total.items():
        root.set(name, str(count))
    ET.indent(root)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(root: ET.Element, answer: CheckAnswer) -> dict[str, int]:
    """Add the suite of a table; its counts."""
    suite = ET.SubElement(root, "testsuite", name=escaped(", ".join(answer.files)))
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if answer.report is None:
        case = ET.SubElement(suite, "testcase", classname="lakegate", name="check")
        ET.SubElement(case, "error", message=escaped(str(answer.error)))
        counts |= {"tests": 1, "errors": 1}
    else:
        outcomes = (*answer.report.judgement.reasons, *_others(answer.report))
        for each in outcomes:
            _test_case(suite, answer.report, each)
        statuses = [each.status for each in outcomes]
        numbers = (len(statuses), *(statuses.count(each) for each in (Status.FAIL, Status.ERROR, Status.SKIP)))
        counts = dict(zip(counts, numbers, strict=True))
        suite.set("time", f"{sum(answer.report.result.timings.values()):.3f}")
    for name, count in counts.items():
        suite.set(name, str(count))
    return counts


def _others(report: Report) -> Iterator[CheckOutcome]:
    reasons = {each.id for each in report.judgement.reasons}
    return (each for each in report.judgement.outcomes if each.id not in reasons)


def _test_case(suite: ET.Element, report: Report, outcome: CheckOutcome) -> None:
    case = ET.SubElement(suite, "testcase", classname=escaped(report.plan.dataset), name=escaped(outcome.id))
    element = {Status.FAIL: "failure", Status.ERROR: "error", Status.SKIP: "skipped"}.get(outcome.status)
    message = escaped(report.message(outcome))
    rows = "\n".join(escaped(report.place(each)) for each in outcome.samples[:SHOWN])
    if element is not None:
        ET.SubElement(case, element, message=message).text = rows or None
    elif outcome.status is Status.WARN:
        ET.SubElement(case, "system-out").text = "\n".join([f"warning: {message}", *([rows] if rows else [])])


def sarif(answers: Sequence[CheckAnswer]) -> Iterator[str]:
    """A log of SARIF 2.1.0: one result for each reason, at its first failing row; further rows are related locations."""
    driver: dict[str, Any] = {"name": "lakegate", "version": version("lakegate"), "rules": []}
    notes = [{"level": "error", "message": {"text": str(each.error)}} for each in answers if each.report is None]
    found = [
        (each.report, reason)
        for each in answers
        if each.report is not None
        for reason in each.report.judgement.reasons
        if reason.status in LEVELS
    ]
    rules = {reason.id: reason.rule for _, reason in found}
    driver["rules"] = [{"id": name, "shortDescription": {"text": rule}} for name, rule in rules.items()]
    results = [_result(report, reason, list(rules).index(reason.id)) for report, reason in found]
    yield json.dumps(sarif_log(driver, results, notes), indent=2)


def _result(report: Report, outcome: CheckOutcome, index: int) -> dict[str, Any]:
    rows = [_location(report, each) for each in outcome.samples[:SHOWN]]
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


def github(answers: Sequence[CheckAnswer]) -> Iterator[str]:
    """One workflow command for each reason, at its first failing row."""
    return (line for each in answers for line in _commands(each))


def _commands(answer: CheckAnswer) -> Iterator[str]:
    if answer.report is None:
        yield workflow_command("error", {"title": "lakegate check"}, str(answer.error))
        return
    for each in answer.report.judgement.reasons:
        sample = each.samples[0] if each.samples else None
        file = answer.report.files[sample.part if sample else 0]
        line = {"line": str(sample.row)} if sample and answer.report.plan.storage.format.is_text else {}
        properties = {"file": file, **line, "title": f"lakegate {each.rule}"}
        yield workflow_command(LEVELS.get(each.status, "notice"), properties, answer.report.message(each))


def summary(answers: Sequence[CheckAnswer]) -> Iterator[str]:
    """The verdict of each table and its reasons as Markdown, for the summary of a workflow or a comment."""
    for at, each in enumerate(answers):
        if at:
            yield ""
        yield from _summary(each)


def _summary(answer: CheckAnswer) -> Iterator[str]:
    named = markdown(", ".join(answer.files))
    if answer.report is None:
        yield f"**Not judged**: {markdown(str(answer.error))}"
        yield f"\n{named}"
        return
    report = answer.report
    counts = counts_of(report.plan, report.judgement)
    yield f"**{WORDS[report.judgement.verdict][1]}**: {markdown(counts.rows_in_words)}"
    contract = f"{report.plan.dataset}, contract {report.plan.contract} {report.plan.contract_version}"
    yield f"\n{named} as {markdown(contract)}. Checks: {counts.checks_in_words}."
    if report.judgement.reasons:
        yield "\n| status | rule | field | finding | first row |"
        yield "| --- | --- | --- | --- | --- |"
    for each in report.judgement.reasons:
        place = report.place(each.samples[0]) if each.samples else ""
        cells = (each.status.value, each.rule, ", ".join(each.fields), report.message(each), place)
        yield f"| {' | '.join(map(markdown, cells))} |"


WRITERS: Final[dict[CheckFormat, Callable[[Sequence[CheckAnswer]], Iterable[str]]]] = {
    CheckFormat.JUNIT: junit,
    CheckFormat.SARIF: sarif,
    CheckFormat.GITHUB: github,
    CheckFormat.MARKDOWN: summary,
}


def write(form: CheckFormat, answers: Sequence[CheckAnswer]) -> None:
    """Write the answers, one for each table, to standard output."""
    sys.stdout.writelines(f"{line}\n" for line in WRITERS[form](answers))
