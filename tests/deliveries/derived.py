"""Derived datasets for tests of both engines: a plan of a query, inputs of files, and the rows that an engine writes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.contract.contract_model import Contract, Dataset, Origin, Rule
from lakegate.contract.delivery_policy import Derivation, DerivationInput, InputColumn, Policy, Replaces
from lakegate.contract.field_paths import FieldPath
from lakegate.contract.file_formats import Format, Storage
from lakegate.contract.logical_types import LogicalType
from lakegate.plan.plan import Plan
from lakegate.plan.request import AcceptedPart, Reference, Request
from lakegate.plan.result import Result
from lakegate.rules.compile_plan import compile_plan
from tests.deliveries.delivery import field_of, measure_natively, plan_of, request_for

Engine = Callable[[Request, Plan], Result]


def derived_plan(query: str, fields: dict[str, str], *rules: Rule, **inputs: dict[str, str]) -> Plan:
    """The plan of a dataset that a query over inputs has made; each input has columns by name."""
    types = tuple(Rule(f"type-{at}", "type", Origin("$.field"), (FieldPath(name),)) for at, name in enumerate(fields))
    columns = {
        name: tuple(InputColumn(column, LogicalType(kind)) for column, kind in each.items())
        for name, each in inputs.items()
    }
    derivation = Derivation(
        tuple(DerivationInput(name, f"shop/{name}_v1", each) for name, each in columns.items()), query
    )
    own = Dataset(
        "made",
        tuple(field_of(name, kind) for name, kind in fields.items()),
        types + rules,
        Origin("$"),
        Policy(derive=derivation, replaces=Replaces.DELIVERY, allow_empty=True),
        storage=Storage(Format.PARQUET),
    )
    return compile_plan(Contract("made", "1.0.0", "test", (own,)), own)


def input_of(folder: Path, name: str, columns: dict[str, str], *files: bytes, height: int = 0) -> Reference:
    """The accepted CSV files of an input."""
    plan, found = plan_of(columns), []
    where = folder / f"{name}.json"
    where.write_bytes(plan.to_bytes())
    for number, body in enumerate(files):
        path = folder / f"{name}-{number}"
        path.write_bytes(body)
        found.append(AcceptedPart(path.as_uri(), len(body), where.as_uri(), plan.digest))
    return Reference(f"shop/{name}_v1", height, tuple(found))


def derived(plan: Plan, folder: Path, *references: Reference, engine: Engine = measure_natively) -> Result:
    """The result of an attempt whose rows are those of the query."""
    folder.mkdir()
    request = replace(
        request_for(plan, folder, b"{}"), references=tuple(sorted(references, key=lambda each: each.dataset))
    )
    return engine(request, plan)


def rows_of(result: Result) -> list[dict[str, Any]]:
    """The rows that were written, in order."""
    assert sum(each.rows for each in result.derived) == result.rows
    tables = [pq.read_table(Path(urlsplit(each.uri).path)) for each in result.derived]
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    return rows
