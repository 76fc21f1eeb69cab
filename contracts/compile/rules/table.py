"""The table of rules: each kind with its compiler. To add a kind, add one function and one row here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules import constraints, dcm, odcs
from lakegate.contracts.compile.rules.build import ByField, InContract, once, refuse, skipped
from lakegate.contracts.compile.rules.custom import custom, unmeasured
from lakegate.contracts.compile.rules.references import foreign_key
from lakegate.contracts.compile.rules.service_levels import service_level
from lakegate.contracts.compile.rules.sql import sql
from lakegate.contracts.plan.plan import Shape
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakegate.contracts.compile.rules.build import Compile
    from lakegate.contracts.model.contract import Contract, Dataset, Field, Rule
    from lakegate.contracts.model.types import LogicalType
    from lakegate.contracts.plan.check import Check

RULES: dict[str, Compile | InContract] = {
    "type": ByField(constraints.typed),
    "required": ByField(constraints.required),
    "unique": ByField(constraints.unique),
    "primaryKey": constraints.primary_key,
    "enum": ByField(constraints.enum),
    "pattern": ByField(constraints.pattern),
    "minLength": ByField(constraints.min_length),
    "maxLength": ByField(constraints.max_length),
    "minimum": ByField(constraints.minimum),
    "maximum": ByField(constraints.maximum),
    "multipleOf": ByField(constraints.multiple_of),
    "format": ByField(constraints.text_form),
    "rowCount": once(odcs.row_count),
    "nullValues": odcs.of_every_column(odcs.null_values),
    "missingValues": odcs.of_every_column(odcs.missing_values),
    "invalidValues": InContract(odcs.invalid_values, by_field=True),
    "duplicateValues": once(odcs.duplicate_values),
    "size": once(dcm.size),
    "mean": ByField(dcm.mean),
    "stdev": ByField(dcm.deviation),
    "complete": ByField(dcm.complete),
    "distinct": ByField(dcm.distinct),
    "min": ByField(dcm.minimum),
    "max": ByField(dcm.maximum),
    "allowedValues": ByField(dcm.allowed_values),
    "custom": custom,
    "sql": InContract(sql),
    "text": unmeasured("a rule in words has nothing to measure"),
    "foreignKey": InContract(foreign_key),
    "serviceLevel": service_level,
    "nested": ByField(constraints.with_parts),
    "timezone": InContract(constraints.with_offset, by_field=True),
    "minItems": ByField(constraints.min_size(Shape.LIST)),
    "maxItems": ByField(constraints.max_size(Shape.LIST)),
    "uniqueItems": ByField(constraints.no_repeats),
    "minProperties": ByField(constraints.min_size(Shape.RECORD, Shape.MAP)),
    "maxProperties": ByField(constraints.max_size(Shape.RECORD, Shape.MAP)),
    "requiredMember": ByField(constraints.required_member),
    "dateFormat": ByField(constraints.date_format),
}


SUITS: dict[str, tuple[Callable[[LogicalType], bool], str]] = {
    **dict.fromkeys(("mean", "stdev", "min", "max", "multipleOf"), (lambda each: each.numeric, "numbers")),
    **dict.fromkeys(("minimum", "maximum"), (lambda each: each.ordered, "numbers, dates and times")),
}
"""The field types that a kind of rule supports, and their name in messages."""


def compile_rule(contract: Contract, dataset: Dataset, rule: Rule, fields: tuple[Field, ...]) -> tuple[Check, ...]:
    """The checks of a rule over its fields, at least one; a rule of an unknown kind is skipped."""
    _judge_types(rule, fields)
    compile_one = RULES.get(rule.kind)
    if compile_one is None:
        return (skipped(rule, fields, f"rules of the kind {rule.kind} are not measured by this version"),)
    if isinstance(compile_one, InContract):
        return compile_one.compile(contract, dataset, rule, fields)
    return compile_one(rule, fields)


def is_by_field(rule: Rule) -> bool:
    """Whether a rule has a check for each of its fields, which are judged apart."""
    compiler = RULES.get(rule.kind)
    return isinstance(compiler, ByField) or (isinstance(compiler, InContract) and compiler.by_field)


def _judge_types(rule: Rule, fields: tuple[Field, ...]) -> None:
    """Refuse a rule whose fields have an unsupported type."""
    suits, words = SUITS.get(rule.kind, (None, ""))
    for field in fields:
        if suits is not None and not suits(field.type):
            refuse(
                rule,
                "rule-does-not-suit",
                f"{shown(field.name)} is a {field.type.value}, and {rule.kind} is for {words}",
            )
