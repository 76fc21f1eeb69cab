"""Programs of checks: what they read, which of their checks note values that pass, and which numbers they aggregate."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import FrameType

import pytest

from lakegate.contract.contract_model import Contract, Dataset, Field, Origin, Rule
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.engine.evaluate.predicate_sql import Program, program
from lakegate.engine.read.data_source import Expression
from lakegate.plan.check import NONE, Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.plan.predicates import Compare, Relation
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import plan_of, rule

FIELDS = {"count": "integer", "sum": "integer", "share": "number", "price": "decimal", "name": "string"}


def program_of(only: Rule, queried: tuple[str, ...] | None = None) -> Program:
    """The program of one rule's checks, without those of types."""
    plan = plan_of(FIELDS, only)
    return program(plan, (), tuple(each for each in plan.checks if each.rule == only.id), queried)


def test_checks_of_one_field_that_count_rows_note_passing_values() -> None:
    """A check that compares two fields, and one that measures a number, have no value that passes."""
    plan = plan_of(FIELDS)
    more = Compare("count", Relation.GREATER, "sum")
    pair = Check("pair", "pair", "custom", ("count", "sum"), Metric.FAILING_ROWS, Unit.ROWS, Tier(NONE, more))
    mean = Check("mean/share", "mean", "mean", ("share",), Metric.MEAN, Unit.VALUE, Tier(NONE))

    assert program(plan, (), (*plan.checks, pair, mean)).single == {f"f{at}": f"c{at}" for at in range(len(FIELDS))}


@pytest.mark.parametrize(("queried", "is_queried"), [(None, False), ((), True), (("name",), True)])
def test_a_query_that_only_counts_reads_the_records_too(queried: tuple[str, ...] | None, is_queried: bool) -> None:  # noqa: FBT001 - a column of the table
    """The records are kept for every query, values only of the fields that one reads."""
    found = program_of(rule("minimum", "count", value=1), queried)

    assert (found.is_queried, found.kept) == (is_queried, frozenset(["c4"] if queried else []))


@pytest.mark.parametrize(("field", "kind"), [("count", "exact"), ("share", "float"), ("price", "float")])
def test_sums_of_whole_numbers_are_exact(field: str, kind: str) -> None:
    """The mean of integers is taken of an exact sum, that of other numbers of floats."""
    (numbers,) = program_of(rule("mean", field, parameter=1)).numbers

    assert (numbers.kind, numbers.fields) == (kind, (field,))


def calls_of(work: Callable[[], object]) -> int:
    """How many functions are called, those of the interpreter included."""
    calls = 0

    def counting(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def compiled(columns: int) -> Callable[[], object]:
    names = [f"n{at}" for at in range(columns)]
    fields = [Field(name, LogicalType.INTEGER, Origin("")) for name in names]
    nested = [replace(each, name=f"all.{each.name}") for each in fields]
    fields.append(Field("all", LogicalType.STRING, Origin(""), declared="record", parts=tuple(nested)))
    rules = [rule("required", name) for each in names for name in (each, f"all.{each}")]
    dataset = Dataset("rows", tuple(fields), tuple(rules), Origin(""), storage=Storage(Format.PARQUET))
    contract = Contract("wide", "1.0.0", "test", (dataset,))
    return lambda: compile_plan(contract, dataset)


def selected(columns: int) -> Callable[[], object]:
    names = [f"n{at}" for at in range(columns)]
    rules = [rule("minimum", name, value=1) for name in names] + [rule("minLength", "text", value=1)]
    plan = plan_of({**dict.fromkeys(names, "integer"), "text": "string"}, *rules)
    texts = {each.alias: Expression(each.alias, each.alias) for each in plan.fields}
    return lambda: program(plan, (), plan.checks).select(texts, lambda alias: alias, (), with_present=True)


@pytest.mark.parametrize("work", [compiled, selected])
def test_work_grows_with_the_columns_and_not_faster(work: Callable[[int], Callable[[], object]]) -> None:
    """A table of thousands of columns is compiled and measured: four times as many take four times the calls."""
    few, many = (calls_of(work(columns)) for columns in (50, 200))

    assert many < 4.5 * few
