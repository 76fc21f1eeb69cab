"""A dataset as a suite of Great Expectations: its schema, and the rules that an expectation of theirs expresses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from lakegate.contract.contract_model import Contract, Dataset, Field, Rule, Severity, Shape, shape_of
from lakegate.contract.documents.declared_types import unexpressed_fields
from lakegate.contract.documents.imported_schema import Converted, ExpressedRequirements
from lakegate.contract.documents.key_table import ODCS_SHAPES, ODCS_TYPES
from lakegate.contract.field_paths import column_name
from lakegate.contract.logical_types import LogicalType

SCHEMA: Final = "expect_table_schema_to_match_data_contract_schema"
"""Of the package in `integrations/great_expectations`."""
Expectation = dict[str, object]


def great_expectations(contract: Contract, dataset: Dataset) -> Converted:
    """The document of an `ExpectationSuite` of Great Expectations 1."""
    requirements = ExpressedRequirements.in_contract(contract, dataset)
    columns = [{"name": field.own_name, "type": _word(field)} for field in dataset.fields]
    schema = {"columns": columns, "contract": f"{contract.id}@{contract.version}", "dataset": dataset.name}
    expectations = [_expectation(SCHEMA, schema) | {"severity": "critical"}]
    expectations += (one for field in dataset.fields for one in _of_field(requirements, field))
    if key := tuple(map(column_name, requirements.key())):
        unique = {"column": key[0]} if len(key) == 1 else {"column_list": list(key)}
        kind = "expect_column_values_to_be_unique" if len(key) == 1 else "expect_compound_columns_to_be_unique"
        expectations.append(_expectation(kind, unique))
    suite = {
        "name": f"{contract.id}.{dataset.name}",
        "expectations": expectations,
        "meta": {"contract": schema["contract"]},
    }
    types = unexpressed_fields(dataset.fields, requirements, "its logical type")
    return Converted(json.dumps(suite, indent=2, ensure_ascii=False) + "\n", (*types, *requirements.omitted()))


def _word(field: Field) -> str:
    """The logical type of ODCS; of bytes, which it does not have, `binary`."""
    shape = shape_of(field)
    if shape is not Shape.VALUE:
        return ODCS_SHAPES.get(shape, "any")
    return "binary" if field.type is LogicalType.BINARY else ODCS_TYPES[field.type][0]


def _of_field(requirements: ExpressedRequirements, field: Field) -> Iterator[Expectation]:
    if requirements.is_present(field.name):
        yield _expectation("expect_column_values_to_not_be_null", {"column": field.own_name})
    if requirements.has(field.name, "unique"):
        yield _expectation("expect_column_values_to_be_unique", {"column": field.own_name})
    words = requirements.words(field.name)
    if words:
        yield _expectation("expect_column_values_to_be_in_set", {"column": field.own_name, "value_set": list(words)})
    of_type = TEXT_RULES if field.type is LogicalType.STRING else NUMBER_RULES if field.type.numeric else {}
    for kind, write in of_type.items():
        for rule in requirements.of(field.name, kind):
            found = write(rule)
            yield _expectation(found[0], {"column": field.own_name, **found[1]}) | _severity(rule)


def _pattern(rule: Rule) -> tuple[str, Expectation]:
    """As it is written: both read ECMA-262."""
    return "expect_column_values_to_match_regex", {"regex": str(rule.arguments["pattern"])}


def _length(rule: Rule) -> tuple[str, Expectation]:
    side = "min_value" if rule.kind == "minLength" else "max_value"
    return "expect_column_value_lengths_to_be_between", {side: int(str(rule.arguments["value"]))}


def _bound(rule: Rule) -> tuple[str, Expectation]:
    value, side = Decimal(str(rule.arguments["value"])), "min" if rule.kind == "minimum" else "max"
    number = int(value) if value == value.to_integral_value() else float(value)
    strict = {f"strict_{side}": True} if rule.arguments.get("exclusive", False) else {}
    return "expect_column_values_to_be_between", {f"{side}_value": number, **strict}


TEXT_RULES: Final = {"pattern": _pattern, "minLength": _length, "maxLength": _length}
NUMBER_RULES: Final = {"minimum": _bound, "maximum": _bound}
"""By the kind of a rule of a field, the expectation that is read as the same check."""


def _severity(rule: Rule) -> Expectation:
    return {} if rule.severity is Severity.FAIL else {"severity": "warning"}


def _expectation(kind: str, arguments: Mapping[str, object]) -> Expectation:
    return {"type": kind, "kwargs": dict(arguments)}
