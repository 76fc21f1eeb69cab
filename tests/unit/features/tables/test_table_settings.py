"""Which datasets can be tables."""

from __future__ import annotations

import pytest

from lakegate.features.tables.table_settings import misfits
from lakegate.lints.linter import read

HEAD = """\
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    config: {lakegate: {format: FORMAT}}
    fields:
"""
TAKEN = "every table of Iceberg has a column of this name: rename the field"
NO_PARTS = "a CSV file has no parts of values: declare a text, or say which `format` is delivered"
MAPS = "a map has keys of one plain type, and values of one type: declare both"
OPEN = "a column of a table has one type: declare the fields, or the items, of the values"


def same(other: str) -> str:
    return f"many engines do not tell this name from that of `{other}`: rename one of the two"


@pytest.mark.parametrize(
    ("form", "fields", "reasons"),
    [
        ("csv", ("a: {type: text}", "offset: {type: long}"), []),
        ("csv", ("_FILE: {type: text}",), [("_FILE", TAKEN)]),
        ("csv", ("a: {type: record, fields: {b: {type: text}}}",), [("a", NO_PARTS)]),
        ("jsonl", ("a: {type: record, fields: {_file: {type: text}}}",), []),
        ("jsonl", ("A.b: {type: text}", "a: {type: record, fields: {b: {type: text}}}"), [("a.b", same('"A.b"'))]),
        ("jsonl", ("a.b: {type: text}", "a: {type: record, fields: {b: {type: text}}}"), [("a.b", same('"a.b"'))]),
        ("parquet", ("a: {type: map, keys: {type: text}, values: {type: text}}",), []),
        ("jsonl", ("a: {type: map, values: {type: text}}",), [("a", MAPS)]),
        ("jsonl", ("a: {type: map}",), [("a", MAPS)]),
        ("avro", ("a: {type: array, items: {type: record, fields: {b: {type: text}}}}",), []),
        ("jsonl", ("a: {type: variant}",), [("a", OPEN)]),
        ("jsonl", ("a: {type: record}",), [("a", OPEN)]),
        ("jsonl", ("a: {type: array}",), [("a", OPEN)]),
        ("jsonl", ("a: {type: array, items: {type: array}}",), [("a[]", OPEN)]),
    ],
)
def test_a_field_that_no_table_has_is_named_with_its_reason(
    form: str, fields: tuple[str, ...], reasons: list[tuple[str, str]]
) -> None:
    """Names that engines take or do not tell apart, and values without one declared type."""
    written = "".join(f"      {field}\n" for field in fields)
    contract = read(f"{HEAD.replace('FORMAT', form)}{written}".encode())

    assert list(misfits(contract.datasets[0])) == reasons
