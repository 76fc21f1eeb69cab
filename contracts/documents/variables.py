"""Variables of ODCS 3.2: `${NAME}` and `${NAME:-default}` in any text are replaced before the document is validated.

A variable with neither a value nor a default is an error; in parts that do not describe the data it is kept. The placeholders
of queries (`${table}`, `${column}`, …) are not variables and are kept. The result is always a text, and is not searched for
variables again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from lakegate.contracts.documents.document import Document
from lakegate.contracts.model.placeholders import PLACEHOLDERS, VARIABLE
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    import re

    from lakegate.contracts.documents.nodes import Node, Place
    from lakegate.contracts.documents.notes import Notes

CONSUMER_KEYS = ("servers", "support", "roles", "team", "price", "authoritativeDefinitions")
"""Parts of a document that do not describe the data: their consumers resolve the variables."""


def resolved(document: Document, values: Mapping[str, str], notes: Notes) -> Document:
    """The document with all variables replaced; a variable without a value is a problem in `notes`."""
    return replace(document, root=_resolved(document.top, document.root, values, notes))


def _resolved(place: Place, node: Node, values: Mapping[str, str], notes: Notes) -> Node:
    match node.content:
        case tuple(items):
            parts = enumerate(items)
            return replace(node, content=tuple(_resolved(place[index], each, values, notes) for index, each in parts))
        case Mapping() as entries:
            named = entries.items()
            return replace(node, content={key: _resolved(place[key], each, values, notes) for key, each in named})
        case str() as text if "${" in text:
            replaced = VARIABLE.sub(lambda found: _value(found, place, values, notes), text)
            return replace(node, content=replaced, written=replaced)
        case _:
            return node


def _value(found: re.Match[str], place: Place, values: Mapping[str, str], notes: Notes) -> str:
    name, default = found["name"], found["default"]
    if name in PLACEHOLDERS:
        return found[0]
    if name not in values and default is None:
        form = f"write `${{{name}:-default}}`, or give it one"
        if place.steps[0] in CONSUMER_KEYS:
            notes.warning(
                "variable-kept", place, f"The variable {shown(name)} is left for the consumer to resolve: {form}."
            )
        else:
            notes.error(
                "unresolved-variable", place, f"The variable {shown(name)} has no value and no default: {form}."
            )
        return found[0]
    return values.get(name, default or "")
