"""The report of a trial: what each step expected, what it saw, and what the project is to be sent; no secrets, one file.

A test replays a report: it plays the same steps on the fakes, and names where these behave otherwise than the account did. So a
difference that somebody has recorded is a case of the fakes and of the local stack.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from lakegate.base.errors import InputError
from lakegate.base.json_codec import decode_document, encode

FORMAT: Final = "lakegate-prove/1"
REPORT_FILE: Final = "prove-report.json"
SEND: Final = "send this file with an issue: the difference becomes a test case of the project"
LONGEST: Final = 400
"""Characters of a text: an error of AWS, and no log."""
_HIDDEN: Final = (
    (re.compile(r"(?<![A-Za-z0-9])(?:A[SK]IA|AROA|AIDA)[A-Z0-9]{12,}"), "KEY-ID"),
    (re.compile(r"(?i)(X-Amz-(?:Signature|Credential|Security-Token)=)[^&\\s]+"), r"\1HIDDEN"),
    (
        re.compile(r"(?i)((?:secret|token|password|authorization)[\"'\s]*[=:][\"'\s]*)(?:bearer\s+)?[^\s,;\"']+"),
        r"\1HIDDEN",
    ),
    (re.compile(r"(?<![A-Za-z0-9/+])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])(?<![0-9a-f]{40})"), "HIDDEN"),
    (re.compile(r"(?<![0-9])[0-9]{12}(?![0-9])"), "ACCOUNT"),
    (re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"), "ADDRESS"),
)
"""What no report has: keys and tokens of AWS, signatures of URLs, the number of the account, addresses of people."""


@dataclass(frozen=True, slots=True)
class ReportedStep:
    """A step."""

    title: str
    outcome: str
    expected: Mapping[str, Any] = field(default_factory=dict)
    seen: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)
    found: str = ""
    send: str = ""
    """What to send where the account behaves otherwise; empty where it does not."""


@dataclass(frozen=True, slots=True)
class ProveReport:
    """A trial."""

    format: str
    release: str
    region: str
    parameters: Mapping[str, str]
    """Of the stack, by which the expectations were computed."""
    steps: tuple[ReportedStep, ...]

    @property
    def differing(self) -> dict[str, ReportedStep]:
        """The steps that saw something else, by their title."""
        return {step.title: step for step in self.steps if step.send}


def write_report(report: ProveReport, path: Path) -> None:
    """Write a report without secrets. Raises InputError where the file cannot be written."""
    text = json.dumps(without_secrets(encode(report)), indent=1, sort_keys=True, ensure_ascii=False)
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: name another file by --report") from None


def read_report(path: Path) -> ProveReport:
    """The report in a file. Raises InputError for another file."""
    report: ProveReport = decode_document(ProveReport, str(path), json.loads(path.read_bytes()))
    if report.format != FORMAT:
        raise InputError(f"{path}: the format is {report.format}, not {FORMAT}: read it with the release that wrote it")
    return report


def without_secrets(value: Any) -> Any:  # noqa: ANN401 - JSON
    """The value with what nobody should read replaced, and long texts cut."""
    if isinstance(value, str):
        for pattern, instead in _HIDDEN:
            value = pattern.sub(instead, value)
        return value[:LONGEST]
    if isinstance(value, Mapping):
        return {str(without_secrets(name)): without_secrets(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_secrets(each) for each in value]
    return value


def contradictions(recorded: ProveReport, local: ProveReport) -> Iterator[str]:
    """Where the same steps elsewhere saw something else than an account did, a line for each name."""
    seen = {step.title: step.seen for step in local.steps}
    for step in recorded.steps:
        for name, value in step.seen.items() if step.title in seen else ():
            if (there := seen[step.title].get(name)) != value:
                yield f"{step.title}: {name} is {value!r} in the account, and {there!r} here"
