"""JSON Schemas of the package: for editors of contracts, and for bodies of HTTP requests."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from lakegate.json_codec import LONGEST

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


@cache
def load(name: str) -> dict[str, object]:
    """The schema `lakegate/schemas/<name>.json`."""
    schema: dict[str, object] = json.loads((files(__package__) / "schemas" / f"{name}.json").read_bytes())
    return schema


EDITOR: Final = ("odcs-3.2.0", "odcs-3.1.0", "odcs-3.0.2", "dcs-1.2.1", "dcs-1.2.0", "dcs-1.1.0", "dcm")
"""The formats of documents that have a schema for editors; the repository DCM has none of its own."""


def for_editors(name: str) -> dict[str, object]:
    """One JSON Schema for documents of a format of `EDITOR`: the official one, and that of the `lakegate` extension."""
    extension = load("lakegate-extension")
    parts = (
        [("extension", extension)]
        if name == "dcm"
        else [("official", load(f"official/{name}")), ("extension", extension)]
    )
    return {
        "$schema": parts[0][1]["$schema"],
        "title": f"{name} with the lakegate extension",
        "type": "object",
        "allOf": [{"$ref": f"#/definitions/{key}"} for key, _ in parts],
        "definitions": {key: _below(f"#/definitions/{key}/", schema) for key, schema in parts},
    }


def _below(prefix: str, node: Any) -> Any:  # noqa: ANN401 - what a schema holds
    """A part of a schema whose references begin at another place; the part names no schema itself."""
    if isinstance(node, dict):
        found = {
            key: _below(prefix, each) for key, each in node.items() if key != "$schema" or not isinstance(each, str)
        }
        reference = found.get("$ref")
        return found | ({"$ref": prefix + reference.removeprefix("#/")} if isinstance(reference, str) else {})
    return [_below(prefix, each) for each in node] if isinstance(node, list) else node


def problems(name: str, definition: str, document: object, most: int) -> tuple[tuple[str, str], ...]:
    """Problems of a document of a definition in a schema: JSON Pointer and requirement of each violation, at most `most`.

    The requirement is the schema's; it has no text of the document.
    """
    found = islice(_judge()({**load(name), "$ref": f"#/$defs/{definition}"}).iter_errors(document), most)
    return tuple((_pointer(each.absolute_path), _requirement(each)) for each in found)


@cache
def _judge() -> Any:  # noqa: ANN401 - a class of validators, as shipped
    """The validator of JSON Schema 2020-12, whose patterns end where a text ends: Python's `$` lets a line break follow."""
    from jsonschema.validators import (  # noqa: PLC0415 - 60 ms that a Lambda without documents must not pay
        Draft202012Validator,
        extend,
    )

    return extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]  # as shipped


def _pattern(_validator: object, pattern: str, instance: object, _schema: object) -> Iterator[ValidationError]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415 - as above

    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError("does not match")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Of our own schemas, and so of a bounded number."""
    return re.compile(re.sub(r"\$$", r"\\Z", pattern))


def _pointer(path: Iterable[str | int]) -> str:
    """RFC 6901."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1")[:LONGEST] for step in path)


def _requirement(error: ValidationError) -> str:
    return f"must fit {error.validator}: {json.dumps(error.validator_value)[:LONGEST]}"
