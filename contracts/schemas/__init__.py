"""The JSON Schemas of the documents exchanged between packages, and the validation with them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from lakegate.contracts.errors import InputError


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
