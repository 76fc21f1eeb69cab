"""Reads the quality rules of ODCS, at objects and at properties: library metrics, SQL, custom engines and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from contracts.document import parse
from contracts.errors import ContractError
from contracts.formats.values import exact, rule_id, texts
from contracts.model import Comparison, Rule, Severity
from contracts.words import did_you_mean, listed, shown

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from contracts.formats.notes import Notes
    from contracts.nodes import Place

OPERATORS = (
    "mustBe",
    "mustNotBe",
    "mustBeGreaterThan",
    "mustBeGreaterOrEqualTo",
    "mustBeLessThan",
    "mustBeLessOrEqualTo",
    "mustBeBetween",
    "mustNotBeBetween",
)
BETWEEN = ("mustBeBetween", "mustNotBeBetween")
UNITS = {"rows": False, "row": False, "percent": True, "%": True}
"""Whether a unit is a share of the rows."""
WARNING = ("info", "warning", "low", "minor")
FAILING = ("error", "critical", "high", "major", "medium", "blocker", "fatal", "severe")
OLDER = {"duplicateCount": "duplicateValues"}
"""Names of metrics in the free text of ODCS 3.0 that mean the same as a metric of 3.1."""
LISTS = ("validValues", "missingValues")


def quality_rules(
    owner: Place, field: str | None, subject: str, ordinals: Counter[str], notes: Notes
) -> Iterator[Rule]:
    """The quality rules at an object (`field` None) or a property; `subject` begins the ids of rules without one."""
    for place in owner["quality"].items:
        kind = _kind(place)
        arguments = _arguments(kind, place)
        yield Rule(
            id=place["id"].text or rule_id(ordinals, subject, kind),
            kind=kind,
            origin=place.origin,
            fields=_fields(kind, place, field),
            arguments=arguments,
            comparison=_comparison(kind, place, notes),
            severity=_severity(place["severity"], notes),
            name=place["name"].text or place["description"].text,
            dimension=place["dimension"].text,
        )


def _kind(place: Place) -> str:
    """SQL and custom rules by their type, whatever else they say; a metric by its name; anything else is words."""
    said = place["type"].text
    if said in {"sql", "custom", "text"}:
        return said
    metric = place["metric"].text or place["rule"].text
    return OLDER.get(metric, metric) if metric else "text"


def _fields(kind: str, place: Place, field: str | None) -> tuple[str, ...]:
    named = texts(place["arguments"]["properties"])
    if kind == "rowCount":
        return ()
    return named or (() if field is None else (field,))


def _arguments(kind: str, place: Place) -> dict[str, object]:
    match kind:
        case "sql":
            return {"query": place["query"].text or "", **{key: exact(place[key]) for key in _operators(place)}}
        case "custom":
            return _implementation(place)
        case _:
            said = {key: exact(each) for key, each in place["arguments"].entries.items() if key != "properties"}
            return said | {key: _values(place["arguments"][key]) for key in LISTS if key in said}


def _values(place: Place) -> tuple[str | None, ...]:
    """The items as they were written; null is None."""
    return tuple(None if each.scalar is None else each.written for each in place.items)


def _implementation(place: Place) -> dict[str, object]:
    """A foreign check: what is called, with which arguments; an implementation in text is read as YAML."""
    engine, implementation = place["engine"].text or "", place["implementation"]
    if implementation.text is not None:
        try:
            implementation = parse(implementation.text.encode()).top
        except ContractError:
            return {"engine": engine, "call": "", "args": {}}
    call = implementation["type"].text or implementation["expectation_type"].text or ""
    return {"engine": engine, "call": call, "args": exact(implementation["kwargs"]) or {}}


def _operators(place: Place) -> list[str]:
    return [key for key in OPERATORS if place[key].present]


def _comparison(kind: str, place: Place, notes: Notes) -> Comparison | None:
    operators = _operators(place)
    if kind in {"sql", "custom", "text"} or not operators:
        return None
    operator = operators[0]
    said = place[operator].items if operator in BETWEEN else [place[operator]]
    operands = tuple(each.number for each in said if each.number is not None)
    if len(operands) < len(said):
        notes.error("operand", place[operator], f"`{operator}` compares a number: write one.")
        return None
    return Comparison(operator, operands, _is_percent(place["unit"], notes))


def _is_percent(place: Place, notes: Notes) -> bool:
    unit = place.text
    if unit is None:
        return False
    if unit.lower() not in UNITS:
        message = f"{shown(unit)} is no unit of rows: write {listed(('rows', 'percent'))}.{did_you_mean(unit, UNITS)}"
        notes.error("unknown-unit", place, message)
    return UNITS.get(unit.lower(), False)


def _severity(place: Place, notes: Notes) -> Severity:
    said = (place.text or FAILING[0]).lower()
    if said not in WARNING + FAILING:
        hint = did_you_mean(said, WARNING + FAILING)
        notes.warning("unknown-severity", place, f"{shown(said)} is no usual severity and counts as error.{hint}")
    return Severity.WARN if said in WARNING else Severity.FAIL
