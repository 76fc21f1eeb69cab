"""Soda's schema check: the columns that a file must or must not have, and their types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.build import brief, items, refuse, rows, skipped
from lakegate.contracts.compile.rules.expected_columns import of_header
from lakegate.contracts.compile.rules.soda_checks import UnmeasuredError
from lakegate.contracts.compile.rules.typenames import TYPE_NAMES
from lakegate.contracts.model.contract import Severity
from lakegate.contracts.plan.check import Check, HeaderRequirement
from lakegate.contracts.plan.predicate import Typed

if TYPE_CHECKING:
    from lakegate.contracts.compile.rules.sodacl import SodaCheck
    from lakegate.contracts.model.contract import Field, Rule

WRONG_TYPE = "when wrong column type"


def schema(rule: Rule, known: Mapping[str, Field], parsed: SodaCheck) -> Iterator[tuple[str, Check]]:
    """The checks of a schema, each with the suffix of its id."""
    if not parsed.zones:
        raise UnmeasuredError("a schema without `warn` or `fail` wants nothing")
    for zone, conditions in parsed.zones.items():
        if not isinstance(conditions, Mapping):
            refuse(rule, "soda-check", "a schema check needs conditions, e.g. `when required column missing: [a]`")
        worst = Severity.WARN if zone == "warn" else rule.severity
        for name, value in conditions.items():
            yield from (
                (f":{zone}:{name}", replace(each, worst=worst)) for each in _wants(rule, known, str(name), value)
            )


def typed_columns(zones: Mapping[str, object]) -> tuple[str, ...]:
    """The columns whose types a schema wants; they need not be declared."""
    wanted = [each.get(WRONG_TYPE) for each in zones.values() if isinstance(each, Mapping)]
    return tuple(dict.fromkeys(str(column) for each in wanted if isinstance(each, Mapping) for column in each))


def _wants(rule: Rule, known: Mapping[str, Field], name: str, value: object) -> Iterator[Check]:
    """The checks of one condition; one that is not judged is skipped, and its neighbours are measured."""
    if name == "when required column missing":
        names = tuple(map(str, items(rule, value)))
        yield of_header(rule, HeaderRequirement(required=names), f"the columns {brief(', '.join(names))}")
    elif name == "when forbidden column present":
        names = tuple(str(each).replace("%", "*") for each in items(rule, value))
        yield of_header(rule, HeaderRequirement(forbidden=names), f"no column {brief(', '.join(names))}")
    elif name == WRONG_TYPE and isinstance(value, Mapping):
        yield from (_of_type(rule, known, str(column), str(declared)) for column, declared in value.items())
    else:
        yield skipped(rule, (), f"a schema is not judged by `{brief(name)}`: the order of columns is, without a rule")


def _of_type(rule: Rule, known: Mapping[str, Field], column: str, declared: str) -> Check:
    field = known.get(column)
    if field is None:
        return skipped(rule, (), f"the schema names a column that is not declared: {brief(column)}")
    if TYPE_NAMES.get(declared.lower().partition("(")[0]) is not field.type:
        return skipped(rule, (field,), f"the contract declares {column} as {field.type.value}")
    return rows(rule, field, Typed(field.name), f"of type {brief(declared)}")
