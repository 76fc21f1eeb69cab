"""Constraints of fields as ODCS writes them: flags, keys, options of types and relationships (ODCS 3.2 §schema)."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from lakegate.contracts.compile.rules.nested_fields import OF_WHOLE
from lakegate.contracts.compile.rules.references import ELSEWHERE
from lakegate.contracts.convert.odcs_site import DATASET, NO_ROW, listed, number
from lakegate.contracts.model.types import LogicalType

if TYPE_CHECKING:
    import re

    from lakegate.contracts.convert.odcs_site import Quality, RuleSite, Write

_TEXT = frozenset({"minLength", "maxLength", "pattern", "format"})
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
OPTIONS = {
    **dict.fromkeys((LogicalType.STRING, LogicalType.BINARY), _TEXT),
    **dict.fromkeys((LogicalType.INTEGER, LogicalType.NUMBER, LogicalType.DECIMAL), _BOUNDS | {"multipleOf"}),
    **dict.fromkeys((LogicalType.DATE, LogicalType.TIME, LogicalType.TIMESTAMP), _BOUNDS),
}
"""The options of each logical type that are rules."""
_BINARY = "binary"


def flag(site: RuleSite) -> Quality:
    """`required: true`, `unique: true`."""
    for path in site.rule.fields:
        site.found[path].keys[site.rule.kind] = True
    yield from ()


def primary_key(site: RuleSite) -> Quality:
    """The key with its positions; ODCS knows keys of columns alone."""
    if set(site.rule.fields) <= {each.name for each in site.dataset.fields}:
        for position, path in enumerate(site.rule.fields, start=1):
            site.found[path].keys |= {"primaryKey": True, "primaryKeyPosition": position}
    yield from ()


def enum(site: RuleSite) -> Quality:
    """The closed list of a property."""
    for path in site.rule.fields:
        values = listed(site.rule.arguments.get("values"), site.type(path))
        site.found[path].keys["enum"] = [{"value": each} for each in values]
    yield from ()


def option(site: RuleSite) -> Quality:
    """An option of the type; where the property has it already, a quality rule."""
    rule = site.rule
    value = rule.arguments.get("pattern" if rule.kind == "pattern" else "value")
    plain = number(value) if isinstance(value, Decimal) else value
    key = f"exclusive{rule.kind.capitalize()}" if rule.arguments.get("exclusive") is True else rule.kind
    for path in rule.fields:
        options = site.found[path].options
        if key not in OPTIONS.get(site.type(path), ()) or (key == "format" and plain == _BINARY):
            continue
        if key not in options:
            options[key] = plain
        else:
            yield path, {"metric": "invalidValues", "arguments": {key: plain}} | NO_ROW


def of_whole(site: RuleSite) -> Quality:
    """An option of a list, a map, an object or a moment."""
    kind, arguments = site.rule.kind, site.rule.arguments
    for path in site.rule.fields:
        options = site.found[path].options
        if kind == "requiredMember":
            options.setdefault("required", []).append(str(arguments.get("member")))
        else:
            value = arguments.get("value")
            options[kind] = number(value) if isinstance(value, Decimal) else True
    yield from ()


def foreign_key(site: RuleSite) -> Quality:
    """A relationship: of one field at its property, of several at the object."""
    rule = site.rule
    targets = [ELSEWHERE[0].sub(_in_other_contract, each) for each in str(rule.arguments.get("to") or "").split(",")]
    if len(rule.fields) == len(targets) == 1:
        site.found[rule.fields[0]].relationships.append({"to": targets[0]})
    else:
        sources = [f"{site.dataset.name}.{each}" for each in rule.fields]
        site.found[DATASET].relationships.append({"from": sources, "to": targets})
    yield from ()


def _in_other_contract(found: re.Match[str]) -> str:
    return f"{found['contract']}_v{found['major']}.yaml#/schema/{found['dataset']}/properties/{found['field']}"


CONSTRAINTS: dict[str, Write] = {
    "required": flag,
    "unique": flag,
    "primaryKey": primary_key,
    "enum": enum,
    **dict.fromkeys(("pattern", "minLength", "maxLength", "minimum", "maximum", "multipleOf", "format"), option),
    **dict.fromkeys(("timezone", *OF_WHOLE), of_whole),
    "foreignKey": foreign_key,
}
"""The writer of each kind of constraint."""
