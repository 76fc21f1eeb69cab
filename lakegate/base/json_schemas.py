"""JSON Schemas of the package, and those for editors of contracts."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final


@cache
def load(name: str) -> dict[str, object]:
    """The schema `lakegate/schemas/<name>.json`."""
    schema: dict[str, object] = json.loads((files("lakegate") / "schemas" / f"{name}.json").read_bytes())
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
