"""Document of `check --json`; difference to an earlier check."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakegate.errors import ContractError, InputError, SetUpError
from lakegate.report.dcm_results import technologies
from lakegate.report.delivery_report import CheckFinding
from lakegate.report.failing_rows_file import sample_of
from lakegate.text import counted
from lakegate.verdict.check_status import Status
from lakegate.verdict.verdict import counts_of, worst

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakegate.errors import LakegateError
    from lakegate.local_check.data_files import DataFile
    from lakegate.report.dcm_results import MeasuringTechnology
    from lakegate.report.delivery_report import CheckChange, Progress, Report
    from lakegate.verdict.check_status import CheckOutcome

# ---- `lakegate check --against`: what a corrected file improves on an earlier delivery, or on an earlier check -----


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
    from lakegate.admission.refusals import code_of  # noqa: PLC0415
    from lakegate.aws.open_stack import opened  # noqa: PLC0415
    from lakegate.gate.delivery.find_deliveries import named  # noqa: PLC0415
    from lakegate.stack import (  # noqa: PLC0415 - a feature
        LATEST,
        account,
    )

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


# ---- The answer of `check --json`: one document for every end of the command (lakegate/schemas/check.json) --------


VERSION = "lakegate/check/1"
TABLES_VERSION = "lakegate/check-tables/1"
SAMPLES = 20
"""Failing rows of a check in the document."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the command was given."""

    contract: Path
    files: list[DataFile]
    references: list[str]

    def to_json(self) -> dict[str, object]:
        """The contract's file, and every data file with its size and SHA-256, null where it cannot be read; of S3 the ETag."""
        files = [_file(each) for each in self.files]
        return {"contract": str(self.contract), "files": files, "references": self.references}


def judged(inputs: Inputs, report: Report) -> dict[str, object]:
    """The document of a delivery that was judged."""
    plan, judgement = report.plan, report.judgement
    counts = counts_of(plan, judgement)
    return _document(inputs) | {
        "verdict": judgement.verdict.value,
        "dataset": plan.dataset,
        "contract": {"id": plan.contract, "version": plan.contract_version, "plan": plan.digest},
        "rows": counts.rows,
        "published_rows": counts.published_rows,
        "rejected_rows": counts.rejected_rows,
        "breaking_rows": judgement.rejected_rows,
        "counts": counts.checks,
        "reasons": _reasons(report),
        "checks": checks(report),
        "timings": report.result.timings,
    }


def judged_tables(inputs: Inputs, reports: Sequence[Report]) -> dict[str, object]:
    """The document of one dataset; of several, one with the documents of all (lakegate/schemas/check-tables.json)."""
    if len(reports) == 1:
        return judged(inputs, reports[0])
    files = {each.shown: each for each in inputs.files}
    tables = [judged(replace(inputs, files=[files[name] for name in each.files]), each) for each in reports]
    return {
        "version": TABLES_VERSION,
        "verdict": worst(each.judgement.verdict for each in reports).value,
        "tables": tables,
    }


def refused(inputs: Inputs, error: LakegateError) -> dict[str, object]:
    """The document where contract, data or machine cannot be used."""
    kind = {ContractError: "contract", SetUpError: "set-up"}.get(type(error), "input")
    problems = [asdict(each) for each in error.problems] if isinstance(error, ContractError) else []
    return _document(inputs) | {"error": {"kind": kind, "message": str(error), "problems": problems}}


def _reasons(report: Report) -> list[dict[str, object]]:
    """Causes with the checks that they explain, and the checks that no cause explains."""
    explains = {each.as_outcome(): list(each.explains) for each in report.judgement.causes}
    reasons = report.judgement.reasons
    return [{"id": each.id, "message": report.message(each), "explains": explains.get(each, [])} for each in reasons]


def checks(report: Report) -> list[dict[str, object]]:
    """Every check with what was wanted, what was measured, and the first failing rows."""
    metrics = {each.id: each.metric.value for each in report.plan.checks if each.skip is None}
    measured_by = technologies(report.plan, report.judgement, report.result)
    return [_check(report, each, metrics.get(each.id), measured_by.get(each.id)) for each in report.judgement.outcomes]


def _document(inputs: Inputs) -> dict[str, object]:
    """What every document has; null, and empty, until the delivery was judged."""
    judged_only = (
        "verdict",
        "error",
        "dataset",
        "contract",
        "rows",
        "published_rows",
        "rejected_rows",
        "breaking_rows",
    )
    return {
        "version": VERSION,
        "tool": {"name": "lakegate", "version": version("lakegate")},
        "inputs": inputs.to_json(),
        **dict.fromkeys(judged_only),
        "counts": None,
        "reasons": [],
        "checks": [],
        "timings": {},
    }


def _file(file: DataFile) -> dict[str, object]:
    if file.pin is not None:
        return {"file": file.shown, "size": file.pin.size, "sha256": None, "etag": file.pin.etag}
    try:
        with Path(file.name).open("rb") as opened:
            digest = file_digest(opened, "sha256").hexdigest()
            return {"file": file.shown, "size": opened.tell(), "sha256": digest}
    except OSError:
        return {"file": file.shown, "size": None, "sha256": None}


def _check(
    report: Report, outcome: CheckOutcome, metric: str | None, by: MeasuringTechnology | None
) -> dict[str, object]:
    numbers = outcome.numbers
    return {
        "id": outcome.id,
        "rule": outcome.rule,
        "field": ", ".join(outcome.fields) or None,
        "status": outcome.status.value,
        "metric": metric,
        "threshold": outcome.wanted,
        "measured": {"text": outcome.measured, **asdict(numbers)} if numbers else None,
        "technology": by.name if by else None,
        "version": by.version if by else None,
        "failing_rows": outcome.failing_rows,
        "message": report.message(outcome),
        "samples": [sample_of(report, each) for each in outcome.samples[:SAMPLES]],
        "good_shapes": list(outcome.good),
    }
