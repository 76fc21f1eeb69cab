"""Decimals of 38 digits in every format: the same values, rules and numbers for both engines."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from lakegate.contract.contract_model import Comparison
from lakegate.contract.file_formats import Format, Storage
from lakegate.plan.plan import Plan
from tests.deliveries.delivery import plan_of, rule
from tests.deliveries.written import written
from tests.engine.formats import stored

NINES = "9" * 38
WHOLE, FRACTION, TINY = NINES, f"{'9' * 28}.{'9' * 10}", f"0.{NINES}"
COLUMNS = {
    "whole": ("decimal(38,0)", [WHOLE, f"-{WHOLE}", f"{WHOLE[:-1]}8", None, WHOLE], 0),
    "part": ("decimal(38,10)", [FRACTION, f"-{FRACTION}", f"{FRACTION[:-1]}8", None, FRACTION], 10),
    "tiny": ("decimal(38,38)", [TINY, f"-{TINY}", f"{TINY[:-1]}8", None, TINY], 38),
    "common": ("decimal", ["1.5", "-99999999999999999999.999999999999999999", None, "0", "1.50"], 18),
}
"""Of each column: its type, its values, the scale of the column in tables."""
RULES = (
    *(rule("maximum", name, value=COLUMNS[name][1][2]) for name in ("whole", "part", "tiny")),
    *(rule("unique", name) for name in ("whole", "part", "tiny")),
    *(rule("enum", name, values=COLUMNS[name][1][:2]) for name in ("whole", "part", "tiny")),
)
GREATER = "expect_column_pair_values_a_to_be_greater_than_b"
PAIRS = {("whole", "part"): 1, ("part", "tiny"): 1, ("tiny", "common"): 2, ("common", "whole"): 2}
"""The rows in which the first of two values is not greater than the second."""
FAILING = {
    **{f"type-{at}/{name}": 0 for at, name in enumerate(COLUMNS)},
    **dict.fromkeys(("maximum/whole", "maximum/part", "maximum/tiny", "unique/whole", "unique/part", "unique/tiny"), 2),
    **dict.fromkeys(("enum/whole", "enum/part", "enum/tiny"), 1),
    **{f"{one} and {other}/{one}+{other}": count for (one, other), count in PAIRS.items()},
}
"""The failing rows of each check."""
QUERY = (
    "SELECT max(part) FROM rows WHERE whole > 1 AND tiny <> 0.5 AND whole IN (SELECT whole FROM rows GROUP BY whole)"
)


def plan(storage: Storage) -> Plan:
    """The plan of all columns with their rules, pairs of columns and a query."""
    pairs = [
        replace(rule("custom", engine="gx", call=GREATER, args=_pair(*each)), id=" and ".join(each)) for each in PAIRS
    ]
    greatest = replace(rule("sql", query=QUERY), comparison=Comparison("mustBe", (Decimal(FRACTION),)))
    return stored(plan_of({name: each for name, (each, _, _) in COLUMNS.items()}, *RULES, *pairs, greatest), storage)


def _pair(one: str, other: str) -> dict[str, str]:
    return {"column_A": one, "column_B": other, "ignore_row_if": "either_value_is_missing"}


def content(form: Format) -> bytes:
    """The values as a file."""
    names, rows = list(COLUMNS), list(zip(*(values for _, values, _ in COLUMNS.values()), strict=True))
    if form is Format.CSV:
        return "\n".join([",".join(names), *(",".join(each or "" for each in row) for row in rows)]).encode()
    if form is Format.JSONL:
        records = ([f'"{name}": {each or "null"}' for name, each in zip(names, row, strict=True)] for row in rows)
        return "\n".join(f"{{{', '.join(each)}}}" for each in records).encode()
    columns = {
        name: pa.array([None if each is None else Decimal(each) for each in values], pa.decimal128(38, scale))
        for name, (_, values, scale) in COLUMNS.items()
    }
    return written(pa.table(columns), Storage(form))
