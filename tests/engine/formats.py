"""The same rows for every format and codec, plain and nested."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from lakegate.contract.file_formats import Storage
from lakegate.lints.linter import read
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import Judged, rule
from tests.reference.cases import only_plan

moment = dt.datetime.fromisoformat

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 2, None], pa.int64()),
        "name": ["Ana", "João", None, "x"],
        "ok": [True, False, None, True],
        "share": [0.5, -1.25, None, 1e10],
        "price": pa.array([Decimal("1.50"), Decimal("-2.25"), None, Decimal(0)], pa.decimal128(10, 2)),
        "day": [dt.date(2020, 2, 29), None, dt.date(1700, 2, 3), dt.date(2200, 12, 31)],
        "at": ["12:00", "23:59:59.5", None, "00:00"],
        "seen": pa.array([moment("2020-01-01T01:02:03.000004"), None, moment("1700-01-01"), None], pa.timestamp("us")),
    }
)
FIELDS = {
    "id": "integer",
    "name": "string",
    "ok": "boolean",
    "share": "number",
    "price": "decimal",
    "day": "date",
    "at": "time",
    "seen": "timestamp",
}
RULES = (
    rule("required", "name"),
    rule("unique", "id"),
    rule("minLength", "name", value=2),
    rule("pattern", "name", pattern="^[A-Z]"),
    rule("enum", "ok", values=["true"]),
    rule("minimum", "share", value=0),
    rule("maximum", "price", value="1.49"),
    rule("multipleOf", "price", value="0.75"),
    rule("minimum", "day", value="2000-01-01"),
    rule("maximum", "at", value="23:00"),
    rule("maximum", "seen", value="2020-01-01T01:02:03.000003Z"),
)
EXPECTED = {
    **{f"type-{at}/{name}": 0 for at, name in enumerate(FIELDS)},
    "required/name": 1,
    "unique/id": 2,
    "minLength/name": 1,
    "pattern/name": 1,
    "enum/ok": 1,
    "minimum/share": 1,
    "maximum/price": 1,
    "multipleOf/price": 0,
    "minimum/day": 1,
    "maximum/at": 1,
    "maximum/seen": 1,
}


def stored(plan: Plan, storage: Storage) -> Plan:
    return replace(plan, storage=storage)


def failing(judged: Judged) -> dict[str, int]:
    return {each.check: each.accept.failing or 0 for each in judged.result.measurements if each.accept}


# --- parts of values

NESTED = """
dataContractSpecification: 1.2.1
id: x
info: {title: t, version: 1.0.0}
models:
  m:
    fields:
      id: {type: long}
      address: {type: record, required: true, fields: {street: {type: text, required: true, maxLength: 3}, no: {type: int}}}
      items:
        type: array
        items:
          type: record
          fields:
            sku: {type: text, required: true, pattern: "^[a-z]+$"}
            price: {type: decimal, minimum: 0}
            tags: {type: array, items: {type: text, enum: [new, old], required: true}}
      codes: {type: array, items: {type: long, maximum: 9}}
"""
KINDS = pa.schema(
    [
        ("id", pa.int64()),
        ("address", pa.struct([("street", pa.string()), ("no", pa.int32())])),
        (
            "items",
            pa.list_(
                pa.struct([("sku", pa.string()), ("price", pa.decimal128(8, 2)), ("tags", pa.list_(pa.string()))])
            ),
        ),
        ("codes", pa.list_(pa.int32())),
    ]
)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "address": {"street": "a", "no": 1},
        "items": [{"sku": "x", "price": Decimal(1), "tags": ["new"]}],
        "codes": [1],
    },
    {"id": 2, "address": {"street": None, "no": None}, "items": [], "codes": None},
    {
        "id": 3,
        "address": None,
        "items": [
            {"sku": "y", "price": None, "tags": None},
            {"sku": "Z", "price": Decimal("-0.25"), "tags": ["old", "odd", None]},
            None,
        ],
        "codes": [9, 10, None],
    },
    {"id": 4, "address": {"street": "long", "no": 2}, "items": None, "codes": []},
]
OF_PARTS = {
    "address:required:1/address": (4, 1, ""),
    "address.street:required:1/address.street": (4, 1, ""),
    "address.street:maxLength:1/address.street": (4, 1, ""),
    "items[].sku:required:1/items[].sku": (4, 0, ""),
    "items[].sku:pattern:1/items[].sku": (4, 1, "items[1]"),
    "items[].price:minimum:1/items[].price": (4, 1, "items[1]"),
    "items[].tags[]:enum:1/items[].tags[]": (4, 1, "items[1].tags[1]"),
    "items[].tags[]:required:1/items[].tags[]": (4, 1, "items[1].tags[2]"),
    "codes[]:maximum:1/codes[]": (4, 1, "codes[1]"),
}


def nested_plan(storage: Storage, document: str = NESTED) -> Plan:
    """The plan of a contract with nested fields, in some format."""
    settings = {"format": storage.format.value, "compression": storage.compression.value}
    settings |= {"records": storage.records} if storage.records else {}
    form = f"    config: {{lakegate: {json.dumps(settings)}}}\n"
    contract = read(document.replace("  m:\n", f"  m:\n{form}").encode())
    return only_plan(contract)
