"""Validates a document with a JSON Schema and reports each violation with a message and a line.

The schemas of DCM are in `contracts/schemas`. Set-up downloads the official ones to `contracts/schemas/official` and checks
their SHA-256. jsonschema is imported only here, and only when a document is validated.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from lakegate.contracts.documents.nodes import address
from lakegate.contracts.documents.schema_errors import NOT_FITTING, messages, resolve_reference
from lakegate.contracts.errors import Problem, SetUpError
from lakegate.contracts.words import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema.protocols import Validator

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Step

    Schema = dict[str, Any]


MAX_PROBLEMS = 500
"""The most problems of one document: each may search for a similar name."""


def schema_problems(document: Document, schema: str) -> list[Problem]:
    """All violations of the schema of that name (e.g. `official/odcs-3.1.0`) in a document, in order of lines."""
    root = load(schema)
    plain: Any = document.plain()
    all_messages = (each for error in _validator(schema).iter_errors(plain) for each in messages(error, root))
    found = list(islice(all_messages, MAX_PROBLEMS))
    blamed = {steps[:-1] for code, steps, _ in found if code != NOT_FITTING} | {steps for _, steps, _ in found}
    kept = dict.fromkeys(each for each in found if each[0] != NOT_FITTING or each[1][:-1] not in blamed)
    problems = [_located(document, *each) for each in kept]
    return sorted(problems, key=lambda problem: problem.line or 0)


def _located(document: Document, code: str, steps: tuple[Step, ...], message: str) -> Problem:
    path = address(steps)
    return Problem(code, path, document.line(path), message)


@cache
def _validator(name: str) -> Validator:
    from jsonschema.validators import extend, validator_for  # noqa: PLC0415 -- takes longer than most commands

    schema = load(name)
    base = validator_for(schema)
    checker = base.TYPE_CHECKER.redefine("integer", _is_integer)
    keywords = {
        "$ref": partial(_referred, schema),
        "uniqueItems": _unique,
        "unevaluatedProperties": partial(_unevaluated, schema),
        "if": _if,
    }
    judge: type[Validator] = extend(base, keywords, type_checker=checker)  # type: ignore[no-untyped-call]  # as shipped
    judge.evolve = _kept(judge.evolve)  # type: ignore[method-assign]  # of our own class
    return judge(schema)


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
    file = files("lakegate.contracts").joinpath("schemas", f"{name}.json")
    if not file.is_file():
        raise SetUpError(f"The JSON Schema {name} is missing: run make setup.")
    schema: dict[str, Any] = json.loads(file.read_bytes())
    for part in schema.get("$defs", {}).get("SchemaBaseProperty", {}).get("allOf", ()):
        if part.get("then", {}).get("required") == ["map"]:
            part["if"]["required"] = ["logicalType"]
    return schema


def _referred(root: Schema, validator: Any, reference: str, instance: object, _schema: object) -> Iterator[Any]:  # noqa: ANN401 -- as shipped
    """`$ref` into the same file, without the registry of other files."""
    yield from validator.descend(instance, resolve_reference(root, reference))


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
        yield ValidationError(f"{counted(len(items), 'item')}, some equal")


def _exactly(number: Decimal) -> int | str:
    """A canonical form of a number."""
    return int(number) if number == number.to_integral_value() else str(Fraction(number))


def _unevaluated(
    root: Schema, validator: Validator, _wanted: object, instance: object, schema: Schema
) -> Iterator[Any]:
    """`unevaluatedProperties: false` in linear time; jsonschema validates nested values again at each level.

    The keys of `allOf` count as evaluated even if it does not hold, because the document is then refused anyway.
    """
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 -- as above

    keys = set(instance) if isinstance(instance, dict) else set()
    unnamed = keys - set(_evaluated(root, schema, lambda _: False))
    if unnamed and unnamed - set(_evaluated(root, schema, partial(_holds, validator, instance))):
        yield ValidationError("unevaluated keys")


def _evaluated(root: Schema, schema: Schema, holds: Callable[[Schema], bool]) -> Iterator[str]:
    """The keys that a schema evaluates, including those of alternatives and conditions that hold."""
    yield from schema.get("properties", ())
    parts = [*schema.get("allOf", ()), *(each for each in _choices(schema) if holds(each))]
    if "$ref" in schema:
        parts.append(resolve_reference(root, schema["$ref"]))
    if "if" in schema and holds(schema["if"]):
        parts += [schema["if"], schema.get("then", {})]
    for part in parts:
        yield from _evaluated(root, part, holds)


def _choices(schema: Schema) -> list[Schema]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


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
        each.keys() == {"const"} for each in properties.values()
    ):
        return None
    constants = {key: each["const"] for key, each in properties.items()}
    return constants if all(isinstance(text, str) for text in constants.values()) else None
