"""The table of rules: each kind with the function that turns it into checks. A new kind is one function and one row here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.rules import constraints, dcm, odcs
from contracts.rules.build import InContract, each, once, refuse, skipped
from contracts.rules.custom import custom, unmeasured
from contracts.rules.levels import service_level
from contracts.rules.references import foreign_key
from contracts.rules.sql import sql
from contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from contracts.check import Check
    from contracts.model import Contract, Dataset, Field, Rule
    from contracts.rules.build import Compile
    from contracts.types import LogicalType

RULES: dict[str, Compile | InContract] = {
    "type": each(constraints.typed),
    "required": each(constraints.required),
    "unique": each(constraints.unique),
    "primaryKey": constraints.primary_key,
    "enum": each(constraints.enum),
    "pattern": each(constraints.pattern),
    "minLength": each(constraints.min_length),
    "maxLength": each(constraints.max_length),
    "minimum": each(constraints.minimum),
    "maximum": each(constraints.maximum),
    "multipleOf": each(constraints.multiple_of),
    "format": each(constraints.text_form),
    "rowCount": once(odcs.row_count),
    "nullValues": odcs.of_every_column(odcs.null_values),
    "missingValues": odcs.of_every_column(odcs.missing_values),
    "invalidValues": InContract(odcs.invalid_values),
    "duplicateValues": once(odcs.duplicate_values),
    "size": once(dcm.size),
    "mean": each(dcm.mean),
    "stdev": each(dcm.deviation),
    "complete": each(dcm.complete),
    "distinct": each(dcm.distinct),
    "min": each(dcm.minimum),
    "max": each(dcm.maximum),
    "allowedValues": each(dcm.allowed_values),
    "custom": custom,
    "sql": InContract(sql),
    "text": unmeasured("a rule in words has nothing to measure"),
    "foreignKey": InContract(foreign_key),
    "serviceLevel": service_level,
    "nested": each(constraints.with_parts),
    "dateFormat": each(constraints.date_format),
}


SUITS: dict[str, tuple[Callable[[LogicalType], bool], str]] = {
    **dict.fromkeys(("mean", "stdev", "min", "max", "multipleOf"), (lambda each: each.numeric, "numbers")),
    **dict.fromkeys(("minimum", "maximum"), (lambda each: each.ordered, "numbers, dates and times")),
}
"""The types that a kind of rule is for, and their name."""


def compile_rule(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a rule over the fields it names, at least one; a kind that is not in the table is only named."""
    _judge_types(rule, fields)
    compile_one = RULES.get(rule.kind)
    if compile_one is None:
        return (skipped(rule, fields, f"rules of the kind {rule.kind} are not measured by this version"),)
    if isinstance(compile_one, InContract):
        return compile_one.compile(contract, dataset, rule, fields)
    return compile_one(rule, fields)


def _judge_types(rule: Rule, fields: tuple[Field, ...]) -> None:
    """Refuse a rule about fields of another type than it is for."""
    suits, words = SUITS.get(rule.kind, (None, ""))
    for field in fields:
        if suits is not None and not suits(field.type):
            refuse(
                rule,
                "rule-does-not-suit",
                f"{shown(field.name)} is a {field.type.value}, and {rule.kind} is for {words}",
            )
