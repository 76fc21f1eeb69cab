"""Warnings about keys that the schema of a format allows but does not define, and about deprecated keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakegate.contracts.documents.about import DEPRECATION
from lakegate.contracts.documents.schema_errors import resolve_reference
from lakegate.contracts.documents.schemas import load
from lakegate.contracts.words import did_you_mean, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakegate.contracts.documents.document import Document
    from lakegate.contracts.documents.nodes import Place
    from lakegate.contracts.documents.notes import Notes
    from lakegate.contracts.errors import Problem

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
"""Keys with free content."""
OWN_ROOT_KEYS = (DEPRECATION, "config")
"""Keys of the root that Lakegate reads although no schema defines them."""
READ_KEYS = {
    "policies": ("name",),
    "definitions": ("enum", "$ref"),
    "models": ("additionalFields",),
    "quality": ("metric", "arguments", "unit", "id", "name", "dimension", "scheduler", "schedule"),
    "servers": ("driver",),
}
"""Keys that are read although a schema does not define them, by the key of their owner."""
OLDER_ROOT_KEYS = {
    "quality": "write it at the model or at the field.",
    "examples": "write them at the model or at the field.",
}
"""Keys of the root in DCS before 1.1.0."""
KEPT = "unknown-key-kept"
ADVICE = {"rule": "write `metric`."}
DEFAULT_ADVICE = "see the format's documentation."
DEPRECATION_KEYS = ("deprecated", "deprecationMessage")


def warn_unknown_keys(document: Document, schema: str, notes: Notes) -> None:
    """Warn about each key that the schema of that name allows without defining it, or declares deprecated."""
    refused = {problem.path for problem in notes.errors}
    for place, known in _below(document.top, (load(schema),), _Forms(load(schema))):
        for key, each in place.entries.items():
            if key in known:
                _warn_deprecated(each, known[key], notes)
            elif not place.steps and key in OLDER_ROOT_KEYS:
                notes.warning("older-key", each, f"The key {shown(key)} is out of date: {OLDER_ROOT_KEYS[key]}")
            elif not _is_read(place, key) and refused.isdisjoint((each.path, place.path)):
                hint = did_you_mean(key, sorted(known))
                notes.warning(KEPT, each, f"The key {shown(key)} is kept but has no meaning here.{hint}")


def is_misspelt(problem: Problem) -> bool:
    """Whether a warning is about an unknown key that resembles a known one: what it holds may be meant as rules."""
    return problem.code == KEPT and problem.message.endswith("?")


def _is_read(place: Place, key: str) -> bool:
    if not place.steps:
        return key in OWN_ROOT_KEYS
    return key in READ_KEYS.get(str(place.steps[-2:-1][0]) if len(place.steps) > 1 else "", ())


def _warn_deprecated(place: Place, schemas: Iterable[Schema], notes: Notes) -> None:
    if any(word in each for each in schemas for word in DEPRECATION_KEYS):
        key = str(place.steps[-1])
        advice = next(
            (str(each[DEPRECATION_KEYS[1]]) for each in schemas if DEPRECATION_KEYS[1] in each),
            ADVICE.get(key, DEFAULT_ADVICE),
        )
        notes.warning(
            "older-key", place, f"The key {shown(place.steps[-1])} is out of date: {advice[:1].lower()}{advice[1:]}"
        )


@dataclass(frozen=True, slots=True)
class _Form:
    """The combined content of the schemas for one value."""

    known: Mapping[str, tuple[Schema, ...]]
    """The keys that they define, with the schemas of each."""
    others: tuple[Schema, ...]
    """The schemas of all other keys; empty if there are none."""
    items: tuple[Schema, ...]


@dataclass(slots=True)
class _Forms:
    """A cache of the forms of one schema file."""

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
        """A schema and all others for the same value: references, alternatives and conditions."""
        if "$ref" in schema:
            yield from self._parts(resolve_reference(self.root, schema["$ref"]))
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
    """Every mapping that a schema describes, with the keys it defines, except those with free keys."""
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
