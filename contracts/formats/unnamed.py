"""Keys beside a format's own: those its schema lets through without a meaning, and those it calls out of date."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from contracts.formats.about import DEPRECATION
from contracts.formats.breaches import followed
from contracts.formats.schemas import load
from contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from contracts.document import Document
    from contracts.formats.notes import Notes
    from contracts.nodes import Place

    Schema = Mapping[str, Any]

ALTERNATIVES = ("allOf", "anyOf", "oneOf")
CONDITIONS = ("then", "else")
FREE = (
    "config",
    "customProperties",
    "implementation",
    "arguments",
    "specific",
    "accessConfiguration",
    "args",
    "security",
)
"""Keys below which a document says what it likes."""
OWN = (DEPRECATION, "config")
"""Keys of the root that Lakegate reads though no schema names them."""
SPOKEN = {
    "policies": ("name",),
    "definitions": ("enum", "$ref"),
    "models": ("additionalFields",),
    "quality": ("metric", "arguments", "unit", "id", "name", "dimension"),
}
"""Keys that are read though a schema leaves them out, each by the key that holds their owner."""
OLDER_ROOT = {
    "quality": "write it at the model or at the field.",
    "examples": "write them at the model or at the field.",
}
"""Keys of the root in DCS before 1.1.0."""
MOST_HINTS = 100
"""Keys of one document that a hint is looked for."""
OLDER_FORMS = {"rule": "write `metric`."}
OLDER_FORM = "see the format's documentation."
OLDER = ("deprecated", "deprecationMessage")


def note_unnamed(document: Document, schema: str, notes: Notes) -> None:
    """Warn of every key that the schema of that name lets through without naming it, or calls out of date."""
    refused = {problem.path for problem in notes.errors}
    hints = 0
    for place, known in _below(document.top, (load(schema),), _Forms(load(schema))):
        for key, each in place.entries.items():
            if key in known:
                _note_older(each, known[key], notes)
            elif not place.steps and key in OLDER_ROOT:
                notes.warning("older-key", each, f"The key {shown(key)} is out of date: {OLDER_ROOT[key]}")
            elif not _is_read(place, key) and refused.isdisjoint((each.path, place.path)):
                hints += 1
                hint = did_you_mean(key, sorted(known)) if hints <= MOST_HINTS else ""
                notes.warning("unknown-key-kept", each, f"The key {shown(key)} is kept, and means nothing here.{hint}")


def _is_read(place: Place, key: str) -> bool:
    if not place.steps:
        return key in OWN
    return key in SPOKEN.get(str(place.steps[-2:-1][0]) if len(place.steps) > 1 else "", ())


def _note_older(place: Place, schemas: Iterable[Schema], notes: Notes) -> None:
    if any(word in each for each in schemas for word in OLDER):
        key = str(place.steps[-1])
        said = next((str(each[OLDER[1]]) for each in schemas if OLDER[1] in each), OLDER_FORMS.get(key, OLDER_FORM))
        notes.warning(
            "older-key", place, f"The key {shown(place.steps[-1])} is out of date: {said[:1].lower()}{said[1:]}"
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """What schemas say together of one value."""

    known: Mapping[str, tuple[Schema, ...]]
    """The keys they name, each with what they say of it."""
    others: tuple[Schema, ...]
    """What they say of every other key; nothing where they are silent."""
    items: tuple[Schema, ...]


@dataclass(slots=True)
class _Forms:
    """The forms of one schema file, each put together once: a document asks for few of them, often."""

    root: Schema
    found: dict[tuple[int, ...], _Form] = field(default_factory=dict)

    def form(self, schemas: tuple[Schema, ...]) -> _Form:
        key = tuple(map(id, schemas))
        if key not in self.found:
            self.found[key] = self._form([part for each in schemas for part in self._parts(each)])
        return self.found[key]

    def _form(self, parts: list[Schema]) -> _Form:
        known: dict[str, tuple[Schema, ...]] = {}
        for part in parts:
            for key, schema in part.get("properties", {}).items():
                known[key] = (*known.get(key, ()), *((schema,) if isinstance(schema, dict) else ()))
        others, items = (
            tuple(part[key] for part in parts if isinstance(part.get(key), dict))
            for key in ("additionalProperties", "items")
        )
        return _Form(known, others, items)

    def _parts(self, schema: Schema) -> Iterator[Schema]:
        """A schema and all that speak of the same value: references, alternatives and conditions."""
        if "$ref" in schema:
            yield from self._parts(followed(self.root, schema["$ref"]))
        yield schema
        for keyword in ALTERNATIVES:
            for each in schema.get(keyword, ()):
                yield from self._parts(each)
        for keyword in CONDITIONS:
            if keyword in schema:
                yield from self._parts(schema[keyword])


def _below(
    place: Place, schemas: tuple[Schema, ...], forms: _Forms
) -> Iterator[tuple[Place, Mapping[str, tuple[Schema, ...]]]]:
    """Every mapping that a schema speaks of, with the keys it names; not those whose keys are free."""
    form = forms.form(schemas)
    entries = place.entries
    if form.known and entries and not form.others:
        yield place, form.known
    for key, each in entries.items():
        below = form.known.get(key, form.others) if key not in FREE else ()
        if below:
            yield from _below(each, below, forms)
    for each in place.items if form.items else ():
        yield from _below(each, form.items, forms)
