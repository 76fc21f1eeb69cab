"""Which datasets can be slices of Open Data Fabric."""

from __future__ import annotations

import pytest

from lakegate.features.odf.odf_settings import event_time_misfit, misfits
from lakegate.lints.linter import read
from tests.deliveries.delivery import plan_of

HEAD = """\
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: FORMAT}}
    fields:
"""
TAKEN = "every slice has a column of this name: rename the field"
NO_PARTS = "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
MAPS = "ODF's logical hash does not know maps: declare a record, or a list of texts"
RECORDS = "ODF's logical hash does not know records in lists: declare lists of plain values"
OPEN = "a column of a slice has one type: declare the fields, or the items, of the values"


@pytest.mark.parametrize(
    ("form", "field", "reasons"),
    [
        ("csv", "a: {type: text}", []),
        ("jsonl", "a: {type: record, fields: {op: {type: array, items: {type: array, items: {type: text}}}}}", []),
        ("csv", "OP: {type: text}", [("OP", TAKEN)]),
        ("csv", "event_time: {type: timestamp}", [("event_time", TAKEN)]),
        ("csv", "a: {type: record, fields: {b: {type: text}}}", [("a", NO_PARTS)]),
        ("parquet", "a: {type: map, keys: {type: text}, values: {type: text}}", [("a", MAPS)]),
        ("avro", "a: {type: array, items: {type: record, fields: {b: {type: text}}}}", [("a[]", RECORDS)]),
        ("jsonl", "a: {type: variant}", [("a", OPEN)]),
        ("jsonl", "a: {type: record}", [("a", OPEN)]),
        ("jsonl", "a: {type: array}", [("a", OPEN)]),
        ("jsonl", "a: {type: array, items: {type: array}}", [("a[]", OPEN)]),
    ],
)
def test_a_field_that_no_slice_has_is_named_with_its_reason(
    form: str, field: str, reasons: list[tuple[str, str]]
) -> None:
    """Names of common columns in any case, and types without a logical hash or without a declared content."""
    contract = read(f"{HEAD.replace('FORMAT', form)}      {field}\n".encode())

    assert list(misfits(contract.datasets[0])) == reasons


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("seen", None),
        ("day", None),
        ("id", "it is neither a date nor a timestamp"),
        ("other", "the contract has no such column"),
    ],
)
def test_times_of_events_are_dates_or_timestamps(name: str, reason: str | None) -> None:
    """Of a column of the dataset."""
    plan = plan_of({"id": "integer", "seen": "timestamp", "day": "date"})

    assert event_time_misfit(plan.fields, name) == reason
