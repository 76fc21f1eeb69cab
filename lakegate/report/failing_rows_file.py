"""Failing rows as a CSV or JSON file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from lakegate.base.errors import InputError
from lakegate.base.json_codec import Bounds, Count, Permitted, encode, omit_default
from lakegate.base.text import plural, printable
from lakegate.plan.result import MASKED_MISTAKES, Sample
from lakegate.report.delivery_report import Report, is_masked, is_raw
from lakegate.verdict.check_status import BROKEN, CheckOutcome


@dataclass(frozen=True, slots=True)
class SampledRow:
    """One failing row in documents."""

    file: str
    part: Count
    """Place of the file among the inputs, from 0."""
    row: Annotated[int, Bounds(1)]
    """Line of the file, the header included; the record's number, where there are no lines."""
    at: str = omit_default("")
    """The place in the row, for an element of a list or a map: `items[2]`."""
    record: Annotated[str, Permitted(("header", "blank", "total"))] | None = omit_default(None)
    """The kind of a record without data: the header line once more, or no values."""
    mistake: Annotated[str, Permitted(MASKED_MISTAKES)] | None = omit_default(None)
    """What is wrong with the one value, where its shape is that of a good one."""
    values: tuple[str | None, ...] = field(kw_only=True)
    """Values of the check's fields: shapes (`aaa-99`) where masked; null where there is none."""
    masked: tuple[bool, ...] = field(kw_only=True)
    """Of each value whether it is masked."""


def sample_of(report: Report, sample: Sample) -> SampledRow:
    """One failing row: its place, and its values, and whether each is masked."""
    masked = tuple(is_masked(sample, at) for at in range(len(sample.shapes)))
    values = tuple(text if masked[at] or is_raw(sample, at) else None for at, text in enumerate(sample.shapes))
    file = report.files[sample.part]
    place = file, sample.part, sample.row, sample.at
    return SampledRow(*place, sample.record, sample.mistake, values=values, masked=masked)


SUFFIXES = (".csv", ".json")
MAX_FAILING_ROWS = 1000
"""Rows of each check."""
COLUMNS = ("file", "row", "at", "status", "rule", "field", "values", "masked", "message")
FORMULA = re.compile(r"(?:^|(?<=[;,|]))(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Beginnings of cells that a spreadsheet would compute."""
NUMBER = re.compile(r"-[0-9]+([.,][0-9]+)?")


def write(option: str, path: Path, reports: Sequence[Report]) -> str:
    """Write the failing rows; what was written, in words. InputError where the file cannot be written."""
    bad = [(report, outcome) for report in reports for outcome in report.judgement.outcomes if outcome.status in BROKEN]
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
    more = f"; {plural(cut, 'rule has', 'rules have')} more failing rows than are written" if cut else ""
    return f"{path}: {plural(len(rows), 'row')} written{more}"


def _row(report: Report, outcome: CheckOutcome, sample: Sample) -> dict[str, object]:
    row: dict[str, object] = encode(sample_of(report, sample))
    return {
        "status": outcome.status.value,
        "rule": outcome.rule,
        "field": list(outcome.fields),
        "message": report.message(outcome),
    } | row


def cell(value: object) -> str:
    """A cell that no spreadsheet computes: what begins like a formula gets an apostrophe in front, numbers apart, also behind a
    separator, because some spreadsheets divide cells there. Characters that are not printed are escapes.
    """
    texts = value if isinstance(value, list) else [value]
    text = printable(", ".join("" if text is None else str(text) for text in texts))
    return text if NUMBER.fullmatch(text) else FORMULA.sub("'", text)
