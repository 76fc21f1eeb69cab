"""The table of kinds of rules, each with the function that compiles it to checks; SQL rules; technologies of `custom` rules.

Readers convert each constraint of a document to a `Rule` of one of these kinds, with these arguments (texts as written, numbers
as `Decimal`):

======================  =======================================  ====================================================
kind                    arguments                                source
======================  =======================================  ====================================================
type                                                             the declared type of a field
required                                                         ODCS `required`, DCM NOT_NULL
unique                                                           ODCS `unique`, DCM UNIQUE
primaryKey              (fields in key order)                    ODCS `primaryKey`, DCM PRIMARY_KEY
enum                    values                                   ODCS 3.2 `enum`
pattern                 pattern (ECMA-262)                       ODCS `logicalTypeOptions.pattern`
minLength, maxLength    value                                    ODCS `logicalTypeOptions`
minimum, maximum        value, exclusive                         ODCS `logicalTypeOptions`
multipleOf              value                                    ODCS `logicalTypeOptions`
format                  value (email, uuid, uri, ipv4, …)        ODCS `logicalTypeOptions.format` of a string
jsonSchema              value                                    DCM `jsonSchema` of a JSON column
timezone                                                         ODCS `logicalTypeOptions.timezone: true`
offset                  value                                    DCS `timestamp_tz` (true), `timestamp_ntz` (false)
minItems, maxItems      value                                    ODCS `logicalTypeOptions` of an array
uniqueItems                                                      ODCS `logicalTypeOptions` of an array
minProperties           value                                    ODCS `logicalTypeOptions` of an object
maxProperties           value                                    ODCS `logicalTypeOptions` of an object
requiredMember          member                                   ODCS `logicalTypeOptions.required` of an object
rowCount                (comparison)                             ODCS library metric
nullValues              (comparison)                             ODCS library metric
missingValues           missingValues (comparison)               ODCS library metric
invalidValues           validValues, pattern, … (comparison)     ODCS library metric
duplicateValues         (fields; comparison)                     ODCS library metric
size, mean, stdev       parameter (tolerance)                    DCM table A.3
complete                parameter (tolerance)                    DCM table A.3
distinct                (tolerance)                              DCM `unique`
min, max                parameter (tolerance)                    DCM table A.3
allowedValues           parameter                                DCM table A.3
custom                  engine, call, args                       DCM `custom`, ODCS and DCS `custom`
sql                     query (comparison)                       ODCS and DCS `sql`
text                                                             ODCS and DCS `text`
foreignKey              (fields), to                             ODCS relationships, DCM FOREIGN_KEY
serviceLevel            property, value, unit                    ODCS `slaProperties`, DCM `serviceLevelAgreements`
nested                                                           constraints of nested fields
dateFormat              option, value                            constraints of dates in another format than ISO 8601
======================  =======================================  ====================================================

A DCM rule with several columns is one `Rule` with several fields: each field gives a check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.base.errors import ContractError, Problem
from lakegate.base.extension_points import load_extensions
from lakegate.base.text import join_words, quote
from lakegate.contract.contract_model import Comparison, Contract, Dataset, Rule, Shape
from lakegate.contract.documents.odcs_quality import OPERATORS
from lakegate.contract.documents.schema_validation import OTHER_WORDS
from lakegate.contract.logical_types import LogicalType, number_of
from lakegate.plan.check import Check, Tier, Unit
from lakegate.plan.metrics import Metric
from lakegate.rules import dcm_rules, field_constraints, json_schema_rules, odcs_metrics, row_conditions
from lakegate.rules.check_builder import (
    ByField,
    Checks,
    Fields,
    InContract,
    brief,
    not_measured,
    once,
    refuse,
    skip_check,
)
from lakegate.rules.odcs_metrics import interval_of
from lakegate.rules.relationship_rules import foreign_key
from lakegate.rules.service_level_rules import service_level

if TYPE_CHECKING:
    from lakegate.rules.check_builder import Compile, Technology

    Arguments = Mapping[str, object]

# ---- Rules of other engines ----


def custom(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields) -> Checks:
    """The checks of a custom rule, or one skipped check with the reason."""
    technology = _technology(rule)
    if technology is None:
        named = brief(str(rule.arguments.get("engine", ""))) or "(none named)"
        return (skip_check(rule, fields, f"the engine {named} is not measured by this version"),)
    if not _call(rule).strip():
        held = f": it has the keys {join_words(arguments_of(rule))}" if arguments_of(rule) else ""
        return (skip_check(rule, fields, f"it has no check that can be read{held}"),)
    asked = technology.asking(contract, dataset, rule, fields) if technology.asking else None
    return technology.compile(rule, fields, _call(rule), arguments_of(rule)) if asked is None else asked


def columns_of(rule: Rule) -> tuple[str, ...]:
    """The columns of a call and of its condition; the contract must declare them."""
    technology, arguments = _technology(rule), arguments_of(rule)
    if technology is None:
        return ()
    is_sql = technology.is_sql or arguments.get("condition_parser") == "spark"
    conditions = [condition for name in technology.conditions if isinstance(condition := arguments.get(name), str)]
    read = [name for condition in conditions for name in row_conditions.columns_of(condition, is_sql=is_sql)]
    return (*technology.subjects(_call(rule), arguments), *read)


def optional_columns_of(rule: Rule) -> tuple[str, ...]:
    """Further columns that a call mentions; a part of it about one that is not declared is skipped."""
    technology = _technology(rule)
    return () if technology is None else technology.optional(_call(rule), arguments_of(rule))


def arguments_of(rule: Rule) -> Mapping[str, object]:
    """The arguments of a call."""
    given = rule.arguments.get("args")
    return given if isinstance(given, Mapping) else {}


def unmeasured(reason: str) -> Compile:
    """The compiler of a kind whose rules are always skipped."""
    return lambda rule, fields: (skip_check(rule, fields, reason),)


def _technology(rule: Rule) -> Technology | None:
    named = "".join(filter(str.isalnum, str(rule.arguments.get("engine", "")).lower()))
    technologies: Iterator[Technology] = load_extensions("rule technologies")
    return next((technology for technology in technologies if named in technology.names), None)


def _call(rule: Rule) -> str:
    return str(rule.arguments.get("call", ""))


# ---- SQL rules: the parser is loaded only if a contract has one ----


PERCENT_OF_WHAT = (
    "the answer of a query is compared as it is, and not as a share of the rows: let the query answer in percent "
    "(`SELECT 100.0 * … / count(*) FROM …`), and remove `unit`"
)


def sql(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields) -> Checks:
    """The checks of a query, one for each operator; a harmless query that cannot be translated is skipped."""
    if rule.arguments.get("percent"):
        refuse(rule, "unit", PERCENT_OF_WHAT)
    from lakegate.sql.sql_select import translate  # noqa: PLC0415 - likewise
    from lakegate.sql.typed_sql import RefusedError, UntranslatedError  # noqa: PLC0415 - a tenth of a second, for SQL alone

    try:
        query, named = translate(contract, dataset, rule)
    except RefusedError as error:
        raise ContractError(
            (Problem(error.code, f"{rule.origin.path}.query", rule.origin.line, error.message),)
        ) from None
    except UntranslatedError as error:
        return (skip_check(rule, fields, f"this SQL is not measured by this version: {error.reason}"),)
    own = "/".join((rule.id, *(field.name for field in fields)))
    return tuple(
        Check(
            id=own,
            rule=rule.id,
            kind=rule.kind,
            fields=named,
            metric=Metric.ANSWER,
            unit=Unit.VALUE,
            accept=Tier(interval),
            worst=rule.severity,
            wanted=f"an answer of {interval}",
            query=query,
        )
        for interval in [interval_of(replace(rule, comparison=comparison))[0] for comparison in _comparisons(rule)]
    )


def _comparisons(rule: Rule) -> list[Comparison | None]:
    """The comparisons of a query: its operators are siblings of `query`."""
    operators = {name: rule.arguments[name] for name in OPERATORS if name in rule.arguments}
    if rule.comparison is not None or not operators:
        return [rule.comparison]
    return [_comparison(name, operand) for name, operand in operators.items()]


def _comparison(name: str, operand: object) -> Comparison | None:
    operands = operand if isinstance(operand, list | tuple) else [operand]
    numbers = [Decimal(each) if isinstance(each, bool) else number_of(each) for each in operands]
    return Comparison(name, tuple(number for number in numbers if number is not None)) if None not in numbers else None


# ---- The table of rules: to add a kind, add a function and a row ----


RULES: dict[str, Compile | InContract] = {
    "type": ByField(field_constraints.typed),
    "required": ByField(field_constraints.required),
    "unique": ByField(field_constraints.unique),
    "primaryKey": field_constraints.primary_key,
    "enum": ByField(field_constraints.enum),
    "pattern": ByField(field_constraints.pattern),
    "minLength": ByField(field_constraints.bounded_length(is_low=True)),
    "maxLength": ByField(field_constraints.bounded_length(is_low=False)),
    "minimum": ByField(field_constraints.minimum),
    "maximum": ByField(field_constraints.maximum),
    "multipleOf": ByField(field_constraints.multiple_of),
    "format": ByField(field_constraints.text_form),
    "jsonSchema": ByField(json_schema_rules.json_form),
    "rowCount": once(odcs_metrics.row_count),
    "nullValues": odcs_metrics.of_every_column(odcs_metrics.null_values),
    "missingValues": odcs_metrics.of_every_column(odcs_metrics.missing_values),
    "invalidValues": InContract(odcs_metrics.invalid_values, by_field=True),
    "duplicateValues": once(odcs_metrics.duplicate_values),
    "size": once(dcm_rules.size),
    "mean": ByField(dcm_rules.mean),
    "stdev": ByField(dcm_rules.deviation),
    "complete": ByField(dcm_rules.complete),
    "distinct": ByField(dcm_rules.distinct),
    "min": ByField(dcm_rules.minimum),
    "max": ByField(dcm_rules.maximum),
    "allowedValues": ByField(dcm_rules.allowed_values),
    "custom": InContract(custom),
    "sql": InContract(sql),
    "text": unmeasured("a rule in words has nothing to measure"),
    "foreignKey": InContract(foreign_key),
    "serviceLevel": service_level,
    "nested": ByField(field_constraints.with_parts),
    "timezone": InContract(field_constraints.with_offset, by_field=True),
    "offset": InContract(field_constraints.with_offset, by_field=True),
    "minItems": ByField(field_constraints.bounded_size(Shape.LIST, is_low=True)),
    "maxItems": ByField(field_constraints.bounded_size(Shape.LIST, is_low=False)),
    "uniqueItems": ByField(field_constraints.no_repeats),
    "minProperties": ByField(field_constraints.bounded_size(Shape.RECORD, Shape.MAP, is_low=True)),
    "maxProperties": ByField(field_constraints.bounded_size(Shape.RECORD, Shape.MAP, is_low=False)),
    "requiredMember": ByField(field_constraints.required_member),
    "dateFormat": ByField(field_constraints.date_format),
}

SUITS: dict[str, tuple[Callable[[LogicalType], bool], str]] = {
    **dict.fromkeys(("mean", "stdev", "min", "max", "multipleOf"), (lambda each: each.numeric, "numbers")),
    **dict.fromkeys(("minimum", "maximum"), (lambda each: each.ordered, "numbers, dates and times")),
}
"""The field types that a kind of rule supports, and their name in messages."""


METRIC_ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("rowCount", "nullValues", "duplicateValues"), ()),
    "missingValues": ("missingValues",),
}
"""The arguments of library metrics beside `properties`; `invalidValues` judges its own."""


def compile_rule(contract: Contract, dataset: Dataset, rule: Rule, fields: Fields) -> Checks:
    """The checks of a rule over its fields, at least one; a rule of an unknown kind is skipped."""
    _judge_types(rule, fields)
    foreign = _foreign_argument(rule)
    if foreign is not None:
        return (skip_check(rule, fields, foreign),)
    compile_one = RULES.get(rule.kind)
    if compile_one is None:
        return (skip_check(rule, fields, f"rules of the kind {rule.kind} are not measured by this version"),)
    if isinstance(compile_one, InContract):
        return compile_one.compile(contract, dataset, rule, fields)
    return compile_one(rule, fields)


def _foreign_argument(rule: Rule) -> str | None:
    """The reason why a library metric is skipped that has another argument than those that it knows."""
    known = METRIC_ARGUMENTS.get(rule.kind)
    given = (name for name, value in rule.arguments.items() if value is not None)
    foreign = None if known is None else next((name for name in given if name not in known), None)
    if foreign is None:
        return None
    what, near = f"the argument {brief(foreign)} of {rule.kind}", (*(known or ()), "properties")
    return not_measured(what, OTHER_WORDS.get(foreign.casefold(), foreign), near)


def is_by_field(rule: Rule) -> bool:
    """Whether a rule has a check for each of its fields, which are judged apart."""
    compiler = RULES.get(rule.kind)
    return isinstance(compiler, ByField) or (isinstance(compiler, InContract) and compiler.by_field)


def _judge_types(rule: Rule, fields: Fields) -> None:
    """Refuse a rule whose fields have an unsupported type."""
    suits, words = SUITS.get(rule.kind, (None, ""))
    for field in fields:
        if suits is not None and not suits(field.type):
            refuse(
                rule,
                "rule-does-not-suit",
                f"{quote(field.name)} is a {field.type.value}, and {rule.kind} is for {words}",
            )
