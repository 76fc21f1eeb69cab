"""The answer of `check --json`: one document for every end of the command (contracts/schemas/check.json)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from hashlib import file_digest
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from lakegate.contracts.errors import ContractError, SetUpError
from lakegate.contracts.judge.judgement import counts_of
from lakegate.contracts.judge.technology import technologies
from lakegate.contracts.judge.verdict import worst
from lakegate.contracts.report.delivery import is_masked, is_raw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakegate.cli.deliveries import DataFile
    from lakegate.contracts.errors import LakegateError
    from lakegate.contracts.judge.outcomes import CheckOutcome
    from lakegate.contracts.judge.technology import Technology
    from lakegate.contracts.plan.result import Sample
    from lakegate.contracts.report.delivery import Report

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
    """The document of one dataset; of several, one with the documents of all (contracts/schemas/check-tables.json)."""
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


def _check(report: Report, outcome: CheckOutcome, metric: str | None, by: Technology | None) -> dict[str, object]:
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


def sample_of(report: Report, sample: Sample) -> dict[str, object]:
    """One failing row: its place, and its values, and whether each is masked."""
    masked = [is_masked(sample, at) for at in range(len(sample.shapes))]
    values = [text if masked[at] or is_raw(sample, at) else None for at, text in enumerate(sample.shapes)]
    place = {"file": report.files[sample.part], "part": sample.part, "row": sample.row}
    optional = {name: text for name, text in (("at", sample.at), ("record", sample.record)) if text}
    return place | optional | {"values": values, "masked": masked}
