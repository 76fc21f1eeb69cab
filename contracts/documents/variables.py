"""Variables of ODCS 3.2: `${NAME}` and `${NAME:-default}` in any text are replaced before the document is validated.

A variable with neither a value nor a default is an error; in parts that do not describe the data it is kept. The placeholders
of queries (`${table}`, `${column}`, …) are not variables and are kept. The result is always a text, and is not searched for
variables again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakegate.contracts.documents.composer import MOST_CHARACTERS, too_long
from lakegate.contracts.documents.document import Document
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.model.placeholders import PLACEHOLDERS, VARIABLE
from lakegate.contracts.words import shown

if TYPE_CHECKING:
    import re

    from lakegate.contracts.documents.nodes import Node, Place
    from lakegate.contracts.documents.notes import Notes

CONSUMER_KEYS = ("servers", "support", "roles", "team", "price", "authoritativeDefinitions")
"""Parts of a document that do not describe the data: their consumers resolve the variables."""


def resolved(document: Document, values: Mapping[str, str], notes: Notes) -> Document:
    """The document with all variables replaced; a variable without a value is a problem in `notes`.

    ContractError where the texts become too long.
    """
    return replace(document, root=_Resolution(values, notes).of(document.top, document.root))


@dataclass(slots=True)
class _Resolution:
    """The replacement of the variables of one document."""

    values: Mapping[str, str]
    notes: Notes
    characters: int = 0
    """Characters of the texts in which variables were replaced."""

    def of(self, place: Place, node: Node) -> Node:
        """A node with the variables of its texts replaced."""
        match node.content:
            case tuple(items):
                return replace(node, content=tuple(self.of(place[index], each) for index, each in enumerate(items)))
            case Mapping() as entries:
                return replace(node, content={key: self.of(place[key], each) for key, each in entries.items()})
            case str() as text if "${" in text:
                replaced = VARIABLE.sub(lambda found: _value(found, place, self.values, self.notes), text)
                self.characters += len(replaced)
                if self.characters > MOST_CHARACTERS:
                    mark = place.mark
                    problem = Problem("document-too-large", place.path, mark.line, too_long("variables"), mark.column)
                    raise ContractError((problem,))
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
