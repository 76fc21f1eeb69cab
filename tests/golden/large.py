"""A large contract, as a company's whole shop might have: 68 tables, 456 fields, 192 KB."""

from __future__ import annotations

TABLES, FIELDS, SIZE = 68, 456, 192 * 1024
HEAD = """\
apiVersion: v3.1.0
kind: DataContract
id: whole-shop
name: The whole shop
version: 3.2.1
status: active
domain: sales
description: {purpose: All that the shop knows., usage: For everybody., limitations: None.}
servers:
  - {server: production, type: s3, location: "s3://shop/data/", format: csv}
schema:
"""
TABLE = """\
  - name: {name}
    logicalType: object
    physicalType: table
    description: Table {number} of the shop, one row for each {name} that was ever seen.
    properties:
"""
KINDS = (
    "logicalType: string, logicalTypeOptions: {pattern: '^[A-Z]{2}-[0-9]{6}$', maxLength: 9}, examples: [AB-123456]",
    "logicalType: integer, logicalTypeOptions: {minimum: 0, maximum: 100000}, examples: [1, 2, 3]",
    "logicalType: number, physicalType: 'DECIMAL(12, 2)', logicalTypeOptions: {minimum: 0}, examples: [12.50]",
    "logicalType: timestamp, logicalTypeOptions: {minimum: '2020-01-01T00:00:00Z'}, examples: ['2024-05-01T12:00:00Z']",
    "logicalType: string, quality: [{metric: invalidValues, arguments: {validValues: [new, open, done]}, mustBe: 0}]",
    "logicalType: boolean",
    "logicalType: date, quality: [{metric: nullValues, mustBeLessThan: 5, unit: percent, severity: warning}]",
)
QUALITY = """\
    quality:
      - {{metric: rowCount, mustBeBetween: [1, 10000000], severity: error}}
      - {{metric: duplicateValues, arguments: {{properties: [{first}, {second}]}}, mustBe: 0}}
      - {{type: sql, query: "SELECT count(*) FROM {{table}} WHERE {first} IS NULL", mustBe: 0}}
"""
REFERENCE = "relationships: [{{to: {name}.{field}}}]"


def large_contract() -> bytes:
    """The document, its descriptions drawn out to the size."""
    counts = [FIELDS // TABLES + (table < FIELDS % TABLES) for table in range(TABLES)]
    bare = _written(counts, 0)
    return _written(counts, (SIZE - len(bare)) // FIELDS).encode()


def _written(counts: list[int], length: int) -> str:
    return HEAD + "".join(_table(table, count, length) for table, count in enumerate(counts))


def _table(table: int, count: int, length: int) -> str:
    name, fields = f"table_{table:02}", [f"field_{table:02}_{field}" for field in range(count)]
    lines = [_property(table, at, field, length) for at, field in enumerate(fields)]
    return TABLE.format(name=name, number=table) + "".join(lines) + QUALITY.format(first=fields[0], second=fields[1])


def _property(table: int, at: int, field: str, length: int) -> str:
    key = "primaryKey: true, required: true, " if at == 0 else ""
    reference = ""
    if at == 0 and table:
        reference = ", " + REFERENCE.format(name=f"table_{table - 1:02}", field=f"field_{table - 1:02}_0")
    words = ("What this field means to those who read it, in whole sentences. " * (length // 64 + 1))[:length]
    return f"      - {{name: {field}, {key}{KINDS[at % len(KINDS)]}{reference}, description: '{words}'}}\n"
