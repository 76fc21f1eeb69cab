"""Reads DCM 0.1.3, the format of the DCM thesis. Its Appendix A (tables A.1 to A.5) is normative.

A violation of Appendix B alone is a warning, because the thesis's own contract violates it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from lakegate.base.errors import Problem
from lakegate.base.text import did_you_mean, quote
from lakegate.contract.contract_model import NESTED_KIND, Contract, Dataset, Field, Rule, Tolerance, separate_common
from lakegate.contract.delivery_policy import FileNames
from lakegate.contract.documents.document_root import about
from lakegate.contract.documents.document_tree import Document, Notes, Place, exact, rule_id, texts
from lakegate.contract.documents.extension_settings import EXTENSION, Extension, inheritance
from lakegate.contract.documents.key_table import DOES_NOT_APPLY, FIELD, TEXTS, identity_of, texts_at
from lakegate.contract.documents.odcs_fields import RANGES
from lakegate.contract.documents.odcs_quality import OPERATORS, schedule_of
from lakegate.contract.documents.ref_definitions import expand_references
from lakegate.contract.documents.schema_validation import schema_problems
from lakegate.contract.documents.service_level_keys import key_rules
from lakegate.contract.documents.unknown_keys import warn_unknown_keys
from lakegate.contract.field_paths import FieldPath, column_path, element_path, member_path
from lakegate.contract.logical_types import LogicalType
from lakegate.contract.named_fields import with_paths, written_names
from lakegate.patterns.ecma_patterns import PatternError
from lakegate.patterns.name_patterns import file_names

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
"""The types of Appendix B, and two names of YAML for them; case does not matter."""
WIDTHS = {"byteint": "i8", "tinyint": "i8", "smallint": "i16"}
"""The types that every database has with so many bits; others differ, and are within 64."""
DURATION = (
    r"^-?P(?!$|T$)(?:[0-9]{1,9}Y)?(?:[0-9]{1,9}M)?(?:[0-9]{1,9}W)?(?:[0-9]{1,9}D)?"
    r"(?:T(?!$)(?:[0-9]{1,9}H)?(?:[0-9]{1,9}M)?(?:[0-9]{1,9}(?:\.[0-9]{1,9})?S)?)?$"
)
"""The values of an INTERVAL: durations of ISO 8601."""
KINDS = {"unique": "distinct"}
"""Rule types that have another meaning in other formats."""
CONSTRAINTS = {"NOT_NULL": "required", "UNIQUE": "unique", "FOREIGN_KEY": "foreignKey"}
PRIMARY_KEY = "PRIMARY_KEY"
UNNAMED_TARGET = "unnamed-target"
INNER_CONSTRAINTS = {**CONSTRAINTS, PRIMARY_KEY: "primaryKey"}
NESTED = ("array", "map", "struct", "union")
"""Types with nested fields: `children`, or items of the `arrayDataType`."""
NAME = re.compile("[a-zA-Z _-]+")
"""A name of which Appendix B composes an id."""
READ_KEYS = ("specVersion", "id", "name", "kind", "version", "dataset", "quality", "serviceLevelAgreements")


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; problems are added to `notes`. DCM has no variables."""
    del variables
    document = expand_references(document, notes)
    top = document.top
    notes.errors.extend(schema_problems(document, "dcm-0.1.3"))
    warn_unknown_keys(document, "dcm-0.1.3", notes)
    strict = [*schema_problems(document, "dcm-0.1.3-appendix-b"), *_other_id(top)]
    blamed = {problem.path for problem in notes.errors}
    notes.warnings.extend(
        Problem("appendix-b", problem.path, problem.line, f"Appendix B of DCM does not allow this: {problem.message}")
        for problem in strict
        if problem.path not in blamed
    )
    datasets, common = separate_common([_dataset(top, notes)])
    found = about(top, notes, READ_KEYS, "dcm")
    texts = identity_of(top, "dcm")
    contract = contract_id(texts["id"], texts["version"])
    return Contract(
        format="DCM 0.1.3",
        datasets=datasets,
        about=replace(found, owner=found.owner or top["producer"]["name"].text),
        common=common,
        **texts | ({"id": contract, "document_id": texts["id"]} if contract else {}),
        **inheritance([_extension(top)], notes),
    )


def contract_id(written: str, version: str) -> str:
    """The contract of an id of DCM, which ends in the version (table A.1); empty for an id that does not."""
    contract, _, ending = written.rpartition(f"-{version}")
    return contract if version and not ending else ""


