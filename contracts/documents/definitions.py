"""Expands `$ref` of documents in ODCS and DCM: `definitions` of the root are used by `$ref: '#/definitions/<name>'`.

A mapping with `$ref` has the keys of the definition, and its own keys override them. Nothing outside the document is read, no
file and no network: definitions of files are part of it before (`lakegate.contracts.documents.definition_files`).
The expanded document keeps the limits of a document, so that definitions that use each other cannot grow
without bound. DCS has references of its own (`lakegate.contracts.documents.dcs_layers`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakegate.contracts.documents.composer import DEEPEST_LEVEL, MAX_NODES, MOST_CHARACTERS, sized, too_long
from lakegate.contracts.documents.definition_files import outside
from lakegate.contracts.errors import ContractError, Problem
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Node, Place
    from lakegate.contracts.documents.notes import Notes

REFERENCE, DEFINITIONS = "$ref", "definitions"
INSIDE = f"#/{DEFINITIONS}/"


def expanded(document: Document, notes: Notes) -> Document:
    """The document without `definitions`, and with each `$ref` replaced by what it refers to.

    ContractError where it exceeds a limit: what is left of such a document takes seconds to judge, and means nothing.
    """
    top = document.top
    if not top[DEFINITIONS].present and not document.named(REFERENCE):
        return document
    expansion = Expansion(document, notes)
    root = expansion.of(replace(top, node=document.without(DEFINITIONS).root), (), 0)
    if expansion.exceeded is not None:
        raise ContractError((expansion.exceeded,))
    for name, each in top[DEFINITIONS].entries.items():
        if name not in expansion.used:
            notes.warning("unused-definition", each, "No reference leads to this definition.")
    return replace(document, root=root)


@dataclass(slots=True)
class Expansion:
    """The definitions of a document, and what was built from them."""

    document: Document
    notes: Notes
    used: set[str] = field(default_factory=set)
    built: int = 0
    """Nodes of the expanded document."""
    characters: int = 0
    """Characters of its texts."""
    exceeded: Problem | None = None
    """The limit that was exceeded: then nothing more is expanded."""

    @property
    def definitions(self) -> Place:
        """The definitions of the document."""
        return self.document.top[DEFINITIONS]

    def of(self, place: Place, trail: tuple[str, ...], level: int) -> Node:
        """The expanded node of a place; `trail` are the definitions that led here, `level` the mappings and lists around it."""
        node = place.node
        assert node is not None
        self.built += 1
        if self.exceeded is not None or self._exceeds(place, level, len(trail)):
            return node
        if isinstance(node.content, tuple):
            items = tuple(self.of(each, trail, level + 1) for each in place.items)
            return sized(replace(node, content=items), items)
        if not isinstance(node.content, dict):
            self.characters += node.characters
            return node
        own = {key: self.of(each, trail, level + 1) for key, each in place.entries.items() if key != REFERENCE}
        merged = replace(node, content=own, keys={key: node.keys[key] for key in own})
        if REFERENCE in node.content:
            base = self._base(place[REFERENCE], trail, level)
            if base is not None and isinstance(base.content, dict):
                merged = replace(node, content={**base.content, **own}, keys={**base.keys, **merged.keys})
        return sized(merged, tuple(merged.content.values()))  # type: ignore[union-attr]  # a mapping

    def _base(self, reference: Place, trail: tuple[str, ...], level: int) -> Node | None:
        """The expanded definition that a reference leads to; None, with an error, if there is none."""
        text = reference.text or ""
        if not text.startswith(INSIDE):
            self.notes.error("external-reference", reference, outside(reference, self.document))
            return None
        name = text.removeprefix(INSIDE).replace("~1", "/").replace("~0", "~")
        found = self.definitions[name]
        if not found.entries:
            self.notes.error("dangling-reference", reference, f"{shown(text)} is not a definition.{self._hint(name)}")
            return None
        self.used.add(name)
        if name in trail:
            self.notes.error("circular-reference", reference, f"{shown(text)} leads back to itself.")
            return None
        return self.of(found, (*trail, name), level)

    def _exceeds(self, place: Place, level: int, steps: int) -> bool:
        """Whether a limit was exceeded, which ends the expansion."""
        if self.built > MAX_NODES:
            code, message = "too-many-nodes", f"References lead to more than {MAX_NODES:,} values: use fewer."
        elif self.characters > MOST_CHARACTERS:
            code, message = "document-too-large", too_long("references")
        elif level > DEEPEST_LEVEL or steps > DEEPEST_LEVEL:
            code, message = "too-deep", f"References lead to more than {DEEPEST_LEVEL} levels: flatten them."
        else:
            return False
        self.exceeded = Problem(code, place.path, place.mark.line, message, place.mark.column)
        return True

    def _hint(self, name: str) -> str:
        """A hint at a similar name."""
        return did_you_mean(name, self.definitions.entries)
