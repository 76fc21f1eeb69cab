"""Problems of contracts in the forms that machines read: SARIF for code scanning, annotations for pull requests on GitHub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lakegate.contracts.lint.codes import CODES
from lakegate.contracts.lint.finding import LintLevel
from lakegate.contracts.words import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.contracts.errors import Problem
    from lakegate.contracts.lint.examine import Examined

SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
STANDARD_INPUT = "-"
LEVELS = {LintLevel.ERROR: "error", LintLevel.WARNING: "warning"}
GITHUB_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
GITHUB_PROPERTY = {**GITHUB_MESSAGE, ":": "%3A", ",": "%2C"}


def problems_of(judged: Mapping[str, Examined]) -> Iterator[tuple[str, LintLevel, Problem]]:
    """Every problem with its document and its level, in order of documents and lines."""
    for name, examined in judged.items():
        found = [(LintLevel.ERROR, each) for each in examined.errors] + [
            (LintLevel.WARNING, each) for each in examined.warnings
        ]
        yield from (
            (name, level, each) for level, each in sorted(found, key=lambda one: (one[1].line or 0, one[1].path))
        )


def sarif(judged: Mapping[str, Examined], unreadable: Mapping[str, str], version: str) -> dict[str, Any]:
    """One run of SARIF 2.1.0; rules are the codes that were found, and what cannot be read makes the run a failed one."""
    found = list(problems_of(judged))
    codes = sorted({problem.code for _, _, problem in found})
    driver = {"name": "lakegate", "version": version, "rules": [_rule(code) for code in codes]}
    results = [_result(name, level, problem, codes) for name, level, problem in found]
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


def github(judged: Mapping[str, Examined], unreadable: Mapping[str, str]) -> Iterator[str]:
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
        yield workflow_command(LEVELS[level], properties, f"{problem.message} @ {problem.path}")


def workflow_command(level: str, properties: Mapping[str, str], message: str) -> str:
    """One annotation as GitHub Actions reads it from standard output; no text can begin another command."""
    written = ",".join(f"{key}={_escaped(value, GITHUB_PROPERTY)}" for key, value in properties.items())
    return f"::{level} {written}::{_escaped(message, GITHUB_MESSAGE)}"


def _rule(code: str) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": CODES[code].words},
        "defaultConfiguration": {"level": LEVELS[CODES[code].level]},
        "properties": {"family": CODES[code].family},
    }


def _result(name: str, level: LintLevel, problem: Problem, codes: list[str]) -> dict[str, Any]:
    region = {"startLine": problem.line or 1} | ({"startColumn": problem.column} if problem.column else {})
    physical = {"artifactLocation": {"uri": uri_of(name)}, "region": region}
    return {
        "ruleId": problem.code,
        "ruleIndex": codes.index(problem.code),
        "level": LEVELS[level],
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


def _escaped(text: str, escapes: Mapping[str, str]) -> str:
    known = text.encode("utf-8", "replace").decode()
    return "".join(escapes.get(char, char if char.isprintable() else printable(char)) for char in known)
