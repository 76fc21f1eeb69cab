"""Reads DCS, the Data Contract Specification, each document judged by the official schema of the version it declares."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from contracts.formats.about import about
from contracts.formats.advice import advised
from contracts.formats.dcs_fields import read_field
from contracts.formats.dcs_layers import Definitions
from contracts.formats.dcs_older import older_quality
from contracts.formats.extension import Extension
from contracts.formats.quality import Owner, quality_rules
from contracts.formats.schemas import breaches
from contracts.formats.service_levels import named_rules
from contracts.formats.unnamed import note_unnamed
from contracts.formats.values import rule_id, texts
from contracts.model import Additional, Contract, Dataset, Policy, Rule, Severity
from contracts.served import served

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from contracts.document import Document
    from contracts.errors import Problem
    from contracts.formats.dcs_layers import Layers
    from contracts.formats.notes import Notes
    from contracts.nodes import Place

SCHEMAS = {
    "0.9.3": "official/dcs-1.1.0",
    "1.1.0": "official/dcs-1.1.0",
    "1.2.0": "official/dcs-1.2.1",
    "1.2.1": "official/dcs-1.2.1",
}
VERSIONS = tuple(SCHEMAS)
AS_PUBLISHED = {"1.2.0": "official/dcs-1.2.0"}
"""Versions whose own schema has keys that the next one renamed: what meets it is good too."""
EXTENSION = "lakegate"
TOLD = ("dataContractSpecification", "id", "models", "definitions", "servicelevels", "quality")
KEYS = ("primaryKey", "primary")
"""The key of a field, and what it was called before 1.1.0."""
QUALITY_TYPES = "text, library, sql or custom"


def read(document: Document, notes: Notes, variables: Mapping[str, str]) -> Contract:
    """The contract of a document, as far as it can be read; what is wrong with it is noted. DCS knows no variables."""
    del variables
    top, info, terms = document.top, document.top["info"], document.top["terms"]
    version = top["dataContractSpecification"].written
    schema, problems = _judged(document, version)
    notes.errors.extend(advised(list(_untyped_once(problems, document)), document))
    note_unnamed(document, schema, notes)
    definitions = Definitions(top, notes)
    older = older_quality(top["quality"], top["models"], notes)
    datasets = [_dataset(name, place, definitions, older) for name, place in top["models"].entries.items()]
    _warn_unused(definitions)
    return Contract(
        id=top["id"].text or "",
        version=info["version"].text or "",
        format=f"DCS {version}",
        datasets=tuple(datasets),
        name=info["title"].text,
        status=info["status"].text,
        about=about(
            top,
            notes,
            TOLD,
            description=info["description"].text,
            owner=info["owner"].text,
            usage=terms["usage"].text,
            limitations=terms["limitations"].text,
        ),
    )


def _judged(document: Document, version: str) -> tuple[str, list[Problem]]:
    """The schema that a document is judged by, and what that refuses."""
    problems, published = breaches(document, SCHEMAS[version]), AS_PUBLISHED.get(version)
    if problems and published and not breaches(document, published):
        return published, []
    return SCHEMAS[version], problems


def _untyped_once(problems: list[Problem], document: Document) -> Iterator[Problem]:
    """A quality rule without `type` breaks the conditions of every type at once: one sentence says so."""
    told: set[str] = set()
    for problem in problems:
        if problem.code == "missing-key" and _is_untyped_rule(document.at(problem.path)):
            if problem.path not in told:
                yield replace(problem, message=f"The key `type` is missing: write {QUALITY_TYPES}.")
            told.add(problem.path)
        else:
            yield problem


def _is_untyped_rule(place: Place) -> bool:
    return place.steps[-2:-1] == ("quality",) and not place["type"].present


def _dataset(name: str, place: Place, definitions: Definitions, older: Mapping[str, list[Rule]]) -> Dataset:
    ordinals = Counter[str]()
    top = definitions.top
    places = [top["config"][EXTENSION], place["config"][EXTENSION]]
    extension = Extension(places, definitions.notes, served(top["servers"]))
    layered = {path: definitions.layers(each) for path, each in place["fields"].entries.items()}
    found = {path: layers for path, layers in layered.items() if layers is not None}
    fields = [read_field(layers, path, definitions, ordinals) for path, layers in found.items()]
    rules = [
        *(rule for _, said in fields for rule in said),
        *_primary_key(place["primaryKey"], found, ordinals, definitions.notes),
        *quality_rules(Owner(place, name, graded=False), ordinals, definitions.notes),
        *older.get(name, ()),
        *named_rules(top["servicelevels"], name, top["models"].entries),
    ]
    return Dataset(
        name=name,
        fields=tuple(field for field, _ in fields),
        rules=tuple(rules) if extension.critical else tuple(replace(rule, severity=Severity.WARN) for rule in rules),
        origin=place.origin,
        policy=_policy(place["additionalFields"], extension),
        csv=extension.csv,
        storage=extension.storage,
    )


def _primary_key(said: Place, fields: Mapping[str, Layers], ordinals: Counter[str], notes: Notes) -> Iterator[Rule]:
    """One rule for the whole key: the model's list, else the fields that say so, in the order of the document."""
    flagged = {name: key for name, layers in fields.items() if (key := _flagged(layers)) is not None}
    names = texts(said) or tuple(flagged)
    if said.items and flagged and set(flagged) != set(names):
        message = f"The fields say another primary key ({', '.join(flagged)}): keep one of the two."
        notes.error("two-primary-keys", said, message)
    if names:
        origin = said.origin if said.items else flagged[names[0]].origin
        yield Rule(rule_id(ordinals, ",".join(names), "primaryKey"), "primaryKey", origin, names)


def _flagged(layers: Layers) -> Place | None:
    return next((layers[key] for key in KEYS if layers[key].flag), None)


def _policy(said: Place, extension: Extension) -> Policy:
    """`additionalFields` of the model, where the extension says nothing of it; a default of the schema is no wish."""
    if said.flag is None or "additional_fields" in extension.said:
        return extension.policy
    return replace(extension.policy, additional_fields=Additional.ALLOW if said.flag else Additional.FORBID)


def _warn_unused(definitions: Definitions) -> None:
    for place in definitions.top["definitions"].entries.values():
        if place.path not in definitions.used:
            definitions.notes.warning("unused-definition", place, "No field refers to this definition.")
