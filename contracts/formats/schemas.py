"""Judges a document by a JSON Schema and says each breach in one sentence, at its line.

The schemas of DCM are our own and lie in `contracts/schemas`; the official ones are put into `contracts/schemas/official`
by set-up, checked by SHA-256. jsonschema is imported here only, and only when a document is judged.
"""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any

from contracts.errors import Problem, SetUpError
from contracts.formats.breaches import NOT_FITTING, followed, sentences
from contracts.nodes import address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jsonschema.protocols import Validator

    from contracts.document import Document
    from contracts.nodes import Step

    Schema = dict[str, Any]


MOST_BREACHES = 500
"""Sentences about one document: each may take a look for the word that was meant."""


def breaches(document: Document, schema: str) -> list[Problem]:
    """Everything in a document that the schema of that name (e.g. `official/odcs-3.1.0`) refuses, in order of lines."""
    root = load(schema)
    plain: Any = document.plain()
    said = (each for error in _validator(schema).iter_errors(plain) for each in sentences(error, root))
    found = list(islice(said, MOST_BREACHES))
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
    keywords = {"uniqueItems": _unique, "unevaluatedProperties": partial(_unevaluated, schema), "if": _if}
    judge: type[Validator] = extend(base, keywords, type_checker=checker)  # type: ignore[no-untyped-call]  # as shipped
    return judge(schema)


@cache
def load(name: str) -> dict[str, Any]:
    """The schema of that name; SetUpError where set-up has not put it there.

    The schema of ODCS 3.2.0 asks every property without a `logicalType` for a `map`; that mistake is mended here.
    """
    file = files("contracts").joinpath("schemas", f"{name}.json")
    if not file.is_file():
        raise SetUpError(f"The JSON Schema {name} is missing: run make setup.")
    schema: dict[str, Any] = json.loads(file.read_bytes())
    for part in schema.get("$defs", {}).get("SchemaBaseProperty", {}).get("allOf", ()):
        if part.get("then", {}).get("required") == ["map"]:
            part["if"]["required"] = ["logicalType"]
    return schema


def _is_integer(_checker: object, instance: object) -> bool:
    """A whole number is an integer however it is written (`5.0`), as JSON Schema has it."""
    if isinstance(instance, Decimal):
        return instance == instance.to_integral_value()
    return isinstance(instance, int) and not isinstance(instance, bool)


def _unique(_validator: object, wanted: object, instance: object, _schema: object) -> Iterator[Any]:
    """`uniqueItems` in linear time: the library compares each item with every other where they have no order."""
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 -- as above

    items = instance if wanted and isinstance(instance, list) else []
    if len({json.dumps(item, sort_keys=True, default=_exactly) for item in items}) < len(items):
        yield ValidationError(f"{len(items)} items, some equal")


def _exactly(number: Decimal) -> int | str:
    """One text for all ways to write a number."""
    return int(number) if number == number.to_integral_value() else str(Fraction(number))


def _unevaluated(
    root: Schema, validator: Validator, _wanted: object, instance: object, schema: Schema
) -> Iterator[Any]:
    """`unevaluatedProperties: false` in linear time: the library judges all parts of a value anew at each of its levels.

    The keys of `allOf` count without asking whether it holds: where it does not, the document is refused for that.
    """
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 -- as above

    keys = set(instance) if isinstance(instance, dict) else set()
    unnamed = keys - set(_evaluated(root, schema, lambda _: False))
    if unnamed and unnamed - set(_evaluated(root, schema, partial(_holds, validator, instance))):
        yield ValidationError("keys that nothing speaks of")


def _evaluated(root: Schema, schema: Schema, holds: Callable[[Schema], bool]) -> Iterator[str]:
    """The keys that a schema speaks of, its alternatives and conditions included where they hold."""
    yield from schema.get("properties", ())
    parts = [*schema.get("allOf", ()), *(each for each in _choices(schema) if holds(each))]
    if "$ref" in schema:
        parts.append(followed(root, schema["$ref"]))
    if "if" in schema and holds(schema["if"]):
        parts += [schema["if"], schema.get("then", {})]
    for part in parts:
        yield from _evaluated(root, part, holds)


def _choices(schema: Schema) -> list[Schema]:
    return [*schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _if(validator: Any, wanted: Schema, instance: Any, schema: Schema) -> Iterator[Any]:  # noqa: ANN401 -- as shipped, and JSON
    """`if`, `then` and `else`, most conditions answered without a validator of their own."""
    branch = "then" if _holds(validator, instance, wanted) else "else"
    if branch in schema:
        yield from validator.descend(instance, schema[branch], schema_path=branch)


def _holds(validator: Validator, instance: Any, schema: Schema) -> bool:  # noqa: ANN401 -- JSON
    words = _words(schema)
    if words is not None and isinstance(instance, dict):
        required = all(key in instance for key in schema.get("required", ()))
        return required and all(key not in instance or instance[key] == word for key, word in words.items())
    return validator.evolve(schema=schema).is_valid(instance)


def _words(schema: Schema) -> dict[str, str] | None:
    """The texts that keys must have, where a schema asks for nothing else, as most conditions do; None of any other."""
    said = schema.get("properties", {})
    if not schema.keys() <= {"properties", "required"} or not all(each.keys() == {"const"} for each in said.values()):
        return None
    words = {key: each["const"] for key, each in said.items()}
    return words if all(isinstance(word, str) for word in words.values()) else None
