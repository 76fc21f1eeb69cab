"""Variables of ODCS 3.2: `${NAME}` and `${NAME:-default}` in any text, replaced before the document is judged.

A name with neither a value nor a default is an error, never an empty text; where it says nothing of the data it is kept. The
placeholders of queries (`${table}`, `${column}`, …) are no variables and stay. A replaced text is a text, whatever it looks
like, and is not searched again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.document import Document
from contracts.placeholders import PLACEHOLDERS, VARIABLE
from contracts.words import shown

if TYPE_CHECKING:
    import re

    from contracts.formats.notes import Notes
    from contracts.nodes import Node, Place

OF_CONSUMERS = ("servers", "support", "roles", "team", "price", "authoritativeDefinitions")
"""Parts of a document that say nothing of the data: who reads them resolves their variables."""


def resolved(document: Document, values: Mapping[str, str], notes: Notes) -> Document:
    """The document with every variable replaced; one that has no value is noted."""
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
        if place.steps[0] in OF_CONSUMERS:
            notes.warning("variable-kept", place, f"The variable {shown(name)} is left for those who connect: {form}.")
        else:
            notes.error(
                "unresolved-variable", place, f"The variable {shown(name)} has no value and no default: {form}."
            )
        return found[0]
    return values.get(name, default or "")
