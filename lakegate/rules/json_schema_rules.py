"""JSON Schemas of columns (DCM `jsonSchema`): read within bounds, without references, with patterns of our dialect.

A keyword that is not in the table here is named, and its rule is skipped: none is left out in silence.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import unquote

from lakegate.base.text import for_python, quote
from lakegate.contract.contract_model import Field, Rule
from lakegate.patterns.ecma_patterns import PatternError, translate
from lakegate.patterns.matching_cost import parts_of
from lakegate.plan.check import Check
from lakegate.plan.predicates import JsonForm
from lakegate.rules.check_builder import argument, brief, refuse, rows, skip_check

LONGEST_SCHEMA: Final = 1 << 16
"""Characters of a schema."""
MOST_PARTS: Final = 1_000
"""Schemas in a schema, and listed values, after its references are put in."""
DEEPEST_SCHEMA: Final = 32
ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "$anchor", "title", "description", "default", "examples", "format"}
    | {"deprecated", "readOnly", "writeOnly", "$defs", "definitions"}
)
"""Keywords without an effect on a value, and definitions, which are put in where they are referred to."""
MOST_NODES: Final = 10_000
"""Values in the text of a schema."""
PLAIN: Final = frozenset(
    {
        "type",
        "const",
        "required",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
    }
    | {"multipleOf", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
    | {"dependentRequired", "enum"}
)
ONE: Final = frozenset({"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"})
SEVERAL: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED: Final = frozenset({"properties", "dependentSchemas"})


class UnusableSchemaError(ValueError):
    """The text is no schema that can be used."""


class UnmeasuredSchemaError(ValueError):
    """The schema has a part that is not measured; the message names it."""


def json_form(rule: Rule, field: Field) -> Check:
    """Every text is JSON that the schema describes."""
    try:
        schema = measured_schema(str(argument(rule, "value")))
    except UnusableSchemaError as error:
        refuse(rule, "json-schema", f"the schema cannot be used: {error}")
    except UnmeasuredSchemaError as error:
        return skip_check(rule, (field,), f"{error} of jsonSchema is not measured by this version")
    return rows(rule, field, JsonForm(field.name, schema), "JSON as `jsonSchema` describes it")


def measured_schema(written: str) -> str:
    """The schema as it is measured. Raises UnusableSchemaError and UnmeasuredSchemaError."""
    if len(written) > LONGEST_SCHEMA:
        raise UnusableSchemaError(f"it has more than {LONGEST_SCHEMA:,} characters")
    try:
        document = json.loads(written)
    except (ValueError, RecursionError):
        raise UnusableSchemaError("it is no JSON") from None
    _judge_size(document)
    _judge(document)
    schema = json.dumps(_Reader(document).read(document, (), 0), sort_keys=True)
    if len(schema) > 2 * LONGEST_SCHEMA:
        raise UnusableSchemaError(f"with its references it has more than {2 * LONGEST_SCHEMA:,} characters")
    return schema


def _judge_size(document: object) -> None:
    """Raise UnusableSchemaError for more levels or values than are read."""
    level, count = [document], 0
    for _ in range(2 * DEEPEST_SCHEMA):
        count += len(level)
        inner = [list(each.values()) if isinstance(each, dict) else each for each in level]
        level = [value for each in inner if isinstance(each, list) for value in each]
        if count > MOST_NODES:
            raise UnusableSchemaError(f"it has more than {MOST_NODES:,} values")
    if level:
        raise UnusableSchemaError(f"it has more than {DEEPEST_SCHEMA} levels")


def _judge(document: object) -> None:
    """Raise UnusableSchemaError for what the metaschema of draft 2020-12 does not describe."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - a tenth of a second, for such columns alone
    from jsonschema.exceptions import SchemaError as Invalid  # noqa: PLC0415 - likewise

    try:
        Draft202012Validator.check_schema(document)  # type: ignore[arg-type]  # whatever the text holds
    except Invalid as error:
        place = "/".join(map(str, error.absolute_path)) or "its root"
        raise UnusableSchemaError(f"{quote(brief(place))} is no schema of draft 2020-12") from None


class _Reader:
    """Reads one document; counts its parts."""

    def __init__(self, document: object) -> None:
        self._document = document
        self._parts = 0
        self._judged: set[str] = set()

    def read(self, schema: Any, within: tuple[str, ...], depth: int) -> Any:  # noqa: ANN401 - JSON
        """A schema without annotations and references; `within`: the references that lead to it."""
        self._count(1)
        if depth > DEEPEST_SCHEMA:
            raise UnusableSchemaError(f"it has more than {DEEPEST_SCHEMA} levels")
        if not isinstance(schema, Mapping):
            return schema
        if depth and "$id" in schema:
            raise UnmeasuredSchemaError("the keyword `$id` inside")
        inner = partial(self.read, within=within, depth=depth + 1)
        kept = {key: value for key, value in schema.items() if key not in {"$ref", *ANNOTATIONS}}
        found = {key: self._keyword(key, value, inner) for key, value in kept.items()}
        if "$ref" in schema:
            found["allOf"] = [*found.get("allOf", []), self._referred(str(schema["$ref"]), within, depth)]
        return found

    def _keyword(self, key: str, value: Any, inner: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - JSON
        if key in ONE:
            return inner(value)
        if key in SEVERAL:
            return [inner(each) for each in value]
        if key in NAMED:
            return {name: inner(each) for name, each in value.items()}
        if key == "pattern":
            return _pattern(value)
        if key == "patternProperties":
            return {_pattern(name): inner(each) for name, each in value.items()}
        if key not in PLAIN:
            raise UnmeasuredSchemaError(f"the keyword {quote(brief(key))}")
        self._count(len(value) if isinstance(value, list) else 1)
        return value

    def _count(self, parts: int) -> None:
        self._parts += parts
        if self._parts > MOST_PARTS:
            raise UnusableSchemaError(f"with its references it has more than {MOST_PARTS:,} parts")

    def _referred(self, reference: str, within: tuple[str, ...], depth: int) -> Any:  # noqa: ANN401 - JSON
        named = quote(brief(reference))
        if not reference.startswith("#"):
            raise UnusableSchemaError(f"{named} is another document, which nobody fetches")
        if reference in within or reference in {"#", "#/"}:
            raise UnmeasuredSchemaError(f"the reference {named} to what it stands in")
        place = self._document
        for step in reference.removeprefix("#").removeprefix("/").split("/"):
            name = unquote(step).replace("~1", "/").replace("~0", "~")
            if isinstance(place, list) and name.isascii() and name.isdigit() and int(name[:6]) < len(place):
                place = place[int(name[:6])]
            elif isinstance(place, Mapping) and name in place:
                place = place[name]
            else:
                raise UnusableSchemaError(f"nothing is at {named}")
        if reference not in self._judged:
            _judge(place)
            self._judged.add(reference)
        return self.read(place, (*within, reference), depth + 1)


def _pattern(written: str) -> str:
    """A pattern that Python's `re` searches for in bounded time."""
    try:
        pattern = translate(written, is_strict=False)
    except PatternError as error:
        raise UnusableSchemaError(f"its pattern {quote(brief(written))}: {error}") from None
    if not all(part.is_bounded for part in parts_of(pattern)):
        raise UnusableSchemaError(f"its pattern {quote(brief(written))} could take very long: repeat less in it")
    return for_python(rf"(?a:{pattern})")
