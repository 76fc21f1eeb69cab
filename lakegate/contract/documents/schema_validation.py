"""Official JSON Schemas: each violation as a message with its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from lakegate.base.errors import Problem, SetUpError
from lakegate.base.text import did_you_mean, join_words, plural, quote
from lakegate.contract.documents.document_tree import Document, Place, Step, address

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    Schema = dict[str, Any]

# ---- Messages by keyword of JSON Schema ----
# The messages of jsonschema repeat whole parts of the document; these name the key and how to fix it.


class SchemaError(Protocol):
    """The part of jsonschema's errors that is used."""

    validator: Any
    """The keyword, e.g. `required`."""
    validator_value: Any
    instance: Any
    schema: Any
    path: Any
    """Steps from the parent error."""
    schema_path: Any
    """Steps from the parent's schema: of an alternative its number first."""
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
WITH_ARTICLES = {
    "string": "a text",
    "object": "a mapping",
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "null": "nothing",
}
"""The types of JSON in words."""
NO_VALUE = "There is no value here: remove the key, or give it one."
COMMENT = " A `#` begins a comment: put the value in quotes."
FORMS = {
    "ShorthandReference": "`OBJECT.PROPERTY`, names of {0}",
    "FullyQualifiedReference": "`schema/ID/properties/ID` of ids, before it `FILE.yaml#` for another document",
    "StableId": "an id of letters, digits, `_` and `-`",
}
"""The patterns of ODCS in words, by their definitions."""
MOST_KEYS = 4
OTHER_WORDS = {
    "type": "logicalType",
    "datatype": "logicalType",
    "columns": "properties",
    "fields": "properties",
    "models": "schema",
    "tables": "schema",
    "servicelevels": "slaProperties",
    "sla": "slaProperties",
    "min": "minimum",
    "max": "maximum",
    "mustbenotbetween": "mustNotBeBetween",
    "regex": "pattern",
    "sql": "query",
    "title": "businessName",
    "owner": "team",
}
"""Keys by the words that other formats and tools have for them."""
KINDS: dict[type, str] = {str: "string", list: "array", dict: "object", bool: "boolean", type(None): "null"}
"""The types of values in JSON; all others are numbers."""


