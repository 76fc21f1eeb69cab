"""Cases beside each other in one delivery, each with columns of its own: what is measured of one depends on no other."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import replace

import pytest

from lakegate.contract.delivery_policy import Policy
from lakegate.contract.file_formats import Csv
from lakegate.plan.check import Check, Query, QueryRelation, Tier
from lakegate.plan.plan import Plan
from lakegate.plan.predicates import All, Compare, Not, Predicate
from lakegate.plan.result import Columns, Measured, Measurement, Result
from tests.reference.cases import Case


def side_by_side(numbered: list[tuple[int, Case]]) -> Plan:
    """One plan of several cases' plans; names of fields and checks carry the case's number."""
    plans = [(f"{number}.", case.plan) for number, case in numbered]
    fields = [replace(field, name=prefix + field.name) for prefix, plan in plans for field in plan.fields]
    aliased = tuple(replace(field, alias=f"c{at}") for at, field in enumerate(fields))
    checks = tuple(renamed(check, prefix) for prefix, plan in plans for check in plan.checks)
    multi_line = any(plan.csv.multi_line for _, plan in plans)
    return Plan(
        "cases", "1.0.0", "rows", aliased, checks, Policy(allow_empty=True, samples=False), Csv(multi_line=multi_line)
    )


def renamed(check: Check, prefix: str) -> Check:
    def tier(it: Tier) -> Tier:
        return replace(it, predicate=it.predicate and predicate(it.predicate))

    def predicate(it: Predicate) -> Predicate:
        match it:
            case Not(inner):
                return Not(predicate(inner))
            case All(inner):
                return All(tuple(map(predicate, inner)))
            case Compare():
                return replace(it, field=prefix + it.field, other=prefix + it.other)
            case _:
                return replace(it, field=prefix + it.field)

    def query(it: Query) -> Query:
        return replace(it, relations=tuple(map(relation, it.relations)))

    def relation(it: QueryRelation) -> QueryRelation:
        return replace(it, columns=tuple(replace(each, field=prefix + each.field) for each in it.columns))

    return replace(
        check,
        query=check.query and query(check.query),
        id=prefix + check.id,
        fields=tuple(prefix + name for name in check.fields),
        accept=tier(check.accept),
        tolerate=check.tolerate and tier(check.tolerate),
        row_filter=check.row_filter and predicate(check.row_filter),
    )


def as_csv(numbered: list[tuple[int, Case]]) -> bytes:
    """The cases' rows as one file: every value quoted, null as nothing at all."""
    text = io.StringIO()
    header = csv.writer(text, lineterminator="\n")
    header.writerow([f"{number}.{name}" for number, case in numbered for name in case.header])
    for cells in zip(*(case.rows for _, case in numbered), strict=True):
        values = [value for row in cells for value in row]
        text.write(",".join("" if value is None else '"' + value.replace('"', '""') + '"' for value in values) + "\n")
    return text.getvalue().encode()


def of_one_case(number: int, case: Case, together: Result) -> Result:
    """The part of an answer that concerns one case."""
    prefix = f"{number}."
    own = [each for each in together.measurements if each.check.startswith(prefix)]
    mine = tuple(replace(each, check=each.check.removeprefix(prefix)) for each in own)
    return replace(together, plan_digest=case.plan.digest, measurements=mine, columns=Columns(case.header))


def comparable(measurement: Measurement) -> object:
    """The parts of a result that two engines must agree on: counts exactly, aggregates of floating point nearly."""

    def numbers(it: Measured | None) -> object:
        return it and (it.of, it.failing or 0, it.number and pytest.approx(it.number, rel=1e-9), it.exact)

    def near(number: float | None) -> object:
        return number and pytest.approx(number, rel=1e-9)

    seen = measurement.observed
    observed = seen and (near(seen.least), near(seen.greatest), seen.values)
    return measurement.check, measurement.error, numbers(measurement.accept), numbers(measurement.tolerate), observed


def compared(results: Mapping[str, Result]) -> dict[str, list[object]]:
    """The parts that two engines must agree on, of several results by name."""
    return {name: [comparable(each) for each in result.measurements] for name, result in results.items()}
