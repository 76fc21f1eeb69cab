"""Reads DCM 0.1.3, the format of the DCM thesis (its tables A.1 to A.5; its Appendix A is law).

What its Appendix B would refuse beyond that is a warning: the thesis's own contract would fall to it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.errors import Problem
from contracts.formats.about import about
from contracts.formats.extension import Extension
from contracts.formats.nesting import NESTED_KIND
from contracts.formats.schemas import breaches
from contracts.formats.service_levels import key_rules
from contracts.formats.unnamed import note_unnamed
from contracts.formats.values import exact, rule_id, texts
from contracts.model import About, Contract, Dataset, Field, Rule, Severity, Tolerance
from contracts.types import LogicalType
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contracts.document import Document
    from contracts.formats.notes import Notes
    from contracts.nodes import Place

VERSIONS = ("0.1.3",)
TYPES = {
    **dict.fromkeys(("tinyint", "smallint", "int", "integer", "bigint", "byteint"), LogicalType.INTEGER),
    **dict.fromkeys(("number", "float", "double"), LogicalType.NUMBER),
    **dict.fromkeys(("decimal", "numeric"), LogicalType.DECIMAL),
    **dict.fromkeys(("boolean", "bool"), LogicalType.BOOLEAN),
    **dict.fromkeys(("timestamp", "datetime"), LogicalType.TIMESTAMP),
    "date": LogicalType.DATE,
    "time": LogicalType.TIME,
    **dict.fromkeys(
        ("string", "mediumtext", "text", "char", "varchar", "enum", "json", "interval"), LogicalType.STRING
    ),
    **dict.fromkeys(("bytes", "binary", "varbinary"), LogicalType.BINARY),
}
"""The types of Appendix B (and YAML's own names for two of them), whatever their case."""
SIZED = ("char", "varchar")
KINDS = {"unique": "distinct"}
"""Rule types whose name means something else in other formats."""
CONSTRAINTS = {"NOT_NULL": "required", "UNIQUE": "unique", "FOREIGN_KEY": "foreignKey"}
PRIMARY_KEY = "PRIMARY_KEY"
INNER_CONSTRAINTS = {**CONSTRAINTS, PRIMARY_KEY: "primaryKey"}
NESTED = ("array", "map", "struct", "union")
"""Types whose values have parts: `children`, or items of the `arrayDataType`."""
TOLD = ("specVersion", "id", "name", "kind", "version", "dataset", "quality", "serviceLevelAgreements")


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; what is wrong with it is noted. DCM knows no variables."""
    del variables
    top = document.top
    notes.errors.extend(breaches(document, "dcm-0.1.3"))
    note_unnamed(document, "dcm-0.1.3", notes)
    strict = breaches(document, "dcm-0.1.3-appendix-b")
    blamed = {problem.path for problem in notes.errors}
    notes.warnings.extend(_as_warning(problem) for problem in strict if problem.path not in blamed)
    return Contract(
        id=top["id"].text or "",
        version=top["version"].text or "",
        format="DCM 0.1.3",
        datasets=(_dataset(top, notes),),
        name=top["name"].text,
        about=_about(top, notes),
    )


def _about(top: Place, notes: Notes) -> About:
    """The purpose and the limits stand in the agreements; the owner is a group, else the producer."""
    agreements = top["dataSharingAgreements"]
    return about(
        top,
        notes,
        TOLD,
        description=top["description"].text,
        owner=top["ownerGroup"].text or top["producer"]["name"].text,
        purpose=agreements["purpose"].text,
        usage=agreements["intendedUsage"].text,
        limitations=agreements["limitations"].text,
    )


def _as_warning(problem: Problem) -> Problem:
    return Problem("appendix-b", problem.path, problem.line, f"Appendix B of DCM would refuse this: {problem.message}")


def _dataset(top: Place, notes: Notes) -> Dataset:
    place, extension = top["dataset"], Extension([top["specific"]["lakegate"]], notes)
    columns = place["schema"].items
    rules = [*_column_rules(columns), *(_quality_rule(each) for each in top["quality"].items)]
    rules += key_rules(top["serviceLevelAgreements"])
    worst = Severity.FAIL if extension.critical else Severity.WARN
    return Dataset(
        name=place["name"].text or "",
        fields=tuple(_field(column, notes) for column in columns),
        rules=tuple(replace(rule, severity=worst) for rule in rules),
        origin=place.origin,
        policy=extension.policy,
        csv=extension.csv,
        storage=extension.storage,
    )


def _field(column: Place, notes: Notes, around: str = "") -> Field:
    """A column, or a child of one."""
    said, path = column["dataType"].text, around + (column["name"].text or "")
    if said is not None and said.lower() not in {*TYPES, *NESTED}:
        message = f"{shown(said)} is no data type of DCM.{did_you_mean(said, (*TYPES, *NESTED))}"
        notes.error("unknown-type", column["dataType"], message)
    items = column["arrayDataType"]
    children = [_field(each, notes, f"{path}.") for each in column["children"].items]
    if items.text:
        logical = TYPES.get(items.text.lower(), LogicalType.STRING)
        children.append(Field(f"{path}[]", logical, items.origin, declared=items.text))
    return Field(
        name=path,
        type=TYPES.get(_declared(column), LogicalType.STRING),
        origin=column.origin,
        description=column["description"].text,
        declared=said,
        parts=tuple(children),
    )


def _declared(column: Place) -> str:
    return (column["dataType"].text or "").lower()


def _column_rules(columns: list[Place]) -> Iterator[Rule]:
    """The types of all columns, the primary key as one rule, then what each column says of itself."""
    ordinals: Counter[str] = Counter()
    for column in columns:
        yield from _type_rules(column, column["name"].text or "", ordinals)
    key = [column for column in columns if _constraint(column) == PRIMARY_KEY]
    if key:
        names = tuple(column["name"].text or "" for column in key)
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", key[0]["constraint"].origin, names)
    for column in columns:
        yield from _own_rules(column, column["name"].text or "", ordinals, CONSTRAINTS)


def _type_rules(column: Place, path: str, ordinals: Counter[str]) -> Iterator[Rule]:
    """The type of a column; of one with parts, what is said of each part."""
    yield _rule(column["dataType"], path, _kind(column["dataType"]), ordinals)
    for child in column["children"].items:
        inner = f"{path}.{child['name'].text or ''}"
        yield from _type_rules(child, inner, ordinals)
        yield from _own_rules(child, inner, ordinals, INNER_CONSTRAINTS)
    if column["arrayDataType"].present:
        yield _rule(column["arrayDataType"], f"{path}[]", _kind(column["arrayDataType"]), ordinals)


def _kind(said: Place) -> str:
    return NESTED_KIND if (said.text or "").lower() in NESTED else "type"


def _own_rules(column: Place, path: str, ordinals: Counter[str], constraints: Mapping[str, str]) -> Iterator[Rule]:
    kind = constraints.get(_constraint(column))
    if kind is not None:
        yield _rule(column["constraint"], path, kind, ordinals)
    if _declared(column) in SIZED and column["dataLength"].number is not None:
        yield _rule(column["dataLength"], path, "maxLength", ordinals, value=column["dataLength"].number)


def _constraint(column: Place) -> str:
    return (column["constraint"].text or "").upper()


def _rule(at: Place, path: str, kind: str, ordinals: Counter[str], **arguments: object) -> Rule:
    return Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)


def _quality_rule(place: Place) -> Rule:
    said = place["type"].text or ""
    severity = place["severity"]
    return Rule(
        id=place["id"].text or "",
        kind=KINDS.get(said, said),
        origin=place.origin,
        fields=tuple(each.text or "" for each in place["columns"].items),
        arguments=_arguments(said, place),
        tolerance=Tolerance(severity["warn"]["tolerance"].number, severity["fail"]["tolerance"].number),
        name=place["name"].text,
        dimension=place["dimension"].text,
    )


def _arguments(said: str, place: Place) -> dict[str, object]:
    match said:
        case "custom":
            engine, call = place["technology"].text or "", place["call"].text or place["id"].text or ""
            return {"engine": engine, "call": call, "args": exact(place["args"]) or {}}
        case "allowedValues":
            return {"parameter": texts(place["parameter"])}
        case "unique":
            return {}
        case _:
            return {"parameter": exact(place["parameter"])}