def messages(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """The messages for one error of jsonschema; `root` is the schema that its references point into."""
    yield from KEYWORDS.get(str(error.validator), _other)(error, root)


def _at(error: SchemaError) -> tuple[Step, ...]:
    return tuple(error.absolute_path)


def _unknown(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """A key that the schema does not contain is unknown; else it belongs to another form (`mustBe` in a rule of type text)."""
    known = set(_list_keys(error.schema, root, DEEP))
    unknown = [key for key in error.instance if key not in known]
    for key in unknown:
        other = OTHER_WORDS.get(key.casefold())
        hint = f" Did you mean `{other}`?" if other in known else did_you_mean(key, sorted(known))
        hint = hint or f" Known are {join_words(sorted(known))}."
        yield "unknown-key", (*_at(error), key), f"The key {quote(key)} is not known here.{hint}"
    always = set(_list_keys(error.schema, root, ALWAYS))
    for key in () if unknown else [key for key in error.instance if key not in always]:
        yield NOT_FITTING, (*_at(error), key), f"The key {quote(key)} does not fit what stands beside it: remove it."


def _list_keys(schema: Any, root: Mapping[str, Any], keywords: tuple[str, ...]) -> Iterator[str]:  # noqa: ANN401 -- JSON
    """The keys that a schema, and the schemas below these keywords, give a meaning to."""
    yield from schema.get("properties", ())
    for keyword in keywords:
        part = schema.get(keyword, ())
        if isinstance(part, str):
            yield from _list_keys(resolve_reference(root, part), root, keywords)
        for entry in (part,) if isinstance(part, Mapping) else () if isinstance(part, str) else part:
            yield from _list_keys(entry, root, keywords)


def resolve_reference(root: Mapping[str, Any], reference: str) -> Any:  # noqa: ANN401 -- JSON
    """The schema that a reference such as `#/$defs/ServerSource/S3Server` points to."""
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def _type(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    if error.instance is None:
        yield "wrong-type", _at(error), NO_VALUE
        return
    wanted = error.validator_value if isinstance(error.validator_value, list) else [error.validator_value]
    kinds = [str(entry) for entry in wanted if entry != "null"] or ["null"]
    words = " or ".join(WITH_ARTICLES.get(kind, kind) for kind in kinds)
    scalar = not isinstance(error.instance, str | list | dict)
    fix = ": put it in quotes" if scalar and "string" in wanted else ""
    if "boolean" in wanted and str(error.instance).lower() in TRUTHS:
        fix = f": write `{TRUTHS[str(error.instance).lower()]}`, without quotes"
    yield WRONG_TYPE, _at(error), f"Write {words} here, not {_named_type(error.instance)}{fix}."


def _named_type(value: object) -> str:
    return WITH_ARTICLES[KINDS.get(type(value), "number")]


def _enum(error: SchemaError, _root: Mapping[str, Any]) -> Iterator[Message]:
    if error.instance is None:
        yield "wrong-type", _at(error), NO_VALUE
        return
    known = [str(entry) for entry in (error.validator_value if error.validator == "enum" else [error.validator_value])]
    hint = _type_hint(str(error.instance), known) or did_you_mean(str(error.instance), known)
    yield "not-allowed", _at(error), f"{quote(error.instance)} is not one of {join_words(known)}.{hint}"


def _type_hint(word: str, known: list[str]) -> str:
    """A hint for a type name of databases or programming languages: the name that the format uses."""
    found = next((entry for entry in TYPE_WORDS.get(word.strip().lower(), ()) if entry in known), None)
    exact = " For exact numbers add `physicalType: decimal(18,2)`." if found == "number" and word in EXACT else ""
    return f" Did you mean `{found}`?{exact}" if found else ""


def _pattern(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """A value, or a key (`propertyNames`), that does not match the pattern; `x-form` of our schemas has the pattern in words."""
    key = (error.instance,) if "propertyNames" in error.absolute_schema_path else ()
    words = _form(error.schema, root)
    is_named = words is not None and not words.startswith("of the pattern")
    wanted = f"must be {words}" if is_named else f"does not match the pattern {quote(error.validator_value)}"
    yield "wrong-form", (*_at(error), *key), f"{quote(error.instance)} {wanted}."


def _alternatives(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    """What is allowed, in one message, unless only one alternative is of the kind of the value: then what is wrong in it.

    If several match, the mutually exclusive keys.
    """
    if not error.context:
        yield from _exclusive_keys(error, root)
        return
    missing = {key for entry in error.context if entry.validator == "required" for key in entry.validator_value}
    deepest = max(len(entry.path) for entry in error.context)
    if missing and not deepest:
        yield "no-form", _at(error), f"Exactly one of {join_words(sorted(missing))} is needed: add it."
        return
    of_kind = [number for number, entry in enumerate(error.validator_value) if _is_of_kind(error.instance, entry, root)]
    if not of_kind:
        wanted = list(dict.fromkeys(_words(error.validator_value, root)))
        yield (
            "wrong-type",
            _at(error),
            f"Write {_either(wanted)} here, not {_named_type(error.instance)}.{_no_value(error)}",
        )
    elif len(of_kind) > 1 and isinstance(error.instance, str):
        wanted = list(dict.fromkeys(_forms([error.validator_value[number] for number in of_kind], root)))
        yield "wrong-form", _at(error), f"{quote(error.instance)} must be {_either(wanted)}."
    else:
        found = [entry for entry in error.context if len(of_kind) > 1 or entry.schema_path[0] == of_kind[0]]
        deepest = max(len(entry.path) for entry in found)
        for item in found:
            if deepest == len(item.path):
                yield from messages(item, root)


def _choices_of(schema: Any, root: Mapping[str, Any]) -> list[Any]:  # noqa: ANN401 -- JSON
    """The schemas that a schema stands for: what it refers to, and its own alternatives."""
    if "$ref" in schema and "type" not in schema:
        return _choices_of(resolve_reference(root, schema["$ref"]), root)
    choices = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return (
        [one for choice in choices for one in _choices_of(choice, root)]
        if choices and "type" not in schema
        else [schema]
    )


def _is_of_kind(instance: object, schema: Any, root: Mapping[str, Any]) -> bool:  # noqa: ANN401 -- JSON
    """Whether a value has the type of a schema, or of one of its alternatives; true where none is declared."""
    kinds = {str(kind) for choice in _choices_of(schema, root) for kind in _kinds(choice)}
    is_number = isinstance(instance, int | float | Decimal) and not isinstance(instance, bool)
    return (
        not kinds
        or ("number" if is_number else KINDS.get(type(instance), "number")) in kinds
        or (is_number and "integer" in kinds)
    )


def _kinds(schema: Any) -> list[str]:  # noqa: ANN401 -- JSON
    declared = schema.get("type", ())
    return [declared] if isinstance(declared, str) else list(declared)


def _words(schemas: Iterable[Any], root: Mapping[str, Any]) -> Iterator[str]:
    """What alternatives are, in words; null is nothing that anybody writes, and each whole number is a number."""
    every = [(kind, one) for schema in schemas for one in _choices_of(schema, root) for kind in _kinds(one)]
    for kind, one in every:
        if kind == "object" and one.get("properties"):
            keys = [*one.get("required", ()), *one["properties"]]
            known = join_words(list(dict.fromkeys(keys))[:MOST_KEYS])
            yield f"a mapping of {known}{', …' if len(one['properties']) > MOST_KEYS else ''}"
        elif kind != "null" and not (kind == "integer" and any(other == "number" for other, _ in every)):
            yield WITH_ARTICLES[kind]


def _forms(schemas: Iterable[Any], root: Mapping[str, Any]) -> Iterator[str]:
    """The forms of texts that alternatives allow, in words."""
    for schema in schemas:
        for one in _choices_of(schema, root):
            if "string" in _kinds(one):
                yield _form(one, root) or (join_words(one["enum"]) if "enum" in one else "a text")


def _form(schema: Mapping[str, Any], root: Mapping[str, Any]) -> str | None:
    """The pattern of a text in words: `x-form` of our schemas, and the definitions of ODCS that have none."""
    named = next((name for name in FORMS if root.get("$defs", {}).get(name) is schema), None)
    if named is None:
        return schema.get("x-form") or (f"of the pattern {quote(schema['pattern'])}" if "pattern" in schema else None)
    signs = "letters, digits, `_` and `-`" if "\\-" in schema["pattern"] else "letters, digits and `_`"
    return FORMS[named].format(signs)


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])}, or {words[-1]}"


def _no_value(error: SchemaError) -> str:
    """The remedy where a key has no value."""
    return NO_VALUE if error.instance is None else ""


def _exclusive_keys(error: SchemaError, root: Mapping[str, Any]) -> Iterator[Message]:
    known = set(_list_keys(error.schema, root, DEEP))
    several = [key for key in error.instance if key in known] if isinstance(error.instance, dict) else []
    if len(several) > 1:
        yield "several-forms", _at(error), f"Keep only one of {join_words(several)}."
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
WRONG_TYPE = "wrong-type"
NOT_FITTING = "key-does-not-fit"
BOUNDS = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "more than", "exclusiveMaximum": "less than"}
COUNTS = {
    "minItems": "at least this many items:",
    "maxItems": "at most this many items:",
    "minProperties": "at least this many keys:",
    "minLength": "at least this many characters:",
    "maxLength": "at most this many characters:",
}

KEYWORDS: dict[str, Callable[[SchemaError, Mapping[str, Any]], Iterable[Message]]] = {
    "required": lambda error, _root: (
        ("missing-key", _at(error), f"The key `{key}` is missing: add it.")
        for key in error.validator_value
        if key not in error.instance
    ),
    "additionalProperties": _unknown,
    "unevaluatedProperties": _unknown,
    "type": _type,
    "enum": _enum,
    "const": _enum,
    "pattern": _pattern,
    "uniqueItems": lambda error, _root: [
        ("repeated-item", _at(error), "No two items may be equal: remove the repeated one.")
    ],
    "oneOf": _alternatives,
    "anyOf": _alternatives,
    **dict.fromkeys(
        BOUNDS,
        lambda error, _root: [
            (
                "out-of-range",
                _at(error),
                f"{quote(error.instance)} must be {BOUNDS[str(error.validator)]} {error.validator_value}.",
            )
        ],
    ),
    **dict.fromkeys(
        COUNTS,
        lambda error, _root: [
            (
                "wrong-length",
                _at(error),
                f"This must have {COUNTS[str(error.validator)]} {error.validator_value}, and has {len(error.instance)}.",
            )
        ],
    ),
}


# ---- Validation with a JSON Schema ----
# The schemas of DCM are in `lakegate/schemas`. Set-up downloads the official ones to `lakegate/schemas/official` and checks
# their SHA-256. jsonschema is imported only here, and only when a document is validated.


MAX_PROBLEMS = 500
"""The most problems of one document: each may search for a similar name."""


def schema_problems(document: Document, schema: str) -> list[Problem]:
    """All violations of the schema of that name (e.g. `official/odcs-3.1.0`) in a document, in order of lines."""
    root = load(schema)
    plain: Any = document.plain()
    all_messages = (message for error in _validator(schema).iter_errors(plain) for message in messages(error, root))
    found = list(islice(all_messages, MAX_PROBLEMS))
    blamed = {steps[:-1] for code, steps, _ in found if code != NOT_FITTING} | {steps for _, steps, _ in found}
    mistyped = {steps for code, steps, _ in found if code == WRONG_TYPE}
    kept = dict.fromkeys(
        message
        for message in found
        if message[0] == WRONG_TYPE
        or (message[1] not in mistyped and (message[0] != NOT_FITTING or message[1][:-1] not in blamed))
    )
    problems = [_locate_problem(document, *message) for message in kept]
    return sorted(problems, key=lambda problem: problem.line or 0)


def server_messages(place: Place, schema: str) -> list[Message]:
    """The keys that a server of DCS lacks, or has of another type, by the definition of its type; none of an unknown type.

    Draft 7 of JSON Schema ignores what stands beside a `$ref`, so that the schema alone never reaches these definitions.
    """
    root = load(schema)
    choices = root["properties"]["servers"]["additionalProperties"]["allOf"]
    definitions = {choice["if"]["properties"]["type"]["const"]: choice["then"] for choice in choices}
    part = definitions.get(place["type"].text or "")
    if part is None or place.node is None:
        return []
    plain: Any = place.node.plain()
    errors = _judge(schema)(part).iter_errors(plain)
    return [message for error in errors if error.validator in {"required", "type"} for message in messages(error, root)]


def _locate_problem(document: Document, code: str, steps: tuple[Step, ...], message: str) -> Problem:
    path = address(steps)
    if message == NO_VALUE and isinstance(steps[-1], int):
        message = NO_VALUE.replace("the key", "the item")
    elif message == NO_VALUE and begins_comment(document.at(path), document):
        message += COMMENT
    return Problem(code, path, document.line(path), message)


def begins_comment(place: Place, document: Document) -> bool:
    """Whether a key has no value because a comment stands in its place."""
    line = document.lines[place.mark.line - 1] if place.mark.line <= len(document.lines) else ""
    return place.present and not place.written and re.search(r":\s+#", line) is not None


@cache
def _validator(name: str) -> Validator:
    return _judge(name)(load(name))


@cache
def _judge(name: str) -> type[Validator]:
    """The validator of the parts of a schema, whose references point into the whole one."""
    from jsonschema.validators import extend, validator_for  # noqa: PLC0415 -- takes longer than most commands

    schema = load(name)
    base = validator_for(schema)
    checker = base.TYPE_CHECKER.redefine("integer", _is_integer)
    keywords = {
        # `$ref` into the same file, without the registry of other files
        "$ref": lambda validator, reference, instance, _schema: validator.descend(
            instance, resolve_reference(schema, reference)
        ),
        "uniqueItems": _unique,
        "unevaluatedProperties": partial(_check_unevaluated, schema),
        "if": _if,
    }
    judge: type[Validator] = extend(base, keywords, type_checker=checker)  # type: ignore[no-untyped-call]  # as shipped
    judge.evolve = _kept(judge.evolve)  # type: ignore[method-assign]  # of our own class
    return judge


def _kept(evolve: Callable[..., Validator]) -> Callable[..., Validator]:
    """`evolve` that makes the validator of a part of a schema once; jsonschema makes one for each value."""
    made: dict[int, Validator] = {}

    def kept(validator: Validator, **changes: Any) -> Validator:  # noqa: ANN401 -- JSON, and as shipped
        part = changes["schema"]
        if id(part) not in made:
            made[id(part)] = evolve(validator, **changes)  # it keeps the part, so that no other one gets its id
        return made[id(part)]

    return kept


@cache
def load(name: str) -> dict[str, Any]:
    """The schema of that name; SetUpError if set-up has not downloaded it.

    The schema of ODCS 3.2.0 requires a `map` of every property without a `logicalType`; this mistake is corrected here.
    """
    file = files("lakegate").joinpath("schemas", f"{name}.json")
    if not file.is_file():
        raise SetUpError(f"The JSON Schema {name} is missing: run make setup.")
    schema: dict[str, Any] = json.loads(file.read_bytes())
    for part in schema.get("$defs", {}).get("SchemaBaseProperty", {}).get("allOf", ()):
        if part.get("then", {}).get("required") == ["map"]:
            part["if"]["required"] = ["logicalType"]
    return schema


def _is_integer(_checker: object, instance: object) -> bool:
    """Any number without a fraction is an integer, including `5.0`, as in JSON Schema."""
    if isinstance(instance, Decimal):
        return instance == instance.to_integral_value()
    return isinstance(instance, int) and not isinstance(instance, bool)


def _unique(_validator: object, wanted: object, instance: object, _schema: object) -> Iterator[Any]:
    """`uniqueItems` in linear time; jsonschema compares all pairs of items that it cannot sort."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 -- as above

    items = instance if wanted and isinstance(instance, list) else []
    if len({json.dumps(item, sort_keys=True, default=_exactly) for item in items}) < len(items):
        yield ValidationError(f"{plural(len(items), 'item')}, some equal")


def _exactly(number: Decimal) -> int | str:
    """A canonical form of a number."""
    return int(number) if number == number.to_integral_value() else str(Fraction(number))


def _check_unevaluated(
    root: Schema, validator: Validator, _wanted: object, instance: object, schema: Schema
) -> Iterator[Any]:
    """`unevaluatedProperties: false` in linear time; jsonschema validates nested values again at each level.

    The keys of `allOf` count as evaluated even if it does not hold, because the document is then refused anyway.
    """
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 -- as above

    keys = set(instance) if isinstance(instance, dict) else set()
    unnamed = keys - set(_list_evaluated(root, schema, lambda _: False))
    if unnamed and unnamed - set(_list_evaluated(root, schema, partial(_holds, validator, instance))):
        yield ValidationError("unevaluated keys")


def _list_evaluated(root: Schema, schema: Schema, holds: Callable[[Schema], bool]) -> Iterator[str]:
    """The keys that a schema evaluates, including those of alternatives and conditions that hold."""
    yield from schema.get("properties", ())
    parts = [
        *schema.get("allOf", ()),
        *(choice for key in ("anyOf", "oneOf") for choice in schema.get(key, ()) if holds(choice)),
    ]
    if "$ref" in schema:
        parts.append(resolve_reference(root, schema["$ref"]))
    if "if" in schema and holds(schema["if"]):
        parts += [schema["if"], schema.get("then", {})]
    for part in parts:
        yield from _list_evaluated(root, part, holds)


def _if(validator: Any, wanted: Schema, instance: Any, schema: Schema) -> Iterator[Any]:  # noqa: ANN401 -- as shipped, and JSON
    """`if`, `then` and `else`; most conditions are evaluated without creating a validator."""
    branch = "then" if _holds(validator, instance, wanted) else "else"
    if branch in schema:
        yield from validator.descend(instance, schema[branch], schema_path=branch)


def _holds(validator: Validator, instance: Any, schema: Schema) -> bool:  # noqa: ANN401 -- JSON
    constants = _constants(schema)
    if constants is not None and isinstance(instance, dict):
        required = all(key in instance for key in schema.get("required", ()))
        return required and all(key not in instance or instance[key] == text for key, text in constants.items())
    return validator.evolve(schema=schema).is_valid(instance)


def _constants(schema: Schema) -> dict[str, str] | None:
    """The constant texts that a schema requires of keys; None if it has any other requirement."""
    properties = schema.get("properties", {})
    if not schema.keys() <= {"properties", "required"} or not all(
        property_.keys() == {"const"} for property_ in properties.values()
    ):
        return None
    constants = {key: property_["const"] for key, property_ in properties.items()}
    return constants if all(isinstance(text, str) for text in constants.values()) else None
