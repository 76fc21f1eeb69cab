"""The JSON Schemas of the documents exchanged between packages, and the validation with them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Final

from lakegate.contracts.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jsonschema.exceptions import ValidationError

LONGEST: Final = 200
"""Characters of a step of a path, and of a requirement."""


@cache
def load(name: str) -> dict[str, object]:
    """The schema `contracts/schemas/<name>.json`."""
    schema: dict[str, object] = json.loads((files(__package__) / f"{name}.json").read_bytes())
    return schema


def validate(name: str, document: object) -> None:
    """Raise InputError with the position of the first violation if a document does not match its schema."""
    from jsonschema.validators import Draft202012Validator  # noqa: PLC0415 - 60 ms that a Lambda without documents must not pay

    error = next(iter(Draft202012Validator(load(name)).iter_errors(document)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole document"
        raise InputError(f"{name}.json does not fit its schema at {place} (rule: {error.validator})")


def problems(name: str, definition: str, document: object, most: int) -> tuple[tuple[str, str], ...]:
    """What is wrong with a document of a definition in a schema: JSON Pointer and requirement of each violation, at most `most`.

    The requirement is the schema's; it has no text of the document.
    """
    from jsonschema.validators import Draft202012Validator  # noqa: PLC0415 - as above

    found = islice(Draft202012Validator({**load(name), "$ref": f"#/$defs/{definition}"}).iter_errors(document), most)
    return tuple((_pointer(each.absolute_path), _requirement(each)) for each in found)


def _pointer(path: Iterable[str | int]) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1")[:LONGEST] for step in path)


def _requirement(error: ValidationError) -> str:
    return f"must fit {error.validator}: {json.dumps(error.validator_value)[:LONGEST]}"
