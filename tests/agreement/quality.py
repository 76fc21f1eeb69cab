"""Quality rules of a generated contract, as ODCS and DCS write them: library metrics, SQL, Great Expectations and Soda."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.agreement.fields import BOUNDED, FLAT, NUMERIC, WHOLE, Field, literal
from tests.agreement.great_expectations.cases import CONDITIONED, EXPECTATIONS, KEPT

Quality = dict[str, Any]
QUERIES = Path(__file__).parents[1] / "spark" / "queries.yaml"
"""Queries over the fields of `FLAT`; each stands in a contract that has the fields it names."""
CONDITION_FIELDS = {"k": "status", "m": "total"}
"""The fields that stand for the columns of Great Expectations' conditions."""
PATTERNS = ("^[a-z]+$", "new", r"^\S+@\S+$", "é", r"^.{1,3}$", r"\d", "^(?!new)", "[^a-z]")
FORMATS = ("email", "uuid", "uri", "ipv4", "hostname")
_OPERATORS = (
    "mustBe",
    "mustNotBe",
    "mustBeGreaterThan",
    "mustBeGreaterOrEqualTo",
    "mustBeLessThan",
    "mustBeLessOrEqualTo",
)


def options(draw: random.Random, kind: str) -> dict[str, object]:
    """Some `logicalTypeOptions` of a kind of field."""
    if kind == "day":
        return {"format": "dd/MM/yyyy"}
    if kind in {"string", "binary"}:
        written = {"minLength": draw.randint(0, 3), "maxLength": draw.randint(3, 20), "pattern": draw.choice(PATTERNS)}
        written |= {"format": draw.choice(FORMATS)} if kind == "string" else {}
    elif kind in BOUNDED:
        low, high = sorted((literal(draw, kind), literal(draw, kind)))
        ends = draw.choice(["", "exclusive"])
        names = ("minimum", "maximum") if not ends else ("exclusiveMinimum", "exclusiveMaximum")
        written = dict(zip(names, (low, high), strict=True)) if low != high else {names[0]: low}
        if kind in NUMERIC:
            written["multipleOf"] = draw.choice([1, 2, 5] if kind in WHOLE else [0.5, 0.1, 1])
    else:
        return {}
    return {name: written[name] for name in written if draw.random() < 0.5}


def compared(draw: random.Random, *, percent: bool = True) -> Quality:
    """An operator with its operands, a unit and a severity."""
    between = draw.random() < 0.2
    if between:
        low, high = sorted(draw.sample(range(40), 2))
        written: Quality = {draw.choice(["mustBeBetween", "mustNotBeBetween"]): [low, high]}
    else:
        written = {draw.choice(_OPERATORS): draw.choice([0, 0, 1, 2, 3, 5, 12.5, 40])}
    if percent:
        written["unit"] = draw.choice(["rows", "percent"])
    if draw.random() < 0.3:
        written["severity"] = draw.choice(["warning", "error", "info"])
    return written


def of_field(draw: random.Random, field: Field) -> Quality:
    """A library metric at a property."""
    metric = draw.choice(["nullValues", "missingValues", "invalidValues", "duplicateValues"])
    if metric == "missingValues":
        listed = [None, "", "N/A", "new", "0"]
        return {
            "type": "library",
            "metric": metric,
            "arguments": {"missingValues": draw.sample(listed, draw.randint(1, 3))},
            **compared(draw),
        }
    if metric == "invalidValues":
        return {"type": "library", "metric": metric, "arguments": _valid(draw, field.kind), **compared(draw)}
    return {"type": "library", "metric": metric, **compared(draw)}


def _valid(draw: random.Random, kind: str) -> dict[str, object]:
    if kind == "string" and draw.random() < 0.6:
        return draw.choice([{"pattern": draw.choice(PATTERNS)}, {"minLength": 1, "maxLength": draw.randint(2, 9)}])
    if kind in NUMERIC and draw.random() < 0.5:
        return draw.choice([{"minimum": literal(draw, kind)}, {"exclusiveMaximum": literal(draw, kind)}])
    return {"validValues": _distinct(draw, kind)}


def _distinct(draw: random.Random, kind: str) -> list[object]:
    return list(dict.fromkeys(literal(draw, kind) for _ in range(draw.randint(1, 4))))


def of_dataset(draw: random.Random, fields: Sequence[Field]) -> Quality | None:
    """A rule about the whole dataset; None where the fields do not suit the one that was drawn."""
    return draw.choice(_OF_DATASET)(draw, [each for each in fields if not each.parts])


def _row_count(draw: random.Random, _: Sequence[Field]) -> Quality:
    return {"type": "library", "metric": "rowCount", **compared(draw, percent=False)}


def _duplicates(draw: random.Random, fields: Sequence[Field]) -> Quality:
    named = [each.name for each in draw.sample(fields, min(len(fields), draw.randint(1, 3)))]
    return {"type": "library", "metric": "duplicateValues", "arguments": {"properties": named}, **compared(draw)}


