"""Documents compared with the published JSON Schemas, as other programs do."""

from __future__ import annotations

from jsonschema import Draft202012Validator

from lakegate.base.errors import InputError
from lakegate.base.json_schemas import load


def validate(name: str, document: object) -> None:
    """Raise InputError with the position of the first violation if a document does not match its schema."""
    error = next(iter(Draft202012Validator(load(name)).iter_errors(document)), None)
    if error is not None:
        place = "/".join(map(str, error.absolute_path)) or "the whole document"
        raise InputError(f"{name}.json does not fit its schema at {place} (rule: {error.validator})")
