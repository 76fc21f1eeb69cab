"""GitHub annotations, and a summary in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lakegate.base.text import markdown, printable
from lakegate.lints.linter import Examined
from lakegate.report.sarif import LEVELS, PROBLEM_LEVELS, problems_of
from lakegate.report.verdict_text import WORDS, CheckedDelivery
from lakegate.verdict.verdict import counts_of

# ---- Problems of contracts: SARIF and annotations ----


GITHUB_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
GITHUB_PROPERTY = {**GITHUB_MESSAGE, ":": "%3A", ",": "%2C"}


def github_problems(judged: Mapping[str, Examined], unreadable: Mapping[str, str]) -> Iterator[str]:
    """One workflow command for each problem: it shows up at its line of the pull request."""
    for name, why in unreadable.items():
        yield workflow_command("error", {"file": name, "title": "lakegate unreadable"}, why)
    for name, level, problem in problems_of(judged):
        place = {"line": problem.line or 1} | ({"col": problem.column} if problem.column else {})
        properties = {
            "file": name,
            **{key: str(each) for key, each in place.items()},
            "title": f"lakegate {problem.code}",
        }
        yield workflow_command(PROBLEM_LEVELS[level], properties, f"{problem.message} @ {problem.path}")


def workflow_command(level: str, properties: Mapping[str, str], message: str) -> str:
    """One annotation as GitHub Actions reads it from standard output; no text can begin another command."""
    written = ",".join(f"{key}={_escaped(value, GITHUB_PROPERTY)}" for key, value in properties.items())
    return f"::{level} {written}::{_escaped(message, GITHUB_MESSAGE)}"


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    known = text.encode("utf-8", "replace").decode()
    return "".join(escapes.get(char, char if char.isprintable() else printable(char)) for char in known)


# ---- Results of `check`: JUnit, SARIF, annotations, Markdown ----


def github(deliveries: Sequence[CheckedDelivery]) -> Iterator[str]:
    """One workflow command for each reason, at its first failing row."""
    return (line for delivery in deliveries for line in _commands(delivery))


def _commands(delivery: CheckedDelivery) -> Iterator[str]:
    if delivery.report is None:
        yield workflow_command("error", {"title": "lakegate check"}, str(delivery.error))
        return
    for reason in delivery.report.judgement.reasons:
        sample = reason.samples[0] if reason.samples else None
        file = delivery.report.files[sample.part if sample else 0]
        line = {"line": str(sample.row)} if sample and delivery.report.plan.storage.format.is_text else {}
        properties = {"file": file, **line, "title": f"lakegate {reason.rule}"}
        yield workflow_command(LEVELS.get(reason.status, "notice"), properties, delivery.report.message(reason))


def summary(deliveries: Sequence[CheckedDelivery]) -> Iterator[str]:
    """The verdict of each table and its reasons as Markdown, for the summary of a workflow or a comment."""
    for at, delivery in enumerate(deliveries):
        if at:
            yield ""
        yield from _summary_of_delivery(delivery)


def _summary_of_delivery(delivery: CheckedDelivery) -> Iterator[str]:
    named = markdown(", ".join(delivery.files))
    if delivery.report is None:
        yield f"**Not judged**: {markdown(str(delivery.error))}"
        yield f"\n{named}"
        return
    report = delivery.report
    counts = counts_of(report.plan, report.judgement)
    yield f"**{WORDS[report.judgement.verdict][1]}**: {markdown(counts.rows_in_words)}"
    contract = f"{report.plan.dataset}, contract {report.plan.contract} {report.plan.contract_version}"
    yield f"\n{named} as {markdown(contract)}. Checks: {counts.checks_in_words}."
    if report.judgement.reasons:
        yield "\n| status | rule | field | finding | first row |"
        yield "| --- | --- | --- | --- | --- |"
    for reason in report.judgement.reasons:
        place = report.place(reason.samples[0]) if reason.samples else ""
        cells = (reason.status.value, reason.rule, ", ".join(reason.fields), report.message(reason), place)
        yield f"| {' | '.join(map(markdown, cells))} |"