def _query(draw: random.Random, fields: Sequence[Field]) -> Quality | None:
    known = {each.name for each in fields}
    suiting = [query for query, needed in _queries() if needed <= known]
    if not suiting:
        return None
    compare = {each: value for each, value in compared(draw, percent=False).items() if each != "unit"}
    return {"type": "sql", "query": draw.choice(suiting), **compare}


@cache
def _queries() -> list[tuple[str, set[str]]]:
    every = {each.name for each in FLAT}
    return [
        (query, set(re.findall(r"\w+", query)) & every) for query in yaml.load(QUERIES.read_text(), yaml.CSafeLoader)
    ]


def _expectation(draw: random.Random, fields: Sequence[Field]) -> Quality | None:
    name = draw.choice(sorted(EXPECTATIONS))
    arguments, columns = EXPECTATIONS[name](draw)
    renamed = _renamed(draw, columns, fields)
    if renamed is None:
        return None
    kwargs = {
        key: _named(value, renamed) if key.startswith("column") else value
        for key, value in arguments.items()
        if value is not None
    }
    condition = kwargs.get("row_condition")
    if isinstance(condition, str):
        kwargs["row_condition"] = re.sub(r"\b[km]\b", lambda it: CONDITION_FIELDS[it[0]], condition)
    return {"type": "custom", "engine": "greatExpectations", "implementation": {"type": name, "kwargs": kwargs}}


def _renamed(draw: random.Random, columns: dict[str, str], fields: Sequence[Field]) -> dict[str, str] | None:
    """Fields of the contract for the columns of an expectation, each of its kind; None where there are none."""
    free = draw.sample(fields, len(fields))
    found = {}
    for column, kind in columns.items():
        wanted = CONDITION_FIELDS.get(column)
        own = next((it for it in free if (it.name == wanted if wanted else it.kind == kind)), None)
        if own is None:
            return None
        found[column] = own.name
        if column not in KEPT:
            free.remove(own)
    return found


def _named(value: object, renamed: dict[str, str]) -> object:
    if isinstance(value, list):
        return [_named(each, renamed) for each in value]
    return renamed.get(value, value) if isinstance(value, str) else value


def _soda(draw: random.Random, fields: Sequence[Field]) -> Quality | None:
    kinds, call, settings = draw.choice(_SODA)
    suiting = [each.name for each in fields if not kinds or each.kind in kinds]
    if not suiting:
        return None
    field = draw.choice(suiting)
    text = call.replace("{f}", field).replace("{n}", str(draw.choice([0, 1, 2, 5, 10])))
    if settings and draw.random() < CONDITIONED and "status" in {each.name for each in fields}:
        settings = settings | {
            "filter": draw.choice(["status = 'new'", "status is not null", "status in ('new', 'paid')"])
        }
    return {
        "type": "custom",
        "engine": "soda",
        "implementation": yaml.safe_dump([{text: settings}] if settings else [text]),
    }


_TEXT, _ANY = frozenset({"string"}), frozenset[str]()
_MOMENT = frozenset({"timestamp", "date"})
_SODA: tuple[tuple[frozenset[str], str, dict[str, object]], ...] = (
    (_ANY, "row_count > {n}", {}),
    (_ANY, "row_count between (1 and 9)", {}),
    (_ANY, "missing_count({f}) <= {n}", {"missing values": ["N/A", "new"]}),
    (_ANY, "missing_percent({f}) < 20%", {}),
    (_TEXT, "invalid_count({f}) < {n}", {"valid regex": "^[a-z]*$", "missing values": ["N/A"]}),
    (_TEXT, "invalid_percent({f}) <= 30%", {"valid values": ["new", "paid", "closed"]}),
    (_TEXT, "invalid_count({f}) = 0", {"valid min length": 1, "valid max length": 5}),
    (NUMERIC, "invalid_count({f}) = {n}", {"valid min": 0, "valid max": 50}),
    (_ANY, "duplicate_count({f}) <= {n}", {}),
    (_ANY, "duplicate_percent({f}) < 25%", {}),
    (_ANY, "distinct_count({f}) > {n}", {}),
    (NUMERIC, "avg({f}) between 1 and 50", {"valid max": 100}),
    (NUMERIC, "sum({f}) > {n}", {}),
    (NUMERIC, "stddev({f}) < 9", {}),
    (NUMERIC, "percentile({f}, 0.9) <= {n}", {}),
    (NUMERIC, "min({f}) >= {n}", {}),
    (NUMERIC, "max({f}) <= {n}", {}),
    (_TEXT, "min_length({f}) > {n}", {}),
    (_TEXT, "max_length({f}) < 9", {}),
    (_TEXT, "avg_length({f}) between 1 and 4", {}),
    (_MOMENT, "freshness({f}) < 3d", {}),
)
_OF_DATASET: tuple[Callable[[random.Random, Sequence[Field]], Quality | None], ...] = (
    *(_row_count, _duplicates, _duplicates, _query),
    *(_expectation, _expectation, _expectation, _expectation, _soda, _soda, _soda),
)