def _other_id(top: Place) -> Iterator[Problem]:
    """The violation of an id that is not composed as in Appendix B; none where id, name or version are none themselves."""
    written, name, version = (top[key].text or "" for key in ("id", "name", "version"))
    actors = (top[entry]["name"].text for entry in ("producer", "consumer"))
    parts = [actor.lower().replace(" ", "-").replace("_", "-") for actor in (name, *actors) if actor]
    composed = "-".join([*parts, version])
    if written and version and NAME.fullmatch(name) and written != composed:
        message = f"it composes the id of name, producer, consumer and version, {quote(composed)}."
        yield Problem("appendix-b", top["id"].path, top["id"].mark.line, message)


def _dataset(top: Place, notes: Notes) -> Dataset:
    place, extension = top["dataset"], Extension([_extension(top)], notes)
    columns = place["schema"].items
    fields = tuple(_field(column, column_path(_name(column)), notes) for column in columns)
    named = Dataset(place["name"].text or "", fields, (), place.origin)
    rules = [*_column_rules(columns), *(_quality_rule(item) for item in top["quality"].items)]
    rules += key_rules(top["serviceLevelAgreements"])
    return Dataset(
        name=named.name,
        fields=fields,
        rules=extension.graded(list(with_paths(rules, named, notes.errors))),
        origin=place.origin,
        policy=replace(extension.policy, file_names=_file_names(top["access"], notes)),
        notice_days=extension.notice_days,
        csv=extension.csv,
        storage=extension.storage,
        declared=extension.declared,
    )


PROTOCOLS = ("http", "https", "s3")
"""Of pushed data; HTTP is always encrypted."""


def _file_names(access: Place, notes: Notes) -> FileNames | None:
    """The pattern of file names that the document has; what else of `access` has no effect is named."""
    protocol, token = access["protocol"], access["security"]["token"]
    if access["eventType"].text == "push" and protocol.text and protocol.text.lower() not in PROTOCOLS:
        message = (
            f"Nothing is pushed over {quote(protocol.text)}: deliveries are uploaded over HTTPS, by the API or to S3."
        )
        notes.warning("access-unused", protocol, message)
    if token.present:
        message = "The token is not used, and everybody who reads the contract reads it: callers are known by IAM or their JWT."
        notes.warning("access-unused", token, message)
    pattern = access["accessConfiguration"]["pattern"]
    for key, entry in access["accessConfiguration"].entries.items():
        if key != "pattern":
            notes.warning(
                "access-unused", entry, f"{quote(key)} has no effect: files are recognised by their `pattern`."
            )
    if not pattern.text:
        return None
    try:
        return file_names(pattern.text)
    except PatternError as error:
        notes.error("access-pattern", pattern, f"File names cannot be compared with {quote(pattern.written)}: {error}.")
        return None


def _extension(top: Place) -> Place:
    return top["specific"][EXTENSION]


def _field(column: Place, path: FieldPath, notes: Notes) -> Field:
    """A column or nested field."""
    declared = column["dataType"].text
    if declared is not None and declared.lower() not in {*TYPES, *NESTED}:
        message = f"{quote(declared)} is not a data type of DCM.{did_you_mean(declared, (*TYPES, *NESTED))}"
        notes.error("unknown-type", column["dataType"], message)
    length, key = column["dataLength"], column["constraint"]
    if length.present and TYPES.get(_declared(column)) not in TEXTS:
        message = f"`dataLength` is for texts and bytes, and has no effect on the type {quote(declared)}: remove it."
        notes.warning(DOES_NOT_APPLY, length, message)
    if CONSTRAINTS.get(_constraint(column)) == "foreignKey":
        message = (
            "DCM has no place for what a FOREIGN_KEY refers to (table A.2): it is recorded, and compared with nothing."
        )
        notes.warning(UNNAMED_TARGET, key, message)
    items = column["arrayDataType"]
    children = [_field(item, member_path(path, _name(item)), notes) for item in column["children"].items]
    if items.text:
        logical = TYPES.get(items.text.lower(), LogicalType.STRING)
        children.append(Field(element_path(path), logical, items.origin, declared=items.text))
    return Field(
        name=path,
        type=TYPES.get(_declared(column), LogicalType.STRING),
        origin=column.origin,
        declared=declared,
        parts=tuple(children),
        **texts_at(column, FIELD, "dcm"),
    )


def _name(column: Place) -> str:
    return column["name"].text or ""


def _declared(column: Place) -> str:
    return (column["dataType"].text or "").lower()


