"""Soda's check of a schema: which columns a file must have, which it may not, and of which types they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.check import Check, Header
from contracts.model import Severity
from contracts.predicate import Typed
from contracts.rules.build import brief, items, refuse, rows
from contracts.rules.expected_columns import of_header
from contracts.rules.soda_checks import UnmeasuredError
from contracts.rules.typenames import TYPE_NAMES

if TYPE_CHECKING:
    from contracts.model import Field, Rule
    from contracts.rules.sodacl import Asked


def schema(rule: Rule, known: Mapping[str, Field], asked: Asked) -> Iterator[tuple[str, Check]]:
    """The checks of a schema, each with what its id says of it: names of columns, and their types."""
    if not asked.zones:
        raise UnmeasuredError("a schema without `warn` or `fail` wants nothing")
    for zone, said in asked.zones.items():
        if not isinstance(said, Mapping):
            refuse(rule, "soda-check", "a schema says what is bad: `when required column missing: [a]`")
        worst = Severity.WARN if zone == "warn" else rule.severity
        for name, value in said.items():
            yield from (
                (f":{zone}:{name}", replace(each, worst=worst)) for each in _wants(rule, known, str(name), value)
            )


def _wants(rule: Rule, known: Mapping[str, Field], name: str, value: object) -> Iterator[Check]:
    match name:
        case "when required column missing":
            names = tuple(map(str, items(rule, value)))
            yield of_header(rule, Header(required=names), f"the columns {brief(', '.join(names))}")
        case "when forbidden column present":
            names = tuple(str(each).replace("%", "*") for each in items(rule, value))
            yield of_header(rule, Header(forbidden=names), f"no column {brief(', '.join(names))}")
        case "when wrong column type" if isinstance(value, Mapping):
            yield from (_of_type(rule, known, str(column), str(said)) for column, said in value.items())
        case _:
            raise UnmeasuredError(f"a schema is not judged by `{brief(name)}`: the order of columns is, without a rule")


def _of_type(rule: Rule, known: Mapping[str, Field], column: str, said: str) -> Check:
    field = known.get(column)
    if field is None:
        refuse(rule, "undeclared-column", f"the schema names a column that is not declared: {column}")
    if TYPE_NAMES.get(said.lower().partition("(")[0]) is not field.type:
        raise UnmeasuredError(f"the contract itself says that {column} is of type {field.type.value}")
    return rows(rule, field, Typed(field.name), f"of type {brief(said)}")
