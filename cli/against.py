"""`lakegate check --against`: what a corrected file improves on an earlier delivery, or on an earlier check."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakegate.contracts.errors import InputError
from lakegate.contracts.judge.outcomes import Status
from lakegate.contracts.report.progress import CheckFinding
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakegate.contracts.report.progress import CheckChange, Progress

SHOWN = 20
"""Checks of a group on the terminal."""
WORDS = {
    "fixed": "fixed",
    "still_broken": "still broken",
    "newly_broken": "newly broken",
    "not_measured": "not measured any more",
}


@dataclass(frozen=True, slots=True)
class Earlier:
    """What is compared with."""

    name: str
    verdict: str
    findings: Mapping[str, CheckFinding]


def earlier(name: str, stack: str, *, local: bool) -> Earlier:
    """The earlier result: a file that `check --json` or `reasons --json` wrote, else a delivery of a stack.

    InputError where there is none, or it was not judged.
    """
    path = Path(name)
    return _of_file(path) if path.suffix == ".json" and path.is_file() else _of_delivery(name, stack, local=local)


def _of_file(path: Path) -> Earlier:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        checks, verdict = document["checks"], document["verdict"]
        findings = {
            str(each["id"]): CheckFinding(Status(each["status"]), _rows(each["failing_rows"])) for each in checks
        }
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"--against {path}: this is no answer of `lakegate check --json` or `lakegate reasons --json`"
        ) from error
    if verdict is None or not findings:
        raise InputError(f"--against {path}: nothing was measured then")
    return Earlier(str(path), str(verdict), findings)


def _rows(value: Any) -> int | None:  # noqa: ANN401 - of a document
    return value if isinstance(value, int) else None


def _of_delivery(name: str, stack: str, *, local: bool) -> Earlier:
    # a stack needs the extra `aws`, and its imports take longer than a check
    from lakegate.cli.account import account  # noqa: PLC0415
    from lakegate.cli.aws import opened  # noqa: PLC0415
    from lakegate.cli.status import LATEST  # noqa: PLC0415
    from lakegate.contracts.door.refusals import code_of  # noqa: PLC0415
    from lakegate.functions.usecases.deliveries import named  # noqa: PLC0415

    with opened(stack, local=local) as there:
        dependencies = there.dependencies()
        one = account(dependencies, named(dependencies, name, LATEST))
    row = one.delivery.row
    if one.measured is not None:
        outcomes = one.measured.judgement.outcomes
        findings = {each.id: CheckFinding(each.status, each.failing_rows) for each in outcomes}
    elif row is not None and row.decision is not None:
        findings = {code_of(each): CheckFinding(Status.FAIL) for each in row.decision.reasons}
    else:
        raise InputError(f"--against {name}: {one.delivery.key} was not judged yet")
    return Earlier(f"{one.delivery.key} (workload {one.delivery.id[:12]})", one.verdict or "undecided", findings)


def lines(before: Earlier, found: Progress) -> Iterator[str]:
    """The comparison for people."""
    counts = ", ".join(
        f"{len(getattr(found, name)):,} {words}" for name, words in WORDS.items() if name in _named(found)
    )
    yield f"Against {before.name}, {before.verdict.replace('_', ' ')}: {counts}"
    for name, words in WORDS.items():
        group: tuple[CheckChange, ...] = getattr(found, name)
        for each in group[:SHOWN]:
            yield f"  {words}: {each.id}{_numbers(each)}"
        if len(group) > SHOWN:
            yield f"  {words}: {len(group) - SHOWN:,} more"


def _named(found: Progress) -> tuple[str, ...]:
    return (*list(WORDS)[:3], *(("not_measured",) if found.not_measured else ()))


def _numbers(each: CheckChange) -> str:
    before, now = (None if one is None else one.rows for one in (each.before, each.after))
    return "" if before is None or now is None else f" ({counted(before, 'failing row')} before, {now:,} now)"


def as_document(before: Earlier, found: Progress) -> dict[str, object]:
    """The comparison for programs."""
    groups = {name: [_as_document(each) for each in getattr(found, name)] for name in WORDS}
    return {"name": before.name, "verdict": before.verdict, **groups}


def _as_document(each: CheckChange) -> dict[str, object]:
    return {"id": each.id, "before": _finding(each.before), "now": _finding(each.after)}


def _finding(finding: CheckFinding | None) -> dict[str, object] | None:
    return None if finding is None else {"status": finding.status.value, "failing_rows": finding.rows}
