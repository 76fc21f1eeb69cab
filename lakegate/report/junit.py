"""The result of `check` for other programs: JUnit XML, SARIF, annotations of GitHub, a summary in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as ET

from lakegate.base.text import printable as escaped
from lakegate.report.delivery_report import Report
from lakegate.report.sarif import SHOWN_LOCATIONS
from lakegate.report.verdict_text import CheckedDelivery
from lakegate.verdict.check_status import CheckOutcome, Status


def junit(deliveries: Sequence[CheckedDelivery]) -> Iterator[str]:
    """A test suite for each table with a test case for each check: `failure` rejects, `skipped` was not measured, warnings pass.

    The schema that Jenkins and GitLab read: testsuites > testsuite > testcase > failure | error | skipped | system-out.
    """
    root = ET.Element("testsuites", name="lakegate")
    total: Counter[str] = Counter()
    for delivery in deliveries:
        total.update(_suite(root, delivery))
    for name, count in total.items():
        root.set(name, str(count))
    ET.indent(root)
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}'


def _suite(root: ET.Element, delivery: CheckedDelivery) -> dict[str, int]:
    """Add the suite of a table; its counts."""
    suite = ET.SubElement(root, "testsuite", name=escaped(", ".join(delivery.files)))
    counts = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    if delivery.report is None:
        case = ET.SubElement(suite, "testcase", classname="lakegate", name="check")
        ET.SubElement(case, "error", message=escaped(str(delivery.error)))
        counts |= {"tests": 1, "errors": 1}
    else:
        outcomes = (*delivery.report.judgement.reasons, *delivery.report.judgement.others)
        for outcome in outcomes:
            _test_case(suite, delivery.report, outcome)
        statuses = [outcome.status for outcome in outcomes]
        numbers = (len(statuses), *(statuses.count(each) for each in (Status.FAIL, Status.ERROR, Status.SKIP)))
        counts = dict(zip(counts, numbers, strict=True))
        suite.set("time", f"{sum(delivery.report.result.timings.values()):.3f}")
    for name, count in counts.items():
        suite.set(name, str(count))
    return counts


def _test_case(suite: ET.Element, report: Report, outcome: CheckOutcome) -> None:
    case = ET.SubElement(suite, "testcase", classname=escaped(report.plan.dataset), name=escaped(outcome.id))
    element = {Status.FAIL: "failure", Status.ERROR: "error", Status.SKIP: "skipped"}.get(outcome.status)
    message = escaped(report.message(outcome))
    rows = "\n".join(escaped(report.place(sample)) for sample in outcome.samples[:SHOWN_LOCATIONS])
    if element is not None:
        ET.SubElement(case, element, message=message).text = rows or None
    elif outcome.status is Status.WARN:
        ET.SubElement(case, "system-out").text = "\n".join([f"warning: {message}", *([rows] if rows else [])])
