"""Patterns are searched for once in each distinct value where the values of a column repeat: that changes no result."""

from __future__ import annotations

import datetime as dt
import random
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakegate.contract.contract_model import Comparison
from lakegate.contract.file_formats import Compression, Csv, Storage
from lakegate.engine import masked_samples
from lakegate.engine.evaluate import predicate_sql
from lakegate.engine.evaluate.predicate_sql import Program
from lakegate.engine.measure import share_evaluation
from lakegate.engine.read import data_source
from tests.deliveries.delivery import Judged, plan_of, rule
from tests.deliveries.written import STORAGES, written
from tests.engine.test_sameness import document

ROWS = data_source.LOOKED_AT + 1000
NAMES = ("Ana", "João", "x", "", "NULL", "a b", "Ann", None)
DAYS = (dt.date(2020, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), None)
SHARES = (0.0, -0.0, 0.5, -1.25, 1e-7, None)
FIELDS = {"number": "integer", "name": "string", "other": "string", "day": "date", "share": "number"}
PATTERNS = {
    "name": ("^[A-Z]", "n+$", "^(?!A)", r"a(?!.{0,2}b)"),
    "other": ("^[A-Z]",),
    "day": ("-02-", "^2"),
    "share": ("^0", "E"),
    "number": ("7$",),
}
NONE = Comparison("mustBe", (Decimal(0),))
RULES = [
    replace(rule("invalidValues", name, pattern=each), comparison=NONE)
    for name, own in PATTERNS.items()
    for each in own
]
"""The kind of rule that searches values of every type."""
PLAIN = [each for each in STORAGES if each.compression is Compression.NONE]


def columns(seed: int) -> dict[str, list[Any]]:
    """Values of every field: names, days and shares repeat, numbers do not, and `other` repeats in the first rows alone."""
    chance = random.Random(seed)
    found: dict[str, list[Any]] = {"number": list(range(ROWS))}
    found["name"] = chance.choices(NAMES, k=ROWS)
    found["other"] = ["Ana"] * data_source.LOOKED_AT + [f"{chance.choice('Aé')}{at}" for at in range(1000)]
    found["day"], found["share"] = chance.choices(DAYS, k=ROWS), chance.choices(SHARES, k=ROWS)
    return found


@pytest.mark.parametrize("storage", PLAIN, ids=lambda storage: storage.suffix)
def test_a_search_in_distinct_values_changes_nothing(
    storage: Storage, judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every format: the whole document is that of a search in every value; fields of few distinct values are searched so."""
    plan = replace(plan_of(FIELDS, *RULES, csv=Csv(null_values=("NULL",))), storage=storage)
    content = written(pa.table(columns(7)), storage)
    found: list[set[str]] = []
    search = share_evaluation.with_searches

    def watched(*arguments: object) -> object:
        table, searched = search(*arguments)  # type: ignore[arg-type]  # handed over as they came
        found.append({each.name for each in plan.fields if each.alias in searched})
        return table, searched

    monkeypatch.setattr("lakegate.engine.measure.share_evaluation.with_searches", watched)
    distinct = judge_files(plan, content)
    monkeypatch.setattr(data_source, "LOOKED_AT", 2 * ROWS)
    every = judge_files(plan, content)

    assert document(distinct.result) == document(every.result)
    texts = {"share"} if storage.format.is_text else set[str]()
    assert (found[0], found[-1]) == ({"name", "other", "day"} | texts, set())


def test_as_many_rows_fail_as_python_finds(judge_files: Callable[..., Judged]) -> None:
    """Each pattern fails as often as Python's own search finds nothing in a text that is not a null of the CSV."""
    values = columns(8) | {"day": [each and f"{each.year:04}-{each:%m-%d}" for each in columns(8)["day"]]}
    plan = plan_of(FIELDS, *RULES, csv=Csv(null_values=("NULL",)))
    judged = judge_files(plan, written(pa.table(values), PLAIN[0]))

    failing = {each.check: each.accept and each.accept.failing for each in judged.result.measurements}
    found = [
        failing[each.id] for each in plan.checks if each.id.startswith("invalidValues") and each.fields != ("share",)
    ]
    queried = [(name, each) for name, own in PATTERNS.items() if name != "share" for each in own]
    texts = {name: [str(each) for each in own if each not in {None, "", "NULL"}] for name, own in values.items()}
    assert found == [sum(re.search(each, text) is None for text in texts[name]) for name, each in queried]


EMPTY = {"gone": "integer", "left": "string", "ended": "timestamp"}
"""Fields without any value."""
MORE = [
    *(rule("required", name) for name in ("gone", "name")),
    *(rule("unique", name) for name in ("left", "share", "number")),
    rule("primaryKey", "name", "number", "day"),
    rule("mean", "gone", parameter=Decimal(1)),
    rule("mean", "number", parameter=Decimal(1)),
    rule("enum", "other", values=("Ana", "A1")),
    rule("duplicateValues", "name", mustBe=Decimal(0)),
]


@pytest.mark.parametrize("storage", PLAIN, ids=lambda storage: storage.suffix)
def test_how_a_wide_file_is_planned_changes_nothing(
    storage: Storage, judge_files: Callable[..., Judged], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some fields at a time, in queries of their own, also where a chunk has no value of them: the document is the same."""
    plan = replace(plan_of(FIELDS | EMPTY, *RULES, *MORE, csv=Csv(null_values=("NULL",))), storage=storage)
    kinds = {"gone": pa.int64(), "left": pa.string(), "ended": pa.timestamp("us")}
    content = written(pa.table(columns(7) | {name: pa.nulls(ROWS, kind) for name, kind in kinds.items()}), storage)
    read: list[int] = []
    search = share_evaluation.with_searches

    def watched(program: Program, *arguments: Any) -> object:
        read.append(len(program.own))
        return search(program, *arguments)

    monkeypatch.setattr("lakegate.engine.measure.share_evaluation.with_searches", watched)
    narrow = judge_files(plan, content)
    at_once = max(read)
    read.clear()
    for module in (predicate_sql, share_evaluation, masked_samples):
        monkeypatch.setattr(module, "FIELDS_OF_QUERY", 2)
    wide = judge_files(plan, content)

    assert document(narrow.result) == document(wide.result)
    assert (at_once, max(read)) == (len(FIELDS | EMPTY), 3)