def _column_rules(columns: list[Place]) -> Iterator[Rule]:
    """The type rules of all columns, the primary key as one rule, then the other rules of each column."""
    ordinals: Counter[str] = Counter()
    for column in columns:
        yield from _type_rules(column, column_path(_name(column)), ordinals)
    key = [column for column in columns if _constraint(column) == PRIMARY_KEY]
    if key:
        names = tuple(column_path(_name(column)) for column in key)
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", key[0]["constraint"].origin, names)
    for column in columns:
        yield from _own_rules(column, column_path(_name(column)), ordinals, CONSTRAINTS)


def _type_rules(column: Place, path: FieldPath, ordinals: Counter[str]) -> Iterator[Rule]:
    """The type rule of a column, and all rules of its nested fields."""
    yield _rule(column["dataType"], path, _kind(column["dataType"]), ordinals)
    for child in column["children"].items:
        inner = member_path(path, _name(child))
        yield from _type_rules(child, inner, ordinals)
        yield from _own_rules(child, inner, ordinals, INNER_CONSTRAINTS)
    if column["arrayDataType"].present:
        inner = element_path(path)
        yield _rule(column["arrayDataType"], inner, _kind(column["arrayDataType"]), ordinals)
        yield from _value_rules(column["arrayDataType"], inner, ordinals)


def _kind(declared: Place) -> str:
    return NESTED_KIND if (declared.text or "").lower() in NESTED else "type"


def _own_rules(
    column: Place, path: FieldPath, ordinals: Counter[str], constraints: Mapping[str, str]
) -> Iterator[Rule]:
    yield from _value_rules(column["dataType"], path, ordinals)
    kind = constraints.get(_constraint(column))
    if kind is not None:
        yield _rule(column["constraint"], path, kind, ordinals)
    if _declared(column) == "json" and column["jsonSchema"].text is not None:
        yield _rule(column["jsonSchema"], path, "jsonSchema", ordinals, value=column["jsonSchema"].text)
    if TYPES.get(_declared(column)) in TEXTS and column["dataLength"].number is not None:
        yield _rule(column["dataLength"], path, "maxLength", ordinals, value=column["dataLength"].number)


def _value_rules(declared: Place, path: FieldPath, ordinals: Counter[str]) -> Iterator[Rule]:
    """The rules that a data type is besides: a range of whole numbers, or a form of texts."""
    name = (declared.text or "").lower()
    if name in WIDTHS:
        low, high = RANGES[WIDTHS[name]]
        yield _rule(declared, path, "minimum", ordinals, value=low, exclusive=False)
        yield _rule(declared, path, "maximum", ordinals, value=high, exclusive=False)
    elif name == "interval":
        yield _rule(declared, path, "pattern", ordinals, pattern=DURATION)


def _constraint(column: Place) -> str:
    return (column["constraint"].text or "").upper()


def _rule(at: Place, path: FieldPath, kind: str, ordinals: Counter[str], **arguments: object) -> Rule:
    return Rule(rule_id(ordinals, path, kind), kind, at.origin, (path,), arguments)


def _quality_rule(place: Place) -> Rule:
    rule_type = "sql" if _is_sql(place) else place["type"].text or ""
    severity = place["severity"]
    return Rule(
        id=place["id"].text or "",
        kind=KINDS.get(rule_type, rule_type),
        origin=place.origin,
        fields=written_names(item.text or "" for item in place["columns"].items),
        arguments=_arguments(rule_type, place),
        tolerance=Tolerance(severity["warn"]["tolerance"].number, severity["fail"]["tolerance"].number),
        name=place["name"].text,
        dimension=place["dimension"].text,
        schedule=schedule_of(place),
    )


def _is_sql(place: Place) -> bool:
    """Whether a custom rule is a query, with arguments that a query of ODCS has."""
    is_custom = place["type"].text == "custom" and (place["technology"].text or "").strip().lower() == "sql"
    return is_custom and set(place["args"].entries) <= {"query", "dialect", *OPERATORS}


def _arguments(rule_type: str, place: Place) -> dict[str, object]:
    match rule_type:
        case "sql":
            given = {key: exact(entry) for key, entry in place["args"].entries.items()}
            return {"query": place["call"].text or "", **given}
        case "custom":
            engine, call = place["technology"].text or "", place["call"].text or place["id"].text or ""
            return {"engine": engine, "call": call, "args": exact(place["args"]) or {}}
        case "allowedValues":
            return {"parameter": texts(place["parameter"])}
        case "unique":
            return {}
        case _:
            return {"parameter": exact(place["parameter"])}
