"""Keys beside a format's own: those its schema lets through without a meaning, and those it calls out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from contracts.formats.about import DEPRECATION
from contracts.formats.breaches import followed
from contracts.formats.schemas import load
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contracts.document import Document
    from contracts.formats.notes import Notes
    from contracts.nodes import Place

    Schema = Mapping[str, Any]

ALTERNATIVES = ("allOf", "anyOf", "oneOf")
CONDITIONS = ("then", "else")
FREE = ("config", "customProperties", "implementation", "arguments", "settings")
"""Keys below which a document says what it likes."""
OWN = (DEPRECATION, "config")
"""Keys of the root that Lakegate reads though no schema names them."""
SPOKEN = (("policies", "name"), ("definitions", "enum"))
"""Keys that the text of DCS describes and its schema leaves out, each after the key that holds its owner."""
OLDER_ROOT = {
    "quality": "write it at the model or at the field.",
    "examples": "write them at the model or at the field.",
}
"""Keys of the root in DCS before 1.1.0."""
OLDER = ("deprecated", "deprecationMessage")


def note_unnamed(document: Document, schema: str, notes: Notes) -> None:
    """Warn of every key that the schema of that name lets through without naming it, or calls out of date."""
    root = load(schema)
    for place, known in _below(document.top, [root], root):
        for key, each in place.entries.items():
            if key in known:
                _note_older(each, known[key], notes)
            elif not place.steps and key in OLDER_ROOT:
                notes.warning("older-key", each, f"The key {shown(key)} is out of date: {OLDER_ROOT[key]}")
            elif (place.steps or key not in OWN) and (*place.steps[-2:-1], key) not in SPOKEN:
                hint = did_you_mean(key, sorted(known))
                notes.warning("unknown-key-kept", each, f"The key {shown(key)} is kept, and means nothing here.{hint}")


def _note_older(place: Place, schemas: list[Schema], notes: Notes) -> None:
    if any(word in each for each in schemas for word in OLDER):
        said = next((str(each[OLDER[1]]) for each in schemas if OLDER[1] in each), "see the format's documentation.")
        notes.warning(
            "older-key", place, f"The key {shown(place.steps[-1])} is out of date: {said[:1].lower()}{said[1:]}"
        )


def _below(place: Place, schemas: list[Schema], root: Schema) -> Iterator[tuple[Place, dict[str, list[Schema]]]]:
    parts = [part for each in schemas for part in _parts(each, root)]
    known: dict[str, list[Schema]] = {}
    for part in parts:
        for key, schema in part.get("properties", {}).items():
            known.setdefault(key, []).append(schema)
    others = [part["additionalProperties"] for part in parts if isinstance(part.get("additionalProperties"), dict)]
    if known and place.entries and not others:
        yield place, known
    for key, each in place.entries.items():
        if key not in FREE:
            yield from _below(each, known.get(key, others), root)
    items = [part["items"] for part in parts if isinstance(part.get("items"), dict)]
    for each in place.items if items else ():
        yield from _below(each, items, root)


def _parts(schema: Schema, root: Schema) -> Iterator[Schema]:
    """A schema and all that speak of the same value: references, alternatives and conditions."""
    if "$ref" in schema:
        yield from _parts(followed(root, schema["$ref"]), root)
    yield schema
    for keyword in ALTERNATIVES:
        for each in schema.get(keyword, ()):
            yield from _parts(each, root)
    for keyword in CONDITIONS:
        if keyword in schema:
            yield from _parts(schema[keyword], root)
