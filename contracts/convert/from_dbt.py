"""Contracts from the `manifest.json` of a dbt project: models, seeds, snapshots and sources with the types of their columns.

Read are descriptions, types, constraints, and dbt's own generic tests (dbt documentation, Manifest JSON file). A column without
`data_type` is left out: a contract declares the type of each field.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lakegate.contracts.convert.from_sql import data_type, field_of
from lakegate.contracts.convert.imported import ImportedSchema, contract_of
from lakegate.contracts.draft.document import dataset_name
from lakegate.contracts.errors import InputError
from lakegate.contracts.lake.dbt import manifest_of
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakegate.contracts.model.contract import Contract, Field, Rule

RESOURCES = ("model", "seed", "snapshot", "source")
CONSTRAINTS = {"not_null": "required", "unique": "unique", "primary_key": "primaryKey"}
"""Constraints of dbt with their kinds of rules."""
TESTS = {"not_null": "required", "unique": "unique", "accepted_values": "enum", "relationships": "foreignKey"}
"""Generic tests of dbt with their kinds of rules."""
_NAME = re.compile(r"[^\s()'\".,`]+")
_WARNING = "warn"
_METRICS = {"required": "nullValues", "unique": "duplicateValues", "enum": "invalidValues"}
"""What a test of the severity `warn` becomes: constraints of ODCS have no severity."""


def read(text: bytes, name: str, dialect: str = "") -> tuple[Contract, tuple[str, ...]]:
    """A draft with a dataset for each resource that has typed columns, and what is not in it. InputError if none has."""
    manifest = manifest_of(text)
    nodes = [each for group in ("nodes", "sources") for each in _mapping(manifest.get(group)).items()]
    tests: defaultdict[str, list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    for resource, each in nodes:
        if isinstance(each, Mapping) and each.get("resource_type") == "test":
            tests[str(each.get("attached_node"))].append((resource, each))
    tables: list[tuple[str, ImportedSchema, list[Field]]] = []
    lost: list[str] = []
    for resource, each in nodes:
        if isinstance(each, Mapping) and each.get("resource_type") in RESOURCES:
            columns = [one for one in _mapping(each.get("columns")).values() if isinstance(one, Mapping)]
            schema = ImportedSchema(str(each.get("name")))
            fields = list(_fields(schema, columns, dialect))
            _table_constraints(schema, each)
            for test, one in tests[resource]:
                _test(schema, test, one)
            if fields:
                tables.append((resource, schema, fields))
            else:
                lost += _lost(resource, schema) if columns else [f"{resource}: it describes no columns"]
    if not tables:
        raise InputError(
            "no resource of the manifest has columns with `data_type`: add them, or run `dbt docs generate`"
        )
    targets = {dataset_name(schema.name): {each.name for each in fields} for _, schema, fields in tables}
    for resource, schema, _ in tables:
        schema.rules = [each for each in schema.rules if _is_found(schema, each, targets)]
        lost += _lost(resource, schema)
    return contract_of(name, [schema.dataset(fields) for _, schema, fields in tables], lost)


def _lost(resource: str, schema: ImportedSchema) -> list[str]:
    return [f"{resource}.{each}" for each in schema.lost]


def _is_found(schema: ImportedSchema, rule: Rule, targets: Mapping[str, set[str]]) -> bool:
    """Whether a rule is no reference, or one to columns of a resource of the manifest; the others are listed."""
    if rule.kind != "foreignKey":
        return True
    to = str(rule.arguments["to"])
    is_known = all(
        column in targets.get(table, ()) for table, _, column in (each.partition(".") for each in to.split(","))
    )
    if not is_known:
        schema.lose(", ".join(rule.fields), f"a reference to {shown(to)}, which the manifest does not describe")
    return is_known


def _to(target: object, columns: Iterable[object]) -> str:
    """The target of a reference: `ref('orders')`, `source('shop', 'orders')` or a name, and its columns."""
    words = _NAME.findall(str(target)) or [""]
    return ",".join(f"{dataset_name(words[-1])}.{each}" for each in columns)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _fields(schema: ImportedSchema, columns: list[Mapping[str, Any]], dialect: str) -> Iterator[Field]:
    for column in columns:
        name, declared = str(column.get("name")), column.get("data_type")
        kind = data_type(declared, dialect) if isinstance(declared, str) else None
        description = column.get("description")
        text = description if isinstance(description, str) and description else None
        found = field_of(schema, name, kind, text) if kind is not None else None
        if found is None:
            what = f"no logical type has values of {shown(str(declared))}" if declared else "it has no `data_type`"
            schema.lose(name, f"left out: {what}")
            continue
        yield found
        for each in _items(column.get("constraints")):
            _constraint(schema, each, (name,))


def _table_constraints(schema: ImportedSchema, resource: Mapping[str, Any]) -> None:
    for each in _items(resource.get("constraints")):
        columns = each.get("columns")
        _constraint(schema, each, tuple(map(str, columns)) if isinstance(columns, list) else ())


def _constraint(schema: ImportedSchema, constraint: Mapping[str, Any], names: tuple[str, ...]) -> None:
    kind = CONSTRAINTS.get(str(constraint.get("type")))
    columns = constraint.get("to_columns")
    if constraint.get("type") == "foreign_key" and isinstance(columns, list) and len(columns) == len(names) > 0:
        schema.rule("foreignKey", *names, to=_to(constraint.get("to"), columns))
    elif kind is not None and names and (len(names) == 1 or kind == "primaryKey"):
        schema.rule(kind, *names)
    else:
        schema.lose(", ".join(names) or "constraints", f"the constraint {shown(str(constraint.get('type')))}")


def _test(schema: ImportedSchema, resource: str, test: Mapping[str, Any]) -> None:
    """A generic test of dbt itself, about all rows; all others are listed."""
    about, config = _mapping(test.get("test_metadata")), _mapping(test.get("config"))
    given = _mapping(about.get("kwargs"))
    column, values = test.get("column_name"), given.get("values")
    kind = TESTS.get(str(about.get("name")))
    is_listed = kind != "enum" or (isinstance(values, list) and all(_is_word(each) for each in values))
    if kind is None or about.get("namespace") or config.get("where") or not isinstance(column, str) or not is_listed:
        schema.lose(resource, "the test has no equivalent")
        return
    is_warning = str(config.get("severity")).lower() == _WARNING
    if kind == "foreignKey":
        if is_warning or not isinstance(given.get("to"), str) or not isinstance(given.get("field"), str):
            schema.lose(resource, "the test has no equivalent")
        else:
            schema.rule(kind, column, to=_to(given["to"], [given["field"]]))
        return
    words = tuple(map(str, values)) if kind == "enum" and isinstance(values, list) else ()
    if is_warning:
        schema.metric(_METRICS[kind], column, severity=Severity.WARN, **({"validValues": words} if words else {}))
    else:
        schema.rule(kind, column, **({"values": words} if words else {}))


def _is_word(value: object) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)
