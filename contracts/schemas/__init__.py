"""The JSON Schemas of the documents that cross from house to house, and the one way to judge a document by them."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from contracts.errors import InputError


@cache
def load(name: str) -> dict[str, object]:
    """The schema `contracts/schemas/<name>.json`."""
    schema: dict[str, object] = json.loads((files(__package__) / f"{name}.json").read_bytes())
    return schema


def validate(name: str, document: object) -> None:
    """InputError with the place of the first offence where a document breaks its schema."""
    from jsonschema.validators import Draft202012Validator  # noqa: PLC0415 - 60 ms that a Lambda without documents must not pay

    error = next(iter(Draft202012Validator(load(name)).iter_errors(document)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole document"
        raise InputError(f"{name}.json does not fit its schema at {place} (rule: {error.validator})")
