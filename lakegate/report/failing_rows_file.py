"""Failing rows as a CSV or JSON file."""

from __future__ import annotations

import csv
import json
import re
from typing import TYPE_CHECKING

from lakegate.errors import InputError
from lakegate.report.delivery_report import is_masked, is_raw
from lakegate.text import counted, printable
from lakegate.verdict.check_status import Status

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lakegate.plan.result import Sample
    from lakegate.report.delivery_report import Report
    from lakegate.verdict.check_status import CheckOutcome

# ---- The answer of `check --json`: one document for every end of the command (lakegate/schemas/check.json) --------


def sample_of(report: Report, sample: Sample) -> dict[str, object]:
    """One failing row: its place, and its values, and whether each is masked."""
    masked = [is_masked(sample, at) for at in range(len(sample.shapes))]
    values = [text if masked[at] or is_raw(sample, at) else None for at, text in enumerate(sample.shapes)]
    place = {"file": report.files[sample.part], "part": sample.part, "row": sample.row}
    optional = {name: text for name, text in (("at", sample.at), ("record", sample.record)) if text}
    return place | optional | {"values": values, "masked": masked}


# ---- Failing rows in a file of their own, for the people who correct them: CSV for a spreadsheet, JSON for a
# program


SUFFIXES = (".csv", ".json")
MOST = 1000
"""Rows of each check."""
COLUMNS = ("file", "row", "at", "status", "rule", "field", "values", "masked", "message")
FORMULA = re.compile(r"(?:^|(?<=[;,|]))(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""How a cell begins that a spreadsheet would compute."""
NUMBER = re.compile(r"-[0-9]+([.,][0-9]+)?")


def write(option: str, path: Path, reports: Sequence[Report]) -> str:
    """Write the failing rows; what was written, in words. InputError where the file cannot be written."""
    broken = {Status.FAIL, Status.WARN}
    bad = [(report, each) for report in reports for each in report.judgement.outcomes if each.status in broken]
    rows = [_row(report, outcome, sample) for report, outcome in bad for sample in outcome.samples]
    try:
        with path.open("w", encoding="utf-8", newline="") as file:
            if path.suffix == ".json":
                json.dump({"failures": rows}, file, ensure_ascii=False, indent=2)
            else:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                writer.writeheader()
                writer.writerows({name: cell(row.get(name)) for name in COLUMNS} for row in rows)
    except OSError as error:
        raise InputError(f"{option} {path} cannot be written: {error.strerror}") from error
    cut = sum(len(each.samples) < (each.failing_rows or 0) for _, each in bad)
    more = f"; {counted(cut, 'rule has', 'rules have')} more failing rows than are written" if cut else ""
    return f"{path}: {counted(len(rows), 'row')} written{more}"


def _row(report: Report, outcome: CheckOutcome, sample: Sample) -> dict[str, object]:
    return {
        "status": outcome.status.value,
        "rule": outcome.rule,
        "field": list(outcome.fields),
        "message": report.message(outcome),
    } | sample_of(report, sample)


def cell(value: object) -> str:
    """A cell that no spreadsheet computes: what begins like a formula gets an apostrophe in front, numbers apart, also behind a
    separator, because some spreadsheets divide cells there. Characters that are not printed are escapes.
    """
    texts = value if isinstance(value, list) else [value]
    text = printable(", ".join("" if each is None else str(each) for each in texts))
    return text if NUMBER.fullmatch(text) else FORMULA.sub("'", text)
