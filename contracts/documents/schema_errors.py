"""Messages for violations of the JSON Schema of a document. `KEYWORDS` has one function for each keyword.

The messages of jsonschema repeat whole parts of the document; these name the key and how to fix it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from lakegate.contracts.documents.nodes import Step
from lakegate.contracts.words import did_you_mean, listed, shown


class SchemaError(Protocol):
    """The part of jsonschema's errors that is used."""

    validator: Any
    """The keyword, e.g. `required`."""
    validator_value: Any
    instance: Any
    schema: Any
    path: Any
    """Steps from the parent error."""
    context: Any
    """The errors of each alternative."""

    @property
    def absolute_schema_path(self) -> Iterable[Step]:
        """Steps from the root of the schema."""
        ...

    @property
    def absolute_path(self) -> Iterable[Step]:
        """Steps from the root of the document."""
        ...


Message = tuple[str, tuple[Step, ...], str]
"""Code, steps to the place, message."""

NAMES = {"string": "text", "object": "mapping", "array": "list", "boolean": "true or false", "integer": "whole number"}
PYTHON_NAMES = {str: "text", list: "list", dict: "mapping", bool: "true or false"}


def messages(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """The messages for one error of jsonschema; `root` is the schema that its references point into."""
    yield from KEYWORDS.get(str(error.validator), _other)(error, root)


def _at(error: SchemaError) -> tuple[Step, ...]:
    return tuple(error.absolute_path)


def _required(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    for key in error.validator_value:
        if key not in error.instance:
            yield "missing-key", _at(error), f"The key `{key}` is missing: add it."


def _unknown(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """A key that the schema does not contain is unknown; else it belongs to another form (`mustBe` in a rule of type text)."""
    known = set(_named(error.schema, root, DEEP))
    unknown = [key for key in error.instance if key not in known]
    for key in unknown:
        hint = did_you_mean(key, sorted(known)) or f" Known are {listed(sorted(known))}."
        yield "unknown-key", (*_at(error), key), f"The key {shown(key)} is not known here.{hint}"
    always = set(_named(error.schema, root, ALWAYS))
    for key in () if unknown else [key for key in error.instance if key not in always]:
        yield NOT_FITTING, (*_at(error), key), f"The key {shown(key)} does not fit what stands beside it: remove it."


def _named(schema: Any, root: Mapping[str, Any], keywords: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 -- JSON
    """The keys that a schema, and the schemas below these keywords, give a meaning to."""
    yield from schema.get("properties", ())
    for keyword in keywords:
        part = schema.get(keyword, ())
        if isinstance(part, str):
            yield from _named(resolve_reference(root, part), root, keywords)
        for each in (part,) if isinstance(part, Mapping) else () if isinstance(part, str) else part:
            yield from _named(each, root, keywords)


def resolve_reference(root: Mapping[str, Any], reference: str) -> Any:  # noqa: ANN401 -- JSON
    """The schema that a reference such as `#/$defs/ServerSource/S3Server` points to."""
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _type(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    words = " or ".join(NAMES.get(str(each), str(each)) for each in wanted)
    scalar = not isinstance(error.instance, str | list | dict)
    fix = ": put it in quotes" if scalar and "string" in wanted else ""
    if "boolean" in wanted and str(error.instance).lower() in TRUTHS:
        fix = f": write `{TRUTHS[str(error.instance).lower()]}`, without quotes"
    yield "wrong-type", _at(error), f"Write a {words} here, not a {_named_type(error.instance)}{fix}."


def _named_type(value: object) -> str:
    if value is None:
        return "null"
    return PYTHON_NAMES.get(type(value), "number")


def _enum(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    known = [str(each) for each in (error.validator_value if error.validator == "enum" else [error.validator_value])]
    hint = _type_hint(str(error.instance), known) or did_you_mean(str(error.instance), known)
    yield "not-allowed", _at(error), f"{shown(error.instance)} is not one of {listed(known)}.{hint}"


def _type_hint(word: str, known: list[str]) -> str:
    """A hint for a type name of databases or programming languages: the name that the format uses."""
    found = next((each for each in TYPE_WORDS.get(word.strip().lower(), ()) if each in known), None)
    exact = " For exact numbers add `physicalType: decimal(18,2)`." if found == "number" and word in EXACT else ""
    return f" Did you mean `{found}`?{exact}" if found else ""


def _pattern(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    """A value, or a key (`propertyNames`), that does not match the pattern; `x-form` of our schemas has the pattern in words."""
    key = (error.instance,) if "propertyNames" in error.absolute_schema_path else ()
    words = error.schema.get("x-form")
    wanted = f"must be {words}" if words else f"does not match the pattern {shown(error.validator_value)}"
    yield "wrong-form", (*_at(error), *key), f"{shown(error.instance)} {wanted}."


def _bound(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    words = BOUNDS[str(error.validator)]
    yield "out-of-range", _at(error), f"{shown(error.instance)} must be {words} {error.validator_value}."


def _count(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    words = COUNTS[str(error.validator)]
    yield "wrong-length", _at(error), f"This must have {words} {error.validator_value}, and has {len(error.instance)}."


def _distinct(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    yield "repeated-item", _at(error), "No two items may be equal: remove the repeated one."


def _alternatives(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """The errors of the alternative that matched deepest; if several match, the mutually exclusive keys."""
    if not error.context:
        yield from _exclusive_keys(error, root)
        return
    missing = {key for each in error.context if each.validator == "required" for key in each.validator_value}
    deepest = max(len(each.path) for each in error.context)
    if missing and not deepest:
        yield "no-form", _at(error), f"Exactly one of {listed(sorted(missing))} is needed: add it."
        return
    for each in error.context:
        if deepest == len(each.path):
            yield from messages(each, root)


def _exclusive_keys(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    known = set(_named(error.schema, root, DEEP))
    several = [key for key in error.instance if key in known] if isinstance(error.instance, dict) else []
    if len(several) > 1:
        yield "several-forms", _at(error), f"Keep only one of {listed(several)}."
    else:
        yield from _other(error, root)


def _other(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    yield "does-not-fit", _at(error), f"What stands here breaks the rule `{error.validator}` of the format's schema."


EXACT = ("decimal", "numeric")
TYPE_WORDS = {
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_tz", "timestamp_ntz", "datetime64"), ("timestamp", "date")),
    **dict.fromkeys(("int", "bigint", "smallint", "tinyint", "long", "short", "int32", "int64"), ("integer",)),
    **dict.fromkeys((*EXACT, "float", "double", "real", "money", "float64"), ("number",)),
    **dict.fromkeys(("str", "text", "varchar", "char", "nvarchar", "uuid", "clob"), ("string",)),
    "bool": ("boolean",),
    **dict.fromkeys(("struct", "record", "dict", "json"), ("object", "record")),
    **dict.fromkeys(("list", "repeated"), ("array",)),
}
"""Common type names, each with the names that formats use for it."""
TRUTHS = {
    **dict.fromkeys(("yes", "on", "true", "y"), "true"),
    **dict.fromkeys(("no", "off", "false", "n"), "false"),
}
ALWAYS = ("$ref", "allOf")
DEEP = (*ALWAYS, "anyOf", "oneOf", "then", "else")
NOT_FITTING = "key-does-not-fit"
BOUNDS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than", "exclusiveMaximum": "less than"}
COUNTS = {
    "minItems": "at least this many items:",
    "maxItems": "at most this many items:",
    "minProperties": "at least this many keys:",
    "minLength": "at least this many characters:",
    "maxLength": "at most this many characters:",
}
KEYWORDS: dict[str, Callable[[SchemaError, Mapping[str, Any]], Iterator[Message]]] = {
    "required": _required,
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "pattern": _pattern,
    "uniqueItems": _distinct,
    "oneOf": _alternatives,
    "anyOf": _alternatives,
    **dict.fromkeys(BOUNDS, _bound),
    **dict.fromkeys(COUNTS, _count),
}
